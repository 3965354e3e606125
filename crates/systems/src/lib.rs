//! Readers of whole systems whose work can be interrupted: workflows, runs, changes. Used by the command alone.

pub mod change;
pub mod run;
pub mod workflow;
