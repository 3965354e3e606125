//! The list of changes, where none was named and there is not exactly one.

use serde::Serialize;
use systems::change::{
    next_action::NextAction,
    project::{Candidate, CometProject, Layout},
    summary::{self, Problem, StateStatus, Summary, TaskView, Wanted},
};

use super::view::{self, Output};
use crate::{exit_status::ExitStatus, printer::Printer};

/// Changes that are read: those written last.
const MOST: usize = 100;
/// Archived changes with an authorised delivery that are read: the newest.
const MOST_ARCHIVED: usize = 20;

/// The list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List {
    schema: &'static str,
    layout: Layout,
    /// Active changes.
    total: usize,
    /// Archived changes with an authorised delivery.
    archived_with_delivery: usize,
    /// Of both, how many are not in the list.
    left_out: usize,
    changes: Vec<Entry>,
    notes: Vec<String>,
}

/// A change of the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    change: String,
    archived_as: Option<String>,
    change_dir: String,
    workflow: Option<&'static str>,
    phase: Option<&'static str>,
    state: StateStatus,
    next_action: Option<NextAction>,
    next_command: Option<&'static str>,
    total: usize,
    completed: usize,
    needs_ids: bool,
    next: Option<TaskView>,
    problems: Vec<Problem>,
}

impl From<Summary> for Entry {
    fn from(summary: Summary) -> Self {
        Self {
            change: summary.change,
            archived_as: summary.archived_as,
            change_dir: summary.change_dir,
            workflow: summary.workflow,
            phase: summary.phase,
            state: summary.state.status,
            next_action: summary.next_action,
            next_command: summary.next_command,
            total: summary.task_state.total,
            completed: summary.task_state.completed,
            needs_ids: summary.task_state.needs_ids,
            next: summary.task_state.next,
            problems: summary.problems,
        }
    }
}

/// Prints the list.
pub(crate) fn run(
    project: &CometProject,
    mut candidates: Vec<Candidate>,
    out: &Output<'_>,
) -> anyhow::Result<ExitStatus> {
    let total = candidates.len();
    if total > MOST {
        candidates.sort_by_cached_key(|candidate| std::cmp::Reverse(project.last_written_s(candidate)));
        candidates.truncate(MOST);
    }
    let archived = project.archived_with_delivery();
    let names = candidates.iter().map(|candidate| &candidate.name).chain(archived.iter().take(MOST_ARCHIVED));
    let mut changes = Vec::new();
    let mut notes: Vec<String> = project.note.iter().cloned().collect();
    for name in names {
        match project.change(name) {
            Ok(change) => changes.push(Entry::from(summary::read(project, &change, Wanted::default()))),
            Err(error) => notes.push(error.to_string()),
        }
    }
    let list = List {
        schema: "recovery.change-list.v1",
        layout: project.layout.clone(),
        total,
        archived_with_delivery: archived.len(),
        left_out: total + archived.len() - changes.len(),
        changes,
        notes,
    };
    out.result(&list, |printer| words(printer, &list))?;
    let sound = list.changes.iter().flat_map(|entry| &entry.problems).all(|problem| problem.is_minor);
    Ok(if sound { ExitStatus::Success } else { ExitStatus::Failure })
}

fn words(printer: &Printer, list: &List) {
    if list.changes.is_empty() {
        printer.line("no change is open");
        for note in &list.notes {
            printer.fact("note", note);
        }
        return;
    }
    let width = list.changes.iter().map(|entry| entry.change.len()).max().unwrap_or_default();
    for entry in &list.changes {
        let phase = match (entry.phase, entry.state) {
            (Some(phase), _) => phase,
            (None, StateStatus::Missing) => "no state",
            (None, _) => "not valid",
        };
        let next = entry.next_action.as_ref().map_or_else(|| "-".to_owned(), view::step);
        let wrong = entry
            .problems
            .first()
            .map_or_else(String::new, |problem| format!("  wrong: {} {}", problem.file, problem.what));
        printer.line(format_args!(
            "{:width$}  {phase:9} {:>3} of {:<3} done  next: {next}{wrong}",
            entry.change, entry.completed, entry.total
        ));
    }
    if list.left_out > 0 {
        printer.line(format_args!("and {} more, written longer ago", list.left_out));
    }
    for note in &list.notes {
        printer.fact("note", note);
    }
    let first = &list.changes[0];
    let name = first.archived_as.as_deref().unwrap_or(&first.change);
    printer.fact("go on", format_args!("recovery change check {name}"));
}
