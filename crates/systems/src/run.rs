//! Runs of workflow-mcp: the registry it keeps on disk, what a run that ended left behind, and what to do about it.
//!
//! The registry is `<home>/workspaces/<workspace>/<stage>/<run key>/`, `run.json` in it is the record. Only the claim
//! file is ours; nothing else is ever written. Files and processes are looked at in [`registry`], [`process`],
//! [`branch`], [`workflow_file`], [`evidence`] and [`claim`]; [`judgement`] and [`verification`] decide without them.

pub mod branch;
pub mod cause;
pub mod claim;
pub mod evidence;
pub mod judgement;
pub mod pass;
pub mod process;
pub mod progress;
pub mod record;
pub mod registry;
mod shown;
pub mod verification;
pub mod withheld;
pub mod workflow_file;
