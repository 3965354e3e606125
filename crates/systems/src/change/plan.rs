//! The plan of a change: how it is done, beside `tasks.md`, which alone says what is done.
//!
//! A canonical plan names the tasks and has no boxes. A legacy plan has boxes, each with the id of its task; its ticks
//! are copied from `tasks.md`, never back.

use std::collections::HashSet;

use super::tasks::{self, Task, TasksError};

const AUTHORITY: &str = "<!-- comet-task-authority: ";
const REFERENCE: &str = "<!-- comet-task-ref:";
const CLOSE: &str = " -->";

/// What kind of plan a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// Names the tasks, has no boxes.
    Canonical,
    /// Has boxes of its own, or nothing of either.
    Legacy,
}

impl PlanKind {
    /// A word for people and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Legacy => "legacy",
        }
    }
}

/// What a plan says about the tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanReading {
    /// Its kind.
    pub kind: PlanKind,
    /// Its boxes.
    pub boxes: usize,
    /// Boxes without an id that is a task's.
    pub unmapped: Vec<Task>,
    /// What a canonical plan must not be, in words; goes after "the plan".
    pub faults: Vec<String>,
}

/// Reads a plan. `authority` is the path of `tasks.md` from the project's root, with `/`.
///
/// Errors: its boxes cannot be read; the lines are the plan's.
pub fn read(text: &str, authority: &str, tasks: &[Task]) -> Result<PlanReading, TasksError> {
    let boxes = tasks::parse(text)?;
    let ids: HashSet<&str> = tasks.iter().filter_map(|task| task.id.as_deref()).collect();
    let marks: Vec<&str> = text.lines().filter_map(authority_of).collect();
    let kind = if marks.is_empty() { PlanKind::Legacy } else { PlanKind::Canonical };
    let mut faults = Vec::new();
    if kind == PlanKind::Canonical {
        match marks.as_slice() {
            [one] if *one == authority => {}
            [_] => faults.push(format!("names another list of tasks than {authority}")),
            _ => faults.push(format!("names {} lists of tasks, not one", marks.len())),
        }
        if !boxes.is_empty() {
            faults.push(format!(
                "has {} of its own, which tasks.md alone may have",
                boxes_in_words(boxes.len())
            ));
        }
        if tasks.is_empty() || tasks::needs_ids(tasks) {
            faults.push("names tasks, but tasks.md has none or some without an id".to_owned());
        }
        let references = references(text);
        let gone: Vec<&str> = references.iter().copied().filter(|id| !ids.contains(id)).collect();
        if !gone.is_empty() {
            faults.push(format!("names tasks that are gone: {}", gone.join(", ")));
        }
        let left_out: Vec<&str> = tasks
            .iter()
            .filter_map(|task| task.id.as_deref())
            .filter(|id| !references.contains(id))
            .collect();
        if !left_out.is_empty() {
            faults.push(format!("does not name the tasks {}", left_out.join(", ")));
        }
    }
    let count = boxes.len();
    let unmapped =
        boxes.into_iter().filter(|task| task.id.as_deref().is_none_or(|id| !ids.contains(id))).collect();
    Ok(PlanReading { kind, boxes: count, unmapped, faults })
}

fn boxes_in_words(count: usize) -> String {
    if count == 1 { "1 box".to_owned() } else { format!("{count} boxes") }
}

/// `^<!-- comet-task-authority: (.+) -->$`
fn authority_of(line: &str) -> Option<&str> {
    line.strip_prefix(AUTHORITY)?.strip_suffix(CLOSE).filter(|path| !path.is_empty())
}

/// Every task a plan names, in order, each once.
fn references(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(REFERENCE) {
        rest = &rest[at + REFERENCE.len()..];
        if let Some(end) = rest.find(CLOSE)
            && rules::task_list::is_id(&rest[..end])
            && !found.contains(&&rest[..end])
        {
            found.push(&rest[..end]);
        }
    }
    found
}

/// Why ticks were not copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The plan's boxes cannot be read.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    /// Boxes that belong to no task.
    #[error("mapping-required: {} of the plan without the id of a task", boxes_in_words(*.unmapped))]
    MappingRequired {
        /// How many.
        unmapped: usize,
    },
}

/// Returns the plan with the ticks of the tasks; all else is kept byte for byte.
pub fn synchronized(text: &str, tasks: &[Task]) -> Result<String, SyncError> {
    let boxes = tasks::parse(text)?;
    let done = |id: &str| tasks.iter().find(|task| task.id.as_deref() == Some(id)).map(|task| task.completed);
    let unmapped = boxes.iter().filter(|task| task.id.as_deref().is_none_or(|id| done(id).is_none())).count();
    if unmapped > 0 {
        return Err(SyncError::MappingRequired { unmapped });
    }
    Ok(tasks::with_boxes(text, &boxes, |task| task.id.as_deref().and_then(done).unwrap_or(task.completed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: &str = "- [x] a <!-- comet-task:a -->\n- [ ] b <!-- comet-task:b -->\n";
    const AUTHORITY_PATH: &str = "openspec/changes/demo/tasks.md";

    fn reading(plan: &str) -> PlanReading {
        read(plan, AUTHORITY_PATH, &tasks::parse(TASKS).unwrap()).unwrap()
    }

    #[test]
    fn canonical_plans() {
        let mark = format!("<!-- comet-task-authority: {AUTHORITY_PATH} -->\n");
        let refs = "# a <!-- comet-task-ref:a -->\n# b <!-- comet-task-ref:b --> <!-- comet-task-ref:b -->\n";
        let good = reading(&format!("{mark}{refs}"));
        assert_eq!((good.kind, good.boxes, good.faults), (PlanKind::Canonical, 0, vec![]));
        assert!(reading(&format!("{mark}{refs}").replace('\n', "\r\n")).faults.is_empty());
        for (plan, fault) in [
            (format!("{mark}{mark}{refs}"), "names 2 lists of tasks"),
            (
                format!("<!-- comet-task-authority: openspec/changes/other/tasks.md -->\n{refs}"),
                "names another list",
            ),
            (format!("{mark}{refs}- [ ] more <!-- comet-task:a -->"), "has 1 box of its own"),
            (format!("{mark}<!-- comet-task-ref:a -->"), "does not name the tasks b"),
            (format!("{mark}{refs}<!-- comet-task-ref:z -->"), "names tasks that are gone: z"),
        ] {
            let reading = reading(&plan);
            assert_eq!(reading.kind, PlanKind::Canonical);
            assert_eq!(reading.faults.len(), 1, "{:?}", reading.faults);
            assert!(reading.faults[0].contains(fault), "{:?}", reading.faults);
        }
    }

    #[test]
    fn legacy_plans() {
        let plan = "- [ ] a <!-- comet-task:a -->\n- [x] z <!-- comet-task:z -->\n- [x] bare\n";
        let reading = reading(plan);
        assert_eq!((reading.kind, reading.boxes), (PlanKind::Legacy, 3));
        let lines: Vec<usize> = reading.unmapped.iter().map(|task| task.line).collect();
        assert_eq!(lines, [2, 3]);
        let known = tasks::parse(TASKS).unwrap();
        assert_eq!(synchronized(plan, &known), Err(SyncError::MappingRequired { unmapped: 2 }));
    }

    #[test]
    fn ticks_go_one_way_and_nothing_else_changes() {
        let known = tasks::parse(TASKS).unwrap();
        let plan = "\u{feff}# P\r\n- [X] other words <!-- comet-task:b -->\r\n* [ ] a <!-- comet-task:a -->";
        let synced = synchronized(plan, &known).unwrap();
        assert_eq!(
            synced,
            "\u{feff}# P\r\n- [ ] other words <!-- comet-task:b -->\r\n* [x] a <!-- comet-task:a -->"
        );
        assert_eq!(synchronized(&synced, &known).unwrap(), synced);
        let large = "- [X] a <!-- comet-task:a -->";
        assert_eq!(synchronized(large, &known).unwrap(), large, "a large X says it already");
        assert_eq!(synchronized("no boxes", &known).unwrap(), "no boxes");
    }
}
