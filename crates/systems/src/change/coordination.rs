//! `.comet/coordination.json`: at which step of which tasks a change was left, and its Markdown for people.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::state::is_sha256;
use super::strict_json::{self, StrictError, VERSION, clean_text, whole};
use super::tasks::Task;

/// More is no checkpoint.
pub const LIMIT: usize = 64 * 1024;
const MAX_LIST: usize = 200;

/// The step a package of work is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Being done.
    Implementing,
    /// Being reviewed.
    TaskReview,
    /// Being ticked.
    Checkoff,
    /// Done.
    Done,
    /// Waiting for something.
    Blocked,
}

impl Stage {
    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Implementing => "implementing",
            Self::TaskReview => "task-review",
            Self::Checkoff => "checkoff",
            Self::Done => "done",
            Self::Blocked => "blocked",
        }
    }

    const ALL: [Self; 5] = [Self::Implementing, Self::TaskReview, Self::Checkoff, Self::Done, Self::Blocked];
}

/// A checkpoint. Its fields are those of the file, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    schema_version: u64,
    /// Tasks of the package: 1 to 200, each once.
    pub task_ids: Vec<String>,
    /// Revision of `tasks.md` it speaks of.
    pub revision: String,
    /// Step.
    pub stage: Stage,
    /// Who works on it.
    pub session_id: String,
    /// References to what was done.
    pub evidence: Vec<String>,
    /// What stands in the way.
    pub unresolved: Vec<String>,
    /// Rounds of review that were used.
    pub review_rounds: u64,
}

/// Why bytes are no checkpoint; the texts go after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Over 64 KiB.
    #[error("is larger than 64 KiB")]
    TooLarge,
    /// It has not the form of the file.
    #[error(transparent)]
    Strict(#[from] StrictError),
}

/// Reads a checkpoint.
pub fn parse(bytes: &[u8]) -> Result<Checkpoint, CheckpointError> {
    if bytes.len() > LIMIT {
        return Err(CheckpointError::TooLarge);
    }
    let invalid = |field, allowed| StrictError::Invalid { field, allowed };
    const NAMES: [&str; 8] = [
        "schemaVersion",
        "taskIds",
        "revision",
        "stage",
        "sessionId",
        "evidence",
        "unresolved",
        "reviewRounds",
    ];
    let fields = strict_json::object(bytes, &NAMES)?;
    let task_ids = texts(fields.get("taskIds"))
        .filter(|ids| {
            !ids.is_empty()
                && ids.iter().all(|id| rules::task_list::is_id(id))
                && ids.iter().collect::<HashSet<_>>().len() == ids.len()
        })
        .ok_or_else(|| invalid("taskIds", "1 to 200 ids of tasks, each once"))?;
    let revision = fields
        .get("revision")
        .and_then(Value::as_str)
        .filter(|text| is_sha256(text))
        .ok_or_else(|| invalid("revision", "64 lower-case hexadecimal digits"))?
        .to_owned();
    let stage = fields
        .get("stage")
        .and_then(Value::as_str)
        .and_then(|word| Stage::ALL.into_iter().find(|stage| stage.name() == word))
        .ok_or_else(|| invalid("stage", "one of implementing, task-review, checkoff, done, blocked"))?;
    let list = "at most 200 texts of 1 to 4096 characters without control characters";
    Ok(Checkpoint {
        schema_version: VERSION,
        task_ids,
        revision,
        stage,
        session_id: fields.get("sessionId").and_then(clean_text).ok_or_else(|| {
            invalid("sessionId", "1 to 4096 characters, not blank, without control characters")
        })?,
        evidence: texts(fields.get("evidence")).ok_or_else(|| invalid("evidence", list))?,
        unresolved: texts(fields.get("unresolved")).ok_or_else(|| invalid("unresolved", list))?,
        review_rounds: fields
            .get("reviewRounds")
            .and_then(whole)
            .ok_or_else(|| invalid("reviewRounds", "a whole number from 0"))?,
    })
}

fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let list = value?.as_array().filter(|list| list.len() <= MAX_LIST)?;
    list.iter().map(clean_text).collect()
}

/// Whether a checkpoint speaks of another list of tasks.
#[must_use]
pub fn is_stale(checkpoint: &Checkpoint, revision: &str, tasks: &[Task]) -> bool {
    checkpoint.revision != revision || unknown_id(checkpoint, tasks).is_some()
}

fn unknown_id<'c>(checkpoint: &'c Checkpoint, tasks: &[Task]) -> Option<&'c str> {
    checkpoint
        .task_ids
        .iter()
        .map(String::as_str)
        .find(|id| !tasks.iter().any(|task| task.id.as_deref() == Some(id)))
}

/// Why a checkpoint is not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// `tasks.md` is another one.
    #[error("the checkpoint is stale: it speaks of revision {given}, tasks.md is at {now}")]
    Stale {
        /// Revision in the checkpoint.
        given: String,
        /// Revision as it stands.
        now: String,
    },
    /// A task is not in `tasks.md`.
    #[error("tasks.md has no task {0}")]
    UnknownTask(String),
    /// Rounds of review cannot be taken back.
    #[error("reviewRounds cannot go back from {from} to {to} for the same tasks")]
    FewerRounds {
        /// Rounds that are recorded.
        from: u64,
        /// Rounds that were given.
        to: u64,
    },
}

/// Judges whether a checkpoint may take the place of the one before.
pub fn may_replace(
    next: &Checkpoint,
    before: Option<&Checkpoint>,
    revision: &str,
    tasks: &[Task],
) -> Result<(), WriteError> {
    if next.revision != revision {
        return Err(WriteError::Stale { given: next.revision.clone(), now: revision.to_owned() });
    }
    if let Some(id) = unknown_id(next, tasks) {
        return Err(WriteError::UnknownTask(id.to_owned()));
    }
    if let Some(before) = before {
        let ids = |checkpoint: &Checkpoint| checkpoint.task_ids.iter().cloned().collect::<HashSet<_>>();
        let same = before.revision == next.revision && ids(before) == ids(next);
        if same && next.review_rounds < before.review_rounds {
            return Err(WriteError::FewerRounds { from: before.review_rounds, to: next.review_rounds });
        }
    }
    Ok(())
}

/// Returns the file of a checkpoint, byte for byte as its system writes it.
#[must_use]
pub fn to_json(checkpoint: &Checkpoint) -> String {
    // Plain texts and numbers only: there is nothing that could fail.
    let mut text = serde_json::to_string_pretty(checkpoint).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns `subagent-progress.md`, byte for byte as its system generates it.
#[must_use]
pub fn to_markdown(checkpoint: &Checkpoint) -> String {
    let shown = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut text = String::from(
        "# Classic Coordination Checkpoint\n\nGenerated from coordination.json; tasks.md remains the completion authority.\n\n",
    );
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "Stage: {}\nTasks: {}\nRevision: {}\nSession: {}\nReview rounds: {}\n",
        checkpoint.stage.name(),
        checkpoint.task_ids.join(", "),
        checkpoint.revision,
        shown(&checkpoint.session_id),
        checkpoint.review_rounds
    );
    for (title, items) in [("Evidence", &checkpoint.evidence), ("Unresolved", &checkpoint.unresolved)] {
        let _ = write!(text, "\n## {title}\n");
        for item in items {
            let _ = writeln!(text, "- {}", shown(item));
        }
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::strict_json::MAX_SAFE;
    use serde_json::json;

    use super::*;

    pub(crate) fn checkpoint(stage: &str, ids: &[&str], unresolved: &[&str]) -> Checkpoint {
        parse(
            json!({"schemaVersion": 1, "taskIds": ids, "revision": "a".repeat(64), "stage": stage,
            "sessionId": "s", "evidence": [], "unresolved": unresolved, "reviewRounds": 1})
            .to_string()
            .as_bytes(),
        )
        .unwrap()
    }

    fn with(field: &str, value: Value) -> Result<Checkpoint, CheckpointError> {
        let mut whole = serde_json::to_value(checkpoint("implementing", &["a"], &[])).unwrap();
        whole[field] = value;
        parse(whole.to_string().as_bytes())
    }

    #[test]
    fn every_field_and_its_bounds() {
        let ids = |count: usize| json!((0..count).map(|n| format!("t{n}")).collect::<Vec<_>>());
        let list = |count: usize| json!(vec!["x"; count]);
        let text = |length: usize| json!("é".repeat(length));
        for (field, value, valid) in [
            ("schemaVersion", json!(1), true),
            ("schemaVersion", json!(1.0), true),
            ("schemaVersion", json!(0), false),
            ("schemaVersion", json!("1"), false),
            ("taskIds", ids(0), false),
            ("taskIds", ids(1), true),
            ("taskIds", ids(200), true),
            ("taskIds", ids(201), false),
            ("taskIds", json!(["a", "a"]), false),
            ("taskIds", json!(["-a"]), false),
            ("revision", json!("a".repeat(63)), false),
            ("revision", json!("A".repeat(64)), false),
            ("stage", json!("done"), true),
            ("stage", json!("finished"), false),
            ("sessionId", json!(""), false),
            ("sessionId", json!("  \u{a0}"), false),
            ("sessionId", json!("a\u{1b}[0m"), false),
            ("sessionId", json!("a\u{7f}"), false),
            ("sessionId", text(4096), true),
            ("sessionId", text(4097), false),
            ("evidence", list(200), true),
            ("evidence", list(201), false),
            ("unresolved", json!([""]), false),
            ("unresolved", json!("x"), false),
            ("reviewRounds", json!(-1), false),
            ("reviewRounds", json!(0.5), false),
            ("reviewRounds", json!(MAX_SAFE), true),
            ("reviewRounds", json!(MAX_SAFE + 1), false),
            ("note", json!("x"), false),
        ] {
            assert_eq!(with(field, value.clone()).is_ok(), valid, "{field}: {value}");
        }
        assert_eq!(with("schemaVersion", json!(2)), Err(StrictError::Newer(2).into()));
        assert_eq!(with("note", json!(1)), Err(StrictError::Unknown(vec!["note".into()]).into()));
    }

    #[test]
    fn size_bom_and_torn_files() {
        let good = to_json(&checkpoint("done", &["a"], &[]));
        assert!(parse(format!("\u{feff}{good}").as_bytes()).is_ok());
        let padded = |size: usize| good.clone() + &" ".repeat(size - good.len());
        assert!(parse(padded(LIMIT).as_bytes()).is_ok());
        assert_eq!(parse(padded(LIMIT + 1).as_bytes()), Err(CheckpointError::TooLarge));
        for end in 0..good.len() - 2 {
            assert!(parse(&good.as_bytes()[..end]).is_err());
        }
        assert!(matches!(parse(b"[]"), Err(CheckpointError::Strict(StrictError::NoObject(_)))));
    }

    #[test]
    fn what_may_take_its_place() {
        let tasks =
            super::super::tasks::parse("- [ ] a <!-- comet-task:a -->\n- [ ] b <!-- comet-task:b -->")
                .unwrap();
        let revision = "a".repeat(64);
        let rounds = |ids: &[&str], rounds: u64| {
            let mut next = checkpoint("done", ids, &[]);
            next.review_rounds = rounds;
            next
        };
        let before = rounds(&["a", "b"], 2);
        let judge = |next: &Checkpoint| may_replace(next, Some(&before), &revision, &tasks);
        for count in [2, 3] {
            assert_eq!(judge(&rounds(&["b", "a"], count)), Ok(()));
        }
        assert_eq!(judge(&rounds(&["b", "a"], 1)), Err(WriteError::FewerRounds { from: 2, to: 1 }));
        assert_eq!(judge(&rounds(&["a"], 0)), Ok(()), "other tasks, other rounds");
        assert_eq!(judge(&rounds(&["z"], 2)), Err(WriteError::UnknownTask("z".into())));
        let mut stale = rounds(&["a"], 2);
        stale.revision = "b".repeat(64);
        assert!(matches!(judge(&stale), Err(WriteError::Stale { .. })));
        assert!(is_stale(&stale, &revision, &tasks) && is_stale(&rounds(&["z"], 1), &revision, &tasks));
        assert!(!is_stale(&before, &revision, &tasks));
    }

    #[test]
    fn markdown_for_people() {
        let mut given = checkpoint("task-review", &["a", "b"], &["<b> & more"]);
        given.evidence = vec!["commit 1".to_owned()];
        assert_eq!(
            to_markdown(&given),
            format!(
                "# Classic Coordination Checkpoint\n\nGenerated from coordination.json; tasks.md remains the completion authority.\n\n\
                Stage: task-review\nTasks: a, b\nRevision: {}\nSession: s\nReview rounds: 1\n\n\
                ## Evidence\n- commit 1\n\n## Unresolved\n- &lt;b&gt; &amp; more\n",
                "a".repeat(64)
            )
        );
    }
}
