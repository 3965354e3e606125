//! The client's own list of live sessions: `sessions/<pid>.json` in its configuration folder. Only read.
//!
//! An orderly end removes the file; SIGKILL leaves it, and later starts do not clean up (CONTRACT 8).

use std::path::Path;

use rules::liveness::Process;
use serde::Deserialize;

use crate::dir::Dir;
use crate::env::{self, Env};
use crate::process::ProcessId;
use crate::session_file::Tmux;

const FOLDER: &str = "sessions";
const LIMIT: usize = 64 * 1024;

/// One running client, or the trace of one that was killed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientSession {
    /// Process number.
    pub pid: u32,
    /// Start of the process in clock ticks; a number or text, by version.
    #[serde(deserialize_with = "number_or_text")]
    pub proc_start: Option<u64>,
    /// The session it is in.
    pub session_id: String,
    /// The folder it works in.
    pub cwd: String,
    /// `idle busy waiting`; absent in older versions.
    pub status: Option<String>,
    /// What it waits for: `permission prompt`, `input needed`, `dialog open`.
    pub waiting_for: Option<String>,
    /// Start, epoch milliseconds.
    pub started_at: Option<i64>,
    /// Last change of the status, epoch milliseconds: no heartbeat.
    pub updated_at: Option<i64>,
    /// The client's version.
    pub version: Option<String>,
    /// `<session>:@<window>.%<pane>`, since 2.1.229.
    #[serde(rename = "tmux")]
    pub tmux_target: Option<String>,
}

impl ClientSession {
    /// Its process. The file does not tell the boot: a number of an earlier one is told apart by its start.
    #[must_use]
    pub fn process(&self) -> ProcessId {
        ProcessId { boot_id: None, pid_ns: None, pid: self.pid, start: self.proc_start }
    }

    /// Whether its process lives.
    #[must_use]
    pub fn presence(&self) -> Process {
        self.process().presence()
    }

    /// The pane the client says it is in.
    #[must_use]
    pub fn tmux(&self, env: &Env) -> Option<Tmux> {
        let target = self.tmux_target.as_deref()?;
        let pane = target.rfind('%').map(|at| target[at..].to_owned());
        let session = target.rsplit_once(":@").map(|(session, _)| session.to_owned());
        let socket = env.text(env::TMUX).and_then(|text| text.split(',').next().map(str::to_owned));
        Some(Tmux { socket, session, pane })
    }
}

/// Whether the process of a session lives, by the client's own list and what our file of the session recorded; gone is
/// a proof. `judge` says it of one process.
#[must_use]
pub fn process_of(
    clients: &[ClientSession],
    recorded: Option<&ProcessId>,
    id: Option<&str>,
    judge: impl Fn(&ProcessId) -> Process,
) -> Process {
    let presences = || {
        let of_session = clients.iter().filter(|client| Some(client.session_id.as_str()) == id);
        of_session.map(|client| judge(&client.process()))
    };
    if presences().any(|presence| presence == Process::Alive) {
        return Process::Alive;
    }
    match recorded {
        Some(process) => judge(process),
        None if presences().any(|presence| presence == Process::Gone) => Process::Gone,
        None => Process::Unknown,
    }
}

/// Reads the file of one process. None: missing, or of another shape.
#[must_use]
pub fn of_pid(config: &Path, pid: u32) -> Option<ClientSession> {
    read(&Dir::open(config).ok()?.folder(FOLDER).ok()?, &format!("{pid}.json"))
}

/// Reads all files, at most `limit`.
#[must_use]
pub fn all(config: &Path, limit: usize) -> Vec<ClientSession> {
    let Some(dir) = Dir::open(config).and_then(|dir| dir.folder(FOLDER)).ok() else { return Vec::new() };
    let names = dir.names(limit);
    names.iter().filter(|name| name.ends_with(".json")).filter_map(|name| read(&dir, name)).collect()
}

fn read(dir: &Dir, name: &str) -> Option<ClientSession> {
    let session: ClientSession = serde_json::from_slice(&dir.read(name, LIMIT).ok()?).ok()?;
    (session.pid != 0 && !session.session_id.is_empty()).then_some(session)
}

fn number_or_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(value.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok())))
}
