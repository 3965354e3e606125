//! An interactive client in a tmux server of its own.

use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::{
    process::{self, ProcessMark},
    wait::try_wait_for,
};

const COMMAND_LIMIT: Duration = Duration::from_secs(15);
const END_LIMIT: Duration = Duration::from_secs(15);
const SCREEN_LIMIT: Duration = Duration::from_secs(60);

static SERVERS: AtomicU32 = AtomicU32::new(0);

/// A tmux server with one window; ended when dropped.
pub struct Tmux {
    socket: String,
    program: std::ffi::OsString,
    variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

impl Tmux {
    /// Starts `client` in a window. `tmux` holds the environment of server and client.
    pub(crate) fn start(tmux: Command, client: &Command) -> Self {
        let socket = format!("e2e-{}-{}", std::process::id(), SERVERS.fetch_add(1, Ordering::Relaxed));
        let variables = tmux
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .chain([("TERM".into(), "xterm-256color".into())])
            .collect::<Vec<_>>();
        // The socket lies in the sandbox and goes with it.
        let folder = variables.iter().find(|(name, _)| name == "TMPDIR").map(|(_, value)| value.clone());
        let variables =
            variables.into_iter().chain(folder.map(|value| ("TMUX_TMPDIR".into(), value))).collect();
        let terminal = Self { socket, program: tmux.get_program().to_owned(), variables };
        let mut command = terminal.command();
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50"]);
        if let Some(folder) = client.get_current_dir() {
            command.arg("-c").arg(folder);
        }
        command.arg("--").arg(client.get_program()).args(client.get_args());
        let finished = process::run(&mut command, COMMAND_LIMIT).expect("tmux starts");
        assert!(finished.is_success(), "tmux opens no window: {}{}", finished.stdout, finished.stderr);
        terminal
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(["-L", &self.socket]);
        command
    }

    /// Runs a tmux command on this server and returns what it printed.
    #[track_caller]
    pub fn tmux(&self, args: &[&str]) -> String {
        let finished = process::run(self.command().args(args), COMMAND_LIMIT).expect("tmux starts");
        assert!(finished.is_success(), "tmux {args:?} failed: {}", finished.stderr);
        finished.stdout
    }

    /// Presses a key, by tmux's name for it.
    #[track_caller]
    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// The visible screen.
    #[track_caller]
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        self.wait_for_screen(text, |screen| screen.contains(text));
    }

    /// Waits until the screen is as wanted.
    #[track_caller]
    pub fn wait_for_screen(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let mut last = String::new();
        let found = try_wait_for(SCREEN_LIMIT, || {
            last = self.screen();
            wanted(&last).then_some(())
        });
        assert!(found.is_some(), "the screen never showed {what}:\n{last}");
    }

    /// Waits for the empty input line, types a prompt, waits until it stands there, and sends it.
    #[track_caller]
    pub fn submit(&self, prompt: &str) {
        self.wait_for_screen("the input line", |screen| {
            screen.lines().any(|line| line.starts_with("❯\u{a0}"))
        });
        self.tmux(&["send-keys", "-l", prompt]);
        self.wait_for_screen("the typed prompt", |screen| {
            screen.lines().any(|line| line.starts_with("❯\u{a0}") && line.contains(prompt))
        });
        self.press("Enter");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let panes =
            process::run(self.command().args(["list-panes", "-a", "-F", "#{pane_pid}"]), COMMAND_LIMIT);
        let clients: Vec<ProcessMark> = panes
            .map(|finished| {
                finished.stdout.lines().filter_map(|pid| ProcessMark::of(pid.parse().ok()?)).collect()
            })
            .unwrap_or_default();
        // Ends this socket's server only.
        let _ = process::run(self.command().arg("kill-server"), COMMAND_LIMIT);
        // A client whose terminal is gone still ends its session, in folders that are about to be removed.
        let gone = try_wait_for(END_LIMIT, || clients.iter().all(|client| !client.is_alive()).then_some(()));
        if gone.is_none() {
            clients.iter().for_each(ProcessMark::kill);
        }
    }
}
