//! A project, a home and a client's folder in a temporary place.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hook_io::Event;
use serde_json::{Value, json};
use session_state::env::{self, Env};
use session_state::process::ProcessId;
use session_state::{Now, Project, times};

/// The session that starts.
pub(crate) const ME: &str = "5a1e0c3d-0000-4000-8000-000000000001";

pub(crate) struct World {
    top: tempfile::TempDir,
    /// The present of the next event: the real one, so that it fits the files' times.
    pub(crate) now: Now,
    pid: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("project/.git")).unwrap();
        fs::create_dir_all(top.path().join("home/.claude/sessions")).unwrap();
        Self { top, now: Now::read(), pid: "1".to_owned() }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.top.path().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.top.path().join("home")
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.project().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        write(&self.path(relative), text);
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    pub(crate) fn has(&self, relative: &str) -> bool {
        self.path(relative).symlink_metadata().is_ok()
    }

    /// Sets a file's last change back.
    pub(crate) fn age(&self, relative: &str, seconds: u64) {
        let file = fs::File::open(self.path(relative)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    /// A time so many seconds ago, as programs write it.
    pub(crate) fn iso(&self, ago_s: i64) -> String {
        times::rfc3339_utc_s(self.now.seconds() - ago_s)
    }

    pub(crate) fn heartbeat(&self, session: &str, ago_s: i64) {
        self.write(&format!("sessions/{session}/heartbeat"), &format!("{}\n", self.now.seconds() - ago_s));
    }

    pub(crate) fn ralph(&self, session: &str, checked_ago_s: i64) {
        let text = format!(
            r#"{{"active": true, "iteration": 7, "task": "tidy", "last_checked_at": "{}"}}"#,
            self.iso(checked_ago_s)
        );
        self.write(&format!("sessions/{session}/ralph.json"), &text);
    }

    /// A session of ours with its mark and what the heartbeat hook wrote down.
    pub(crate) fn session(&self, id: &str, process: &ProcessId, transcript: &[Value]) {
        let lines: Vec<String> = transcript.iter().map(Value::to_string).collect();
        let path = self.top.path().join(format!("{id}.jsonl"));
        write(&path, &lines.join("\n"));
        let file = json!({
            "v": 1, "session_id": id, "process": process, "transcript": path, "project": self.project(),
            "cwd": self.project(), "started_s": self.now.seconds() - 600, "updated_s": self.now.seconds() - 60,
        });
        self.write(&format!("sessions/{id}/session.json"), &file.to_string());
        self.write(&format!("sessions/.open/{id}"), "");
        self.heartbeat(id, 30);
    }

    /// The file a client leaves when it is killed, and its transcript.
    pub(crate) fn client(&self, id: &str, pid: u32, cwd: &Path, status: &str, transcript: &[Value]) {
        let file = json!({
            "pid": pid, "procStart": "1", "sessionId": id, "cwd": cwd, "status": status,
            "startedAt": self.now.0 - 900_000, "updatedAt": self.now.0 - 120_000,
        });
        write(&self.home().join(format!(".claude/sessions/{pid}.json")), &file.to_string());
        let slug: String =
            cwd.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let lines: Vec<String> = transcript.iter().map(Value::to_string).collect();
        write(&self.home().join(format!(".claude/projects/{slug}/{id}.jsonl")), &lines.join("\n"));
    }

    pub(crate) fn env(&self) -> Env {
        let (project, home) = (self.project(), self.home());
        Env::of(&[
            (env::CLAUDE_PROJECT_DIR, project.as_os_str()),
            (env::HOME, home.as_os_str()),
            (env::CLAUDE_PID, OsStr::new(&self.pid)),
        ])
    }

    /// From here on another client process asks.
    pub(crate) fn restart_client(&mut self) {
        self.pid.push('0');
    }

    /// What the agent hears of an event.
    pub(crate) fn event(&self, session: &str, name: &str, own: &Value) -> Option<String> {
        let mut payload = json!({"session_id": session, "cwd": self.project(), "hook_event_name": name});
        payload.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let text = payload.to_string();
        let event = Event::parse(&text).unwrap();
        let env = self.env();
        let project = Project::find(&env, None)?;
        let advice = crash_recovery_check::check(&event, &env, &project, self.now)?;
        assert_eq!(advice.person, None);
        let said = advice.agent.unwrap();
        assert!(said.starts_with("[CRASH RECOVERY] "), "{said}");
        assert!(said.encode_utf16().count() <= 700, "{said}");
        Some(said)
    }

    pub(crate) fn start(&self, session: &str) -> Option<String> {
        self.event(session, "SessionStart", &json!({"source": "startup"}))
    }

    pub(crate) fn prompt(&self, session: &str) -> Option<String> {
        self.event(session, "UserPromptSubmit", &json!({"prompt": "hello"}))
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A process that lived and ended.
pub(crate) fn ended_process() -> ProcessId {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let id = ProcessId::of(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    id
}

/// This process.
pub(crate) fn living_process() -> ProcessId {
    ProcessId::of(std::process::id())
}

/// Transcript lines.
pub(crate) fn asked(prompt: &str) -> Value {
    json!({"type": "user", "timestamp": "2026-03-02T09:00:00Z", "message": {"role": "user", "content": prompt}})
}

pub(crate) fn called(id: &str, tool: &str, input: &Value) -> Value {
    json!({"type": "assistant", "timestamp": "2026-03-02T09:00:10Z",
        "message": {"model": "claude-x-5", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}})
}

pub(crate) fn answered(id: &str, failed: bool) -> Value {
    json!({"type": "user", "timestamp": "2026-03-02T09:00:20Z",
        "message": {"content": [{"type": "tool_result", "tool_use_id": id, "is_error": failed, "content": "x"}]}})
}
