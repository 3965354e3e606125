//! A workflow at a glance: what is done, what is next, what is wrong, the one command to go on.

use systems::workflow::{Gap, Outcome, Readiness, State, Step, ranges};

use crate::printer::Printer;

/// Lines of one kind that are shown; `--json` has them all.
const MAX_LINES: usize = 12;

/// The kind of the warnings about a plan that has not kept up: they are told together.
const BEHIND: &str = "plan_behind_gates";

pub(super) fn print(state: &State, printer: &Printer) {
    let title = state.name.as_deref().map(|name| format!("  {name}")).unwrap_or_default();
    printer.line(format_args!("{}{title}", state.id));
    for (name, lines) in sections(state) {
        let more = lines.len().saturating_sub(MAX_LINES);
        for (number, line) in lines.iter().take(MAX_LINES).enumerate() {
            printer.fact(if number == 0 { name } else { "" }, line);
        }
        if more > 0 {
            printer.fact("", format_args!("and {more} more: --json shows all"));
        }
    }
}

fn sections(state: &State) -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("run", run(state)),
        ("done", done(state)),
        ("next", next(state)),
        ("phase", phase(state)),
        ("wrong", wrong(state)),
        ("gaps", gaps(state)),
        ("decided", decided(state)),
        ("go on", vec![go_on(state)]),
    ]
}

fn run(state: &State) -> Vec<String> {
    let Some(run) = &state.run else { return Vec::new() };
    let status = run.status.as_deref().unwrap_or("without a status").replace('_', " ");
    let silent =
        run.age_s.map(|age| format!(", last sign {} ago", rules::text::age(age))).unwrap_or_default();
    let interrupted = if run.interrupted { ": interrupted" } else { "" };
    let id =
        state.run_id.as_deref().filter(|id| *id != state.id).map(|id| format!("{id} ")).unwrap_or_default();
    vec![format!("{id}{status}{silent}{interrupted}")]
}

fn done(state: &State) -> Vec<String> {
    let Some(last) = state.last_completed_step else { return vec!["nothing yet".to_owned()] };
    let passed = state.passed();
    let mut line = if passed.is_empty() {
        format!("up to step {last}, not confirmed by a gate")
    } else {
        format!("step {}", ranges(&passed))
    };
    if state.last_contiguous_step != state.last_completed_step {
        match state.last_contiguous_step {
            Some(step) => line.push_str(&format!("; without a gap up to {step}")),
            None => line.push_str("; not without a gap"),
        }
    }
    vec![line]
}

fn next(state: &State) -> Vec<String> {
    let next = &state.next;
    let name = next.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    let agent = next.agent.as_deref().map(|agent| format!(" ({agent})")).unwrap_or_default();
    let mut lines = vec![match (next.state, next.step) {
        (Readiness::Complete, _) => "nothing: every step passed".to_owned(),
        (Readiness::Ready, Some(step)) => format!("step {step}{name}{agent}: ready"),
        (_, Some(step)) => format!("step {step}{name}{agent}: blocked"),
        (_, None) => "not known".to_owned(),
    }];
    lines.extend(next.missing.iter().map(|missing| format!("- {}", missing.remedy)));
    lines
}

fn phase(state: &State) -> Vec<String> {
    let Some(phase) = &state.phase else { return Vec::new() };
    let id = phase.id.as_deref().unwrap_or("");
    let name = phase.name.as_deref().unwrap_or("");
    let mut line = format!("{id} {name}").trim().to_owned();
    if let Some(point) = &phase.resume_point {
        line.push_str(&format!(": resume at {point}"));
        if let Some(description) = &phase.description {
            line.push_str(&format!(" ({description})"));
        }
    }
    let mut lines = vec![line];
    for tried in &phase.avoid {
        let Some(approach) = &tried.approach else { continue };
        let reason = tried.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(format!("avoid {approach}{reason}"));
    }
    lines
}

fn wrong(state: &State) -> Vec<String> {
    let mut lines = Vec::new();
    let not_passed = |outcome: &Option<Outcome>| outcome.is_some_and(|outcome| outcome != Outcome::Passed);
    for step in state.steps.iter().filter(|step| not_passed(&step.gate)) {
        let word = step.gate.map_or("", Outcome::word);
        let errors = step.errors.join("; ");
        let why = if errors.is_empty() { String::new() } else { format!(": {errors}") };
        lines.push(format!("step {} {word}{why}", step.step));
    }
    for artifact in state.broken_artifacts() {
        let why = artifact.why.as_deref().unwrap_or("cannot be used");
        let remedy = artifact.remedy.as_deref().map(|remedy| format!(": {remedy}")).unwrap_or_default();
        lines.push(format!("{} {why}{remedy}", artifact.name));
    }
    let of_artifacts: Vec<_> = state.artifacts.iter().filter_map(|artifact| artifact.path.as_ref()).collect();
    for file in state.damaged_files.iter().filter(|file| !of_artifacts.contains(&&file.path)) {
        lines.push(format!("{} {}", file.path, file.why));
    }
    let reported = ["artifact_not_read", "run_interrupted", BEHIND];
    let others = state.warnings.iter().filter(|warning| !reported.contains(&warning.kind));
    lines.extend(others.map(|warning| warning.text.clone()));
    let behind = state.warnings.iter().filter(|warning| warning.kind == BEHIND);
    let behind: Vec<Step> = behind.filter_map(|warning| warning.step).collect();
    if let Some(first) = behind.first() {
        // One command that runs as it stands; after it, this line names the next step.
        let mark = format!("recovery workflow mark {} {first} completed", state.id);
        lines.push(format!("the plan is behind the gates at step {}: {mark}", ranges(&behind)));
    }
    // Already among what blocks the next step, if it blocks.
    let blocks = state.next.missing.iter().any(|missing| missing.kind == "plan");
    lines.extend(state.plan.remedy.clone().filter(|_| !blocks));
    lines
}

fn gaps(state: &State) -> Vec<String> {
    let of = |kind: &str| {
        let gaps: Vec<String> =
            state.gaps.iter().filter(|gap| gap.kind == kind).map(Gap::to_string).collect();
        (!gaps.is_empty()).then(|| format!("no {kind} for step {}", gaps.join(", ")))
    };
    ["gate", "reasoning"].into_iter().filter_map(of).collect()
}

fn decided(state: &State) -> Vec<String> {
    let mut before: Option<Step> = None;
    let mut lines = Vec::new();
    for decision in &state.decisions {
        let step = decision.step.to_string();
        let shown = if before == Some(decision.step) { " ".repeat(step.len()) } else { step };
        lines.push(format!("{shown}  {}", decision.decision));
        before = Some(decision.step);
    }
    lines
}

fn go_on(state: &State) -> String {
    match state.next.state {
        Readiness::Complete => "nothing is left to do".to_owned(),
        Readiness::Ready | Readiness::Blocked => format!("recovery workflow resume {}", state.id),
    }
}
