//! What a pane of the client shows, when its limit resets, and which key, if any, is right. Pure: text and instants in,
//! a verdict out. Used by the command alone; nothing of this is linked into a hook.

pub mod limit;

pub use limit::{Kind, Limit, Moment, Reset, Wording, WordingError, Wordings};
