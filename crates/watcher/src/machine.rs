//! The world as it is: this machine's clock, tmux, processes, and the user's command.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rules::liveness::Process;
use session_state::Now;
use session_state::client_sessions::{self, ClientSession};
use session_state::env::Env;
use session_state::process::{self, ProcessId};

use crate::notify::Notifier;
use crate::pane::{Pane, Server, Target};
use crate::tmux::Tmux;
use crate::world::{Clock, Ears, Processes, TerminalError, Terminals};

/// Files of the client's own list that are read.
const MAX_CLIENTS: usize = 2_048;

/// This machine.
#[derive(Debug)]
pub struct Machine {
    env: Env,
    started: Instant,
    /// Somebody asks to stop through it; it is closed never before that.
    stop: Receiver<()>,
    stopped: bool,
    tmux: Tmux,
    notifier: Notifier,
}

impl Machine {
    /// `stop`: whoever asks to stop sends through it, or drops its end.
    #[must_use]
    pub fn new(env: Env, stop: Receiver<()>, notify_command: &[String]) -> Self {
        Self {
            env,
            started: Instant::now(),
            stop,
            stopped: false,
            tmux: Tmux::default(),
            notifier: Notifier::new(notify_command),
        }
    }
}

impl Clock for Machine {
    fn now(&self) -> Now {
        Now::read()
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn pause(&mut self, time: Duration) -> bool {
        if !self.stopped {
            self.stopped = !matches!(self.stop.recv_timeout(time), Err(RecvTimeoutError::Timeout));
        }
        !self.stopped
    }
}

impl Terminals for Machine {
    fn panes(&mut self, server: &Server) -> Result<Vec<Pane>, TerminalError> {
        self.tmux.panes(server)
    }

    fn own_server(&mut self) -> Result<Server, TerminalError> {
        self.tmux.own_server()
    }

    fn screens(&mut self, server: &Server, panes: &[&str]) -> Vec<Option<String>> {
        self.tmux.screens(server, panes)
    }

    fn folders(&mut self, server: &Server) -> HashMap<String, PathBuf> {
        self.tmux.folders(server)
    }

    fn type_text(&mut self, target: &Target, text: &str) -> Result<(), TerminalError> {
        self.tmux.type_text(target, text)
    }

    fn press_enter(&mut self, target: &Target) -> Result<(), TerminalError> {
        self.tmux.press_enter(target)
    }
}

impl Processes for Machine {
    fn presence(&self, process: &ProcessId) -> Process {
        process.presence()
    }

    fn clients(&self) -> Vec<ClientSession> {
        let config = self.env.client_config_dir();
        config.map(|config| client_sessions::all(&config, MAX_CLIENTS)).unwrap_or_default()
    }

    fn descends(&self, pid: u32, ancestor: u32) -> Option<bool> {
        process::descends(pid, ancestor)
    }
}

impl Ears for Machine {
    fn hear(&mut self, act: &serde_json::Value) {
        self.notifier.tell(act);
    }
}
