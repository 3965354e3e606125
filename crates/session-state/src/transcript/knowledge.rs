//! What a session knew: its transcript folded, one line after the other, in bounded memory.

use rules::{bash, note};

use super::line::{self, Answer, Call, Piece};
use super::{RunningCall, time_of};
use crate::json_members::Members;

/// Decisions are looked for in this many of the last turns; a turn begins with a person's prompt.
const TURNS: u32 = 20;

// What is kept of each kind at most, and of each text in characters: a transcript may be of any size.
const MAX_OPEN: usize = 64;
const MAX_CHANGED: usize = 256;
const MAX_FAILED: usize = 64;
const MAX_NOTES: usize = 64;
const MAX_PENDING: usize = 8;
const MAX_ITEMS: usize = 256;
const MAX_REFUSED: usize = 16;
/// The tools that keep lists of things to do, and the client's word for one that it does not have.
const LISTS: [&str; 3] = ["TodoWrite", "TaskCreate", "TaskUpdate"];
const NO_SUCH_TOOL: &str = "No such tool available";
const PROMPT_CHARS: usize = 8_000;
const TEXT_CHARS: usize = 4_000;
const WHAT_CHARS: usize = 2_000;

/// What a transcript tells of a session's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Whether all of the transcript was read.
    pub is_whole: bool,
    /// The first prompt a person wrote.
    pub first_prompt: Option<String>,
    /// The last one.
    pub last_prompt: Option<String>,
    /// Calls without a result, in order.
    pub running: Vec<RunningCall>,
    /// Files changed with success, the latest last.
    pub changed: Vec<ChangedFile>,
    /// Calls whose last try failed, the latest last.
    pub failed: Vec<FailedCall>,
    /// Calls a person refused, in order.
    pub refused: Vec<RefusedCall>,
    /// What the model said or thought after an error or before a change, and its last words; in order.
    pub notes: Vec<Note>,
    /// Open items of its lists of things to do, those in progress first.
    pub open_items: Vec<OpenItem>,
    /// The error of the API on which the last turn ended.
    pub api_error: Option<String>,
    /// Time of the last line that has one, seconds since 1970.
    pub last_s: Option<i64>,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path as the calls gave it.
    pub path: String,
    /// How many changes succeeded.
    pub count: u32,
    /// When the last one did, seconds since 1970.
    pub last_s: Option<i64>,
}

/// A call that failed and was not repeated with success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// The call.
    pub call: RunningCall,
    /// The last line of its output that reports an error; empty when it said nothing.
    pub error: String,
    /// How often it failed in a row.
    pub times: u32,
    /// How many changes to files came after it.
    pub changes_after: u32,
}

/// A call that a person did not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCall {
    /// The call.
    pub call: RunningCall,
    /// What the person said; may be empty.
    pub said: String,
}

/// A text of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The text.
    pub text: String,
    /// Whether it thought it only.
    pub is_thought: bool,
    /// Whether it counts only because nothing came after it.
    pub is_last_words: bool,
    turn: u32,
}

/// An item to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenItem {
    /// What is to do.
    pub text: String,
    /// Whether it was begun.
    pub in_progress: bool,
}

/// The fold.
#[derive(Default)]
pub(super) struct Fold {
    found: Knowledge,
    open: Vec<OpenCall>,
    turn: u32,
    /// Whether a call failed since the model last said something.
    after_error: bool,
    /// Texts of which the next call decides whether they count.
    pending: Vec<Note>,
    /// Whether a call came after them.
    was_acted_on: bool,
    /// The list of `TodoWrite`, and the tasks of `TaskCreate` by their id.
    todo: Vec<Item>,
    tasks: Vec<(String, Item)>,
}

struct OpenCall {
    id: String,
    call: RunningCall,
    changes: Option<String>,
    task: TaskCall,
}

/// What a call does to the list of tasks once it succeeds.
enum TaskCall {
    None,
    Create(String),
    Update { id: String, subject: Option<String>, state: Option<State> },
}

struct Item {
    text: String,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Pending,
    InProgress,
    Closed,
}

impl State {
    fn of(word: &str) -> Self {
        match word {
            "pending" => Self::Pending,
            "in_progress" => Self::InProgress,
            // `completed`, `deleted`, and whatever comes.
            _ => Self::Closed,
        }
    }
}

impl Fold {
    /// Takes a line; those of subagents among the main conversation's are passed over.
    pub(super) fn take(&mut self, line: &Members<'_>, is_subagent: bool) {
        let at_s = time_of(line);
        self.found.last_s = at_s.or(self.found.last_s);
        if !is_subagent && line.value("isSidechain") == Some(true) {
            return;
        }
        line::pieces(line, |piece| match piece {
            Piece::Prompt(text) => self.prompt(&text),
            Piece::Aside(text) => self.asked(&text),
            Piece::Said(block) => self.note(&block.text(), false),
            Piece::Thought(block) => self.note(&block.text(), true),
            Piece::Call(call) => self.call(&call),
            Piece::Answer(answer) => self.answer(&answer, at_s),
            Piece::ApiError(block) => self.found.api_error = Some(start_of(&block.text(), TEXT_CHARS)),
        });
    }

    fn prompt(&mut self, text: &str) {
        // Somebody went on: what was open before was stopped, not cut off.
        self.open.clear();
        self.pending.clear();
        self.after_error = false;
        self.turn += 1;
        self.found.api_error = None;
        self.asked(text);
    }

    fn asked(&mut self, text: &str) {
        let text = start_of(text, PROMPT_CHARS);
        self.found.first_prompt.get_or_insert_with(|| text.clone());
        self.found.last_prompt = Some(text);
    }

    fn note(&mut self, text: &str, is_thought: bool) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.found.api_error = None;
        if self.was_acted_on {
            self.pending.clear();
            self.was_acted_on = false;
        }
        let note =
            Note { text: start_of(text, TEXT_CHARS), is_thought, is_last_words: false, turn: self.turn };
        if self.after_error || note::names_a_decision(text) {
            // A thought and the text after it both answer the error.
            self.after_error &= is_thought;
            push_bounded(&mut self.found.notes, note, MAX_NOTES);
        } else {
            push_bounded(&mut self.pending, note, MAX_PENDING);
        }
    }

    fn call(&mut self, call: &Call<'_, '_>) {
        self.found.api_error = None;
        let tool = call.tool();
        let changes = call.file().filter(|(_, changes)| *changes).map(|(path, _)| path);
        if changes.is_some() {
            for note in std::mem::take(&mut self.pending) {
                push_bounded(&mut self.found.notes, note, MAX_NOTES);
            }
        }
        self.was_acted_on = true;
        if tool == "TodoWrite" {
            self.todo = todo_items(call);
        }
        let mut running = call.running();
        running.what = start_of(&running.what, WHAT_CHARS);
        push_bounded(
            &mut self.open,
            OpenCall { id: call.id(), call: running, changes, task: task_call(&tool, call) },
            MAX_OPEN,
        );
    }

    fn answer(&mut self, answer: &Answer<'_, '_>, at_s: Option<i64>) {
        let id = answer.id();
        let Some(at) = self.open.iter().position(|open| open.id == id) else { return };
        let OpenCall { call, changes, task, .. } = self.open.remove(at);
        let text = answer.text();
        // A list that the client does not keep still says what the model meant to do.
        let is_list = LISTS.contains(&call.tool.as_str());
        if !answer.failed() || is_list && text.contains(NO_SUCH_TOOL) {
            self.apply(task, &text);
        }
        if answer.failed() {
            if !is_list {
                self.fail(call, &text);
            }
            return;
        }
        self.found.failed.retain(|failed| failed.call != call);
        if let Some(path) = changes {
            self.change(path, at_s);
        }
    }

    fn apply(&mut self, task: TaskCall, answer: &str) {
        match task {
            TaskCall::None => {}
            TaskCall::Create(text) => {
                let id = created_id(answer).unwrap_or_else(|| (self.tasks.len() + 1).to_string());
                push_bounded(&mut self.tasks, (id, Item { text, state: State::Pending }), MAX_ITEMS);
            }
            TaskCall::Update { id, subject, state } => {
                if let Some((_, item)) = self.tasks.iter_mut().find(|(known, _)| *known == id) {
                    item.text = subject.unwrap_or_else(|| std::mem::take(&mut item.text));
                    item.state = state.unwrap_or(item.state);
                } else if let Some(text) = subject {
                    let item = Item { text, state: state.unwrap_or(State::Pending) };
                    push_bounded(&mut self.tasks, (id, item), MAX_ITEMS);
                }
            }
        }
    }

    fn fail(&mut self, call: RunningCall, text: &str) {
        // The client's words for a person who said no, and for one who pressed Esc.
        const REFUSED: &str = "The user doesn't want to ";
        const REASON: &str = "the user said:";
        const INTERRUPTED: &str = "[Request interrupted";
        if text.starts_with(REFUSED) {
            let said = text.split_once(REASON).map_or("", |(_, said)| said.trim());
            let refused = RefusedCall { call, said: start_of(said, TEXT_CHARS) };
            push_bounded(&mut self.found.refused, refused, MAX_REFUSED);
            return;
        }
        if text.starts_with(INTERRUPTED) {
            return;
        }
        self.after_error = true;
        let text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "");
        let error = start_of(bash::last_error_line(&text).unwrap_or_default(), WHAT_CHARS);
        let failed = &mut self.found.failed;
        let before = failed.iter().position(|failed| failed.call == call).map(|at| failed.remove(at));
        let times = before.map_or(0, |before| before.times) + 1;
        push_bounded(failed, FailedCall { call, error, times, changes_after: 0 }, MAX_FAILED);
    }

    fn change(&mut self, path: String, at_s: Option<i64>) {
        for failed in &mut self.found.failed {
            failed.changes_after += 1;
        }
        let changed = &mut self.found.changed;
        let before = changed.iter().position(|file| file.path == path).map(|at| changed.remove(at));
        let count = before.map_or(0, |before| before.count) + 1;
        push_bounded(changed, ChangedFile { path, count, last_s: at_s }, MAX_CHANGED);
    }

    pub(super) fn finish(mut self) -> Knowledge {
        let mut found = self.found;
        found.running = self.open.into_iter().map(|open| open.call).collect();
        // Its last words, whatever they are: nobody knows what it would have done next.
        found.notes.extend(self.pending.pop().map(|note| Note { is_last_words: true, ..note }));
        let first = self.turn.saturating_sub(TURNS - 1);
        found.notes.retain(|note| note.turn >= first);
        let items: Vec<Item> =
            self.todo.into_iter().chain(self.tasks.into_iter().map(|(_, item)| item)).collect();
        found.open_items = [State::InProgress, State::Pending]
            .into_iter()
            .flat_map(|state| items.iter().filter(move |item| item.state == state))
            .map(|item| OpenItem { text: item.text.clone(), in_progress: item.state == State::InProgress })
            .collect();
        found
    }
}

/// `{"todos": [{"content", "status"}]}`, the whole list each time.
fn todo_items(call: &Call<'_, '_>) -> Vec<Item> {
    let raw: Vec<&serde_json::value::RawValue> =
        call.input.as_ref().and_then(|input| input.value("todos")).unwrap_or_default();
    raw.into_iter()
        .take(MAX_ITEMS)
        .filter_map(|item| {
            let item = Members::of(item.get())?;
            let text = start_of(&item.text("content")?, WHAT_CHARS);
            Some(Item { text, state: State::of(&item.text("status").unwrap_or_default()) })
        })
        .collect()
}

/// `TaskCreate {"subject"}`, `TaskUpdate {"taskId", "status", "subject"}`.
fn task_call(tool: &str, call: &Call<'_, '_>) -> TaskCall {
    match tool {
        "TaskCreate" => call
            .member("subject")
            .map_or(TaskCall::None, |subject| TaskCall::Create(start_of(&subject, WHAT_CHARS))),
        "TaskUpdate" => call.member("taskId").map_or(TaskCall::None, |id| TaskCall::Update {
            id,
            subject: call.member("subject").map(|subject| start_of(&subject, WHAT_CHARS)),
            state: call.member("status").map(|word| State::of(&word)),
        }),
        _ => TaskCall::None,
    }
}

/// The id in `Task #7 created successfully: ...`.
fn created_id(answer: &str) -> Option<String> {
    let id = answer.strip_prefix("Task #")?.split([' ', ':']).next()?;
    (!id.is_empty()).then(|| id.to_owned())
}

/// The start of a text, without half a word at its end: half a secret would not be recognised as one.
fn start_of(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => text[..end].trim_end_matches(|c: char| c.is_ascii_graphic()).to_owned(),
    }
}

/// The oldest goes when there is no more room.
fn push_bounded<T>(list: &mut Vec<T>, one: T, most: usize) {
    if list.len() >= most {
        list.remove(0);
    }
    list.push(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_no_half_word() {
        for (text, chars, start) in [
            ("one two", 7, "one two"),
            ("one two", 6, "one "),
            ("one two", 4, "one "),
            ("漢字漢字", 3, "漢字漢"),
            ("token", 3, ""),
        ] {
            assert_eq!(start_of(text, chars), start, "{text} {chars}");
        }
    }

    #[test]
    fn lists_have_a_bound_and_the_oldest_go() {
        let mut list = Vec::new();
        (0..5).for_each(|n| push_bounded(&mut list, n, 3));
        assert_eq!(list, [2, 3, 4]);
    }

    #[test]
    fn a_tasks_id_is_in_the_answer() {
        for (answer, id) in [
            ("Task #7 created successfully: Docs", Some("7")),
            ("Task #a-b created successfully", Some("a-b")),
            ("Task # created", None),
            ("Created", None),
        ] {
            assert_eq!(created_id(answer).as_deref(), id, "{answer}");
        }
    }
}
