//! Readers of whole systems whose work can be interrupted: workflows, runs, changes. Used by the command alone.

pub mod bounded;
pub mod change;
mod file_lock;
pub mod git;
pub mod run;
pub mod workflow;
