//! What the last tick saw: for `recovery watch status` and other readers.

use std::io;

use serde::{Deserialize, Serialize};
use session_state::Dir;

const FILE: &str = "status.json";
const LIMIT: usize = 8 * 1024 * 1024;
/// Version of the file.
pub const VERSION: u32 = 1;

/// One tick's view of the world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// Version, [`VERSION`].
    pub v: u32,
    /// When, seconds since 1970.
    pub at_s: i64,
    /// Ticks of this watcher so far.
    pub ticks: u64,
    /// Why this tick drew no conclusions: `gap`, `clock-jump`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Projects watched.
    pub projects: Vec<String>,
    /// Sessions without an end mark, by verdict: the word and how many.
    pub sessions: Vec<(String, usize)>,
    /// Sessions whose terminal is gone while their process lives.
    pub orphans: Vec<Orphan>,
    /// Panes with a client that is limited, or asks for something.
    pub panes: Vec<PaneView>,
    /// Whether any server of the multiplexer has panes.
    pub has_terminals: bool,
    /// Servers that could not be asked, and why.
    pub troubles: Vec<String>,
}

/// A session without a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Orphan {
    /// The session.
    pub session: String,
    /// The project's root.
    pub project: String,
    /// The client's process.
    pub pid: Option<u32>,
    /// Last sign of life, seconds since 1970.
    pub last_s: Option<i64>,
}

/// A pane that is not simply working or idle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PaneView {
    /// The pane's id, with its socket.
    pub pane: String,
    /// The session in it, if known.
    pub session: Option<String>,
    /// What its screen shows.
    pub state: String,
    /// The kind of limit.
    pub kind: Option<String>,
    /// When the limit resets, seconds since 1970.
    pub resets_s: Option<i64>,
    /// What is done, or why nothing is.
    pub why: String,
}

impl Snapshot {
    /// Reads the last one. None: there was none, or it is damaged.
    #[must_use]
    pub fn read(dir: &Dir) -> Option<Self> {
        serde_json::from_slice(&dir.read(FILE, LIMIT).ok()?).ok()
    }

    /// Writes it down.
    ///
    /// # Errors
    /// It was not written; the last one is still there.
    pub fn write(&self, dir: &Dir) -> io::Result<()> {
        dir.replace(FILE, &serde_json::to_vec(self).map_err(io::Error::other)?, false)
    }
}
