//! `recovery resume --tmux --yes` in a real tmux server of its own.

#![allow(missing_docs, clippy::expect_used, reason = "everything here is a test")]

use std::{
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use end_to_end::{wait::wait_for, wiring::program_folder};
use serde_json::json;
use session_state::{Now, Project, Session, heartbeat, process::ProcessId};

struct Machine {
    top: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let top = tempfile::tempdir().expect("a temporary folder can be made");
        for folder in ["home", "path", "sockets", "app.v2", "docs"] {
            std::fs::create_dir(top.path().join(folder)).expect("the folder is writable");
        }
        let client = top.path().join("path/claude");
        std::fs::write(&client, "#!/bin/sh\necho \"$PWD $*\" >>\"$HOME/started\"\n")
            .expect("it can be written");
        std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        // A login shell would take its PATH from the system.
        std::fs::write(top.path().join("home/.tmux.conf"), "set -g default-command /bin/sh\n")
            .expect("it can be written");
        Self { top }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.top.path().canonicalize().expect("it exists").join(name)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("path").display());
        command
            .env_clear()
            .envs([("PATH", path.as_str()), ("SHELL", "/bin/sh"), ("LANG", "C.UTF-8"), ("TERM", "xterm")])
            .env("HOME", self.path("home"))
            .env("TMUX_TMPDIR", self.path("sockets"))
            .current_dir(self.path("home"));
        command
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        self.command(Path::new("tmux")).args(arguments).output().expect("tmux starts")
    }

    fn recovery(&self, arguments: &[&str]) -> String {
        let output = self
            .command(&program_folder().join("recovery"))
            .args(arguments)
            .output()
            .expect("recovery starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A session that was killed.
    fn lost(&self, folder: &str, id: &str) {
        let root = self.path(folder);
        let project = Project { root: root.clone(), state: root.clone() };
        let session = Session::make(&project, id).expect("it can be made");
        heartbeat::beat(&session.dir, Now::read()).expect("it can beat");
        let mut child = Command::new("true").spawn().expect("it starts");
        let process = ProcessId::of(child.id());
        child.wait().expect("it ends");
        let transcript = self.path("home").join(format!("{id}.jsonl"));
        std::fs::write(&transcript, "{}\n").expect("it can be written");
        let file = json!({
            "v": 1, "session_id": id, "process": process, "transcript": transcript, "project": root,
            "tmux": { "session": "night.shift", "pane": "%7" },
        });
        std::fs::write(root.join(format!("sessions/{id}/session.json")), file.to_string())
            .expect("it is ours");
        let env = session_state::env::Env::of(&[("HOME", self.path("home").as_os_str())]);
        session_state::registry::note(&env, &project).expect("it can be written down");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Ends the server of these sockets only.
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn every_session_gets_its_window_back_once() {
    let machine = Machine::new();
    machine.lost("app.v2", "aaaa-1");
    machine.lost("docs", "bbbb-2");
    // As the watcher wrote it down.
    std::fs::create_dir_all(machine.path("home/.local/state/recovery/watch")).expect("it can be made");
    let places = json!({ "aaaa-1": { "session": "night_shift", "window": "build: all", "seen_s": 1 } });
    std::fs::write(machine.path("home/.local/state/recovery/watch/places.json"), places.to_string())
        .expect("it can be written");

    assert!(machine.recovery(&["resume", "--all", "--tmux"]).contains("nothing was started"));
    assert!(!machine.tmux(&["list-sessions"]).status.success(), "no server was started");

    let said = machine.recovery(&["resume", "--all", "--tmux", "--yes"]);
    assert!(said.contains("2 in tmux session night_shift"), "{said}");
    let windows =
        machine.tmux(&["list-windows", "-t", "=night_shift", "-F", "#{window_name}|#{pane_current_path}"]);
    let windows = String::from_utf8_lossy(&windows.stdout).into_owned();
    for window in [
        format!("build: all|{}", machine.path("app.v2").display()),
        format!("docs|{}", machine.path("docs").display()),
    ] {
        assert!(windows.lines().any(|line| line == window), "{window}: {windows}");
    }
    let started = wait_for(Duration::from_secs(30), "both clients", || {
        let text = std::fs::read_to_string(machine.path("home/started")).ok()?;
        (text.lines().count() == 2).then_some(text)
    });
    for line in [
        format!("{} --resume aaaa-1", machine.path("app.v2").display()),
        format!("{} --resume bbbb-2", machine.path("docs").display()),
    ] {
        assert!(started.lines().any(|one| one == line), "{line}: {started}");
    }
}
