//! The plan of one phase, with the point to resume at and what to avoid there (FORMATS 5.5; its names are in camel case).

use serde_json::Value;

use crate::json::{Fields as _, Object};

/// A phase plan that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PhasePlan {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) tasks: Vec<PhaseTask>,
    pub(crate) can_resume: Option<bool>,
    pub(crate) resume_point: Option<String>,
    pub(crate) next_task: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) pending: Vec<String>,
    pub(crate) avoid: Vec<Tried>,
}

/// A task of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhaseTask {
    pub(crate) id: String,
    pub(crate) description: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) files: Vec<String>,
}

/// What was tried without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) task: Option<String>,
    pub(crate) attempts: Option<u64>,
    pub(crate) reason: Option<String>,
    pub(crate) avoid: Option<String>,
}

impl PhaseTask {
    /// Returns whether it is done.
    pub(crate) fn is_done(&self) -> bool {
        self.status.as_deref() == Some("completed")
    }
}

/// Reads a phase plan.
pub(crate) fn parse(object: &Object) -> PhasePlan {
    let empty = Object::new();
    let part = |name: &str| object.inner(name).unwrap_or(&empty);
    let (metadata, tracking, recovery) = (part("metadata"), part("statusTracking"), part("recoveryMetadata"));
    let objects = |list: &'_ [Value]| list.iter().filter_map(Value::as_object).cloned().collect::<Vec<_>>();
    PhasePlan {
        id: metadata.owned("phaseId"),
        name: metadata.owned("phaseName"),
        status: tracking.owned("overallStatus"),
        tasks: objects(object.list("tasks"))
            .iter()
            .filter_map(|task| {
                Some(PhaseTask {
                    id: task.owned("taskId")?,
                    description: task.owned("description"),
                    status: task.owned("status"),
                    agent: task.owned("assignedAgent"),
                    files: task.texts("files"),
                })
            })
            .collect(),
        can_resume: recovery.get("canResume").and_then(Value::as_bool),
        resume_point: recovery.owned("resumePoint"),
        next_task: tracking.owned("nextTask"),
        summary: recovery.owned("contextSummary"),
        pending: recovery.texts("pendingWork"),
        avoid: objects(recovery.list("scratchpad"))
            .iter()
            .map(|tried| Tried {
                task: tried.owned("taskId"),
                attempts: tried.get("attempts").and_then(Value::as_u64),
                reason: tried.owned("failureReason"),
                avoid: tried.owned("avoidApproach"),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::object;
    use proptest::prelude::*;

    #[test]
    fn a_phase_plan_as_it_is_read() {
        let text =
            br#"{"metadata": {"phaseId": "p-2"}, "tasks": [{"taskId": "t", "status": "completed"}, {}, 1],
            "statusTracking": {"nextTask": "u"}, "recoveryMetadata": {"canResume": false, "resumePoint": "t",
            "scratchpad": [{"taskId": "t", "attempts": 2, "avoidApproach": "x"}, null]}}"#;
        let plan = parse(&object(text).unwrap());
        assert_eq!((plan.id.as_deref(), plan.can_resume), (Some("p-2"), Some(false)));
        assert_eq!((plan.resume_point.as_deref(), plan.next_task.as_deref()), (Some("t"), Some("u")));
        assert!(plan.tasks.len() == 1 && plan.tasks[0].is_done());
        assert_eq!(plan.avoid.len(), 1);
        assert_eq!(parse(&Object::new()), PhasePlan::default());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(object) = object(&bytes) {
                let _ = parse(&object);
            }
        }
    }
}
