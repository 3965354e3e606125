//! The prompt for whoever goes on.

use std::fmt::Write as _;

use super::state::{Readiness, State};
use super::step::ranges;

/// Decisions that are handed on: the latest ones.
const MAX_DECISIONS: usize = 20;

/// Returns the prompt for the agent of the next step. All outside text in it is cleaned and on its own line.
pub(crate) fn prompt(state: &State) -> String {
    let mut text = String::new();
    let next = &state.next;
    // Writing into a String cannot fail.
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}");
    };
    let agent = next.agent.as_deref().unwrap_or("the next agent");
    let title = next.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    match (next.state, state.next_step) {
        (Readiness::Complete, _) => {
            line(format_args!(
                "Workflow {} is complete: every step passed. Nothing is to be done again.",
                state.id
            ));
            return text;
        }
        (_, Some(step)) => {
            line(format_args!("Workflow {}: step {step}{title} is next, for {agent}.", state.id))
        }
        (_, None) => line(format_args!("Workflow {}: the next step is not known.", state.id)),
    }
    let passed = state.passed();
    if !passed.is_empty() {
        line(format_args!("Passed, not to be done again: step {}.", ranges(&passed)));
    }
    if !next.missing.is_empty() {
        line(format_args!("First:"));
        for missing in &next.missing {
            line(format_args!("- {}", missing.remedy));
        }
    }
    list(&mut line, "Tasks:", next.tasks.iter().map(String::as_str));
    list(&mut line, "Done when:", next.success_criteria.iter().map(String::as_str));
    list(&mut line, "Its gate failed before:", next.failed_with.iter().map(String::as_str));
    let usable = next.inputs.iter().filter(|input| input.available);
    list(&mut line, "Inputs:", usable.map(|input| input.path.as_deref().unwrap_or(&input.name)));
    if let Some(phase) = &state.phase {
        if let Some(point) = &phase.resume_point {
            let what = phase.description.as_deref().map(|what| format!(": {what}")).unwrap_or_default();
            line(format_args!("Resume at task {point}{what}."));
        }
        let tried = phase.avoid.iter().filter_map(|tried| {
            let approach = tried.approach.as_deref()?;
            Some(match &tried.reason {
                Some(reason) => format!("{approach} ({reason})"),
                None => approach.to_owned(),
            })
        });
        let tried: Vec<String> = tried.collect();
        list(&mut line, "Avoid, it was tried:", tried.iter().map(String::as_str));
    }
    let skipped = state.decisions.len().saturating_sub(MAX_DECISIONS);
    let decisions: Vec<String> = state.decisions[skipped..]
        .iter()
        .map(|decision| format!("step {}: {}", decision.step, decision.decision))
        .collect();
    list(&mut line, "Decided so far:", decisions.iter().map(String::as_str));
    text
}

fn list<'t>(
    line: &mut impl FnMut(std::fmt::Arguments<'_>),
    title: &str,
    items: impl Iterator<Item = &'t str>,
) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        line(format_args!("{title}"));
    }
    for item in items {
        line(format_args!("- {item}"));
    }
}
