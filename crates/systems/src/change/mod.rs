//! Changes of Comet Classic: read from files alone, resumed where they stopped.
//!
//! The parsers and decisions are pure.

pub mod active;
pub mod config;
pub mod coordination;
pub mod delivery;
pub mod design;
pub mod lock;
pub mod next_action;
pub mod plan;
pub mod probe;
pub mod project;
pub mod state;
pub mod strict_json;
pub mod summary;
pub mod tasks;
pub mod writing;
pub mod yaml;
