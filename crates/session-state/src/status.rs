//! `status`: one word about a session.

use std::io;

use rules::liveness::Mark;

use crate::dir::Dir;
use crate::layout;

/// The words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It runs, or died without a word.
    Running,
    /// It ended.
    Ended,
    /// Its client went on under another id (`/clear`).
    Superseded,
    /// What it knew was saved.
    Scavenged,
}

impl Status {
    /// The word in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ended => "ended",
            Self::Superseded => "superseded",
            Self::Scavenged => "scavenged",
        }
    }

    /// As a mark that settles the question who is alive.
    #[must_use]
    pub const fn mark(self) -> Option<Mark> {
        match self {
            Self::Running => None,
            Self::Ended => Some(Mark::Ended),
            Self::Superseded => Some(Mark::Superseded),
            Self::Scavenged => Some(Mark::Scavenged),
        }
    }
}

/// Reads the word. None: missing or another one.
#[must_use]
pub fn read(dir: &Dir) -> Option<Status> {
    let bytes = dir.read(layout::STATUS, 64).ok()?;
    let word = std::str::from_utf8(&bytes).ok()?.trim();
    [Status::Running, Status::Ended, Status::Superseded, Status::Scavenged]
        .into_iter()
        .find(|s| s.word() == word)
}

/// Replaces the word, if it is another one.
pub fn write(dir: &Dir, status: Status) -> io::Result<()> {
    if read(dir) == Some(status) {
        return Ok(());
    }
    dir.replace(layout::STATUS, format!("{}\n", status.word()).as_bytes(), false)
}
