//! The record of a run, its checkpoint, and whether the run was interrupted (FORMATS 5.5).

use rules::workflow_run;
use serde_json::Value;
use session_state::Now;

use super::step::Step;
use crate::json::{Fields as _, Object};

/// A record of a run that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) run_id: Option<String>,
    pub(crate) workflow_id: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) current_step: Option<Step>,
    pub(crate) tasks: Vec<QueuedTask>,
    /// Who owns which step.
    pub(crate) owners: Vec<(Step, String)>,
    /// The newest sign of life, seconds since 1970. None: no time could be read, which is never old.
    pub(crate) last_sign_s: Option<i64>,
    /// Silence after which the record itself calls a run interrupted, in milliseconds.
    pub(crate) stale_after_ms: Option<i64>,
}

/// A task in the queue of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueuedTask {
    pub(crate) id: Option<String>,
    pub(crate) step: Step,
    pub(crate) agent: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) dependencies: Vec<String>,
}

/// Reads the record of a run.
pub(crate) fn parse(object: &Object) -> Run {
    let empty = Object::new();
    let times = object.inner("timestamps").unwrap_or(&empty);
    let signs = [
        object.time("updated_at"),
        object.time("last_event_at"),
        object.time("last_heartbeat_at"),
        times.time("last_step_completed_at"),
    ];
    let tasks = object.list("task_queue").iter().filter_map(Value::as_object);
    let owners = object.inner("owners").unwrap_or(&empty);
    Run {
        run_id: object.owned("run_id"),
        workflow_id: object.owned("workflow_id"),
        status: object.owned("status"),
        current_step: object.get("current_step").and_then(Step::of_json),
        tasks: tasks
            .filter_map(|task| {
                Some(QueuedTask {
                    step: Step::of_json(task.get("step")?)?,
                    id: task.owned("task_id"),
                    agent: task.owned("agent"),
                    status: task.owned("status"),
                    dependencies: task.texts("dependencies"),
                })
            })
            .collect(),
        owners: owners
            .iter()
            .filter_map(|(step, agent)| Some((Step::parse(step)?, agent.as_str()?.to_owned())))
            .collect(),
        last_sign_s: signs.into_iter().flatten().max(),
        stale_after_ms: object.get("stale_after_ms").and_then(Value::as_i64),
    }
}

impl Run {
    /// Returns the age of the newest sign of life, in seconds.
    pub(crate) fn silence_s(&self, now: Now) -> Option<i64> {
        self.last_sign_s.map(|sign| now.age_s(sign))
    }

    /// Returns whether the run was cut off: it says that it goes on, and has been silent for too long.
    pub(crate) fn is_interrupted(&self, now: Now) -> bool {
        let status = self.status.as_deref().unwrap_or_default();
        workflow_run::is_interrupted(status, self.silence_s(now), self.stale_after_ms)
    }
}

/// Reads the last completed step out of a checkpoint.
pub(crate) fn checkpoint(object: &Object) -> Option<Step> {
    Step::of_json(object.get("last_completed_step")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::object;
    use proptest::prelude::*;
    use rules::workflow_run::SILENT_S;

    fn read(text: &str) -> Run {
        parse(&object(text.as_bytes()).unwrap())
    }

    #[test]
    fn interrupted_from_the_first_second_beyond_thirty_minutes() {
        let last = 1_772_450_000;
        for (status, age, interrupted) in [
            ("in_progress", SILENT_S - 1, false),
            ("in_progress", SILENT_S, false),
            ("in_progress", SILENT_S + 1, true),
            ("pending", SILENT_S + 1, true),
            ("running", SILENT_S + 1, true),
            ("paused", SILENT_S + 1, false),
            ("awaiting_approval", SILENT_S + 1, false),
            ("completed", SILENT_S + 1, false),
            ("in_progress", -500, false),
        ] {
            let run = read(&format!(r#"{{"status": "{status}", "updated_at": {last}}}"#));
            assert_eq!(run.is_interrupted(Now((last + age) * 1000)), interrupted, "{status} {age}");
        }
        let run =
            read(&format!(r#"{{"status": "in_progress", "updated_at": {last}, "stale_after_ms": 60000}}"#));
        assert!(run.is_interrupted(Now((last + 61) * 1000)) && !run.is_interrupted(Now((last + 60) * 1000)));
    }

    #[test]
    fn the_newest_sign_counts_and_an_unreadable_one_is_not_old() {
        let run = read(
            r#"{"status": "in_progress", "updated_at": 1772440000, "last_heartbeat_at": "2026-03-02T11:59:00Z",
            "timestamps": {"last_step_completed_at": 1772441000000, "completed_at": null}}"#,
        );
        assert_eq!(run.silence_s(Now(1_772_452_800_000)), Some(60));
        let run = read(r#"{"status": "in_progress", "updated_at": "a while ago", "created_at": 5}"#);
        assert_eq!((run.last_sign_s, run.is_interrupted(Now(i64::MAX))), (None, false));
    }

    #[test]
    fn queue_owners_and_checkpoint() {
        let run = read(
            r#"{"current_step": 0, "task_queue": [{"step": "1", "agent": "a"}, {"task_id": "x"}, 1], "owners": {"step-1": "o", "x": "y"}}"#,
        );
        assert_eq!((run.tasks.len(), run.owners), (1, vec![(Step::whole(1), "o".to_owned())]));
        assert_eq!(run.current_step, Some(Step::whole(0)));
        for (text, is) in
            [("0", Some(0)), ("\"2\"", Some(2)), ("null", None), ("\"none\"", None), ("-1", None)]
        {
            let object = object(format!("{{\"last_completed_step\": {text}}}").as_bytes()).unwrap();
            assert_eq!(checkpoint(&object), is.map(Step::whole), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(object) = object(&bytes) {
                let _ = (parse(&object).is_interrupted(Now(0)), checkpoint(&object));
            }
        }
    }
}
