//! A project in a temporary folder, and hook programs that are started in it the way the client starts them.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::wiring::program_folder;

/// The session of every event that names no other.
pub const SESSION: &str = "5e55a000-0000-4000-8000-0000000000aa";

/// A project and a home of its own.
#[derive(Debug)]
pub struct HookProject {
    top: tempfile::TempDir,
    /// The project's root.
    pub root: PathBuf,
}

/// What a hook did.
#[derive(Debug)]
pub struct Answer {
    /// Exit code; none when it was ended by a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Answer {
    /// What the agent is told; empty when nothing.
    pub fn context(&self) -> String {
        let answer: Value = serde_json::from_str(&self.stdout).unwrap_or_default();
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }
}

impl Default for HookProject {
    fn default() -> Self {
        Self::new()
    }
}

impl HookProject {
    /// A project with a fallback table.
    pub fn new() -> Self {
        let top = tempfile::tempdir().expect("a temporary folder can be made");
        let root = top.path().join("project");
        for folder in ["home", "project/.working-state"] {
            std::fs::create_dir_all(top.path().join(folder)).expect("the folder is writable");
        }
        let project = Self { root, top };
        project.write(".working-state/fallback-tools.md", "- mcp__docs__find -> Grep (local files only)\n");
        project
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.top.path().join("home")
    }

    /// Writes a file below the root.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder is writable");
        std::fs::write(path, text).expect("the file is writable");
    }

    /// A file of the session; none when it is not there.
    pub fn session_file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join("sessions").join(SESSION).join(name)).ok()
    }

    /// The payload of an event with some fields of its own.
    pub fn payload(&self, event: &str, own: &Value) -> Vec<u8> {
        let mut payload = json!({
            "session_id": SESSION,
            "transcript_path": self.root.join("none/t.jsonl"),
            "cwd": self.root,
            "hook_event_name": event,
        });
        if let (Some(all), Some(own)) = (payload.as_object_mut(), own.as_object()) {
            all.extend(own.clone());
        }
        format!("{payload}\n").into_bytes()
    }

    /// A failed call of an MCP tool.
    pub fn mcp_failure(&self, id: &str) -> Vec<u8> {
        let own = json!({"tool_name": "mcp__docs__find", "tool_use_id": id, "error": "Connection closed", "is_interrupt": false});
        self.payload("PostToolUseFailure", &own)
    }

    /// Prepares a hook program with nothing but what the client gives it.
    pub fn command(&self, program: &str) -> Command {
        self.command_of(&program_folder().join(program))
    }

    /// Prepares any program likewise.
    pub fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TZ", "UTC")
            .env("CLAUDE_PROJECT_DIR", &self.root)
            .current_dir(&self.root);
        command
    }

    /// Starts a hook program; its input is written by [`finish`].
    pub fn start(&self, program: &str) -> Child {
        start(&mut self.command(program))
    }

    /// Runs a hook program to its end.
    pub fn run(&self, program: &str, payload: &[u8]) -> Answer {
        finish(self.start(program), payload)
    }
}

/// Starts a command with pipes.
pub fn start(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("build the workspace first: the hook programs are missing")
}

/// Gives a child its input and waits for its end. A child that does not read is no error.
pub fn finish(mut child: Child, payload: &[u8]) -> Answer {
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(payload);
    }
    let output = child.wait_with_output().expect("a child can be waited for");
    Answer {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs jobs on so many threads at once and returns their results in no order.
pub fn at_once<T: Send>(threads: usize, jobs: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if number >= jobs {
                            return done;
                        }
                        done.push(job(number));
                    }
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no job panics")).collect()
    })
}
