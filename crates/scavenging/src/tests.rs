//! Whole sessions on disk: what the hand-off says of them, and when none is written.

mod harm;
mod limits;
mod sections;
mod world;
