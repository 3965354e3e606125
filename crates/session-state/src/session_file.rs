//! `session.json`: which process a session is, where it can be seen, where its transcript lies.

use std::io;

use serde::{Deserialize, Serialize};

use crate::clock::Now;
use crate::dir::Dir;
use crate::env::{self, Env};
use crate::process::ProcessId;
use crate::{client_sessions, layout};

/// Version of the file. A newer one is read and never written.
pub const VERSION: u32 = 1;

const LIMIT: usize = 64 * 1024;

/// What is known of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFile {
    /// Version of the file.
    #[serde(default)]
    pub v: u32,
    /// The session's id as the client writes it.
    #[serde(default)]
    pub session_id: String,
    /// The client's process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessId>,
    /// The tmux pane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmux: Option<Tmux>,
    /// The transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The folder of the call that wrote this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The project's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The model, where a payload named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The client's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// How the client was started: `cli` for a person, `sdk-cli` for one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<String>,
    /// `reason` of the last end, gone again when the session goes on: `other` stands for a signal, a closed terminal and
    /// the end of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<String>,
    /// First written, seconds since 1970.
    #[serde(default)]
    pub started_s: i64,
    /// Last written, seconds since 1970.
    #[serde(default)]
    pub updated_s: i64,
}

/// A tmux pane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tmux {
    /// The server's socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// Session name, where the client tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Pane id, `%N`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<String>,
}

impl Tmux {
    /// From the environment of the client.
    #[must_use]
    pub fn of_env(env: &Env) -> Option<Self> {
        let socket = env.text(env::TMUX)?.split(',').next().map(str::to_owned);
        Some(Self { socket, session: None, pane: env.text(env::TMUX_PANE) })
    }
}

/// Reads the file. None: missing or damaged.
#[must_use]
pub fn read(dir: &Dir) -> Option<SessionFile> {
    serde_json::from_slice(&dir.read(layout::SESSION, LIMIT).ok()?).ok()
}

/// What a call knows of its session.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The session's id.
    pub session_id: &'a str,
    /// `transcript_path`.
    pub transcript: Option<&'a str>,
    /// `cwd`.
    pub cwd: Option<&'a str>,
    /// The project's root.
    pub project: &'a str,
    /// `model`.
    pub model: Option<&'a str>,
}

/// Writes down what a call knows, unless the file says so already. Nothing that is known is forgotten.
pub fn note(dir: &Dir, env: &Env, seen: Seen<'_>, now: Now) -> io::Result<()> {
    let old = read(dir);
    if old.as_ref().is_some_and(|old| old.v > VERSION) {
        return Ok(());
    }
    let pid = env.client_pid();
    let known = old.as_ref().and_then(|old| old.process.as_ref()).map(|process| process.pid);
    let same_process = pid.is_none() || known == pid;
    if let Some(old) = &old
        && same_process
        && (seen.model.is_none() || old.model.as_deref() == seen.model)
        && old.transcript.is_some()
        && old.end_reason.is_none()
    {
        return Ok(());
    }
    let old = old.unwrap_or_default();
    let client =
        pid.zip(env.client_config_dir()).and_then(|(pid, config)| client_sessions::of_pid(&config, pid));
    let text = |text: Option<&str>| text.map(str::to_owned);
    let file = SessionFile {
        v: VERSION,
        session_id: seen.session_id.to_owned(),
        process: if same_process && old.process.is_some() { old.process } else { pid.map(ProcessId::of) },
        tmux: client.as_ref().and_then(|client| client.tmux(env)).or_else(|| Tmux::of_env(env)).or(old.tmux),
        transcript: text(seen.transcript).or(old.transcript),
        cwd: text(seen.cwd).or(old.cwd),
        project: Some(seen.project.to_owned()),
        model: text(seen.model).or(old.model),
        client_version: client.and_then(|client| client.version).or(old.client_version),
        entrypoint: env.text(env::CLAUDE_CODE_ENTRYPOINT).or(old.entrypoint),
        end_reason: None,
        started_s: if old.started_s == 0 { now.seconds() } else { old.started_s },
        updated_s: now.seconds(),
    };
    write(dir, &file)
}

/// Writes down why a session ended.
///
/// # Errors
/// It is not written down; the file is as it was.
pub fn note_end(dir: &Dir, reason: &str, now: Now) -> io::Result<()> {
    let Some(file) = read(dir).filter(|file| file.v <= VERSION) else { return Ok(()) };
    write(dir, &SessionFile { end_reason: Some(reason.to_owned()), updated_s: now.seconds(), ..file })
}

fn write(dir: &Dir, file: &SessionFile) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(file).map_err(io::Error::other)?;
    bytes.push(b'\n');
    dir.replace(layout::SESSION, &bytes, false)
}
