//! A project, a home and a client configuration of their own, with the fake API beside them.

use std::{
    cell::{Cell, RefCell},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    client::Client,
    evidence::{DebugLog, Transcript},
    fake_api::FakeApi,
    mcp_server::FlakyServer,
    process::{self, Finished},
    session::Session,
    tmux::Tmux,
    wait::wait_until,
    watch::Watch,
    wiring::Wiring,
};

const API_KEY: &str = "sk-ant-api03-dummy-key-of-a-test-0000000000000000";
const LOGIN_TOKEN: &str = "sk-ant-oat01-dummy-dummy";
/// Nothing listens there: whatever does not go to the loopback address fails at once.
const NOWHERE: &str = "http://127.0.0.1:9";
const RUN_LIMIT: Duration = Duration::from_secs(90);
const HOOK_LIMIT: Duration = Duration::from_secs(30);
const GIT_LIMIT: Duration = Duration::from_secs(30);

/// How the client is logged in; both with a dummy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// An API key.
    ApiKey,
    /// A subscription: the client believes usage limits only here.
    Subscription,
}

/// Everything one test needs; removed when dropped, unless `RECOVERY_TEST_KEEP` is set.
pub struct Sandbox {
    /// The fake API that every client of this sandbox talks to.
    pub api: FakeApi,
    client: Client,
    wiring: Wiring,
    login: Cell<Login>,
    variables: RefCell<Vec<(String, String)>>,
    servers: RefCell<Vec<FlakyServer>>,
    runs: Cell<usize>,
    root: TempDir,
}

/// A finished `claude -p`.
#[derive(Debug)]
pub struct PrintRun {
    /// Exit code; none when it was killed by a signal.
    pub code: Option<i32>,
    /// The client's result object (`--output-format json`); null when it printed none.
    pub result: Value,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Wall-clock time.
    pub elapsed: Duration,
}

impl PrintRun {
    /// The session's id.
    pub fn session_id(&self) -> &str {
        self.result["session_id"].as_str().unwrap_or_default()
    }
}

impl Sandbox {
    /// Makes a sandbox with a git project of one commit and wires the hooks.
    pub fn new(client: Client, wiring: Wiring) -> Self {
        let mut root =
            tempfile::Builder::new().prefix("e2e-").tempdir().expect("the temporary folder is writable");
        if env::var_os("RECOVERY_TEST_KEEP").is_some() {
            root.disable_cleanup(true);
        }
        let sandbox = Self {
            api: FakeApi::start().expect("the loopback address is there"),
            client,
            wiring,
            login: Cell::new(Login::ApiKey),
            variables: RefCell::default(),
            servers: RefCell::default(),
            runs: Cell::new(0),
            root,
        };
        sandbox.lay_out();
        sandbox.wiring.apply(&sandbox.project(), |program| sandbox.command(program));
        sandbox
    }

    /// Wires hooks of the test's own into the project's settings, instead of what was there.
    pub fn wire_raw(&mut self, hooks: Vec<crate::wiring::RawHook>) {
        self.wiring = Wiring::Raw(hooks);
        self.wiring.apply(&self.project(), |program| self.command(program));
    }

    fn lay_out(&self) {
        for folder in
            [self.home(), self.config(), self.project(), self.programs(), self.temporary(), self.logs()]
        {
            fs::create_dir_all(folder).expect("the sandbox is writable");
        }
        std::os::unix::fs::symlink(&self.client.program, self.programs().join("claude"))
            .expect("the sandbox is writable");
        // Answers to what an interactive client asks at its first start.
        let approved = &API_KEY[API_KEY.len() - 20..];
        let answers = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "customApiKeyResponses": { "approved": [approved], "rejected": [] },
            "bypassPermissionsModeAccepted": true,
            "projects": { self.project().to_string_lossy(): { "hasTrustDialogAccepted": true } },
        });
        fs::write(self.config().join(".claude.json"), answers.to_string()).expect("the sandbox is writable");
        let settings = json!({ "skipDangerousModePermissionPrompt": true });
        fs::write(self.config().join("settings.json"), settings.to_string())
            .expect("the sandbox is writable");
        fs::write(
            self.home().join(".gitconfig"),
            "[user]\n\tname = Tester\n\temail = tester@localhost\n[init]\n\tdefaultBranch = main\n",
        )
        .expect("the sandbox is writable");
        self.write("README.md", "A project to try things in.\n");
        self.git(&["init", "-q"]);
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", "Begin"]);
    }

    /// Folder of the project.
    pub fn project(&self) -> PathBuf {
        self.real_root().join("project")
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.real_root().join("home")
    }

    /// The client's configuration folder.
    pub fn config(&self) -> PathBuf {
        self.home().join(".claude")
    }

    /// A folder outside project and home, for the test itself.
    pub fn scratch(&self) -> PathBuf {
        let folder = self.real_root().join("scratch");
        fs::create_dir_all(&folder).expect("the sandbox is writable");
        folder
    }

    fn programs(&self) -> PathBuf {
        self.real_root().join("programs")
    }

    /// Folder of temporary files and of the sockets of terminals.
    pub fn temporary(&self) -> PathBuf {
        self.real_root().join("tmp")
    }

    fn logs(&self) -> PathBuf {
        self.real_root().join("logs")
    }

    // Without links on the way: the client reports real paths.
    fn real_root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap_or_else(|_| self.root.path().to_owned())
    }

    /// Writes a file of the project and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project().join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("the project is writable");
        }
        fs::write(&path, text).expect("the project is writable");
        path
    }

    /// Runs git in the project and returns what it printed.
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = self.command(Path::new("git"));
        command.args(args);
        let finished = process::run(&mut command, GIT_LIMIT).expect("git starts");
        assert!(finished.is_success(), "git {args:?} failed: {}{}", finished.stdout, finished.stderr);
        finished.stdout
    }

    /// Logs the clients started from now on in differently.
    pub fn log_in(&self, login: Login) {
        self.login.set(login);
    }

    /// Gives the clients started from now on an environment variable.
    pub fn set_variable(&self, name: &str, value: &str) {
        self.variables.borrow_mut().push((name.to_owned(), value.to_owned()));
    }

    /// Sets one of the user's settings of the client, for clients started from now on.
    pub fn set_client_setting(&self, name: &str, value: Value) {
        let path = self.config().join("settings.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&path).expect("it was laid out"))
            .expect("it was laid out as JSON");
        settings[name] = value;
        fs::write(path, settings.to_string()).expect("the sandbox is writable");
    }

    /// `recovery watch` beside the clients of this sandbox.
    pub fn watch(&self) -> Watch<'_> {
        Watch::new(self)
    }

    /// Adds a `flaky-mcp` server for the clients started from now on.
    pub fn mcp_server(&self, name: &str) -> FlakyServer {
        let server = FlakyServer::new(name, &self.scratch());
        self.servers.borrow_mut().push(server.clone());
        server
    }

    /// A command in the project, with the sandbox's environment and nothing inherited but the search path.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let inherited = env::var_os("PATH").unwrap_or_default();
        let path = [self.programs()]
            .into_iter()
            .chain(self.wiring.search_path())
            .chain(env::split_paths(&inherited));
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", env::join_paths(path).expect("folders on a search path can be joined again"))
            .env("HOME", self.home())
            .env("CLAUDE_CONFIG_DIR", self.config())
            .env("TMPDIR", self.temporary())
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("SHELL", "/bin/sh")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("ANTHROPIC_BASE_URL", self.api.base_url())
            .env("HTTP_PROXY", NOWHERE)
            .env("HTTPS_PROXY", NOWHERE)
            .env("NO_PROXY", "127.0.0.1,localhost")
            // Root may not pass over permissions elsewhere than in a sandbox.
            .env("IS_SANDBOX", "1")
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1");
        match self.login.get() {
            Login::ApiKey => command.env("ANTHROPIC_API_KEY", API_KEY),
            Login::Subscription => command.env("CLAUDE_CODE_OAUTH_TOKEN", LOGIN_TOKEN),
        };
        command.envs(self.variables.borrow().iter().map(|(name, value)| (name, value)));
        command
    }

    /// The client's command line with what every run needs: no permission questions, the MCP servers, a debug log.
    pub(crate) fn client_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.client.program);
        command
            .args(args)
            .args(["--permission-mode", "bypassPermissions"])
            .args(self.wiring.client_args(&self.project()));
        let run = self.runs.get() + 1;
        self.runs.set(run);
        command.arg("--debug-file").arg(self.logs().join(format!("{run}.log")));
        let servers = self.servers.borrow();
        if !servers.is_empty() {
            let entries: serde_json::Map<_, _> =
                servers.iter().map(|server| (server.name().to_owned(), server.config())).collect();
            let path = self.scratch().join("mcp-servers.json");
            fs::write(&path, json!({ "mcpServers": entries }).to_string()).expect("the sandbox is writable");
            command.arg("--strict-mcp-config").arg("--mcp-config").arg(path);
        }
        command
    }

    /// Runs `claude -p` to its end, with further arguments.
    pub fn run_print(&self, prompt: &str, args: &[&str]) -> PrintRun {
        let mut command = self.client_command(&["-p", prompt, "--output-format", "json"]);
        command.args(args);
        let begin = Instant::now();
        let finished = process::run(&mut command, RUN_LIMIT).expect("the client starts");
        let elapsed = begin.elapsed();
        assert!(
            finished.status.is_some(),
            "`claude -p` did not end within {} s\n{}{}",
            RUN_LIMIT.as_secs(),
            finished.stdout,
            finished.stderr
        );
        PrintRun {
            code: finished.code(),
            result: serde_json::from_str(&finished.stdout).unwrap_or_default(),
            stdout: finished.stdout,
            stderr: finished.stderr,
            elapsed,
        }
    }

    /// Runs a command of the client, such as `plugin validate`, to its end.
    pub fn run_client(&self, args: &[&str]) -> Finished {
        let mut command = self.command(&self.client.program);
        process::run(command.args(args), RUN_LIMIT).expect("the client starts")
    }

    /// Starts a session that takes one prompt after another.
    pub fn session(&self, args: &[&str]) -> Session {
        Session::start(
            self.client_command(&[
                "-p",
                "--input-format",
                "stream-json",
                "--output-format",
                "stream-json",
                "--verbose",
            ]),
            args,
        )
    }

    /// Starts an interactive client in a terminal.
    pub fn terminal(&self, args: &[&str]) -> Tmux {
        let mut client = self.client_command(&[]);
        client.args(args);
        Tmux::start(self.command(Path::new("tmux")), &client)
    }

    /// The debug logs of all runs so far, oldest first.
    pub fn debug_logs(&self) -> Vec<DebugLog> {
        (1..=self.runs.get())
            .filter_map(|run| DebugLog::read(&self.logs().join(format!("{run}.log"))).ok())
            .collect()
    }

    /// Waits until the hooks of an event have ended in `turns` turns of the last run. The client itself goes on
    /// without waiting for those of `StopFailure`; a person is not so quick.
    #[track_caller]
    pub fn wait_for_hooks(&self, event: &str, turns: usize) {
        let runs = turns * self.wiring.copies();
        let log = self.logs().join(format!("{}.log", self.runs.get()));
        wait_until(HOOK_LIMIT, &format!("{runs} runs of hooks for {event}"), || {
            DebugLog::read(&log).is_ok_and(|log| log.hook_runs_for(event).len() >= runs)
        });
    }

    /// What debug logs and transcripts report of hooks that failed, see [`DebugLog::hook_errors`].
    pub fn hook_errors(&self) -> Vec<String> {
        let logs = self.debug_logs();
        let transcripts = self.transcripts();
        let told = transcripts.iter().flat_map(Transcript::hook_errors);
        logs.iter().flat_map(DebugLog::hook_errors).chain(told).collect()
    }

    /// Lines of all debug logs about hooks that printed something else than JSON.
    pub fn plain_hook_outputs(&self) -> Vec<String> {
        self.debug_logs().iter().flat_map(DebugLog::plain_outputs).collect()
    }

    /// The client's own list of live sessions: its files `sessions/<pid>.json`.
    pub fn live_sessions(&self) -> Vec<Value> {
        files_below(&self.config().join("sessions"), "json")
            .iter()
            .filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok())
            .collect()
    }

    /// The transcript of a session, without those of its subagents.
    pub fn transcript(&self, session_id: &str) -> Transcript {
        let name = format!("{session_id}.jsonl");
        let path = files_below(&self.config().join("projects"), "jsonl")
            .into_iter()
            .find(|path| path.file_name().is_some_and(|file| *file == *name))
            .unwrap_or_else(|| panic!("there is no transcript {name}"));
        Transcript::read(&path).expect("a transcript is readable")
    }

    /// All transcripts, those of subagents included.
    pub fn transcripts(&self) -> Vec<Transcript> {
        files_below(&self.config().join("projects"), "jsonl")
            .iter()
            .filter_map(|path| Transcript::read(path).ok())
            .collect()
    }

    /// The payloads that [`RawHook::recording`](crate::wiring::RawHook::recording) put into a folder, for one event.
    pub fn recorded(&self, folder: &Path, event: &str) -> Vec<Value> {
        files_below(folder, "json")
            .iter()
            .filter_map(|path| serde_json::from_slice::<Value>(&fs::read(path).ok()?).ok())
            .filter(|payload| payload["hook_event_name"] == event)
            .collect()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.describe();
        }
    }
}

impl Sandbox {
    #[expect(clippy::print_stderr, reason = "shown by the test runner beside the failure")]
    fn describe(&self) {
        for (number, request) in self.api.all_requests().iter().enumerate() {
            eprintln!(
                "--- request {number} {:?} {} {} stream={} {}",
                request.sender,
                request.method,
                request.path,
                request.body["stream"],
                request.new_text().chars().take(4000).collect::<String>()
            );
        }
        for log in self.debug_logs() {
            for line in log.text().lines().filter(|line| line.to_ascii_lowercase().contains("hook")).take(60)
            {
                eprintln!("debug log: {}", line.chars().take(400).collect::<String>());
            }
        }
        if env::var_os("RECOVERY_TEST_KEEP").is_some() {
            eprintln!("kept: {}", self.root.path().display());
        }
    }
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path, extension)
            } else if path.extension().is_some_and(|found| found == extension) {
                vec![path]
            } else {
                Vec::new()
            }
        })
        .collect();
    files.sort();
    files
}
