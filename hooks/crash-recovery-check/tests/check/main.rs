//! The crash check as its callers see it: an event and a tree of files in, advice and a mended tree out.

#![allow(missing_docs)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod change;
mod claims;
mod hostile;
mod loops;
mod once;
mod plan;
mod previous_session;
mod run;
mod workflow;
mod world;
