//! The watcher: resumes sessions after a usage limit and saves what dead sessions knew.
//!
//! It must never type into the wrong place, so doing nothing is always right. The world comes in through traits
//! ([`world`]); decisions about screens are `screens`', about the living `rules::liveness`', about hand-overs
//! `scavenging`'s.

pub mod evidence;
pub mod instance;
mod limits;
mod machine;
mod memory;
mod notify;
pub mod pace;
pub mod pane;
pub mod places;
pub mod report;
pub mod roster;
pub mod settings;
pub mod snapshot;
pub mod tmux;
mod watcher;
pub mod world;

pub use machine::Machine;
pub use settings::Settings;
pub use watcher::{Ticked, Watcher, Which};
