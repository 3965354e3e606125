//! The command as a person meets it: real files, a home of its own, whole outputs.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod change;
mod explain;
mod help;
mod install;
mod reset;
mod resume;
mod run;
mod schema;
mod uninstall;
mod workflow;
mod world;
