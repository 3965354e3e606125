//! Every file the suite owns or mends: where it lies, what it holds, how it is replaced.
//!
//! One module a file. Nothing here decides what to say (crate `rules` does); nothing outside opens these files.

pub mod claims;
pub mod client_sessions;
mod clock;
pub mod config;
mod dir;
pub mod env;
pub mod fallback_table;
pub mod handoff;
pub mod heartbeat;
pub mod journal;
mod json_members;
pub mod layout;
pub mod ledger;
mod lock;
pub mod log;
pub mod loops;
mod names;
pub mod plans;
mod platform;
pub mod process;
pub mod registry;
pub mod retention;
mod root;
mod session;
pub mod session_file;
pub mod status;
pub mod times;
pub mod told;
pub mod tool_message;
pub mod transcript;
pub mod views;

pub use clock::Now;
pub use config::Config;
pub use dir::{Dir, FileKind, FileStat};
pub use lock::{SoleLock, StateLock};
pub use names::{fact_id, file_name, hash, hash_name};
pub use root::Project;
pub use session::Session;
