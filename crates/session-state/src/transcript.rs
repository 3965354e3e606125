//! The end of a transcript: what a session was doing. Only read, and never more than its last 256 KiB.
//!
//! The client writes one JSON object a line, with a delay, with many types and more of them in each version; the last
//! line may be torn (CONTRACT 8). Whatever does not fit is passed over.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{platform, times};

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
    /// Files that were read, edited or written, in order.
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
    /// When, seconds since 1970.
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
        if let Ok(line) = serde_json::from_slice::<Line<'_>>(line) {
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

/// When the conversation last learned what a file holds: by reading or by writing it.
#[must_use]
pub fn last_read_s(path: &Path, file: &str) -> Option<i64> {
    tail(path)?.files.iter().rev().find(|one| one.path == file)?.at_s
}

fn last_bytes(path: &Path) -> Option<Vec<u8>> {
    // Looked at first: opening a pipe would wait for its writer.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    quota_limits: Option<QuotaLimits>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuotaLimits {
    #[serde(default)]
    resets_at: Option<i64>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_use_id: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

#[derive(Default)]
struct Reading {
    found: Tail,
    /// Calls without a result so far: id and what they are.
    open: Vec<(String, RunningCall)>,
}

/// The model of lines that the client itself wrote.
const SYNTHETIC: &str = "<synthetic>";

impl Reading {
    fn take(&mut self, line: &Line<'_>) {
        let at_s = line.timestamp.as_deref().and_then(times::parse);
        if at_s.is_some() {
            self.found.last_s = at_s;
        }
        if line.is_sidechain || !matches!(&*line.kind, "user" | "assistant") {
            return;
        }
        let Some(message) = line.message.and_then(|raw| serde_json::from_str::<Message<'_>>(raw.get()).ok())
        else {
            return;
        };
        let content = message.content.map(RawValue::get).unwrap_or_default();
        if line.kind == "assistant" {
            self.found.limit_resets_s = line.quota_limits.as_ref().and_then(|quota| quota.resets_at);
            if let Some(model) = message.model.filter(|model| *model != SYNTHETIC && !model.is_empty()) {
                self.found.model = Some(model.into_owned());
            }
            for block in blocks(content).iter().filter(|block| block.kind == "tool_use") {
                self.call(block, at_s);
            }
        } else if content.starts_with('"') {
            let text: String = serde_json::from_str(content).unwrap_or_default();
            self.prompt(line.is_meta, &text);
        } else {
            let blocks = blocks(content);
            for block in blocks.iter().filter(|block| block.kind == "tool_result") {
                self.open.retain(|(id, _)| *id != block.tool_use_id);
            }
            if !blocks.iter().any(|block| block.kind == "tool_result")
                && let Some(text) = blocks.iter().find(|block| block.kind == "text")
            {
                self.prompt(line.is_meta, &text.text);
            }
        }
    }

    fn call(&mut self, block: &Block<'_>, at_s: Option<i64>) {
        let member = |name: &str| block.input.and_then(|input| string_member(input, name));
        const FILES: [(&str, &str, bool); 5] = [
            ("Read", "file_path", false),
            ("Edit", "file_path", true),
            ("MultiEdit", "file_path", true),
            ("Write", "file_path", true),
            ("NotebookEdit", "notebook_path", true),
        ];
        if let Some((_, field, changes)) = FILES.iter().find(|(tool, ..)| *tool == block.name)
            && let Some(path) = member(field)
        {
            self.found.files.push(FileUse { path, at_s, changes: *changes });
        }
        const WHAT: [&str; 8] =
            ["command", "file_path", "notebook_path", "url", "query", "pattern", "description", "prompt"];
        let what = WHAT.into_iter().find_map(member).unwrap_or_default();
        let call = RunningCall { tool: block.name.clone().into_owned(), what };
        self.open.push((block.id.clone().into_owned(), call));
    }

    fn prompt(&mut self, is_meta: bool, text: &str) {
        let text = text.trim();
        // Commands, their output and notices stand in tags; an interrupt in square brackets.
        const NOT_A_PERSON: [&str; 8] = [
            "<task-notification>",
            "<command-",
            "<local-command-",
            "<bash-",
            "<system-reminder>",
            "[Request interrupted",
            "Caveat: ",
            "Your claude.ai usage limit has reset.",
        ];
        if is_meta || text.is_empty() || NOT_A_PERSON.iter().any(|start| text.starts_with(start)) {
            return;
        }
        // Somebody went on: what was open before was stopped, not cut off.
        self.open.clear();
        self.found.last_prompt = Some(text.to_owned());
    }

    fn finish(mut self) -> Tail {
        self.found.running = self.open.pop().map(|(_, call)| call);
        self.found
    }
}

fn blocks(content: &str) -> Vec<Block<'_>> {
    let Ok(raw) = serde_json::from_str::<Vec<&RawValue>>(content) else { return Vec::new() };
    raw.into_iter().filter_map(|block| serde_json::from_str(block.get()).ok()).collect()
}

/// One string member of an object.
fn string_member(object: &RawValue, name: &str) -> Option<String> {
    let members: std::collections::HashMap<Cow<'_, str>, &RawValue> =
        serde_json::from_str(object.get()).ok()?;
    serde_json::from_str(members.get(name)?.get()).ok()
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
            r#"{"type":"user","isMeta":true,"message":{"content":"go"}}"#,
            r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#,
        ] {
            assert_eq!(of(&[PROMPT, other]).last_prompt.as_deref(), Some("fix the parser"), "{other}");
        }
        let blocks = r#"{"type":"user","message":{"content":[{"type":"text","text":"and now this"}]}}"#;
        assert_eq!(of(&[PROMPT, blocks]).last_prompt.as_deref(), Some("and now this"));
    }

    #[test]
    fn model_files_and_times() {
        let synthetic = r#"{"type":"assistant","isApiErrorMessage":true,"timestamp":"2026-03-02T09:01:00Z","message":{"model":"<synthetic>","content":[]}}"#;
        let tail = of(&[PROMPT, BASH, EDIT, synthetic]);
        assert_eq!(tail.model.as_deref(), Some("claude-x-5"));
        assert_eq!(tail.last_s, Some(1_772_442_060));
        assert_eq!(
            tail.files,
            [FileUse { path: "/p/a.rs".into(), at_s: Some(1_772_442_009), changes: true }]
        );
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
