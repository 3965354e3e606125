//! A transcript: what a session was doing, and what it knew. Only read.
//!
//! The client writes one JSON object a line, with a delay, with many types and more of them in each version; the last
//! line may be torn (CONTRACT 8). Whatever does not fit is passed over. A hook that only wants to know what ran looks
//! at the last 256 KiB ([`tail`]); who saves or tells what a session knew reads more of it ([`Source`]).

mod knowledge;
mod line;
mod source;

use std::fs::File;
use std::path::Path;

use self::line::Piece;
use crate::dir::Dir;
use crate::json_members::Members;
use crate::{platform, times};

pub use self::knowledge::{ChangedFile, FailedCall, Knowledge, Note, OpenItem, RefusedCall};
pub use self::source::{Conversation, Source, Stamp};

/// How much of the end is read, in bytes.
pub const TAIL: u64 = 256 * 1024;

/// What the end of a transcript tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// A call of the main conversation without a result.
    pub running: Option<RunningCall>,
    /// The last prompt a person wrote.
    pub last_prompt: Option<String>,
    /// The model of the last real answer.
    pub model: Option<String>,
    /// Files that were read, edited or written with success, in order.
    pub files: Vec<FileUse>,
    /// Time of the last line that has one, seconds since 1970.
    pub last_s: Option<i64>,
    /// When the limit resets on which the last turn ended, seconds since 1970 (clients since 2.1.240).
    pub limit_resets_s: Option<i64>,
}

/// A call whose result was never written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningCall {
    /// The tool.
    pub tool: String,
    /// What it was asked: a command, a path, a question; may be empty.
    pub what: String,
}

/// One call on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// The path as the call gave it.
    pub path: String,
    /// When, seconds since 1970: of a read the moment it was asked for, of a change the moment its result came.
    pub at_s: Option<i64>,
    /// Whether it changed the file.
    pub changes: bool,
}

/// Reads the end of a transcript. None: no such file, or no ordinary one.
#[must_use]
pub fn tail(path: &Path) -> Option<Tail> {
    let bytes = last_bytes(path)?;
    let mut reading = Reading::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(line) = std::str::from_utf8(line).ok().and_then(Members::of) {
            reading.take(&line);
        }
    }
    Some(reading.finish())
}

/// The call that was running when the transcript stopped.
#[must_use]
pub fn running_call(path: &Path) -> Option<RunningCall> {
    tail(path)?.running
}

/// The model of the last real answer.
#[must_use]
pub fn last_model(path: &Path) -> Option<String> {
    tail(path)?.model
}

/// When the conversation last learned what a file holds, seconds since 1970: by reading or by changing it with success.
#[must_use]
pub fn last_read_s(path: &Path, file: &str) -> Option<i64> {
    tail(path)?.files.iter().rev().find(|one| one.path == file)?.at_s
}

/// Only an ordinary file: a pipe would make us wait for its writer, a device may never end.
fn open(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|_| path.is_absolute())?;
    Dir::open(folder).ok()?.open_file(path.file_name()?.to_str()?).ok()
}

fn last_bytes(path: &Path) -> Option<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata().ok()?.len();
    let from = size.saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(size - from).ok()?];
    let read = platform::read_at(&file, &mut bytes, from).ok()?;
    bytes.truncate(read);
    if from > 0 {
        let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
        bytes.drain(..first);
    }
    Some(bytes)
}

#[derive(Default)]
struct Reading {
    found: Tail,
    /// Calls without a result so far.
    open: Vec<OpenCall>,
}

struct OpenCall {
    id: String,
    call: RunningCall,
    file: Option<FileUse>,
}

/// The model of lines that the client itself wrote.
const SYNTHETIC: &str = "<synthetic>";

impl Reading {
    fn take(&mut self, line: &Members<'_>) {
        let at_s = time_of(line);
        if at_s.is_some() {
            self.found.last_s = at_s;
        }
        if line.value("isSidechain") == Some(true) {
            return;
        }
        if line.text("type").as_deref() == Some("assistant")
            && let Some(message) = line.object("message")
        {
            self.found.limit_resets_s =
                line.object("quotaLimits").and_then(|quota| times::of_json(&quota.value("resetsAt")?));
            if let Some(model) = message.text("model").filter(|model| model != SYNTHETIC && !model.is_empty())
            {
                self.found.model = Some(model);
            }
        }
        line::pieces(line, |piece| match piece {
            Piece::Call(call) => {
                let file = call.file().map(|(path, changes)| FileUse { path, at_s, changes });
                self.open.push(OpenCall { id: call.id(), call: call.running(), file });
            }
            Piece::Answer(answer) => self.result(&answer.id(), answer.failed(), at_s),
            Piece::Prompt(text) => {
                // Somebody went on: what was open before was stopped, not cut off.
                self.open.clear();
                self.found.last_prompt = Some(text);
            }
            Piece::Aside(text) => self.found.last_prompt = Some(text),
            Piece::Said(_) | Piece::Thought(_) | Piece::ApiError(_) => {}
        });
    }

    /// A call that failed taught nothing about its file and did not change it.
    fn result(&mut self, id: &str, failed: bool, at_s: Option<i64>) {
        let found = &mut self.found.files;
        self.open.retain_mut(|open| {
            if open.id != id {
                return true;
            }
            if let Some(mut file) = open.file.take().filter(|_| !failed) {
                if file.changes {
                    file.at_s = at_s.or(file.at_s);
                }
                found.push(file);
            }
            false
        });
    }

    fn finish(mut self) -> Tail {
        self.found.running = self.open.pop().map(|open| open.call);
        self.found
    }
}

fn time_of(line: &Members<'_>) -> Option<i64> {
    line.text("timestamp").as_deref().and_then(times::parse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(lines: &[&str]) -> Tail {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        tail(file.path()).unwrap()
    }

    const PROMPT: &str = r#"{"type":"user","timestamp":"2026-03-02T09:00:00.000Z","message":{"role":"user","content":"fix the parser"}}"#;
    const BASH: &str = r#"{"type":"assistant","timestamp":"2026-03-02T09:00:05Z","message":{"model":"claude-x-5","id":"m1","content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test -p api","description":"d"}}]}}"#;
    const EDIT: &str = r#"{"type":"assistant","timestamp":"2026-03-02T09:00:09Z","message":{"model":"claude-x-5","content":[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"/p/a.rs","old_string":"\ud83d"}}]}}"#;
    const RESULT: &str =
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}"#;

    #[test]
    fn a_call_without_a_result_was_running() {
        let running = Some(RunningCall { tool: "Bash".into(), what: "cargo test -p api".into() });
        assert_eq!(of(&[PROMPT, BASH]).running, running);
        assert_eq!(of(&[PROMPT, BASH, RESULT]).running, None);
        assert_eq!(of(&[PROMPT, BASH, PROMPT]).running, None, "somebody went on");
        assert_eq!(
            of(&[PROMPT, BASH, r#"{"type":"queue-operation"}"#, r#"{"type":"assist"#]).running,
            running
        );
        let side = BASH.replace("\"type\":\"assistant\"", "\"type\":\"assistant\",\"isSidechain\":true");
        assert_eq!(of(&[PROMPT, &side]).running, None, "a subagent's");
    }

    #[test]
    fn what_a_person_wrote_and_what_not() {
        assert_eq!(of(&[PROMPT, BASH, RESULT]).last_prompt.as_deref(), Some("fix the parser"));
        for other in [
            r#"{"type":"user","message":{"content":"<task-notification>\n<task-id>b1</task-id>"}}"#,
            r#"{"type":"user","isCompactSummary":true,"message":{"content":"so far"}}"#,
            r#"{"type":"user","isMeta":true,"message":{"content":"go"}}"#,
            r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#,
        ] {
            assert_eq!(of(&[PROMPT, other]).last_prompt.as_deref(), Some("fix the parser"), "{other}");
        }
        let blocks = r#"{"type":"user","message":{"content":[{"type":"text","text":"and now this"}]}}"#;
        assert_eq!(of(&[PROMPT, blocks]).last_prompt.as_deref(), Some("and now this"));
    }

    #[test]
    fn what_a_person_adds_in_mid_turn_is_a_prompt_that_stops_nothing() {
        for aside in [
            r#"{"type":"attachment","attachment":{"type":"queued_command","commandMode":"prompt","prompt":[{"type":"text","text":"use tabs"}]}}"#,
            r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"use tabs"}}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":" use tabs"}"#,
        ] {
            let tail = of(&[PROMPT, BASH, aside]);
            assert_eq!(tail.last_prompt.as_deref(), Some("use tabs"), "{aside}");
            assert!(tail.running.is_some(), "{aside}");
        }
        for other in [
            r#"{"type":"attachment","attachment":{"type":"queued_command","commandMode":"task-notification","prompt":"x"}}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"<task-notification>x"}"#,
            r#"{"type":"queue-operation","operation":"remove","content":"use tabs"}"#,
            r#"{"type":"attachment","attachment":{"type":"environment","prompt":"x"}}"#,
        ] {
            assert_eq!(of(&[PROMPT, other]).last_prompt.as_deref(), Some("fix the parser"), "{other}");
        }
    }

    #[test]
    fn model_files_and_times() {
        let synthetic = r#"{"type":"assistant","isApiErrorMessage":true,"timestamp":"2026-03-02T09:01:00Z","message":{"model":"<synthetic>","content":[]}}"#;
        let tail = of(&[PROMPT, BASH, EDIT, &result("t2", false, "2026-03-02T09:00:30Z"), synthetic]);
        assert_eq!(tail.model.as_deref(), Some("claude-x-5"));
        assert_eq!(tail.last_s, Some(1_772_442_060));
        assert_eq!(
            tail.files,
            [FileUse { path: "/p/a.rs".into(), at_s: Some(1_772_442_030), changes: true }]
        );
    }

    fn result(id: &str, failed: bool, at: &str) -> String {
        format!(
            r#"{{"type":"user","timestamp":"{at}","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":{failed},"content":"x"}}]}}}}"#
        )
    }

    #[test]
    fn only_what_succeeded_teaches_about_a_file() {
        let read = EDIT.replace("Edit", "Read").replace("t2", "t3").replace("09:00:09", "09:00:01");
        let file = tempfile::NamedTempFile::new().unwrap();
        let known = |lines: &[&str]| {
            std::fs::write(file.path(), lines.join("\n")).unwrap();
            last_read_s(file.path(), "/p/a.rs")
        };
        let read_ok = result("t3", false, "2026-03-02T09:00:02Z");
        let missed = result("t2", true, "2026-03-02T09:00:30Z");
        let edited = result("t2", false, "2026-03-02T09:00:30Z");
        assert_eq!(known(&[PROMPT, &read]), None, "no result yet");
        assert_eq!(known(&[PROMPT, &read, &read_ok]), Some(1_772_442_001));
        assert_eq!(known(&[PROMPT, &read, &read_ok, EDIT, &missed]), Some(1_772_442_001));
        assert_eq!(known(&[PROMPT, &read, &read_ok, EDIT, &edited]), Some(1_772_442_030));
        assert!(of(&[PROMPT, EDIT, &missed]).files.is_empty());
    }

    #[test]
    fn odd_members_cost_their_own_value_only() {
        let odd = BASH.replace(
            "\"type\":\"assistant\",",
            r#""type":"user","type":"assistant","isSidechain":null,"isMeta":"no","quotaLimits":{"resetsAt":[]},"#,
        );
        assert!(of(&[PROMPT, &odd]).running.is_some());
        let quota = BASH.replace(
            "\"type\":\"assistant\",",
            r#""type":"assistant","timestamp":7,"quotaLimits":{"resetsAt":1772450000},"#,
        );
        assert_eq!(of(&[&quota]).limit_resets_s, Some(1_772_450_000));
        let half = PROMPT.replace("fix the", "fix \\ud83d the");
        assert_eq!(of(&[&half]).last_prompt.map(|text| text.ends_with("the parser")), Some(true));
        let deep = format!("{{\"type\":\"user\",\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(of(&[&deep, BASH]).running.is_some());
    }

    #[test]
    fn only_the_end_of_a_long_one_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let filler = format!("{{\"type\":\"system\",\"x\":\"{}\"}}\n", "y".repeat(1_000)).repeat(1_000);
        std::fs::write(file.path(), format!("{PROMPT}\n{filler}{BASH}\n")).unwrap();
        let tail = tail(file.path()).unwrap();
        assert_eq!(tail.last_prompt, None);
        assert!(tail.running.is_some());
    }

    #[test]
    fn what_is_no_file_is_none() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        std::fs::write(path("t.jsonl"), BASH).unwrap();
        assert!(tail(&path("t.jsonl")).is_some());
        std::os::unix::fs::symlink(path("t.jsonl"), path("link.jsonl")).unwrap();
        assert_eq!(tail(&path("link.jsonl")), None);
        assert!(std::process::Command::new("mkfifo").arg(path("pipe.jsonl")).status().unwrap().success());
        assert_eq!(tail(&path("pipe.jsonl")), None);
        std::fs::File::create(path("huge.jsonl")).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(tail(&path("huge.jsonl")), Some(Tail::default()));
        assert_eq!(tail(Path::new("t.jsonl")), None);
        assert_eq!(tail(Path::new("/")), None);
        assert_eq!(tail(Path::new("/dev/null")), None);
        assert_eq!(tail(Path::new("/no/such/file")), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..2_000), cut in 0..900_usize) {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &bytes).unwrap();
            let _ = tail(file.path());
            let whole = [PROMPT, BASH, EDIT, RESULT].join("\n");
            std::fs::write(file.path(), &whole.as_bytes()[..cut.min(whole.len())]).unwrap();
            let _ = tail(file.path());
        }
    }
}
