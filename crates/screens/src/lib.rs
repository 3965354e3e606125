//! What a pane of the client shows, when its limit resets, and which key, if any, is right. Pure: text and instants in,
//! a verdict out. Used by the command alone; nothing of this is linked into a hook.
//!
//! | module | answers |
//! |---|---|
//! | [`limit`] | what does a message say is used up, and until when |
//! | `pane` | what is known about a pane beside its text |
//! | `screen` | the text as lines, with escapes and boxes read |
//! | `input` | where would typed characters go, and does anything stand there |
//! | `dialog` | does a selector or a question wait for a person |
//! | `history` | the last message, unless the conversation went on; notices; work |
//! | `state` | all of it in one word |
//! | `memory` | what was already done about the limit on screen |
//! | `keys` | the decision |
//! | `sent` | what became of keys that were sent |
//! | [`tmux_target`] | how a recorded name is told to tmux |

mod dialog;
mod history;
mod input;
mod keys;
pub mod limit;
mod memory;
mod pane;
mod screen;
mod sent;
mod state;
pub mod tmux_target;

pub use history::Native;
pub use input::Content;
pub use keys::{Answer, Keys, Look, Options, backoff_s, look};
pub use limit::{Kind, Limit, Moment, Reset, Wording, WordingError, Wordings};
pub use memory::Memory;
pub use pane::{Pane, StopFailure, is_client};
pub use sent::{Outcome, outcome};
pub use state::{Essence, State, Verdict};
