//! What was found, sorted under the headings of a hand-off. Every text from outside becomes one clean line here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rules::note::{self, Sense};
use rules::text::{one_line, redact};
use session_state::transcript::{FailedCall, Knowledge, Note, RunningCall};
use session_state::{Now, plans};

use crate::subagents::Subagent;

/// The longest texts, in characters.
const PROMPT_CHARS: usize = 600;
const WHAT_CHARS: usize = 200;
const ERROR_CHARS: usize = 200;
const NOTE_CHARS: usize = 360;
const ITEM_CHARS: usize = 160;
const PATH_CHARS: usize = 300;

/// Everything known of a dead session.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) session_id: String,
    pub(crate) saved: Now,
    pub(crate) last_s: Option<i64>,
    pub(crate) knowledge: Knowledge,
    pub(crate) subagents: Vec<Subagent>,
    /// Open boxes of the project's plan.
    pub(crate) boxes: Vec<String>,
    pub(crate) root: Option<PathBuf>,
    pub(crate) cwd: Option<String>,
    pub(crate) transcript: PathBuf,
    /// Bytes of the transcript.
    pub(crate) size: u64,
}

impl Findings {
    /// Whether the transcript told nothing of the session's work.
    pub(crate) fn is_empty(&self) -> bool {
        let known = &self.knowledge;
        let nothing = Knowledge { last_s: known.last_s, is_whole: known.is_whole, ..Knowledge::default() };
        *known == nothing && self.subagents.is_empty()
    }

    pub(crate) fn task(&self) -> Vec<String> {
        let (first, last) = (&self.knowledge.first_prompt, &self.knowledge.last_prompt);
        let mut items = Vec::new();
        if let Some(first) = first {
            items.push(format!("First prompt: {}", line(first, PROMPT_CHARS)));
        }
        if let Some(last) = last.as_ref().filter(|last| first.as_ref() != Some(last)) {
            items.push(format!("Last prompt: {}", line(last, PROMPT_CHARS)));
        }
        items
    }

    pub(crate) fn unfinished(&self) -> Vec<String> {
        let main = self.knowledge.running.iter().rev().map(|running| self.call(running));
        let subagents = self.subagents.iter().flat_map(|subagent| {
            subagent
                .knowledge
                .running
                .iter()
                .rev()
                .map(|running| format!("In {}: {}", label(subagent), self.call(running)))
        });
        main.chain(subagents).collect()
    }

    /// Files with the number of changes, the latest first; those of subagents included.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, (Option<i64>, u32)> = BTreeMap::new();
        let all = self.subagents.iter().map(|subagent| &subagent.knowledge).chain([&self.knowledge]);
        for file in all.flat_map(|knowledge| &knowledge.changed) {
            let (last, count) = counts.entry(&file.path).or_default();
            *last = file.last_s.max(*last);
            *count += file.count;
        }
        let mut files: Vec<_> = counts.into_iter().collect();
        files.sort_by_key(|(_, (last, _))| std::cmp::Reverse(*last));
        files
            .into_iter()
            .map(|(path, (_, count))| {
                let changes = if count == 1 { "1 change".to_owned() } else { format!("{count} changes") };
                format!("{} ({changes})", self.path(path))
            })
            .collect()
    }

    pub(crate) fn failed(&self) -> Vec<String> {
        let one = |failed: &FailedCall| {
            let times = if failed.times > 1 { format!(" ({} times)", failed.times) } else { String::new() };
            let error = line(&failed.error, ERROR_CHARS);
            let error = if error.is_empty() { "no output".to_owned() } else { error };
            format!("{}{times}: {error}", self.call(&failed.call))
        };
        let main = self.knowledge.failed.iter().rev().map(one);
        let subagents = self.subagents.iter().flat_map(|subagent| {
            subagent
                .knowledge
                .failed
                .iter()
                .rev()
                .map(move |failed| format!("In {}: {}", label(subagent), one(failed)))
        });
        main.chain(subagents).collect()
    }

    pub(crate) fn decided(&self) -> Vec<String> {
        self.notes(Sense::Decided)
    }

    pub(crate) fn rejected(&self) -> Vec<String> {
        let refused = self.knowledge.refused.iter().rev().map(|refused| {
            let said = line(&refused.said, ITEM_CHARS);
            let said = if said.is_empty() { said } else { format!(": {said}") };
            format!("A person refused {}{said}", self.call(&refused.call))
        });
        refused.chain(self.notes(Sense::Rejected)).collect()
    }

    pub(crate) fn risks(&self) -> Vec<String> {
        let knowledge = &self.knowledge;
        let unchecked = knowledge
            .failed
            .iter()
            .rev()
            .filter(|failed| failed.call.tool == "Bash" && failed.changes_after > 0)
            .map(|failed| {
                let changes = if failed.changes_after == 1 {
                    "1 change".to_owned()
                } else {
                    format!("{} changes", failed.changes_after)
                };
                format!(
                    "{changes} after the last failure of {}, which was not run since",
                    self.call(&failed.call)
                )
            });
        let api = knowledge
            .api_error
            .iter()
            .map(|error| format!("The last turn ended on an API error: {}", line(error, ERROR_CHARS)));
        api.chain(unchecked).chain(self.notes(Sense::Risk)).collect()
    }

    pub(crate) fn remaining(&self) -> Vec<String> {
        let todo = self.knowledge.open_items.iter().map(|item| {
            let state = if item.in_progress { " (in progress)" } else { "" };
            format!("[ ] {}{state}", line(&item.text, ITEM_CHARS))
        });
        let plan = plans::path();
        let boxes = self.boxes.iter().map(|text| format!("[ ] {} ({plan})", line(text, ITEM_CHARS)));
        todo.chain(boxes).collect()
    }

    pub(crate) fn transcript(&self) -> Vec<String> {
        let part =
            if self.knowledge.is_whole { "" } else { ", of which the end and the first prompt were read" };
        let mut items = vec![format!("{} ({}{part})", show(&self.transcript), size(self.size))];
        // A command is shown whole and as it is, or not at all.
        let is_clean = |text: &&str| line(text, usize::MAX) == **text && !text.contains('`');
        if is_plain(&self.session_id) {
            let folder = self.cwd.as_deref().or(self.root.as_deref().and_then(Path::to_str));
            let cd = folder
                .filter(is_clean)
                .map_or_else(String::new, |folder| format!("cd {} && ", shell_word(folder)));
            items.push(format!("`{cd}claude --resume {}` continues the session", self.session_id));
        }
        items.extend(
            self.subagents.iter().map(|subagent| format!("{}: {}", label(subagent), show(&subagent.path))),
        );
        items
    }

    /// The sentences of one sense, a note in one item, the latest first. Of subagents only those that were cut off.
    fn notes(&self, sense: Sense) -> Vec<String> {
        let main = self.knowledge.notes.iter().rev().filter_map(|note| words(note, sense));
        let subagents = self.subagents.iter().filter(|subagent| !subagent.knowledge.running.is_empty());
        let subagents = subagents.flat_map(|subagent| {
            let notes = subagent.knowledge.notes.iter().rev().filter_map(|note| words(note, sense));
            notes.map(move |words| format!("In {}: {words}", label(subagent)))
        });
        let mut items: Vec<String> = Vec::new();
        for item in main.chain(subagents) {
            if !items.contains(&item) {
                items.push(item);
            }
        }
        items
    }

    fn call(&self, call: &RunningCall) -> String {
        let tool = line(&call.tool, ITEM_CHARS);
        let what = if Path::new(&call.what).is_absolute() {
            self.path(&call.what)
        } else {
            line(&call.what, WHAT_CHARS)
        };
        if what.is_empty() { tool } else { format!("{tool} `{}`", what.replace('`', "'")) }
    }

    /// A path as people of this project write it; a long one loses its front.
    fn path(&self, path: &str) -> String {
        let path = Path::new(path);
        let inner = self.root.as_deref().and_then(|root| path.strip_prefix(root).ok());
        show(inner.filter(|inner| !inner.as_os_str().is_empty()).unwrap_or(path))
    }
}

fn show(path: &Path) -> String {
    let whole = line(&path.to_string_lossy(), usize::MAX);
    let skip = whole.chars().count().saturating_sub(PATH_CHARS);
    if skip == 0 { whole } else { format!("…{}", whole.chars().skip(skip + 1).collect::<String>()) }
}

fn label(subagent: &Subagent) -> String {
    const ASKED_CHARS: usize = 80;
    let id = line(&subagent.id, 40);
    match &subagent.knowledge.first_prompt {
        Some(asked) => format!("subagent {id} (asked: {})", line(asked, ASKED_CHARS)),
        None => format!("subagent {id}"),
    }
}

/// The sentences of one sense as one line.
fn words(note: &Note, sense: Sense) -> Option<String> {
    // Whole before it is cut: a secret may lie across sentences and lines.
    let clean = redact(&one_line(&note.text, usize::MAX)).into_owned();
    let sentences: Vec<&str> =
        note::sentences(&clean).filter(|sentence| note::sense(sentence) == sense).collect();
    let text = one_line(&sentences.join(" "), NOTE_CHARS);
    let mark = match (note.is_last_words, note.is_thought) {
        (true, _) => "(last words) ",
        (false, true) => "(thought) ",
        (false, false) => "",
    };
    (!text.is_empty()).then(|| format!("{mark}{text}"))
}

/// One clean line: escapes go first (one may stand inside a secret), the cut comes last (half a secret is not
/// recognised).
fn line(text: &str, max_chars: usize) -> String {
    one_line(&redact(&one_line(text, usize::MAX)), max_chars)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=1_023 => format!("{bytes} bytes"),
        1_024..=1_048_575 => format!("{} KiB", bytes / 1_024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}

/// A folder as a shell takes it.
fn shell_word(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Whether a shell takes a word as it is.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-' | b'+'))
}
