//! The eight questions before work goes on, each with the answer that the files give.

use serde::Serialize;

use super::artifact::Presence;
use super::state::{PlanPresence, Readiness, Source, State};
use super::step::ranges;

/// Names in one answer.
const MAX_NAMES: usize = 10;

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes.
    Yes,
    /// Not wholly.
    Partly,
    /// No.
    No,
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// What is asked.
    pub point: &'static str,
    /// The answer.
    pub answer: Answer,
    /// What it rests on.
    pub why: String,
}

/// Answers the questions; `logged` is where the recovery was noted.
pub(crate) fn checklist(state: &State, logged: Option<&str>) -> Vec<Point> {
    let point = |point: &'static str, answer: Answer, why: String| Point { point, answer, why };
    vec![
        last_step(state),
        plan(state),
        artifacts(state),
        reasoning(state),
        consistent(state),
        no_repetition(state),
        inputs(state),
        match logged {
            Some(path) => point("recovery noted in the reasoning folder", Answer::Yes, path.to_owned()),
            None => point(
                "recovery noted in the reasoning folder",
                Answer::No,
                "not asked for: `--log` does it".to_owned(),
            ),
        },
    ]
}

fn last_step(state: &State) -> Point {
    let (answer, why) = match (state.last_completed_step, state.last_completed_source) {
        (Some(step), Some(Source::Gates)) => (Answer::Yes, format!("step {step}, by its gate")),
        (Some(step), _) => (Answer::Partly, format!("step {step}, but no gate confirms it")),
        (None, _) if state.steps.iter().any(|step| step.gate.is_some()) => {
            (Answer::Yes, "none has passed yet".to_owned())
        }
        (None, _) => (Answer::No, "there is no gate that could be read".to_owned()),
    };
    Point { point: "last completed step identified", answer, why }
}

fn plan(state: &State) -> Point {
    let path = state.plan.path.clone().unwrap_or_default();
    let (answer, why) = match (state.plan.state, &state.plan.remedy) {
        (PlanPresence::Present, _) => (Answer::Yes, path),
        (PlanPresence::WithoutSteps, Some(remedy)) => (Answer::Partly, remedy.clone()),
        (PlanPresence::WithoutSteps, None) => (Answer::Partly, "it lists no steps, the run does".to_owned()),
        (_, remedy) => (Answer::No, remedy.clone().unwrap_or(path)),
    };
    Point { point: "plan loaded and valid", answer, why }
}

fn artifacts(state: &State) -> Point {
    let good = state.artifacts.iter().filter(|artifact| artifact.presence == Presence::Present).count();
    let broken: Vec<&str> = state.broken_artifacts().map(|artifact| artifact.name.as_str()).collect();
    let (answer, why) = match (good, broken.as_slice()) {
        (0, []) => (Answer::Yes, "the registry calls none good".to_owned()),
        (good, []) => (Answer::Yes, format!("{good} there and whole")),
        (0, broken) => (Answer::No, format!("not usable: {}", shortened(broken))),
        (good, broken) => (Answer::Partly, format!("{good} there, not usable: {}", shortened(broken))),
    };
    Point { point: "artifacts of completed steps available", answer, why }
}

fn reasoning(state: &State) -> Point {
    let passed = state.passed();
    let silent: Vec<_> = state
        .steps
        .iter()
        .filter(|step| passed.contains(&step.step) && !step.has_reasoning)
        .map(|step| step.step)
        .collect();
    let (answer, why) = match (passed.len() - silent.len(), silent.as_slice()) {
        (_, []) => (Answer::Yes, format!("{} decisions", state.decisions.len())),
        (0, _) => (Answer::No, "no completed step has any: registry and gates are all there is".to_owned()),
        (_, silent) => (Answer::Partly, format!("none for step {}", ranges(silent))),
    };
    Point { point: "reasoning of completed steps read", answer, why }
}

fn consistent(state: &State) -> Point {
    let (answer, why) = match (state.damaged_files.len(), state.warnings.len()) {
        (0, 0) => (Answer::Yes, "nothing is damaged, nothing contradicts".to_owned()),
        (0, 1) => (Answer::Partly, format!("one thing does not fit: {}", state.warnings[0].text)),
        (0, count) => (Answer::Partly, format!("{count} things do not fit together, see the warnings")),
        _ => (Answer::Partly, format!("could not be read: {}", shortened(&state.damaged))),
    };
    Point { point: "state reconstructed without contradiction", answer, why }
}

fn no_repetition(state: &State) -> Point {
    let below: Vec<_> = match state.last_completed_step {
        Some(last) => state.gaps.iter().filter(|gap| gap.kind == "gate" && gap.from <= last).collect(),
        None => Vec::new(),
    };
    let next_passed = state.next_step.is_some_and(|next| state.passed().contains(&next));
    let (answer, why) = match (state.next_step, below.as_slice()) {
        (Some(next), _) if next_passed => (Answer::No, format!("step {next} has passed already")),
        (Some(next), []) => (Answer::Yes, format!("step {next} has not passed")),
        (Some(next), gaps) => {
            let gaps: Vec<String> = gaps.iter().map(|gap| gap.to_string()).collect();
            (Answer::Partly, format!("step {next} has not passed; nobody knows of step {}", gaps.join(", ")))
        }
        (None, _) if state.next.state == Readiness::Complete => {
            (Answer::Yes, "nothing is left to do".to_owned())
        }
        (None, _) => (Answer::No, "the next step is not known".to_owned()),
    };
    Point { point: "no step will be done twice", answer, why }
}

fn inputs(state: &State) -> Point {
    let missing: Vec<&str> = state.next.missing.iter().map(|missing| missing.name.as_str()).collect();
    let (answer, why) = match (state.next.state, missing.as_slice()) {
        (Readiness::Complete, _) => (Answer::Yes, "nothing is left to do".to_owned()),
        (Readiness::Ready, _) => (Answer::Yes, format!("{} artifacts", state.next.inputs.len())),
        (Readiness::Blocked, []) => (Answer::No, "the next step is not known".to_owned()),
        (Readiness::Blocked, missing) => (Answer::No, format!("missing: {}", shortened(missing))),
    };
    Point { point: "inputs of the next step prepared", answer, why }
}

/// Names one after the other; of many the first ones.
fn shortened<T: AsRef<str>>(names: &[T]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_NAMES).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
