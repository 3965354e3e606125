//! The watcher in front of real tmux servers: a small program plays the client in their panes; only the clock and the
//! list of processes are made up.

#![allow(missing_docs, clippy::expect_used, clippy::panic, reason = "everything here is a test")]

use std::{
    cell::RefCell,
    collections::HashMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use end_to_end::wait::{try_wait_for, wait_until};
use rules::liveness::Process;
use session_state::{
    Dir, Now, Project,
    client_sessions::ClientSession,
    env::{self, Env},
    process::ProcessId,
};
use watcher::{
    Settings, Watcher, Which,
    pane::{Pane, Server, Target},
    tmux::Tmux,
    world::{Clock, Ears, Processes, TerminalError, Terminals},
};

const LIMIT: Duration = Duration::from_secs(20);
const BANNER: &str = "You've hit your 5-hour limit · resets 10:20pm (UTC)";
/// 2 March 2026, 23:00 UTC: 40 minutes after the reset.
const LATE_S: i64 = 1_772_492_400;

/// Two looks at a pane without hooks.
const LOOKS: usize = 6;

/// A machine with its own tmux servers.
struct Machine {
    top: tempfile::TempDir,
}

impl Machine {
    fn new() -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "tmux is missing");
            return None;
        }
        let top = tempfile::tempdir().expect("a temporary folder can be made");
        for folder in ["sockets", "project", "watch", "path"] {
            fs::create_dir(top.path().join(folder)).expect("the folder is writable");
        }
        // tmux names a program by the file it was started as.
        let player = env!("CARGO_BIN_EXE_pane-player");
        std::os::unix::fs::symlink(player, top.path().join("path/claude")).expect("the folder is writable");
        let program = top.path().join("path/tmux-here");
        let sockets = top.path().join("sockets");
        let script = format!(
            "#!/bin/sh\nunset TMUX TMUX_PANE\nTMUX_TMPDIR='{}' exec tmux -f /dev/null \"$@\"\n",
            sockets.display()
        );
        fs::write(&program, script).expect("the folder is writable");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        Some(Self { top })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().canonicalize().expect("it exists").join(name)
    }

    fn program(&self) -> PathBuf {
        self.path("path/tmux-here")
    }

    fn tmux(&self, server: &str, arguments: &[&str]) -> Output {
        Command::new(self.program()).args(["-L", server]).args(arguments).output().expect("tmux starts")
    }

    /// The socket of a server, as tmux itself names it.
    fn server(&self, server: &str) -> Server {
        let output = self.tmux(server, &["display-message", "-p", "#{socket_path}"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Server { socket: Some(String::from_utf8_lossy(&output.stdout).trim().into()) }
    }

    /// Opens a detached session with a player in it. Returns the player's folder and the pane.
    fn open(&self, server: &str, session: &str, window: &str, screen: &str) -> Played {
        let folder = self.path(&format!("player-{}", fs::read_dir(self.top.path()).expect("ours").count()));
        fs::create_dir(&folder).expect("the folder is writable");
        fs::write(folder.join("screen"), screen).expect("the folder is writable");
        let player = self.path("path/claude").display().to_string();
        let project = self.path("project").display().to_string();
        let folder_name = folder.display().to_string();
        let output = self.tmux(
            server,
            &[
                "new-session",
                "-d",
                "-P",
                "-F",
                "#{pane_id}",
                "-x",
                "100",
                "-y",
                "40",
                "-c",
                &project,
                "-s",
                session,
                "-n",
                window,
                "--",
                &player,
                &folder_name,
            ],
        );
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let pane = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let played =
            Played { folder, target: Target { server: self.server(server), pane }, name: server.to_owned() };
        wait_until(LIMIT, "the screen of the player", || {
            let shown = self.tmux(server, &["capture-pane", "-p", "-t", &played.target.pane]);
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            let last = screen.replace("{draft}", "");
            let last =
                last.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
            shown.contains(last.trim_start_matches("\u{1b}[39m"))
        });
        played
    }

    fn desk(&self, players: &[&Played]) -> Desk {
        let scene = Scene {
            now_ms: LATE_S * 1_000,
            players: players.iter().map(|played| (*played).clone()).collect(),
            sent: Vec::new(),
            before_look: None,
            looks: 0,
            heard: Vec::new(),
        };
        let clients = players.iter().enumerate().map(|(at, played)| ClientSession {
            pid: 1_000_000 + u32::try_from(at).expect("few"),
            session_id: format!("session-{at}"),
            status: Some("idle".into()),
            version: Some("2.1.332".into()),
            cwd: self.path("project").display().to_string(),
            tmux_target: Some(format!("x:@0.{}", played.target.pane)),
            ..ClientSession::default()
        });
        Desk {
            clients: clients.collect(),
            tmux: Tmux::at(self.program()),
            own: players.first().map(|played| played.target.server.clone()),
            scene: Rc::new(RefCell::new(scene)),
        }
    }

    fn watcher(&self, desk: &Desk, settings: Settings) -> Watcher<Desk> {
        self.watcher_of(desk, settings, "project")
    }

    fn watcher_of(&self, desk: &Desk, settings: Settings, root: &str) -> Watcher<Desk> {
        let root = self.path(root);
        let which = Which::Given(vec![Project { root: root.clone(), state: root }]);
        let home = self.path("");
        let variables = Env::of(&[(env::HOME, home.as_os_str()), (env::TZ, "UTC".as_ref())]);
        let dir = Dir::open(&self.path("watch")).expect("it exists");
        Watcher::new(desk.clone(), variables, settings, which, Duration::from_secs(60), Some(dir))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let Ok(servers) = fs::read_dir(self.path("sockets").join(format!("tmux-{}", user_id()))) else {
            return;
        };
        for server in servers.flatten() {
            let _ = Command::new(self.program()).arg("-S").arg(server.path()).arg("kill-server").output();
        }
    }
}

fn user_id() -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").map(|meta| meta.uid()).unwrap_or_default()
}

/// A player in its pane.
#[derive(Clone, Debug)]
struct Played {
    folder: PathBuf,
    target: Target,
    name: String,
}

impl Played {
    fn prompts(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("prompts")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn handled(&self) -> usize {
        let text = fs::read_to_string(self.folder.join("handled")).unwrap_or_default();
        text.parse().unwrap_or_default()
    }
}

type Happening = Box<dyn FnOnce()>;

struct Scene {
    now_ms: i64,
    players: Vec<Played>,
    /// Bytes and their pane.
    sent: Vec<(Target, usize)>,
    before_look: Option<(usize, Happening)>,
    looks: usize,
    heard: Vec<String>,
}

/// The world: a clock set by hand, real terminals.
#[derive(Clone)]
struct Desk {
    clients: Vec<ClientSession>,
    tmux: Tmux,
    own: Option<Server>,
    scene: Rc<RefCell<Scene>>,
}

impl Clock for Desk {
    fn now(&self) -> Now {
        Now(self.scene.borrow().now_ms)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.scene.borrow().now_ms.unsigned_abs())
    }

    fn pause(&mut self, time: Duration) -> bool {
        self.scene.borrow_mut().now_ms += i64::try_from(time.as_millis()).expect("a short pause");
        let scene = self.scene.borrow();
        // Long enough for what was sent to be handled and drawn.
        for played in &scene.players {
            let sent: usize = scene
                .sent
                .iter()
                .filter(|(target, _)| *target == played.target)
                .map(|(_, count)| count)
                .sum();
            try_wait_for(Duration::from_secs(3), || (played.handled() >= sent).then_some(()));
        }
        thread::sleep(Duration::from_millis(50));
        true
    }
}

impl Terminals for Desk {
    fn own_server(&mut self) -> Result<Server, TerminalError> {
        self.own.clone().ok_or(TerminalError::NoServer)
    }

    fn panes(&mut self, server: &Server) -> Result<Vec<Pane>, TerminalError> {
        self.tmux.panes(server)
    }

    fn screens(&mut self, server: &Server, panes: &[&str]) -> Vec<Option<String>> {
        let due = {
            let mut scene = self.scene.borrow_mut();
            scene.looks += 1;
            let looks = scene.looks;
            scene.before_look.take_if(|(nth, _)| *nth == looks)
        };
        if let Some((_, what)) = due {
            what();
        }
        self.tmux.screens(server, panes)
    }

    fn folders(&mut self, server: &Server) -> HashMap<String, PathBuf> {
        self.tmux.folders(server)
    }

    fn type_text(&mut self, target: &Target, text: &str) -> Result<(), TerminalError> {
        self.scene.borrow_mut().sent.push((target.clone(), text.len()));
        self.tmux.type_text(target, text)
    }

    fn press_enter(&mut self, target: &Target) -> Result<(), TerminalError> {
        self.scene.borrow_mut().sent.push((target.clone(), 1));
        self.tmux.press_enter(target)
    }
}

impl Processes for Desk {
    fn presence(&self, _: &ProcessId) -> Process {
        Process::Alive
    }

    fn clients(&self) -> Vec<ClientSession> {
        self.clients.clone()
    }

    fn descends(&self, pid: u32, ancestor: u32) -> Option<bool> {
        // A client is the program of its pane.
        let scene = self.scene.borrow();
        let played = scene.players.get(usize::try_from(pid.checked_sub(1_000_000)?).ok()?)?;
        let panes = self.tmux.clone().panes(&played.target.server).ok()?;
        Some(panes.iter().any(|pane| pane.id == played.target.pane && pane.pid == ancestor))
    }
}

impl Ears for Desk {
    fn hear(&mut self, act: &serde_json::Value) {
        self.scene.borrow_mut().heard.push(act["result"].as_str().unwrap_or_default().to_owned());
    }
}

fn screen(bottom: &str, footer: &str) -> String {
    format!(
        "\n ▐▛███▛█   Claude Code v2.1.332\n▝▜██████▀  Sonnet 5.5 · Claude API\n\n❯ go on with the import\n\n● I will load the \
         rest.\n\n  Ran 1 shell command\n  ⎿\u{a0} {BANNER}\n\n{}\n{bottom}\n{footer}\n",
        "\n".repeat(12)
    )
}

/// A limited client with its input line.
fn limited() -> String {
    let rule = "─".repeat(100);
    screen(&format!("{rule}\n❯\u{a0}{{draft}}\n{rule}"), "  ⏵⏵ bypass permissions on (shift+tab to cycle)")
}

fn working() -> String {
    let rule = "─".repeat(100);
    format!(
        "❯ continue\n\n✻ Baking… (3s)\n\n{rule}\n❯\u{a0}\n{rule}\n  ⏵⏵ bypass permissions on · esc to interrupt\n"
    )
}

fn menu() -> String {
    let rows = "  ❯ 1. Stop and wait for limit to reset\n    2. Wait here, then continue automatically at 10:20pm\n    \
                3. Upgrade your plan";
    screen(
        &format!("{}\n  What do you want to do?\n\n{rows}\n", "▔".repeat(100)),
        "  Enter to confirm · Esc to cancel",
    )
}

fn ticks(watcher: &mut Watcher<Desk>, count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..count {
        lines.extend(watcher.tick().lines);
        watcher.world.scene.borrow_mut().now_ms += 60_000;
    }
    lines
}

#[test]
fn a_limited_pane_takes_the_text() {
    let Some(machine) = Machine::new() else { return };
    let played = machine.open("one", "night.shift:2", "build: 3 of 4 % #{x}", &limited());
    fs::write(played.folder.join("after"), working()).expect("the folder is writable");
    let desk = machine.desk(&[&played]);
    let mut watcher = machine.watcher(&desk, Settings::default());
    let told = ticks(&mut watcher, LOOKS);
    assert_eq!(played.prompts(), ["continue"], "{told:?}");
    assert!(told.iter().any(|line| line.contains("resumed: the screen shows work")), "{told:?}");
    let panes = desk.tmux.clone().panes(&played.target.server).expect("the server runs");
    assert_eq!(panes.len(), 1);
    assert_eq!((panes[0].command.as_str(), panes[0].session.as_str()), ("claude", "night_shift_2"));
    assert!(panes[0].window.starts_with("build: 3 of 4 %"), "{:?}", panes[0]);
    assert!(!panes[0].in_front, "nobody is attached");
}

#[test]
fn a_text_arrives_as_it_is_written() {
    let Some(machine) = Machine::new() else { return };
    for text in ["please go on; then stop;", "weiter – bitte", "Enter", "a  b 'c' \"d\" $HOME #{pane_id} %p"]
    {
        let played = machine.open("words", &format!("s{}", text.len()), "w", &limited());
        fs::write(played.folder.join("after"), working()).expect("the folder is writable");
        let desk = machine.desk(&[&played]);
        let settings = Settings { resume_text: text.into(), ..Settings::default() };
        let _ = fs::remove_file(machine.path("watch/panes.json"));
        let told = ticks(&mut machine.watcher(&desk, settings), LOOKS);
        assert_eq!(played.prompts(), [text], "{told:?}");
    }
}

#[test]
fn a_capture_that_changes_between_two_looks_gets_no_key() {
    let Some(machine) = Machine::new() else { return };
    for (name, change) in
        [("menu", menu()), ("draft", limited().replace("{draft}", "wait")), ("work", working())]
    {
        let played = machine.open(name, name, "w", &limited());
        let desk = machine.desk(&[&played]);
        let _ = fs::remove_file(machine.path("watch/panes.json"));
        let mut watcher = machine.watcher(&desk, Settings::default());
        // Two looks: the banner is seen, and seen again.
        ticks(&mut watcher, 1);
        let (folder, tmux, target) = (played.folder.clone(), desk.tmux.clone(), played.target.clone());
        let next = desk.scene.borrow().looks + 2;
        desk.scene.borrow_mut().before_look = Some((
            next,
            Box::new(move || {
                let before = tmux.clone().screens(&target.server, &[&target.pane]);
                fs::write(folder.join("screen"), change).expect("the folder is writable");
                wait_until(LIMIT, "the other screen", || {
                    tmux.clone().screens(&target.server, &[&target.pane]) != before
                });
            }),
        ));
        let told = ticks(&mut watcher, LOOKS);
        assert_eq!((played.prompts(), played.handled()), (vec![], 0), "{name} {told:?}");
        assert!(told.iter().any(|line| line.contains("changed between two looks")), "{name} {told:?}");
    }
}

#[test]
fn a_pane_that_is_killed_or_scrolled_between_look_and_key_gets_none() {
    let Some(machine) = Machine::new() else { return };
    for command in ["kill-pane", "copy-mode", "respawn-pane"] {
        // Another pane keeps the server alive.
        let other = machine.open(command, "other", "w", "idle\n");
        let played = machine.open(command, "main", "w", &limited());
        let desk = machine.desk(&[&played]);
        let _ = fs::remove_file(machine.path("watch/panes.json"));
        let mut watcher = machine.watcher(&desk, Settings::default());
        ticks(&mut watcher, 1);
        let (program, name, pane) = (machine.program(), played.name.clone(), played.target.pane.clone());
        let next = desk.scene.borrow().looks + 2;
        desk.scene.borrow_mut().before_look = Some((
            next,
            Box::new(move || {
                let mut tmux = Command::new(program);
                tmux.args(["-L", &name, command, "-t", &pane]);
                if command == "respawn-pane" {
                    tmux.args(["-k", "cat"]);
                }
                assert!(tmux.status().expect("tmux starts").success());
            }),
        ));
        let told = ticks(&mut watcher, 2);
        assert!(played.prompts().is_empty() && other.prompts().is_empty(), "{command} {told:?}");
        assert!(told.iter().any(|line| line.contains("not sent")), "{command} {told:?}");
    }
}

#[test]
fn the_same_pane_id_on_two_servers_is_two_panes() {
    let Some(machine) = Machine::new() else { return };
    let limited_one = machine.open("left", "main", "w", &limited());
    let other = machine.open("right", "main", "w", &working());
    assert_eq!(limited_one.target.pane, other.target.pane);
    fs::write(limited_one.folder.join("after"), working()).expect("the folder is writable");
    let desk = machine.desk(&[&limited_one, &other]);
    let told = ticks(&mut machine.watcher(&desk, Settings::default()), LOOKS);
    assert_eq!(limited_one.prompts(), ["continue"], "{told:?}");
    assert_eq!(other.handled(), 0);
}

#[test]
fn a_menu_is_answered_only_if_allowed_and_on_its_first_row() {
    let Some(machine) = Machine::new() else { return };
    for (name, allowed, row, wanted) in
        [("off", false, menu(), 0), ("on", true, menu(), 1), ("other", true, moved(&menu()), 0)]
    {
        let played = machine.open(name, "main", "w", &row);
        fs::write(played.folder.join("after"), working()).expect("the folder is writable");
        let mut desk = machine.desk(&[&played]);
        desk.clients[0].status = Some("waiting".into());
        desk.clients[0].waiting_for = Some("dialog open".into());
        let _ = fs::remove_file(machine.path("watch/panes.json"));
        let settings = Settings { menu: allowed, ..Settings::default() };
        let told = ticks(&mut machine.watcher(&desk, settings), LOOKS);
        assert_eq!(played.prompts(), vec![String::new(); wanted], "{told:?}");
        assert_eq!(played.handled(), wanted);
    }
}

/// The marker one row further down.
fn moved(menu: &str) -> String {
    menu.replace("❯ 1.", "  1.").replace("    2. Wait", "  ❯ 2. Wait")
}

#[test]
fn a_client_that_ended_leaves_a_shell_and_gets_nothing() {
    let Some(machine) = Machine::new() else { return };
    // The last words of an older client stay above the prompt.
    let played = machine.open("shell", "main", "w", &limited());
    let desk = machine.desk(&[&played]);
    let mut watcher = machine.watcher(&desk, Settings::default());
    ticks(&mut watcher, 1);
    let pane = played.target.pane.as_str();
    let received = machine.path("typed");
    let line = format!("cat {} -; exec cat >{}", played.folder.join("screen").display(), received.display());
    assert!(
        machine.tmux("shell", &["respawn-pane", "-k", "-t", pane, "--", "sh", "-c", &line]).status.success()
    );
    let told = ticks(&mut watcher, LOOKS);
    assert!(fs::read(&received).unwrap_or_default().is_empty(), "{told:?}");
    assert!(played.prompts().is_empty());
}

#[test]
fn a_client_without_a_file_is_watched_in_the_folder_of_its_pane() {
    let Some(machine) = Machine::new() else { return };
    let played = machine.open("old", "main", "w", &limited());
    fs::write(played.folder.join("after"), working()).expect("the folder is writable");
    for (root, wanted) in [("watch", 0), ("project", 1)] {
        let mut desk = machine.desk(&[&played]);
        desk.clients.clear();
        let settings = Settings { trust_screen: true, ..Settings::default() };
        let mut watcher = machine.watcher_of(&desk, settings, root);
        let told = ticks(&mut watcher, LOOKS);
        assert_eq!(played.prompts().len(), wanted, "{root} {told:?}");
    }
}

#[test]
fn what_tmux_cannot_say_is_unknown() {
    let Some(machine) = Machine::new() else { return };
    let mut tmux = Tmux::at(machine.program());
    assert_eq!(tmux.own_server(), Err(TerminalError::NoServer));
    let nowhere = Server { socket: Some(machine.path("sockets/none")) };
    assert_eq!(tmux.panes(&nowhere), Err(TerminalError::NoServer));
    let played = machine.open("default", "main", "w", "hello\n");
    assert_eq!(tmux.own_server(), Ok(played.target.server.clone()));
    // A server that ended leaves its socket behind; so does one that was killed.
    machine.tmux("default", &["kill-server"]);
    wait_until(LIMIT, "the end of the server", || {
        tmux.panes(&played.target.server) == Err(TerminalError::NoServer)
    });
    // One that does not answer.
    let hanging = machine.path("path/hanging");
    fs::write(&hanging, "#!/bin/sh\nexec sleep 60\n").expect("the folder is writable");
    fs::set_permissions(&hanging, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut tmux = Tmux::at(hanging);
    let begun = Instant::now();
    assert!(matches!(tmux.panes(&nowhere), Err(TerminalError::Failed(_))));
    let targets: Vec<String> = (0..64).map(|number| format!("%{number}")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    assert!(tmux.screens(&nowhere, &targets).iter().all(Option::is_none));
    assert!(begun.elapsed() < Duration::from_secs(30), "three questions of two seconds each");
    let mut tmux = Tmux::at(Path::new("/no/such/tmux").into());
    assert_eq!(tmux.own_server(), Err(TerminalError::NotInstalled));
}
