//! Panes, and how they are named without a doubt: by the server's socket and the pane's id.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A server of the multiplexer, by its socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Server {
    /// The socket; None: the one the multiplexer finds by itself.
    pub socket: Option<PathBuf>,
}

impl Server {
    /// The server at a socket, whatever name led there: under two names it would be two servers, and each limit in it
    /// would be answered twice.
    #[must_use]
    pub fn at(socket: PathBuf) -> Self {
        let socket = socket.canonicalize().unwrap_or(socket);
        Self { socket: Some(socket) }
    }
}

/// One pane of one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Target {
    /// The server.
    pub server: Server,
    /// The pane's id, `%N`.
    pub pane: String,
}

impl Target {
    /// A word for logs: the id alone says enough where there is one server.
    #[must_use]
    pub fn word(&self) -> String {
        match &self.server.socket {
            None => self.pane.clone(),
            Some(socket) => format!("{}@{}", self.pane, socket.display()),
        }
    }
}

/// What the multiplexer tells of a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pane {
    /// Its id, `%N`.
    pub id: String,
    /// Its process has ended and the pane was kept.
    pub dead: bool,
    /// Copy mode: keys would go to it.
    pub in_mode: bool,
    /// Columns.
    pub width: u16,
    /// Lines.
    pub height: u16,
    /// The process the pane was opened with.
    pub pid: u32,
    /// Somebody has it before his eyes: the active pane of the active window of an attached session.
    pub in_front: bool,
    /// The foreground program.
    pub command: String,
    /// The session it is in.
    pub session: String,
    /// The window it is in.
    pub window: String,
}

impl Pane {
    /// Whether the client may run in it.
    #[must_use]
    pub fn may_be_a_client(&self) -> bool {
        !self.dead && screens::is_client(&self.command)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn two_names_of_a_socket_are_one_server() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("tmux-1000")).unwrap();
        std::fs::write(top.join("tmux-1000/default"), "").unwrap();
        std::os::unix::fs::symlink(top.join("tmux-1000"), top.join("here")).unwrap();
        assert_eq!(Server::at(top.join("here/default")), Server::at(top.join("tmux-1000/default")));
        assert_eq!(Server::at("/no/such/socket".into()).socket, Some("/no/such/socket".into()));
    }
}
