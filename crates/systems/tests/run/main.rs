//! Runs of workflow-mcp, read from real files, with real git and real processes.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod branches;
mod claims;
mod damage;
mod evidence;
mod home;
mod judgements;
