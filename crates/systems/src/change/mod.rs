//! Changes of Comet Classic: read from files alone, resumed where they stopped.
//!
//! The parsers and decisions are pure.

pub mod config;
pub mod coordination;
pub mod plan;
pub mod state;
pub mod tasks;
pub mod yaml;
