//! Readers of whole systems whose work can be interrupted: workflows, runs, changes. Used by the command alone.
//!
//! Beside the three: [`bounded`] reads files below a root, `json` reads objects leniently, `file_lock` waits for a lock,
//! [`git`] asks a repository, read-only. What a hook judges in the same way is in the crate `rules`.

pub mod bounded;
pub mod change;
mod file_lock;
pub mod git;
mod json;
pub mod run;
pub mod workflow;
