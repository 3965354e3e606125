//! The course of one hook call, shared by the hooks that keep streaks and by the one that is all four.
//!
//! 1. [`quiet::call`]: nothing is tracked and the payload holds nothing of interest. Ends here 95 times of 100.
//! 2. [`Tracker::facts`]: what the event means for the streaks a part keeps.
//! 3. [`session_state::ledger::Ledger`]: appended, folded up to and including them; what became due with them is theirs to say.
//! 4. [`Tracker::advice`]: the words, or silence.
//! 5. One write to standard output; then the note of it, the views, the log.

mod call;
mod flow;
mod program;
pub mod quiet;

pub use call::{Call, is_persons_prompt};
pub use flow::{Known, Spoken, Tracker, reply, track};
pub use program::{answer, note_panic, say};
