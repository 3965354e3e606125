//! Whole nights in milliseconds: the watcher in a world whose clock is set by hand.
#![expect(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod client;
mod limits;
mod night;
mod stage;
