//! A world of simulated clients: its clock is set by hand, its panes draw and take keys as the real client does, and
//! every key that is sent is written down.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rules::liveness::Process;
use serde_json::Value;
use session_state::Now;
use session_state::client_sessions::ClientSession;
use session_state::process::ProcessId;
use watcher::pane::{Pane, Server, Target};
use watcher::world::{Clock, Ears, Processes, TerminalError, Terminals};

use crate::client::{Client, Key};

/// 2 March 2026, 20:00 UTC.
pub(crate) const EVENING_S: i64 = 1_772_481_600;
/// The server that is found without being named.
pub(crate) const OWN: &str = "/tmp/tmux-0/default";

type Happening = Box<dyn FnOnce(&mut Stage)>;

/// What is in a pane.
#[derive(Debug)]
pub(crate) enum Inside {
    Client(Client),
    /// A shell or another program: what it was told to run.
    Other {
        command: String,
        screen: String,
        typed: String,
        ran: Vec<String>,
    },
}

/// A pane with something in it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) server: PathBuf,
    pub(crate) id: String,
    pub(crate) pid: u32,
    pub(crate) in_front: bool,
    pub(crate) in_mode: bool,
    pub(crate) dead: bool,
    /// The folder its program works in.
    pub(crate) folder: PathBuf,
    pub(crate) inside: Inside,
}

/// All there is.
pub(crate) struct Stage {
    pub(crate) now_ms: i64,
    pub(crate) monotonic_ms: i64,
    /// What a server answers instead of its panes.
    pub(crate) troubles: BTreeMap<PathBuf, TerminalError>,
    pub(crate) own: Result<PathBuf, TerminalError>,
    pub(crate) places: Vec<Place>,
    /// Process numbers that live, with their starts.
    pub(crate) living: HashMap<u32, u64>,
    /// Process numbers nobody can judge.
    pub(crate) hidden: HashSet<u32>,
    /// The client's files of processes that were killed.
    pub(crate) left_behind: Vec<ClientSession>,
    /// Every key: time of day, pane, what.
    pub(crate) sent: Vec<String>,
    pub(crate) heard: Vec<Value>,
    /// The process is killed when it sends a key.
    pub(crate) dies_at_key: bool,
    /// Somebody asks to stop at this pause from now on.
    pub(crate) stops_in: Option<usize>,
    plans: Vec<(i64, Happening)>,
    /// Before the so-manieth look at screens from now on.
    before_look: Vec<(usize, Happening)>,
    last_pid: u32,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("now_ms", &self.now_ms).finish_non_exhaustive()
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            now_ms: EVENING_S * 1000,
            monotonic_ms: 0,
            troubles: BTreeMap::new(),
            own: Ok(OWN.into()),
            places: Vec::new(),
            living: HashMap::new(),
            hidden: HashSet::new(),
            left_behind: Vec::new(),
            sent: Vec::new(),
            heard: Vec::new(),
            dies_at_key: false,
            stops_in: None,
            plans: Vec::new(),
            before_look: Vec::new(),
            last_pid: 100,
        }
    }

    pub(crate) fn now(&self) -> Now {
        Now(self.now_ms)
    }

    /// `20:00:00`
    pub(crate) fn time_of_day(&self) -> String {
        let s = self.now_ms.div_euclid(1000).rem_euclid(86_400);
        format!("{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60)
    }

    /// A process that lives from now on.
    pub(crate) fn process(&mut self) -> (u32, u64) {
        self.last_pid += 1;
        let start = u64::from(self.last_pid) * 7;
        self.living.insert(self.last_pid, start);
        (self.last_pid, start)
    }

    /// Lets something happen so many seconds from now.
    pub(crate) fn after(&mut self, seconds: i64, what: impl FnOnce(&mut Self) + 'static) {
        self.plans.push((self.now_ms + seconds * 1000, Box::new(what)));
    }

    /// Lets something happen before the `nth` look at screens from now on, 1 being the next.
    pub(crate) fn before_look(&mut self, nth: usize, what: impl FnOnce(&mut Self) + 'static) {
        self.before_look.push((nth, Box::new(what)));
    }

    /// Lets time pass, and what is due in it happen in its order.
    pub(crate) fn pass(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        loop {
            let due = self.plans.iter().enumerate().filter(|(_, plan)| plan.0 <= until);
            let Some(at) = due.min_by_key(|(_, plan)| plan.0).map(|(at, _)| at) else { break };
            let (when, what) = self.plans.remove(at);
            let step = (when - self.now_ms).max(0);
            self.now_ms += step;
            self.monotonic_ms += step;
            what(self);
        }
        let rest = until - self.now_ms;
        self.now_ms += rest;
        self.monotonic_ms += rest;
    }

    /// The machine sleeps: the wall clock goes on, the other does not.
    pub(crate) fn sleep(&mut self, seconds: i64) {
        self.now_ms += seconds * 1000;
        self.pass(0);
    }

    pub(crate) fn place(&mut self, id: &str) -> &mut Place {
        self.places.iter_mut().find(|place| place.id == id).expect("a pane of the test")
    }

    pub(crate) fn client(&mut self, id: &str) -> &mut Client {
        match &mut self.place(id).inside {
            Inside::Client(client) => client,
            other @ Inside::Other { .. } => panic!("{id} holds {other:?}"),
        }
    }

    /// The client of a pane ends without a word; its file stays behind.
    pub(crate) fn kill(&mut self, id: &str) {
        let session = self.client(id).as_session(id);
        self.living.remove(&session.pid);
        self.left_behind.push(session);
        self.place(id).inside = Inside::shell();
    }

    /// The pane is closed.
    pub(crate) fn close(&mut self, id: &str) {
        self.places.retain(|place| place.id != id);
    }

    fn key(&mut self, target: &Target, key: Key<'_>) -> Result<(), TerminalError> {
        assert!(!self.dies_at_key, "killed before the key");
        self.check(&target.server)?;
        let at = self.time_of_day();
        let what = match key {
            Key::Text(text) => format!("{at} {} text {text}", target.pane),
            Key::Enter => format!("{at} {} enter", target.pane),
        };
        self.sent.push(what);
        let socket = target.server.socket.clone().unwrap_or_default();
        let place = self.places.iter_mut().find(|place| place.server == socket && place.id == target.pane);
        let place = place.ok_or_else(|| TerminalError::Failed("can't find pane".into()))?;
        if place.in_mode || place.dead {
            return Ok(());
        }
        match &mut place.inside {
            Inside::Client(client) => {
                if let Some((seconds, then)) = client.take(key) {
                    let id = target.pane.clone();
                    self.after(seconds, move |stage| then(stage, &id));
                    // What a hook writes when a prompt is taken.
                    let now = self.now();
                    self.client(&target.pane).beat(now);
                }
            }
            Inside::Other { typed, ran, .. } => match key {
                Key::Text(text) => typed.push_str(text),
                Key::Enter => ran.push(std::mem::take(typed)),
            },
        }
        Ok(())
    }

    fn check(&self, server: &Server) -> Result<(), TerminalError> {
        let socket = server.socket.clone().unwrap_or_default();
        self.troubles.get(&socket).map_or(Ok(()), |trouble| Err(trouble.clone()))
    }
}

impl Inside {
    /// What stays when the client ended: the shell's prompt below its last words.
    pub(crate) fn shell() -> Self {
        let screen = "Resume this session with:\nclaude --resume 0\ndev@box:~/project$ \n".to_owned();
        Self::Other { command: "bash".into(), screen, typed: String::new(), ran: Vec::new() }
    }
}

/// The stage as the watcher sees it; the test holds it too.
#[derive(Clone, Debug)]
pub(crate) struct World(pub(crate) Rc<RefCell<Stage>>);

impl Clock for World {
    fn now(&self) -> Now {
        self.0.borrow().now()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.borrow().monotonic_ms.unsigned_abs())
    }

    fn pause(&mut self, time: Duration) -> bool {
        let mut stage = self.0.borrow_mut();
        stage.pass(i64::try_from(time.as_millis()).expect("a short pause"));
        match &mut stage.stops_in {
            None => true,
            Some(left) => {
                *left = left.saturating_sub(1);
                *left > 0
            }
        }
    }
}

impl Terminals for World {
    fn own_server(&mut self) -> Result<Server, TerminalError> {
        let stage = self.0.borrow();
        let own = Server { socket: Some(stage.own.clone()?) };
        stage.check(&own).map(|()| own)
    }

    fn panes(&mut self, server: &Server) -> Result<Vec<Pane>, TerminalError> {
        let stage = self.0.borrow();
        stage.check(server)?;
        let socket = server.socket.clone().unwrap_or_default();
        let of_server = stage.places.iter().filter(|place| place.server == socket);
        let panes: Vec<Pane> = of_server
            .map(|place| Pane {
                id: place.id.clone(),
                dead: place.dead,
                in_mode: place.in_mode,
                width: 100,
                height: 40,
                pid: place.pid,
                in_front: place.in_front,
                command: match &place.inside {
                    Inside::Client(_) => "claude".into(),
                    Inside::Other { command, .. } => command.clone(),
                },
                session: "main".into(),
                window: "work".into(),
            })
            .collect();
        if panes.is_empty() { Err(TerminalError::NoServer) } else { Ok(panes) }
    }

    fn screens(&mut self, server: &Server, panes: &[&str]) -> Vec<Option<String>> {
        let mut stage = self.0.borrow_mut();
        let mut due = Vec::new();
        for (left, _) in &mut stage.before_look {
            *left -= 1;
        }
        while let Some(at) = stage.before_look.iter().position(|(left, _)| *left == 0) {
            due.push(stage.before_look.remove(at).1);
        }
        due.into_iter().for_each(|what| what(&mut stage));
        if stage.check(server).is_err() {
            return vec![None; panes.len()];
        }
        let socket = server.socket.clone().unwrap_or_default();
        let screen = |id: &&str| {
            let place = stage.places.iter().find(|place| place.server == socket && place.id == **id)?;
            Some(match &place.inside {
                Inside::Client(client) => client.draw(),
                Inside::Other { screen, typed, .. } => format!("{}{typed}", screen.trim_end_matches('\n')),
            })
        };
        panes.iter().map(screen).collect()
    }

    fn folders(&mut self, server: &Server) -> HashMap<String, PathBuf> {
        let stage = self.0.borrow();
        let socket = server.socket.clone().unwrap_or_default();
        let of_server = stage.places.iter().filter(|place| place.server == socket);
        of_server.map(|place| (place.id.clone(), place.folder.clone())).collect()
    }

    fn type_text(&mut self, target: &Target, text: &str) -> Result<(), TerminalError> {
        self.0.borrow_mut().key(target, Key::Text(text))
    }

    fn press_enter(&mut self, target: &Target) -> Result<(), TerminalError> {
        self.0.borrow_mut().key(target, Key::Enter)
    }
}

impl Processes for World {
    fn presence(&self, process: &ProcessId) -> Process {
        let stage = self.0.borrow();
        if stage.hidden.contains(&process.pid) {
            return Process::Unknown;
        }
        match stage.living.get(&process.pid) {
            Some(start) if process.start.is_none_or(|then| then == *start) => Process::Alive,
            _ => Process::Gone,
        }
    }

    fn clients(&self) -> Vec<ClientSession> {
        let stage = self.0.borrow();
        let mut all = stage.left_behind.clone();
        for place in &stage.places {
            if let Inside::Client(client) = &place.inside
                && client.writes_file
            {
                all.push(client.as_session(&place.id));
            }
        }
        all
    }

    fn descends(&self, pid: u32, ancestor: u32) -> Option<bool> {
        let stage = self.0.borrow();
        let place = stage
            .places
            .iter()
            .find(|place| matches!(&place.inside, Inside::Client(client) if client.pid == pid));
        place.map(|place| place.pid == ancestor)
    }
}

impl Ears for World {
    fn hear(&mut self, act: &Value) {
        self.0.borrow_mut().heard.push(act.clone());
    }
}

/// The socket of a server for a pane.
pub(crate) fn socket(path: &str) -> PathBuf {
    Path::new(path).to_owned()
}
