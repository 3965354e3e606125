//! What the watcher needs of the world: time, terminals, processes, ears. Through traits, so that whole nights are
//! replayed in milliseconds.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use rules::liveness::Process;
use session_state::Now;
use session_state::client_sessions::ClientSession;
use session_state::process::ProcessId;

use crate::pane::{Pane, Server, Target};

/// Time.
pub trait Clock {
    /// The wall clock.
    fn now(&self) -> Now;

    /// A clock that nobody sets; it may stand still while the machine sleeps.
    fn monotonic(&self) -> Duration;

    /// Waits. Returns whether to go on: false when somebody asked to stop meanwhile.
    fn pause(&mut self, time: Duration) -> bool;
}

/// Terminal multiplexers.
pub trait Terminals {
    /// The server that is found without being named.
    ///
    /// # Errors
    /// As [`Terminals::panes`].
    fn own_server(&mut self) -> Result<Server, TerminalError>;

    /// The panes of a server.
    ///
    /// # Errors
    /// See [`TerminalError`]; only [`TerminalError::NoServer`] is an answer about the panes.
    fn panes(&mut self, server: &Server) -> Result<Vec<Pane>, TerminalError>;

    /// What panes of one server show, colours included; None for one that cannot be told.
    fn screens(&mut self, server: &Server, panes: &[&str]) -> Vec<Option<String>>;

    /// The folders the foreground programs of a server's panes work in, by pane, where that can be told.
    fn folders(&mut self, server: &Server) -> HashMap<String, PathBuf>;

    /// Types a text, literally, without Enter.
    ///
    /// # Errors
    /// The text may or may not have arrived.
    fn type_text(&mut self, target: &Target, text: &str) -> Result<(), TerminalError>;

    /// Presses Enter.
    ///
    /// # Errors
    /// The key may or may not have arrived.
    fn press_enter(&mut self, target: &Target) -> Result<(), TerminalError>;
}

/// Why a multiplexer did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TerminalError {
    /// There is no such program.
    #[error("tmux is not installed")]
    NotInstalled,
    /// No server runs at that socket: its panes are gone.
    #[error("no tmux server is running")]
    NoServer,
    /// It could not be asked: nothing is known.
    #[error("tmux: {0}")]
    Failed(String),
}

/// Processes of this machine, and the client's own list of them.
pub trait Processes {
    /// Whether a process lives.
    fn presence(&self, process: &ProcessId) -> Process;

    /// The client's own list.
    fn clients(&self) -> Vec<ClientSession>;

    /// Whether a process was started by another one or by its descendants. None: cannot be told.
    fn descends(&self, pid: u32, ancestor: u32) -> Option<bool>;
}

/// Who hears of an act.
pub trait Ears {
    /// Hears of an act or a refusal, as one JSON object.
    fn hear(&mut self, act: &serde_json::Value);
}

/// All of it.
pub trait World: Clock + Terminals + Processes + Ears {}

impl<W: Clock + Terminals + Processes + Ears> World for W {}
