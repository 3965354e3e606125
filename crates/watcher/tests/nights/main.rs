//! Whole nights in milliseconds: the watcher in a world whose clock is set by hand.
#![expect(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod client;
mod dead;
mod limits;
mod load;
mod night;
mod property;
mod stage;
mod whole;
