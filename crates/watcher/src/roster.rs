//! Who there is: the sessions of all projects with their signs, and the panes they are in.

use std::collections::BTreeMap;

use rules::liveness::{Process, Signs, Terminal};
use session_state::client_sessions::{self, ClientSession};
use session_state::session_file::{self, SessionFile};
use session_state::status::{self, Status};
use session_state::{Dir, Now, Project, Session, heartbeat, layout};

use crate::pane::{Pane, Server, Target};
use crate::world::{Processes, TerminalError, Terminals};

/// Session folders looked at in one project.
const MAX_SESSIONS: usize = 10_000;

/// A session that has not ended by a mark of its own.
#[derive(Debug)]
pub struct Known {
    /// Its id as the client writes it.
    pub id: String,
    /// Its folder and the folder of all.
    pub session: Session,
    /// Which of the projects it belongs to.
    pub project: usize,
    /// What it wrote down about itself.
    pub file: SessionFile,
    /// The server it says it is on.
    pub server: Option<Server>,
    /// The client that is in it, by the client's own list.
    pub client: Option<ClientSession>,
    /// Whether its process lives.
    pub process: Process,
    /// The heartbeat, seconds since 1970; None: missing, or no number.
    pub beat_s: Option<i64>,
    /// Last sign of life, seconds since 1970: the heartbeat, or the start of a session that never beat.
    pub last_beat_s: Option<i64>,
}

/// The sessions of all projects.
#[derive(Debug)]
pub struct Roster {
    /// Those without an end mark, in the order of the projects.
    pub sessions: Vec<Known>,
    clients: Vec<ClientSession>,
}

impl Roster {
    /// Looks at all of them.
    #[must_use]
    pub fn read(projects: &[Project], processes: &impl Processes) -> Self {
        let clients = processes.clients();
        let mut sessions = Vec::new();
        for (at, project) in projects.iter().enumerate() {
            let Some(dir) = project.sessions() else { continue };
            for name in dir.names(MAX_SESSIONS) {
                if name.starts_with('.') {
                    continue;
                }
                let Ok(folder) = dir.folder(&name) else { continue };
                if !matches!(status::read(&folder), None | Some(Status::Running)) {
                    continue;
                }
                let Ok(dir) = Dir::open(dir.path()) else { continue };
                let session = Session { name, dir: folder, sessions: dir };
                sessions.extend(known(at, project, session, &clients, processes));
            }
        }
        Self { sessions, clients }
    }

    /// The client that runs in a pane: by its own word, and by descent where that can be told. Where it cannot, the same
    /// pane id may exist on several servers, and nothing is known unless there is only one.
    #[must_use]
    pub fn client_in(
        &self,
        pane: &Pane,
        floor: &Floor,
        processes: &impl Processes,
    ) -> Option<&ClientSession> {
        self.clients.iter().find(|client| {
            pane_of_client(client) == Some(pane.id.as_str())
                && processes.presence(&client.process()) == Process::Alive
                && processes.descends(client.pid, pane.pid).unwrap_or(floor.servers.len() == 1)
        })
    }
}

fn known(
    at: usize,
    project: &Project,
    session: Session,
    clients: &[ClientSession],
    processes: &impl Processes,
) -> Option<Known> {
    let file = session_file::read(&session.dir);
    let has_beat = session.dir.has(layout::HEARTBEAT);
    let beat = heartbeat::last(&session.dir);
    let other = |file: &SessionFile| file.project.as_deref().is_some_and(|path| project.root != *path);
    if file.as_ref().is_some_and(other) {
        // A state folder shared by several projects: it is that one's.
        return None;
    }
    let id = file.as_ref().map(|file| file.session_id.clone()).filter(|id| !id.is_empty());
    let id = id.unwrap_or_else(|| session.name.clone());
    let recorded = file.as_ref().and_then(|file| file.process.as_ref());
    let process =
        client_sessions::process_of(clients, recorded, Some(&id), |process| processes.presence(process));
    let mine = || clients.iter().filter(|client| client.session_id == id);
    let client = mine().find(|client| processes.presence(&client.process()) == Process::Alive).cloned();
    // Who never beat counts from its start; a beat that is no number counts as nothing.
    let started = file.as_ref().map(|file| file.started_s).filter(|started| *started > 0);
    let started = started.or_else(|| mine().filter_map(|client| client.started_at).max().map(|ms| ms / 1000));
    let last_beat_s = if has_beat { beat } else { started };
    if !has_beat && file.is_none() && client.is_none() {
        // Another program's folder.
        return None;
    }
    let file = file.unwrap_or_default();
    let socket = file.tmux.as_ref().and_then(|tmux| tmux.socket.as_deref());
    let server = socket.map(|socket| Server::at(socket.into()));
    Some(Known { id, session, project: at, file, server, client, process, beat_s: beat, last_beat_s })
}

impl Known {
    /// Its signs for the table of the living.
    #[must_use]
    pub fn signs(&self, floor: &Floor, now: Now) -> Signs {
        Signs {
            heartbeat_age_s: self.last_beat_s.map(|last| now.seconds().saturating_sub(last)),
            process: self.process,
            terminal: self.terminal(floor),
            mark: status::read(&self.session.dir).and_then(Status::mark),
        }
    }

    /// The pane it says it is in: the client's own word first.
    #[must_use]
    pub fn recorded_pane(&self) -> Option<&str> {
        let own = self.client.as_ref().and_then(pane_of_client);
        own.or_else(|| self.file.tmux.as_ref()?.pane.as_deref())
    }

    fn terminal(&self, floor: &Floor) -> Terminal {
        let Some(pane) = self.recorded_pane() else { return Terminal::NotRecorded };
        match &self.server {
            Some(server) => floor.has(server, pane),
            // The client tells the pane and not the server: on any of them. It may be on one that nobody knows, so that
            // its absence is never sure.
            None if floor.servers.keys().any(|server| floor.has(server, pane) == Terminal::Present) => {
                Terminal::Present
            }
            None => Terminal::Error,
        }
    }

    /// The pane it is in, if there is exactly one it can be.
    #[must_use]
    pub fn target<'f>(&self, floor: &'f Floor, processes: &impl Processes) -> Option<(Target, &'f Pane)> {
        let id = self.recorded_pane()?;
        let mut found = floor.panes().filter(|(server, pane)| {
            pane.id == id
                && self.server.as_ref().is_none_or(|recorded| recorded == *server)
                && self
                    .client
                    .as_ref()
                    .is_none_or(|client| processes.descends(client.pid, pane.pid) != Some(false))
        });
        let (server, pane) = found.next()?;
        if found.next().is_some() {
            return None;
        }
        Some((Target { server: server.clone(), pane: id.to_owned() }, pane))
    }
}

/// The pane's id in `<session>:@<window>.%<pane>`.
fn pane_of_client(client: &ClientSession) -> Option<&str> {
    let target = client.tmux_target.as_deref()?;
    let pane = &target[target.rfind('%')?..];
    screens::tmux_target::is_pane_id(pane).then_some(pane)
}

/// All servers and their panes, as one tick sees them.
#[derive(Debug, Default)]
pub struct Floor {
    servers: BTreeMap<Server, Result<Vec<Pane>, TerminalError>>,
}

impl Floor {
    /// Asks every server once: the one that is found by itself, and those that sessions recorded.
    pub fn read(own: Option<&Server>, roster: &Roster, terminals: &mut impl Terminals) -> Self {
        let mut servers = BTreeMap::new();
        let recorded = roster.sessions.iter().filter_map(|known| known.server.clone());
        for server in own.cloned().into_iter().chain(recorded) {
            servers.entry(server).or_insert_with_key(|server| terminals.panes(server));
        }
        Self { servers }
    }

    /// All panes that are known.
    pub fn panes(&self) -> impl Iterator<Item = (&Server, &Pane)> {
        self.servers.iter().flat_map(|(server, panes)| panes.iter().flatten().map(move |pane| (server, pane)))
    }

    /// One pane, if its server told of it.
    #[must_use]
    pub fn pane(&self, target: &Target) -> Option<&Pane> {
        self.servers.get(&target.server)?.as_ref().ok()?.iter().find(|pane| pane.id == target.pane)
    }

    /// What can be said of a recorded pane.
    #[must_use]
    pub fn has(&self, server: &Server, pane: &str) -> Terminal {
        match self.servers.get(server) {
            Some(Ok(panes)) if panes.iter().any(|one| one.id == pane) => Terminal::Present,
            Some(Ok(_) | Err(TerminalError::NoServer)) => Terminal::Absent,
            Some(Err(_)) | None => Terminal::Error,
        }
    }

    /// Whether no server runs at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.servers.values().all(|panes| !matches!(panes, Ok(panes) if !panes.is_empty()))
    }

    /// What went wrong with a server, if anything but its absence did.
    pub fn troubles(&self) -> impl Iterator<Item = (&Server, &TerminalError)> {
        self.servers.iter().filter_map(|(server, answer)| match answer {
            Err(error) if *error != TerminalError::NoServer => Some((server, error)),
            _ => None,
        })
    }
}
