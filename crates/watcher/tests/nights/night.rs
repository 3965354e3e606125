//! A night: a project with real files, a stage, and a watcher that looks at both.

use std::cell::{RefCell, RefMut};
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use session_state::env::{self, Env};
use session_state::process::ProcessId;
use session_state::session_file::{SessionFile, Tmux};
use session_state::{Dir, Now, Project, Session, heartbeat, layout};
use watcher::{Settings, Ticked, Watcher, Which};

use crate::client::{Client, Hooks};
use crate::stage::{Inside, OWN, Place, Stage, World, socket};

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Everything of one test; removed when dropped.
pub(crate) struct Night {
    pub(crate) top: tempfile::TempDir,
    pub(crate) project: Project,
    pub(crate) settings: Settings,
    pub(crate) is_dry: bool,
    stage: Rc<RefCell<Stage>>,
    watcher: Option<Watcher<World>>,
}

impl Night {
    pub(crate) fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("project");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(top.path().join("watch")).unwrap();
        let project = Project { state: root.clone(), root };
        let stage = Rc::new(RefCell::new(Stage::new()));
        Self { top, project, settings: Settings::default(), is_dry: false, stage, watcher: None }
    }

    pub(crate) fn stage(&self) -> RefMut<'_, Stage> {
        self.stage.borrow_mut()
    }

    /// The folder the watcher remembers in.
    pub(crate) fn folder(&self) -> PathBuf {
        self.top.path().join("watch")
    }

    /// A pane with a client whose hooks write into the project.
    pub(crate) fn hooked(&self, id: &str) {
        self.bare(id);
        let session = session_of(id);
        let transcript = self.top.path().join(format!("{session}.jsonl"));
        let hooks = Hooks { project: self.project.clone(), transcript: transcript.clone() };
        let mut stage = self.stage();
        let now = stage.now();
        let client = stage.client(id);
        let file = SessionFile {
            v: 1,
            session_id: session.clone(),
            process: Some(ProcessId { pid: client.pid, start: Some(client.start), ..ProcessId::default() }),
            tmux: Some(Tmux { socket: Some(OWN.into()), session: None, pane: Some(id.into()) }),
            transcript: Some(transcript.display().to_string()),
            project: Some(self.project.root.display().to_string()),
            client_version: Some(client.version.clone()),
            started_s: now.seconds(),
            updated_s: now.seconds(),
            ..SessionFile::default()
        };
        client.hooks = Some(hooks);
        drop(stage);
        self.write_session(&session, &file);
        let made = Session::make(&self.project, &session).unwrap();
        heartbeat::beat(&made.dir, now).unwrap();
    }

    pub(crate) fn write_session(&self, id: &str, file: &SessionFile) {
        let session = Session::make(&self.project, id).unwrap();
        session.dir.replace(layout::SESSION, &serde_json::to_vec(file).unwrap(), false).unwrap();
    }

    /// A pane with a client that has no hooks.
    pub(crate) fn bare(&self, id: &str) {
        let mut stage = self.stage();
        let (pid, _) = stage.process();
        let (client, start) = stage.process();
        stage.places.push(Place {
            server: socket(OWN),
            id: id.into(),
            pid,
            in_front: false,
            in_mode: false,
            dead: false,
            folder: self.project.root.clone(),
            inside: Inside::Client(Client::new(client, start, &session_of(id))),
        });
    }

    pub(crate) fn session_folder(&self, id: &str) -> PathBuf {
        self.project.state.join("sessions").join(id)
    }

    pub(crate) fn watcher(&mut self) -> &mut Watcher<World> {
        if self.watcher.is_none() {
            let env = Env::of(&[(env::HOME, self.top.path().as_os_str()), (env::TZ, OsStr::new("UTC"))]);
            let which = Which::Given(vec![self.project.clone()]);
            let dir = Dir::open(&self.folder()).ok();
            let world = World(Rc::clone(&self.stage));
            let watcher = Watcher::new(world, env, self.settings.clone(), which, MINUTE, dir);
            self.watcher = Some(if self.is_dry { watcher.dry() } else { watcher });
        }
        self.watcher.as_mut().unwrap()
    }

    /// Another watcher takes over.
    pub(crate) fn restart(&mut self) {
        self.watcher = None;
    }

    pub(crate) fn tick(&mut self) -> Ticked {
        self.watcher().tick()
    }

    /// Ticks once a minute. Returns what was told.
    pub(crate) fn minutes(&mut self, count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for _ in 0..count {
            lines.extend(self.tick().lines);
            self.stage().pass(60_000);
        }
        lines
    }

    /// Ticks until the clock shows this time of day, in minutes.
    pub(crate) fn until(&mut self, hour: i64, minute: i64) -> Vec<String> {
        let today = crate::stage::EVENING_S / 86_400 * 86_400;
        let mut wanted = today + hour * 3_600 + minute * 60;
        if wanted < self.now().seconds() {
            wanted += 86_400;
        }
        let minutes = (wanted - self.now().seconds() + 59) / 60;
        self.minutes(usize::try_from(minutes).unwrap())
    }

    pub(crate) fn now(&self) -> Now {
        self.stage().now()
    }

    /// The keys so far.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.stage().sent.clone()
    }

    /// The keys so far without their times.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.sent().iter().map(|sent| sent[9..].to_owned()).collect()
    }
}

/// The session in a pane of that number.
pub(crate) fn session_of(id: &str) -> String {
    format!("session-{}", id.trim_start_matches('%'))
}
