//! A run of an agent-studio workflow that was cut off (FORMATS 5.5), from the records of the newest runs.

use rules::{advice, workflow_run};
use serde_json::{Map, Value};
use session_state::{Dir, FileKind, FileStat, Now, layout, times};

use crate::once::Once;
use crate::{HISTORY_S, Scan, foreign};

/// Names looked at in one folder of runs.
const MAX_NAMES: usize = 20_000;
/// Runs of a folder whose record is looked for: the last by name, since names hold the time.
const MAX_LOOKED_AT: usize = 32;
/// Records read, the last written first.
const MAX_READ: usize = 4;

pub(crate) fn find(scan: &Scan<'_>, root: &Dir) -> Option<Once> {
    if !foreign::is_there(&scan.project.root.join(layout::WORKFLOWS)) {
        return None;
    }
    let mut runs: Vec<Run> = layout::WORKFLOW_RUNS
        .into_iter()
        .filter_map(|path| foreign::folder(root, path))
        .flat_map(|folder| newest(&folder, scan.now))
        .collect();
    runs.sort_by_key(|run| std::cmp::Reverse((run.record.mtime_s, run.record.mtime_ns)));
    runs.iter().take(MAX_READ).find_map(|run| interrupted(run, scan.now))
}

/// A run whose record is there.
struct Run {
    name: String,
    dir: Dir,
    record: FileStat,
}

fn newest(folder: &Dir, now: Now) -> Vec<Run> {
    let names = foreign::greatest_names(folder, MAX_NAMES, MAX_LOOKED_AT, foreign::is_plain);
    let run = |name: String| {
        let dir = folder.folder(&name).ok()?;
        let record = dir.stat(layout::RUN_RECORD).filter(|stat| stat.kind == FileKind::File)?;
        // The record is as old as its last sign of life at least.
        (now.age_s(record.mtime_s) <= HISTORY_S).then_some(Run { name, dir, record })
    };
    names.into_iter().filter_map(run).collect()
}

fn interrupted(run: &Run, now: Now) -> Option<Once> {
    let fields = foreign::record(&run.dir, layout::RUN_RECORD)?;
    let facts = Facts::of(&fields, now)?;
    let sentence = advice::workflow_interrupted(
        facts.workflow,
        &run.name,
        facts.status,
        facts.step.as_deref(),
        facts.silent_s,
    );
    Some(Once::new("workflow", sentence, &format!("{} {}", run.name, facts.last_s)))
}

/// What the record of a run that was cut off says.
#[derive(Debug, PartialEq, Eq)]
struct Facts<'a> {
    workflow: Option<&'a str>,
    status: &'a str,
    step: Option<String>,
    last_s: i64,
    silent_s: i64,
}

impl<'a> Facts<'a> {
    /// None: it goes on, has ended, or is history.
    fn of(fields: &'a Map<String, Value>, now: Now) -> Option<Self> {
        let status = foreign::text(fields, "status")?;
        let completed = fields.get("timestamps").and_then(|times| times.get("last_step_completed_at"));
        let signs = ["updated_at", "last_event_at", "last_heartbeat_at"].map(|name| fields.get(name));
        let last_s = signs.into_iter().chain([completed]).flatten().filter_map(times::of_json).max()?;
        let silent_s = now.age_s(last_s);
        let limit = fields.get("stale_after_ms").and_then(Value::as_i64);
        let step = match fields.get("current_step") {
            Some(Value::Number(step)) => Some(step.to_string()),
            Some(Value::String(step)) => Some(step.trim().to_owned()).filter(|step| !step.is_empty()),
            _ => None,
        };
        (workflow_run::is_interrupted(status, Some(silent_s), limit) && silent_s <= HISTORY_S).then(|| Self {
            workflow: foreign::text(fields, "workflow_id"),
            status,
            step,
            last_s,
            silent_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::workflow_run::SILENT_S;

    const LAST: i64 = 1_772_450_000;

    fn silent(json: &str, age_s: i64) -> Option<i64> {
        let Value::Object(fields) = serde_json::from_str(json).unwrap() else { panic!("no object") };
        Facts::of(&fields, Now((LAST + age_s) * 1000)).map(|facts| facts.silent_s)
    }

    #[test]
    fn from_thirty_minutes_to_fourteen_days() {
        let json = format!(r#"{{"status": "in_progress", "updated_at": {LAST}}}"#);
        for (age_s, told) in [
            (-60, false),
            (SILENT_S - 1, false),
            (SILENT_S, false),
            (SILENT_S + 1, true),
            (HISTORY_S - 1, true),
            (HISTORY_S, true),
            (HISTORY_S + 1, false),
        ] {
            assert_eq!(silent(&json, age_s), told.then_some(age_s), "{age_s}");
        }
    }

    #[test]
    fn the_newest_sign_counts_and_an_unreadable_one_says_nothing() {
        let old = LAST - 9_000;
        for (json, expected) in [
            (
                format!(r#"{{"status": "running", "updated_at": {old}, "last_heartbeat_at": {LAST}}}"#),
                Some(2_000),
            ),
            (
                format!(
                    r#"{{"status": "running", "updated_at": {old}, "timestamps": {{"last_step_completed_at": {LAST}}}}}"#
                ),
                Some(2_000),
            ),
            (format!(r#"{{"status": "running", "updated_at": {LAST}, "stale_after_ms": 3600000}}"#), None),
            (format!(r#"{{"status": "completed", "updated_at": {LAST}}}"#), None),
            (format!(r#"{{"status": "paused", "updated_at": {LAST}}}"#), None),
            (format!(r#"{{"status": 5, "updated_at": {LAST}}}"#), None),
            (r#"{"status": "running", "updated_at": "a while ago"}"#.to_owned(), None),
            (r#"{"status": "running", "timestamps": []}"#.to_owned(), None),
        ] {
            assert_eq!(silent(&json, 2_000), expected, "{json}");
        }
    }
}
