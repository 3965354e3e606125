//! `recovery watch` beside the clients of a sandbox: with their home, and with their terminals alone.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    process::{self, Finished},
    sandbox::Sandbox,
    wait::wait_until,
    wiring::program_folder,
};

/// One look, with the acts that follow from it.
const LOOK_LIMIT: Duration = Duration::from_secs(60);
const TICKS_LIMIT: Duration = Duration::from_secs(90);
const END_LIMIT: Duration = Duration::from_secs(20);

/// The verb `recovery watch` of one sandbox.
#[derive(Clone, Copy)]
pub struct Watch<'s> {
    sandbox: &'s Sandbox,
}

impl<'s> Watch<'s> {
    pub(crate) fn new(sandbox: &'s Sandbox) -> Self {
        Self { sandbox }
    }

    /// Writes the user's configuration: the part `watch`.
    pub fn configure(&self, watch: &Value) {
        let folder = self.sandbox.home().join(".config/recovery");
        fs::create_dir_all(&folder).expect("the home is writable");
        fs::write(folder.join("config.json"), json!({ "watch": watch }).to_string())
            .expect("the home is writable");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(&program_folder().join("recovery"));
        // Never another server than those of this sandbox.
        command.env("TMUX_TMPDIR", self.sandbox.temporary()).arg("watch").args(args);
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Finished {
        let finished = process::run(&mut self.command(args), LOOK_LIMIT).expect("`recovery` starts");
        assert!(finished.is_success(), "watch {args:?}: {}{}", finished.stdout, finished.stderr);
        finished
    }

    /// One look with what is due, as a process of its own. Returns what it said.
    #[track_caller]
    pub fn once(&self) -> String {
        self.run(&["--once"]).stdout
    }

    /// What would be done now.
    #[track_caller]
    pub fn dry_run(&self) -> String {
        self.run(&["--once", "--dry-run"]).stdout
    }

    /// The lines of its own log.
    #[track_caller]
    pub fn log(&self) -> Vec<String> {
        let said = self.run(&["log", "-n", "1000"]).stdout;
        said.lines().filter(|line| *line != "nothing was done so far").map(str::to_owned).collect()
    }

    /// What the last look saw.
    #[track_caller]
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.run(&["status", "--json"]).stdout).expect("one JSON object")
    }

    /// Starts it with the shortest interval.
    #[track_caller]
    pub fn start(&self) -> Watching<'s> {
        let child = self
            .command(&["--interval", "5"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("`recovery` starts");
        Watching { watch: *self, child }
    }
}

/// A watcher that runs; ended when dropped.
pub struct Watching<'s> {
    watch: Watch<'s>,
    child: Child,
}

impl Watching<'_> {
    /// Waits until it has looked so many times from now on.
    #[track_caller]
    pub fn wait_for_looks(&self, count: u64) {
        let ticks = || self.watch.status()["last_tick"]["ticks"].as_u64().unwrap_or_default();
        let before = ticks();
        wait_until(TICKS_LIMIT, &format!("{count} looks"), || ticks() >= before + count);
    }

    /// Asks it to end, and waits until it did.
    #[track_caller]
    pub fn stop(mut self) {
        self.watch.run(&["stop"]);
        let status = process::wait(&mut self.child, END_LIMIT).expect("it ends when it is asked to");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        process::kill_group(&mut self.child);
    }
}
