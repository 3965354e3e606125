//! The client's own list of live sessions: `sessions/<pid>.json` in its configuration folder. Only read.
//!
//! An orderly end removes the file; SIGKILL leaves it, and later starts do not clean up (CONTRACT 8).

use std::path::Path;

use rules::liveness::Process;
use serde::Deserialize;

use crate::dir::Dir;
use crate::env::{self, Env};
use crate::process;
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
    /// Whether its process lives.
    #[must_use]
    pub fn presence(&self) -> Process {
        process::presence(self.pid, self.proc_start)
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
