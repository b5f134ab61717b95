//! Session files end to end: what is written, what damage costs, who may write (SPEC section 2).

mod crash;
mod damage;
mod forks;
mod properties;
mod scene;
mod strangers;
