//! A project with one dead session, and the lines of its transcript.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use session_state::session_file::{self, SessionFile};
use session_state::{Now, Session, heartbeat};

use crate::{Budget, Error, Outcome, Request, Step, scavenge_with};

pub(super) const ID: &str = "3f2a9c1e-0000-4000-8000-00000000000a";
/// Of the last beat, seconds since 1970.
pub(super) const BEAT_S: i64 = 1_772_442_100;

pub(super) struct World {
    top: tempfile::TempDir,
    pub(super) now: Now,
}

impl World {
    /// A project at work, with this transcript.
    pub(super) fn new(lines: &[Value]) -> Self {
        let world = Self {
            top: tempfile::Builder::new().prefix("scavenging").tempdir().unwrap(),
            now: Now((BEAT_S + 400) * 1000),
        };
        for folder in ["project", "client"] {
            fs::create_dir(world.top.path().join(folder)).unwrap();
        }
        let file = json!({
            "v": 1, "session_id": ID, "project": world.project(), "cwd": world.project(),
            "transcript": world.transcript(), "started_s": 1, "updated_s": 1,
        });
        world.write(&format!("sessions/{ID}/session.json"), &file.to_string());
        world.write(&format!("sessions/{ID}/status"), "running\n");
        world.write(&format!("sessions/{ID}/heartbeat"), &format!("{BEAT_S}\n"));
        world.says(lines);
        world
    }

    pub(super) fn project(&self) -> PathBuf {
        self.top.path().join("project")
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.project().join(name).display().to_string()
    }

    pub(super) fn transcript(&self) -> PathBuf {
        self.top.path().join("client").join(format!("{ID}.jsonl"))
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.project().join("sessions").join(ID)
    }

    pub(super) fn handoff(&self) -> PathBuf {
        self.folder().join("handoffs/scavenged.md")
    }

    /// Writes the transcript, some minutes old.
    pub(super) fn says(&self, lines: &[Value]) {
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        self.bytes(text.join("\n").as_bytes());
    }

    pub(super) fn bytes(&self, bytes: &[u8]) {
        fs::write(self.transcript(), bytes).unwrap();
        self.settle();
    }

    pub(super) fn settle(&self) {
        let file = fs::File::options().append(true).open(self.transcript()).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(BEAT_S as u64)).unwrap();
    }

    /// The transcript of a subagent.
    pub(super) fn subagent(&self, id: &str, lines: &[Value]) {
        let folder = self.transcript().with_extension("").join("subagents");
        fs::create_dir_all(&folder).unwrap();
        let side = |line: &Value| {
            let mut line = line.clone();
            line["isSidechain"] = json!(true);
            line.to_string()
        };
        let text: Vec<String> = lines.iter().map(side).collect();
        fs::write(folder.join(format!("agent-{id}.jsonl")), text.join("\n")).unwrap();
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn status(&self) -> String {
        fs::read_to_string(self.folder().join("status")).unwrap_or_default()
    }

    pub(super) fn scavenge(&self) -> Result<Outcome, Error> {
        self.scavenge_while(|_| {})
    }

    /// Scavenges while something happens between the steps.
    pub(super) fn scavenge_while(&self, mut at: impl FnMut(Step)) -> Result<Outcome, Error> {
        self.asked(&mut at, |_| {})
    }

    pub(super) fn asked(
        &self,
        at: &mut dyn FnMut(Step),
        change: impl FnOnce(&mut Request<'_>),
    ) -> Result<Outcome, Error> {
        let sessions = session_state::Dir::open(&self.project().join("sessions")).unwrap();
        let session = Session::open_in(sessions, ID).unwrap();
        let file: SessionFile = session_file::read(&session.dir).unwrap_or_default();
        let transcript = self.transcript();
        let mut request = Request {
            session: &session,
            transcript: &transcript,
            file: &file,
            now: self.now,
            last_beat_s: heartbeat::last(&session.dir),
            seen: None,
            budget: Budget { settle: Duration::ZERO, ..Budget::default() },
        };
        change(&mut request);
        scavenge_with(&request, at)
    }

    /// The hand-off of this transcript.
    pub(super) fn text(&self) -> String {
        let outcome = self.scavenge().unwrap();
        assert!(matches!(outcome, Outcome::Saved { .. }), "{outcome:?}");
        fs::read_to_string(self.handoff()).unwrap()
    }
}

/// The items below a heading; none without the heading.
pub(super) fn section(text: &str, heading: &str) -> Option<Vec<String>> {
    let below = text.split(&format!("\n## {heading}\n\n")).nth(1)?;
    Some(
        below
            .lines()
            .take_while(|line| !line.is_empty())
            .map(|line| line.strip_prefix("- ").unwrap().to_owned())
            .collect(),
    )
}

pub(super) fn asked(text: &str) -> Value {
    json!({"type": "user", "timestamp": "2026-03-02T09:00:00Z", "message": {"role": "user", "content": text}})
}

pub(super) fn said(text: &str) -> Value {
    assistant(&json!([{"type": "text", "text": text}]))
}

pub(super) fn thought(text: &str) -> Value {
    assistant(&json!([{"type": "thinking", "thinking": text, "signature": "c2ln"}]))
}

pub(super) fn assistant(content: &Value) -> Value {
    json!({"type": "assistant", "timestamp": "2026-03-02T09:00:10Z",
        "message": {"role": "assistant", "model": "claude-x-5", "content": content}})
}

pub(super) fn called(id: &str, tool: &str, input: &Value) -> Value {
    assistant(&json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]))
}

pub(super) fn ran(id: &str, command: &str) -> Value {
    called(id, "Bash", &json!({"command": command}))
}

pub(super) fn edited(id: &str, path: &str) -> Value {
    called(id, "Edit", &json!({"file_path": path, "old_string": "a", "new_string": "b"}))
}

pub(super) fn answered(id: &str, text: &str) -> Value {
    result(id, false, text)
}

pub(super) fn failed(id: &str, text: &str) -> Value {
    result(id, true, text)
}

fn result(id: &str, is_error: bool, text: &str) -> Value {
    json!({"type": "user", "timestamp": "2026-03-02T09:00:20Z", "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": text}]}})
}
