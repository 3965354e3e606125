//! Whether a session lives, from the signs a hook can read cheaply. No terminal is asked: that would start a process.

use std::path::Path;

use rules::liveness::{self, Process, Signs, Terminal, Verdict};
use session_state::client_sessions::{self, ClientSession};
use session_state::process::ProcessId;
use session_state::session_file::{self, SessionFile};
use session_state::{Dir, file_name, heartbeat, status};

use crate::Scan;

/// The client writes one file for each running client; more than this are not looked at.
const MAX_CLIENTS: usize = 512;

/// What is known about all sessions.
#[derive(Debug)]
pub(crate) struct Owners {
    /// The client's own list.
    pub(crate) clients: Vec<ClientSession>,
    sessions: Option<Dir>,
    /// The folder name of the session that starts: it lives.
    current: String,
    now: session_state::Now,
}

impl Owners {
    pub(crate) fn read(scan: &Scan<'_>) -> Self {
        let clients = scan.env.client_config_dir().map(|config| client_sessions::all(&config, MAX_CLIENTS));
        Self {
            clients: clients.unwrap_or_default(),
            sessions: scan.project.sessions(),
            current: scan.session_name.to_owned(),
            now: scan.now,
        }
    }

    /// Judges a session by its id.
    pub(crate) fn verdict(&self, id: &str) -> Verdict {
        let name = file_name(id);
        if name == self.current {
            return Verdict::Alive;
        }
        let dir = self.folder(id);
        liveness::verdict(&self.signs(dir.as_ref(), Some(id)))
    }

    /// Whether another client works in this project, or may: one that waits for its next request does not.
    pub(crate) fn others_at_work(&self, scan: &Scan<'_>) -> bool {
        self.clients.iter().any(|client| {
            client.session_id != scan.session_id
                && Some(client.pid) != scan.env.client_pid()
                && Path::new(&client.cwd).starts_with(&scan.project.root)
                && client.status.as_deref() != Some("idle")
                && client.presence() == Process::Alive
        })
    }

    /// The folder of a session in this project.
    pub(crate) fn folder(&self, id: &str) -> Option<Dir> {
        self.sessions.as_ref()?.folder(&file_name(id)).ok()
    }

    /// Judges the session whose folder this is; `id` where it is known.
    pub(crate) fn verdict_of(&self, dir: &Dir, id: Option<&str>) -> Verdict {
        liveness::verdict(&self.signs(Some(dir), id))
    }

    /// The signs of a session's process; gone is a proof.
    pub(crate) fn process(&self, dir: Option<&Dir>, id: Option<&str>) -> Process {
        self.process_of(dir.and_then(session_file::read).as_ref(), id)
    }

    /// The same where the session's file is already known.
    pub(crate) fn process_of(&self, file: Option<&SessionFile>, id: Option<&str>) -> Process {
        let recorded = file.and_then(|file| file.process.as_ref());
        client_sessions::process_of(&self.clients, recorded, id, ProcessId::presence)
    }

    fn signs(&self, dir: Option<&Dir>, id: Option<&str>) -> Signs {
        Signs {
            heartbeat_age_s: dir.and_then(|dir| heartbeat::age_s(dir, self.now)),
            process: self.process(dir, id),
            terminal: Terminal::NotRecorded,
            mark: dir.and_then(status::read).and_then(status::Status::mark),
        }
    }
}

/// Whether somebody is there, or may have been a moment ago.
pub(crate) const fn shows_life(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Alive | Verdict::Idle | Verdict::Orphan | Verdict::NotYet)
}
