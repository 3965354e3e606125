//! The plan of a workflow, and the one change that is made to it: the status of a step (FORMATS 5.5).

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use super::step::Step;
use crate::json::{self, Fields as _, Object, Piece};

/// A plan that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) name: Option<String>,
    /// `draft` `pending_review` `approved` `rejected` `requires_changes`.
    pub(crate) approval: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) current_phase: Option<String>,
    /// In the order of their numbers.
    pub(crate) steps: Vec<PlanStep>,
    pub(crate) phases: Vec<PlanPhase>,
    /// Numbers that stand at more than one step; the first one counts.
    pub(crate) repeated: Vec<Step>,
    /// Steps without a number.
    pub(crate) unnumbered: usize,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanStep {
    pub(crate) step: Step,
    pub(crate) name: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) dependencies: Vec<String>,
    pub(crate) inputs: Vec<String>,
    pub(crate) tasks: Vec<String>,
    pub(crate) success_criteria: Vec<String>,
    pub(crate) status: Option<String>,
}

/// A phase of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanPhase {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) path: Option<String>,
}

/// Fields that hold the number of a step, the usual one first.
const NUMBER_FIELDS: [&str; 3] = ["step_number", "step", "id"];
/// Fields that hold the time of the last change.
const TIME_FIELDS: [&str; 2] = ["updated_at", "updatedAt"];

/// Reads a plan.
pub(crate) fn parse(object: &Object) -> Plan {
    let mut plan = Plan {
        name: object.owned("name"),
        approval: object.inner("approval_status").and_then(|approval| approval.owned("status")),
        status: object.owned("status"),
        current_phase: object.inner("overall_status").and_then(|overall| overall.owned("current_phase")),
        ..Plan::default()
    };
    let mut numbers = HashSet::new();
    for value in object.list("steps") {
        let Some((fields, step)) = value.as_object().and_then(|fields| Some((fields, number(fields)?)))
        else {
            plan.unnumbered += 1;
            continue;
        };
        if !numbers.insert(step) {
            plan.repeated.push(step);
            continue;
        }
        plan.steps.push(PlanStep {
            step,
            name: fields.owned("name"),
            agent: fields.owned("agent"),
            dependencies: names(fields, "dependencies"),
            inputs: names(fields, "inputs"),
            tasks: fields.texts("tasks"),
            success_criteria: fields.texts("success_criteria"),
            status: fields.owned("status"),
        });
    }
    plan.steps.sort_by_key(|step| step.step);
    let phases = object.list("phases").iter().filter_map(Value::as_object);
    plan.phases = phases
        .map(|fields| PlanPhase {
            id: fields.owned("phase_id"),
            name: fields.owned("phase_name"),
            status: fields.owned("status"),
            path: fields.owned("phase_plan_path"),
        })
        .collect();
    plan
}

fn number(fields: &Object) -> Option<Step> {
    NUMBER_FIELDS.iter().find_map(|name| fields.get(*name)).and_then(Step::of_json)
}

/// Texts and numbers of a list, as text; of objects their name.
fn names(fields: &Object, name: &str) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(inner) => inner.owned("name").or_else(|| inner.owned("path")),
        _ => None,
    };
    fields.list(name).iter().filter_map(text).collect()
}

/// The states a step of a plan can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Something is in its way.
    Blocked,
}

impl StepStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Completed, Self::Blocked];

    /// Returns the word that plans hold.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Blocked => "blocked",
        }
    }
}

/// Why a status cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotMark {
    /// The plan did not parse.
    #[error("the plan {0}")]
    Damaged(String),
    /// No step has this number.
    #[error("the plan has no step {step}")]
    NoSuchStep {
        /// What was asked for.
        step: Step,
        /// The steps there are.
        known: Vec<Step>,
    },
    /// Several steps have this number.
    #[error("the plan has {count} steps with the number {step}")]
    Repeated {
        /// The number.
        step: Step,
        /// How often it stands there.
        count: usize,
    },
}

/// Returns the plan with the status of one step set and the time of the last change brought up to date, where the plan
/// has one; every other byte stays. None: it says so already.
pub(crate) fn marked(
    bytes: &[u8],
    step: Step,
    status: StepStatus,
    now: session_state::Now,
) -> Result<Option<Vec<u8>>, CannotMark> {
    let damaged = |why: json::NotRead| CannotMark::Damaged(why.to_string());
    // Whoever reads a damaged plan elsewhere reads it leniently; what is written must be sound to begin with.
    let text = json::text(bytes).map_err(damaged)?;
    let whole = Piece::of(text)
        .ok_or_else(|| json::check(bytes).err().unwrap_or(json::NotRead::NotAnObject))
        .map_err(damaged)?;
    let steps: Vec<(Step, Piece<'_>)> = whole
        .member("steps")
        .map(Piece::elements)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|piece| Some((number(piece.value()?.as_object()?)?, piece)))
        .collect();
    let found: Vec<Piece<'_>> =
        steps.iter().filter(|(known, _)| *known == step).map(|(_, piece)| *piece).collect();
    let piece = match found.as_slice() {
        [] => {
            return Err(CannotMark::NoSuchStep {
                step,
                known: steps.iter().map(|(step, _)| *step).collect(),
            });
        }
        [piece] => *piece,
        several => return Err(CannotMark::Repeated { step, count: several.len() }),
    };
    let word = format!("\"{}\"", status.word());
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    match piece.member("status").and_then(|old| Some((old.value()?, old.span(text)?))) {
        Some((old, _)) if old.as_str() == Some(status.word()) => return Ok(None),
        Some((_, span)) => edits.push((span, word)),
        None => edits.extend(inserted(piece, text, &word)),
    }
    for name in TIME_FIELDS {
        if let Some((old, span)) = whole.member(name).and_then(|old| Some((old.value()?, old.span(text)?))) {
            edits.push((span, time_like(&old, now)));
        }
    }
    // From the end, so that offsets stay true.
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut out = text.to_owned();
    for (span, new) in edits {
        out.replace_range(span, &new);
    }
    let mark = bytes.len() - text.len();
    Ok(Some([&bytes[..mark], out.as_bytes()].concat()))
}

/// A status for a step that has none, behind its number and written as that is.
fn inserted(step: Piece<'_>, text: &str, word: &str) -> Option<(Range<usize>, String)> {
    let number = NUMBER_FIELDS.iter().find_map(|name| step.member(name))?.span(text)?;
    let begin = step.span(text)?.start + 1;
    let first = &text[begin..];
    let gap = &first[..first.len() - first.trim_start().len()];
    let colon = if text[..number.start].ends_with(char::is_whitespace) { ": " } else { ":" };
    let gap = if gap.is_empty() && colon == ": " { " " } else { gap };
    Some((number.end..number.end, format!(",{gap}\"status\"{colon}{word}")))
}

/// The present in the form of an older time.
fn time_like(old: &Value, now: session_state::Now) -> String {
    match old {
        Value::Number(number) if number.as_f64().is_some_and(|number| number >= 1e11) => now.0.to_string(),
        Value::Number(_) => now.seconds().to_string(),
        Value::String(text) if !text.contains('.') => {
            format!("\"{}\"", session_state::times::rfc3339_utc_s(now.seconds()))
        }
        _ => format!("\"{}\"", session_state::times::rfc3339_utc(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use session_state::Now;

    const NOW: Now = Now(1_772_452_800_123);

    fn mark(text: &str, step: &str, status: StepStatus) -> Result<Option<String>, CannotMark> {
        let bytes = marked(text.as_bytes(), Step::parse(step).unwrap(), status, NOW)?;
        Ok(bytes.map(|bytes| String::from_utf8(bytes).unwrap()))
    }

    #[test]
    fn a_plan_as_it_is_read() {
        let object = json::object(
            br#"{"name": "n", "approval_status": {"status": "approved"}, "overall_status": {"current_phase": "p"},
            "steps": [{"step_number": "10", "agent": "z"}, {"step_number": 2, "dependencies": ["step-1", 0],
            "inputs": ["a", {"name": "b"}, null]}, {"id": "step-0.1"}, {"name": "no number"}, 7, {"step_number": 2}],
            "phases": [{"phase_id": "p", "phase_plan_path": "x"}, 3]}"#,
        )
        .unwrap();
        let plan = parse(&object);
        let steps: Vec<_> = plan.steps.iter().map(|step| step.step.to_string()).collect();
        assert_eq!(steps, ["0.1", "2", "10"]);
        assert_eq!((plan.unnumbered, plan.repeated.as_slice()), (2, &[Step::whole(2)][..]));
        assert_eq!(plan.steps[1].dependencies, ["step-1", "0"]);
        assert_eq!(plan.steps[1].inputs, ["a", "b"]);
        assert_eq!((plan.phases.len(), plan.current_phase.as_deref()), (1, Some("p")));
    }

    #[test]
    fn only_status_and_time_change() {
        for (before, after) in [
            (
                "{\n \"steps\": [ {\"step_number\": 1, \"status\" :  \"pending\", \"x\": 1.0e5} ],\n \"updated_at\": \"2026-03-02T09:00:00Z\", \"created_at\": \"c\" }\n\n",
                "{\n \"steps\": [ {\"step_number\": 1, \"status\" :  \"completed\", \"x\": 1.0e5} ],\n \"updated_at\": \"2026-03-02T12:00:00Z\", \"created_at\": \"c\" }\n\n",
            ),
            (
                "\u{feff}{\"updated_at\":1772440000,\r\n\"steps\":[{\"step_number\":\"1\",\"status\":null}]}",
                "\u{feff}{\"updated_at\":1772452800,\r\n\"steps\":[{\"step_number\":\"1\",\"status\":\"completed\"}]}",
            ),
            (
                r#"{"steps":[{"step_number":1},{"step_number":2,"status":"pending"}],"updated_at":1772440000000}"#,
                r#"{"steps":[{"step_number":1,"status":"completed"},{"step_number":2,"status":"pending"}],"updated_at":1772452800123}"#,
            ),
            (
                "{\"steps\": [{\n  \"step_number\": 1\n}], \"updated_at\": \"2026-03-02T09:00:00.000Z\"}",
                "{\"steps\": [{\n  \"step_number\": 1,\n  \"status\": \"completed\"\n}], \"updated_at\": \"2026-03-02T12:00:00.123Z\"}",
            ),
            (
                r#"{"steps": [{"status": "a", "step_number": 1, "status": "b"}]}"#,
                r#"{"steps": [{"status": "a", "step_number": 1, "status": "completed"}]}"#,
            ),
        ] {
            assert_eq!(mark(before, "1", StepStatus::Completed).unwrap().as_deref(), Some(after));
            assert_eq!(mark(after, "1", StepStatus::Completed).unwrap(), None, "twice changes nothing");
        }
    }

    #[test]
    fn what_cannot_be_marked() {
        for damaged in ["", "{", "{\"steps\": [{\"step_number\": 1}]", "\0"] {
            assert!(
                matches!(mark(damaged, "1", StepStatus::Blocked), Err(CannotMark::Damaged(_))),
                "{damaged}"
            );
        }
        assert_eq!(
            mark(r#"{"steps": [{"step_number": 2}, 3]}"#, "1", StepStatus::Blocked),
            Err(CannotMark::NoSuchStep { step: Step::whole(1), known: vec![Step::whole(2)] })
        );
        assert!(matches!(mark("[]", "1", StepStatus::Blocked), Err(CannotMark::NoSuchStep { .. })));
        assert_eq!(
            mark(r#"{"steps": [{"step_number": 1}, {"step_number": "01"}]}"#, "1", StepStatus::Blocked),
            Err(CannotMark::Repeated { step: Step::whole(1), count: 2 })
        );
    }

    proptest! {
        #[test]
        fn all_other_members_stay(
            others in prop::collection::btree_map("[a-z\"{},:é]{0,6}", any::<Option<i64>>(), 0..6),
            statuses in prop::collection::vec("pending|completed|x\"y", 1..5),
            chosen in any::<prop::sample::Index>(),
            pretty in any::<bool>(),
        ) {
            let steps: Vec<Value> = statuses.iter().enumerate()
                .map(|(number, status)| serde_json::json!({"step_number": number, "status": status, "n": [1, {}]})).collect();
            let mut before = serde_json::json!({"steps": steps, "updated_at": 5});
            let object = before.as_object_mut().unwrap();
            for (name, value) in others {
                object.entry(name).or_insert_with(|| serde_json::json!(value));
            }
            let text = if pretty { serde_json::to_string_pretty(&before) } else { serde_json::to_string(&before) };
            let text = text.unwrap();
            let at = chosen.index(statuses.len());
            let after = marked(text.as_bytes(), Step::whole(u32::try_from(at).unwrap()), StepStatus::Blocked, NOW).unwrap().unwrap();
            let mut expected = before;
            expected["steps"][at]["status"] = "blocked".into();
            expected["updated_at"] = NOW.seconds().into();
            let after: Value = serde_json::from_slice(&after).unwrap();
            prop_assert_eq!(after, expected);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = marked(&bytes, Step::whole(0), StepStatus::Blocked, NOW);
            if let Ok(object) = json::object(&bytes) {
                let _ = parse(&object);
            }
        }
    }
}
