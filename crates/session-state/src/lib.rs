//! Every file the suite owns or mends: where it lies, what it holds, how it is replaced.
//!
//! One module a file. Nothing here decides what to say (crate `rules` does); nothing outside opens these files.

pub mod client_sessions;
mod clock;
mod config;
mod dir;
pub mod env;
pub mod heartbeat;
pub mod journal;
pub mod layout;
mod lock;
pub mod log;
mod names;
mod platform;
pub mod process;
pub mod retention;
mod root;
mod session;
pub mod session_file;
pub mod status;
pub mod times;
pub mod views;

pub use clock::Now;
pub use config::Config;
pub use dir::{Dir, FileKind, FileStat};
pub use lock::StateLock;
pub use names::file_name;
pub use root::Project;
pub use session::Session;
