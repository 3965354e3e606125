//! `tasks.md`: the only authority on what of a change is done.
//!
//! Which lines are tasks is said by [`rules::task_list`].

use rules::task_list::{ID_CLOSE, ID_OPEN, boxes, split_id};
use sha2::{Digest as _, Sha256};

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its lasting name, if it has one.
    pub id: Option<String>,
    /// What is to be done.
    pub text: String,
    /// Whether the box is ticked.
    pub completed: bool,
    /// Line, from 1.
    pub line: usize,
    /// Where the character in the box stands, in bytes; it is one byte long.
    box_at: usize,
    /// Where the line ends, before its line break, in bytes.
    end: usize,
}

/// Why a list of tasks cannot be read; the texts are those of the system that owns the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TasksError {
    /// What looks like an id is none, or stands elsewhere than at the end.
    #[error("Malformed Classic task ID at line {line}")]
    MalformedId {
        /// From 1.
        line: usize,
    },
    /// Two tasks have one id.
    #[error("Duplicate Classic task ID: {id}")]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// A box without a text.
    #[error("Empty Classic task at line {line}")]
    Empty {
        /// From 1.
        line: usize,
    },
}

/// Why a task was not ticked; the texts are those of the system that owns the file, where it has one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompleteError {
    /// The list cannot be read.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    /// The list is another one than the caller has seen.
    #[error("Task requirements changed; reload the task list before recording completion")]
    Changed {
        /// The revision as it stands.
        revision: String,
    },
    /// Tasks without a lasting name cannot be told apart safely.
    #[error("Legacy tasks need stable IDs; run state tasks <change> --assign-ids first")]
    NeedsIds,
    /// No task has this id.
    #[error("Unknown Classic task ID: {id}")]
    UnknownId {
        /// The id.
        id: String,
    },
}

/// Reads the tasks of a text, in its order.
pub fn parse(source: &str) -> Result<Vec<Task>, TasksError> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut ids = std::collections::HashSet::new();
    for item in boxes(source) {
        let (id, text) = split_id(item.rest).ok_or(TasksError::MalformedId { line: item.line })?;
        if let Some(id) = id
            && !ids.insert(id)
        {
            return Err(TasksError::DuplicateId { id: id.to_owned() });
        }
        if text.is_empty() {
            return Err(TasksError::Empty { line: item.line });
        }
        tasks.push(Task {
            id: id.map(str::to_owned),
            text: text.to_owned(),
            completed: item.ticked,
            line: item.line,
            box_at: item.box_at,
            end: item.end,
        });
    }
    Ok(tasks)
}

/// Returns the revision: SHA-256 of the text with every box empty, in lower-case hexadecimal digits.
///
/// Ticking a box keeps it, any other edit changes it.
pub fn revision(source: &str) -> Result<String, TasksError> {
    Ok(revision_of(source, &parse(source)?))
}

/// The same for tasks that are read already.
#[must_use]
pub fn revision_of(source: &str, tasks: &[Task]) -> String {
    let mut hash = Sha256::new();
    let mut done = 0;
    for task in tasks {
        hash.update(&source.as_bytes()[done..task.box_at]);
        hash.update(b" ");
        done = task.box_at + 1;
    }
    hash.update(&source.as_bytes()[done..]);
    hex(&hash.finalize())
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        text
    })
}

/// Whether a task has no lasting name.
#[must_use]
pub fn needs_ids(tasks: &[Task]) -> bool {
    tasks.iter().any(|task| task.id.is_none())
}

/// Returns the text in which every task without an id got one from `fresh`, at the end of its line.
pub fn with_ids(source: &str, mut fresh: impl FnMut() -> String) -> Result<String, TasksError> {
    let mut text = String::with_capacity(source.len());
    let mut done = 0;
    for task in parse(source)?.iter().filter(|task| task.id.is_none()) {
        text.push_str(&source[done..task.end]);
        text.push_str(&format!(" {ID_OPEN}{}{ID_CLOSE}", fresh()));
        done = task.end;
    }
    text.push_str(&source[done..]);
    Ok(text)
}

/// Returns the text in which one task is ticked: at most one character differs.
///
/// Errors: the list is not the one of `expected`, a task has no id, or none has this one.
pub fn with_task_done(source: &str, id: &str, expected: &str) -> Result<String, CompleteError> {
    let tasks = parse(source)?;
    let revision = revision_of(source, &tasks);
    if revision != expected {
        return Err(CompleteError::Changed { revision });
    }
    if needs_ids(&tasks) {
        return Err(CompleteError::NeedsIds);
    }
    let task = tasks
        .iter()
        .find(|task| task.id.as_deref() == Some(id))
        .ok_or_else(|| CompleteError::UnknownId { id: id.to_owned() })?;
    let mut text = source.to_owned();
    if !task.completed {
        text.replace_range(task.box_at..=task.box_at, "x");
    }
    Ok(text)
}

/// Returns the text in which each box says what `ticked` says of its task; a box that says it already is left alone.
pub(crate) fn with_boxes(source: &str, tasks: &[Task], ticked: impl Fn(&Task) -> bool) -> String {
    let mut text = source.to_owned();
    for task in tasks {
        let wanted = ticked(task);
        if wanted != task.completed {
            text.replace_range(task.box_at..=task.box_at, if wanted { "x" } else { " " });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Option<(Option<String>, String, bool)> {
        let tasks = parse(line).unwrap();
        assert!(tasks.len() <= 1);
        tasks.into_iter().next().map(|task| (task.id, task.text, task.completed))
    }

    fn found(id: Option<&str>, text: &str, completed: bool) -> Option<(Option<String>, String, bool)> {
        Some((id.map(str::to_owned), text.to_owned(), completed))
    }

    #[test]
    fn lines() {
        for (line, task) in [
            ("- [ ] Sort", found(None, "Sort", false)),
            ("* [x] Sort", found(None, "Sort", true)),
            ("- [X] Sort", found(None, "Sort", true)),
            ("   -\t[ ]\u{a0}Sort  ", found(None, "Sort", false)),
            ("\u{feff}- [ ] Sort", found(None, "Sort", false)),
            ("- [ ] Sort <!-- comet-task:a-1_B -->", found(Some("a-1_B"), "Sort", false)),
            ("- [ ] Sort<!-- comet-task:7 --> \t", found(Some("7"), "Sort", false)),
            ("- [ ]\u{3000}Sort", found(None, "Sort", false)),
            ("- [ ] Sort\r", None),
            ("- [ ] So\u{2028}rt", None),
            ("- [ ]Sort", None),
            ("-[ ] Sort", None),
            ("- [-] Sort", None),
            ("- [  ] Sort", None),
            ("+ [ ] Sort", None),
            ("1. [ ] Sort", None),
            ("Sort - [ ] it", None),
            ("", None),
            ("- [", None),
            ("- [ü] Sort", None),
        ] {
            assert_eq!(one(line), task, "{line:?}");
        }
    }

    #[test]
    fn the_three_errors() {
        for (source, text) in [
            ("ok\n- [ ] a <!-- comet-task: -->", "Malformed Classic task ID at line 2"),
            ("- [ ] a <!-- comet-task:_a -->", "Malformed Classic task ID at line 1"),
            ("- [ ] a <!-- comet-task:a --> b", "Malformed Classic task ID at line 1"),
            ("- [ ] a <!-- comet-task:a", "Malformed Classic task ID at line 1"),
            ("- [ ] <!-- comet-task:a --> <!-- comet-task:b -->", "Malformed Classic task ID at line 1"),
            ("- [ ] a <!-- comet-task:x -->\n- [x] b <!-- comet-task:x -->", "Duplicate Classic task ID: x"),
            ("\n\n- [ ]  \n", "Empty Classic task at line 3"),
            ("- [ ] <!-- comet-task:a -->", "Empty Classic task at line 1"),
        ] {
            assert_eq!(parse(source).unwrap_err().to_string(), text, "{source:?}");
        }
        let id = |length: usize| format!("- [ ] a <!-- comet-task:{} -->", "i".repeat(length));
        assert!(parse(&id(79)).is_ok() && parse(&id(80)).is_ok() && parse(&id(81)).is_err());
    }

    #[test]
    fn fences() {
        for (source, count) in [
            ("```\n- [ ] a\n```\n- [ ] b", 1),
            ("   ~~~ md\n- [ ] a\n~~~~ \n- [ ] b", 1),
            ("    ```\n- [ ] a", 1),
            ("````\n```\n- [ ] a\n````\n- [ ] b", 1),
            ("```\n~~~\n- [ ] a", 0),
            ("```\n``` x\n- [ ] a\n```\n- [ ] b", 1),
            ("``\n- [ ] a", 1),
            ("```\r\n- [ ] a\r\n```\r\n- [ ] b\r\n", 1),
            ("```", 0),
        ] {
            assert_eq!(parse(source).unwrap().len(), count, "{source:?}");
        }
    }

    #[test]
    fn ticking_keeps_the_revision_and_an_edit_does_not() {
        let source = "\u{feff}# T\r\n- [ ] a <!-- comet-task:a -->\r\n* [X] b <!-- comet-task:b -->\r\n";
        let before = revision(source).unwrap();
        let ticked = with_task_done(source, "a", &before).unwrap();
        assert_eq!(revision(&ticked).unwrap(), before);
        let differing = source.bytes().zip(ticked.bytes()).filter(|(old, new)| old != new).count();
        assert_eq!((differing, ticked.len()), (1, source.len()));
        assert_eq!(with_task_done(&ticked, "a", &before).unwrap(), ticked, "twice is once");
        assert_eq!(with_task_done(source, "b", &before).unwrap(), source, "a large X is a tick");
        assert_ne!(revision(&source.replace('T', "U")).unwrap(), before);
        assert_ne!(revision(&source.replace("\r\n", "\n")).unwrap(), before);
        assert_ne!(revision(source.trim_start_matches('\u{feff}')).unwrap(), before);
    }

    #[test]
    fn why_a_task_is_not_ticked() {
        let source = "- [ ] a <!-- comet-task:a -->\n";
        let now = revision(source).unwrap();
        assert_eq!(with_task_done(source, "a", "0"), Err(CompleteError::Changed { revision: now.clone() }));
        assert_eq!(with_task_done(source, "b", &now), Err(CompleteError::UnknownId { id: "b".into() }));
        let bare = "- [ ] a <!-- comet-task:a -->\n- [ ] b\n";
        assert_eq!(with_task_done(bare, "a", &revision(bare).unwrap()), Err(CompleteError::NeedsIds));
        assert_eq!(
            with_task_done(bare, "a", "0").unwrap_err().to_string(),
            "Task requirements changed; reload the task list before recording completion",
            "the revision comes first"
        );
    }

    #[test]
    fn ids_are_given_once() {
        let source = "- [ ] a\r\n```\n- [ ] no\n```\n- [x] b <!-- comet-task:b -->\n- [x] c \t";
        let mut number = 0;
        let mut fresh = || {
            number += 1;
            format!("n{number}")
        };
        let named = with_ids(source, &mut fresh).unwrap();
        assert_eq!(
            named,
            "- [ ] a <!-- comet-task:n1 -->\r\n```\n- [ ] no\n```\n- [x] b <!-- comet-task:b -->\n- [x] c \t <!-- comet-task:n2 -->"
        );
        assert_eq!(with_ids(&named, &mut fresh).unwrap(), named);
        assert!(!needs_ids(&parse(&named).unwrap()));
    }

    #[test]
    fn digits() {
        assert_eq!(hex(&[0, 255, 16]), "00ff10");
        assert_eq!(revision("").unwrap(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
