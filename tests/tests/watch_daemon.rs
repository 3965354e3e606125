//! `recovery watch` as a process: one at a time, asked to end, killed, in the background.

#![allow(missing_docs, clippy::expect_used, reason = "everything here is a test")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use end_to_end::{
    process::{self, Finished},
    wait::{wait_for, wait_until},
    wiring::program_folder,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use session_state::{Now, Project, Session, heartbeat, process::ProcessId};

const LIMIT: Duration = Duration::from_secs(30);

/// A user with a home of his own, and no tmux server but his own.
struct User {
    top: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        let top = tempfile::tempdir().expect("a temporary folder can be made");
        for folder in ["home", "sockets", "project"] {
            fs::create_dir(top.path().join(folder)).expect("the folder is writable");
        }
        Self { top }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().canonicalize().expect("it exists").join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program_folder().join("recovery"));
        command
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("TZ", "UTC")])
            .env("HOME", self.path("home"))
            .env("TMUX_TMPDIR", self.path("sockets"))
            .current_dir(self.path("home"))
            .arg("watch")
            .args(arguments);
        command
    }

    fn watch(&self, arguments: &[&str]) -> Finished {
        process::run(&mut self.command(arguments), LIMIT).expect("`recovery` starts")
    }

    fn said(&self, arguments: &[&str]) -> String {
        let finished = self.watch(arguments);
        assert!(finished.is_success(), "{arguments:?}: {}{}", finished.stdout, finished.stderr);
        finished.stdout
    }

    /// Starts it in the foreground, and waits until it watches.
    fn start(&self) -> Child {
        let child = self
            .command(&["--interval", "5", "--project", &self.path("project").display().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`recovery` starts");
        let pid = child.id();
        wait_until(LIMIT, "the watcher to begin", || self.watcher()["process"]["pid"] == json!(pid));
        wait_until(LIMIT, "its first look", || self.folder().join("status.json").exists());
        child
    }

    fn watcher(&self) -> Value {
        let status: Value = serde_json::from_str(&self.said(&["status", "--json"])).expect("one JSON object");
        status["watcher"].clone()
    }

    fn folder(&self) -> PathBuf {
        self.path("home/.local/state/recovery/watch")
    }

    fn configure(&self, text: &str) {
        let folder = self.path("home/.config/recovery");
        fs::create_dir_all(&folder).expect("the home is writable");
        fs::write(folder.join("config.json"), text).expect("the home is writable");
    }

    /// A session whose process was killed six minutes ago.
    fn lost(&self, id: &str) -> Session {
        let root = self.path("project");
        let project = Project { root: root.clone(), state: root.clone() };
        let session = Session::make(&project, id).expect("it can be made");
        heartbeat::beat(&session.dir, Now(Now::read().0 - 360_000)).expect("it can beat");
        let mut child = Command::new("true").spawn().expect("it starts");
        let process = ProcessId::of(child.id());
        child.wait().expect("it ends");
        let transcript = self.path("home").join(format!("{id}.jsonl"));
        fs::write(
            &transcript,
            json!({
                "type": "user", "uuid": "u", "timestamp": "2026-03-02T19:50:00Z",
                "message": { "role": "user", "content": "Sort the drawings" },
            })
            .to_string()
                + "\n",
        )
        .expect("it can be written");
        let file = json!({ "v": 1, "session_id": id, "process": process, "transcript": transcript, "project": root });
        session.dir.replace("session.json", file.to_string().as_bytes(), false).expect("it can be written");
        session
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("it is ours");
}

/// All files below a folder, with their sizes.
fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("ours").flatten() {
            let meta = entry.metadata().expect("ours");
            if meta.is_dir() {
                open.push(entry.path());
            }
            found.push((entry.path(), if meta.is_dir() { 0 } else { meta.len() }));
        }
    }
    found.sort();
    found
}

#[test]
fn the_second_names_the_first_and_a_killed_one_is_replaced_at_once() {
    let user = User::new();
    let mut first = user.start();
    let second = user.watch(&["--once"]);
    assert_eq!(second.code(), Some(0), "{}", second.stderr);
    assert!(
        second.stdout.starts_with(&format!("already watching: pid {}, since ", first.id())),
        "{}",
        second.stdout
    );
    let detached = user.said(&["--detach"]);
    assert!(detached.contains(&format!("pid {}", first.id())), "{detached}");
    first.kill().expect("it is ours");
    first.wait().expect("it ends");
    assert_eq!(user.watcher(), Value::Null);
    assert!(user.said(&["status"]).starts_with("nobody watches"));
    let mut next = user.start();
    assert_eq!(user.said(&["stop"]), format!("stopped (pid {})\n", next.id()));
    assert_eq!(process::wait(&mut next, LIMIT).and_then(|status| status.code()), Some(0));
    assert_eq!(user.said(&["stop"]), "nobody watches\n");
}

#[test]
fn of_many_that_start_at_once_one_watches() {
    let user = User::new();
    let mut all: Vec<Child> = (0..8)
        .map(|_| {
            let mut command = user.command(&["--interval", "5"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("`recovery` starts")
        })
        .collect();
    let running = |all: &mut Vec<Child>| -> Vec<u32> {
        let still = |child: &mut Child| matches!(child.try_wait(), Ok(None)).then(|| child.id());
        all.iter_mut().filter_map(still).collect()
    };
    wait_until(LIMIT, "seven of eight to end", || running(&mut all).len() == 1);
    let left = running(&mut all);
    wait_until(LIMIT, "it to say so", || user.watcher()["process"]["pid"] == json!(left[0]));
    user.said(&["stop"]);
    for child in &mut all {
        assert_eq!(process::wait(child, LIMIT).and_then(|status| status.code()), Some(0));
    }
}

#[test]
fn signals_end_it_cleanly() {
    for kind in [Signal::TERM, Signal::HUP, Signal::INT] {
        let user = User::new();
        let mut child = user.start();
        signal(&child, kind);
        let status = process::wait(&mut child, LIMIT).expect("it ends");
        assert_eq!(status.code(), Some(0), "{kind:?} {status}");
    }
}

#[test]
fn in_the_background_it_outlives_its_starter() {
    let user = User::new();
    let said = user.said(&["--detach", "--interval", "5"]);
    let pid = user.watcher()["process"]["pid"].as_u64().expect("somebody watches");
    assert!(said.contains(&format!("watching in the background (pid {pid})")), "{said}");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    assert_eq!(fields[3], pid.to_string(), "its session is its own");
    assert_eq!(user.said(&["stop"]), format!("stopped (pid {pid})\n"));
}

#[test]
fn one_look_saves_the_dead_and_tells_the_users_program() {
    let user = User::new();
    let hearing = user.path("home/hear");
    fs::write(&hearing, "#!/bin/sh\ncat >\"$HOME/heard.tmp\"; mv \"$HOME/heard.tmp\" \"$HOME/heard\"\n")
        .expect("the home is writable");
    fs::set_permissions(&hearing, fs::Permissions::from_mode(0o755)).expect("it is ours");
    user.configure(&json!({ "watch": { "notify_command": [hearing] } }).to_string());
    let session = user.lost("s-1");
    let project = user.path("project").display().to_string();
    let mine = |user: &User| [files(&user.path("home")), files(&user.path("project"))];
    let before = mine(&user);
    let said = user.said(&["--once", "--dry-run", "--project", &project]);
    assert!(said.contains("would be saved"), "{said}");
    assert!(said.contains("no tmux server is running"), "{said}");
    assert_eq!(mine(&user), before, "a dry run writes nothing");

    let said = user.said(&["--once", "--project", &project]);
    assert!(said.contains("saved to handoffs/scavenged.md") && said.contains("1 dead"), "{said}");
    let hand_off = session.dir.path().join("handoffs/scavenged.md");
    assert!(fs::read_to_string(hand_off).expect("it is there").contains("Sort the drawings"));
    let heard = wait_for(LIMIT, "the user's program", || fs::read_to_string(user.path("home/heard")).ok());
    let heard: Value = serde_json::from_str(&heard).expect("one JSON object");
    assert_eq!(
        (&heard["v"], &heard["session"], &heard["action"]),
        (&json!(1), &json!("s-1"), &json!("scavenge"))
    );
    assert_eq!(heard["project"], json!(project));
    let log = user.said(&["log"]);
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("s-1") && log.contains("scavenge"), "{log}");
    assert!(user.said(&["--once", "--project", &project]).contains("nothing was due"));
    assert!(user.said(&["status"]).contains("last look: "));
}

#[test]
fn a_program_that_hangs_or_does_not_start_holds_nothing_up() {
    for program in ["/no/such/program", "sleep"] {
        let user = User::new();
        user.configure(&json!({ "watch": { "notify_command": [program, "20"] } }).to_string());
        user.lost("s-1");
        let project = user.path("project").display().to_string();
        let said = user.said(&["--once", "--project", &project]);
        assert!(said.contains("saved to"), "{program}: {said}");
    }
}

#[test]
fn a_broken_configuration_is_said_and_nothing_is_watched() {
    for (text, wanted) in [
        ("{\"watch\": {\"menu\": ", "config.json"),
        ("{\"watch\": {\"resume_text\": \"1\"}}", "resume_text"),
        ("{\"watch\": {\"interval\": \"x\", \"menu\": 3}}", "menu"),
    ] {
        let user = User::new();
        user.configure(text);
        user.lost("s-1");
        let finished = user.watch(&["--once"]);
        assert_ne!(finished.code(), Some(0), "{text}");
        assert!(finished.stderr.contains("config.json"), "{text}: {}", finished.stderr);
        if wanted != "menu" {
            assert!(finished.stderr.contains(wanted), "{text}: {}", finished.stderr);
        }
        assert!(finished.stdout.is_empty());
    }
}

#[test]
fn a_damaged_pid_file_and_a_reused_number_are_no_watcher() {
    let user = User::new();
    fs::create_dir_all(user.folder()).expect("the home is writable");
    for text in ["", "{", "nonsense\n", "{\"process\":{\"pid\":1},\"since_s\":1,\"interval_s\":60}\n"] {
        fs::write(user.folder().join("watch.pid"), text).expect("the home is writable");
        assert_eq!(user.watcher(), Value::Null, "{text}");
        assert_eq!(user.said(&["stop"]), "nobody watches\n");
        assert!(user.said(&["--once"]).contains("nothing was due"), "{text}");
    }
}

#[test]
fn the_service_is_written_and_removed() {
    let user = User::new();
    let said = user.said(&["service", "install", "--no-start"]);
    let unit = user.path("home/.config/systemd/user/recovery-watch.service");
    assert!(said.contains(&format!("wrote {}", unit.display())), "{said}");
    assert!(said.contains("start it with: systemctl --user enable --now recovery-watch.service"), "{said}");
    let text = fs::read_to_string(&unit).expect("it is there");
    assert!(text.contains("/recovery\" watch\n") && text.contains("TMUX_TMPDIR="), "{text}");
    assert!(user.said(&["service", "install", "--no-start"]).contains("is as it should be"));
    // Another one's unit of that name stays.
    fs::write(&unit, "[Service]\nExecStart=/bin/true\n").expect("the home is writable");
    assert_ne!(user.watch(&["service", "install", "--no-start"]).code(), Some(0));
    assert_ne!(user.watch(&["service", "uninstall"]).code(), Some(0));
    assert!(unit.exists());
    fs::remove_file(&unit).expect("ours");
    assert_eq!(user.said(&["service", "uninstall"]), "there is no service\n");
}

#[test]
fn an_idle_watcher_hardly_uses_the_processor() {
    let user = User::new();
    let mut child = user.start();
    let ticks = |pid: u32| -> u64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
    };
    let looks = || -> u64 {
        let status: Value = serde_json::from_str(&user.said(&["status", "--json"])).expect("one JSON object");
        status["last_tick"]["ticks"].as_u64().unwrap_or_default()
    };
    let (before, first) = (ticks(child.id()), looks());
    wait_until(LIMIT, "two more looks", || looks() >= first + 2);
    // 120 ms a minute are 0.2 % of a core at one look a minute; hundredths of a second a look.
    let used = ticks(child.id()) - before;
    assert!(used / 2 <= 12, "{used} hundredths of a second for two looks");
    user.said(&["stop"]);
    process::wait(&mut child, LIMIT).expect("it ends");
}
