//! Workflows as they lie on disk: what is read, what is told, what is written.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod damaged;
mod places;
mod project;
mod state;
mod writing;
