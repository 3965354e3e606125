//! The hook protocol of the Claude Code client, and nothing else.
//!
//! A hook gets one JSON object on standard input and may answer with one on standard output. This crate turns the
//! bytes into an [`Event`], lets only an accepted answer out ([`Reply`]) and keeps the process harmless whatever
//! happens ([`run`]): exit status 0, one write or none.
//!
//! Reading is head-first. A [`Head`] (session, event, tool) comes from the first bytes of the payload; most calls
//! need no more, and the rest is drained without being looked at. [`Intake::event`] parses all of it.

mod event;
mod head;
mod intake;
mod platform;
mod reply;
mod run;
mod text;

pub use event::{BatchCall, Event, EventName, Failure, Kind, Response, Source, Success, ToolCall};
pub use head::Head;
pub use intake::{Intake, MAX_BYTES};
pub use reply::{Mouth, Reply};
pub use run::{Program, run};
