//! Hooks: programs of every kind of manners, and what their answers do to a real session.

mod programs;
