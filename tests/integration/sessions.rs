//! Session files end to end: what is written, what damage costs, who may write (SPEC section 2).

mod damage;
mod forks;
mod scene;
mod strangers;
