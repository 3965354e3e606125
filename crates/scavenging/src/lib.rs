//! What a dead session knew: from its transcript to a hand-over document.
//!
//! [`scavenge`] reads the transcript of a session whose process is gone, writes `handoffs/scavenged.md` into its folder
//! and sets its `status`. Whether a session is dead is for the caller to judge; here nothing is written unless the
//! session still looks as the caller saw it. Killed at any moment it leaves no file or a whole one, and the next call
//! goes on from there.

mod document;
mod findings;
mod subagents;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::time::Duration;

use session_state::handoff::{self, Present};
use session_state::session_file::{self, SessionFile};
use session_state::status::{self, Status};
use session_state::transcript::{Conversation, Source, Stamp};
use session_state::{Dir, Now, Session, heartbeat, plans};

use crate::findings::Findings;

/// A transcript that was written to this recently is looked at twice, in milliseconds.
const FRESH_MS: i64 = 2_000;
const MAX_BOXES: usize = 64;

/// A dead session, as the caller saw it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its folder.
    pub session: &'a Session,
    /// Its transcript, an absolute path; need not exist.
    pub transcript: &'a Path,
    /// Its `session.json` at the moment it was judged.
    pub file: &'a SessionFile,
    /// The present.
    pub now: Now,
    /// Its heartbeat at the moment it was judged, seconds since 1970.
    pub last_beat_s: Option<i64>,
    /// How the transcript looked at an earlier tick; None: this is the first look at it.
    pub seen: Option<Stamp>,
    /// How much is read.
    pub budget: Budget,
}

/// How much is read, and how long is waited. The default reads a transcript of any size in less than 300 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes from the end of the transcript; eight times as many where lines are long.
    pub end: u64,
    /// Bytes from its beginning at most, until the first prompt.
    pub start: u64,
    /// Transcripts of subagents, the latest ones.
    pub subagents: usize,
    /// Bytes from the end of each of those.
    pub subagent_end: u64,
    /// The pause between two looks at a transcript that was written to a moment ago.
    pub settle: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            end: 8 * 1024 * 1024,
            start: 32 * 1024 * 1024,
            subagents: 8,
            subagent_end: 256 * 1024,
            settle: Duration::from_millis(200),
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The hand-off was written.
    Saved {
        /// Its size.
        bytes: usize,
        /// How many bytes of transcripts were read for it.
        read: u64,
    },
    /// The transcript or the heartbeat still changes: somebody lives. To be tried again at a later tick.
    Growing,
    /// A hand-off is there, or the status says that there is nothing to save. Nothing was replaced.
    AlreadyThere,
    /// There is no transcript, or nothing in it. Nothing was written; it may come back with a file system.
    NothingKnown,
}

/// Why it failed. Nothing was replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The hand-off could not be written.
    #[error("cannot write the hand-off of session {session}")]
    HandOff {
        /// Name of the session's folder.
        session: String,
        /// What the system said.
        source: io::Error,
    },
    /// The hand-off is there, but the status could not be set.
    #[error("cannot set the status of session {session}")]
    Status {
        /// Name of the session's folder.
        session: String,
        /// What the system said.
        source: io::Error,
    },
}

/// How a transcript looks now, for [`Request::seen`] of a later call. None: there is none.
#[must_use]
pub fn stamp(transcript: &Path) -> Option<Stamp> {
    Source::open(transcript)?.stamp()
}

/// Saves what a dead session knew, once.
pub fn scavenge(request: &Request<'_>) -> Result<Outcome, Error> {
    scavenge_with(request, &mut |_| {})
}

/// The moments between two steps; tests let the world change there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Before the second look at a fresh transcript.
    Settling,
    /// Everything was read, nothing written.
    Read,
    /// The hand-off is there, the status is not.
    Written,
}

fn scavenge_with(request: &Request<'_>, at: &mut dyn FnMut(Step)) -> Result<Outcome, Error> {
    let dir = &request.session.dir;
    let before = status::read(dir);
    if !matches!(before, None | Some(Status::Running)) {
        return Ok(Outcome::AlreadyThere);
    }
    if !make_room(request, before)? {
        set_status(request, before)?;
        return Ok(Outcome::AlreadyThere);
    }
    let Some(source) = Source::open(request.transcript) else { return Ok(Outcome::NothingKnown) };
    let Some(stamp) = settled(request, &source, at) else { return Ok(Outcome::Growing) };

    let (findings, read) = read(request, &source);
    if findings.is_empty() {
        return Ok(Outcome::NothingKnown);
    }
    let text = document::write(&findings);
    at(Step::Read);

    let unchanged = || still(request, before) && self::stamp(request.transcript) == Some(stamp);
    match handoff::save(dir, &text, request.now, unchanged) {
        Ok(true) => {}
        Ok(false) => return Ok(Outcome::Growing),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Outcome::AlreadyThere),
        Err(source) => return Err(Error::HandOff { session: request.session.name.clone(), source }),
    }
    at(Step::Written);
    set_status(request, before)?;
    Ok(Outcome::Saved { bytes: text.len(), read })
}

/// Whether there is room for a hand-off. One of an earlier death is put aside if the session certainly went on since.
fn make_room(request: &Request<'_>, status: Option<Status>) -> Result<bool, Error> {
    let dir = &request.session.dir;
    match handoff::present(dir) {
        Present::Nothing => Ok(true),
        Present::Ours(made_s)
            if status == Some(Status::Running)
                && request.last_beat_s.is_some_and(|beat| beat > made_s)
                && still(request, status) =>
        {
            handoff::set_aside(dir, made_s)
                .map(|()| true)
                .map_err(|source| Error::HandOff { session: request.session.name.clone(), source })
        }
        Present::Ours(_) | Present::Foreign => Ok(false),
    }
}

/// How the transcript looks, if nobody writes it.
fn settled(request: &Request<'_>, source: &Source, at: &mut dyn FnMut(Step)) -> Option<Stamp> {
    let stamp = source.stamp()?;
    if request.seen.is_some_and(|seen| seen != stamp) {
        return None;
    }
    if request.now.0.saturating_sub(stamp.mtime_ms).abs() < FRESH_MS {
        std::thread::sleep(request.budget.settle);
    }
    at(Step::Settling);
    (source.stamp() == Some(stamp) && stamp.size == source.size()).then_some(stamp)
}

/// Whether the session still looks as the caller saw it: nobody took it up again.
fn still(request: &Request<'_>, status: Option<Status>) -> bool {
    let dir = &request.session.dir;
    status::read(dir) == status
        && heartbeat::last(dir) == request.last_beat_s
        && session_file::read(dir).is_none_or(|file| file == *request.file)
}

/// Sets the status, unless somebody else did or the session came back.
fn set_status(request: &Request<'_>, before: Option<Status>) -> Result<(), Error> {
    if !still(request, before) {
        return Ok(());
    }
    status::write(&request.session.dir, Status::Scavenged)
        .map_err(|source| Error::Status { session: request.session.name.clone(), source })
}

fn read(request: &Request<'_>, source: &Source) -> (Findings, u64) {
    let budget = request.budget;
    let knowledge = source.knowledge(budget.end, budget.start, Conversation::Main);
    let subagents = subagents::read(request.transcript, budget.subagents, budget.subagent_end);
    let read = source.bytes_read() + subagents.iter().map(|one| one.read).sum::<u64>();
    let file = request.file;
    let root = file.project.as_deref().or(file.cwd.as_deref()).map(Path::new);
    let boxes = root
        .and_then(|root| Dir::open(root).ok())
        .map_or_else(Vec::new, |root| plans::open_boxes(&root, MAX_BOXES));
    let id = if file.session_id.is_empty() { &request.session.name } else { &file.session_id };
    let findings = Findings {
        session_id: id.clone(),
        saved: request.now,
        last_s: [request.last_beat_s, knowledge.last_s].into_iter().flatten().max(),
        knowledge,
        subagents,
        boxes,
        root: root.map(Path::to_owned),
        cwd: file.cwd.clone(),
        transcript: request.transcript.to_owned(),
        size: source.size(),
    };
    (findings, read)
}
