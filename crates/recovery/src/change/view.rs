//! What is printed: one JSON object, or words that read at a glance.

use serde::Serialize;
use systems::change::{
    next_action::NextAction,
    project::Layout,
    summary::{StateStatus, Summary, TaskView, clean},
};

use crate::{hint::Hinted, printer::Printer};

/// Most lines of one list in the view for people.
const MOST_LINES: usize = 40;
/// Longest line of a task in the view for people, in characters.
const LINE_CHARS: usize = 100;

/// How results are printed.
pub(crate) struct Output<'a> {
    pub(crate) printer: &'a Printer,
    pub(crate) json: bool,
}

/// Why a command failed, for programs.
#[derive(Serialize)]
struct Failure<'a> {
    schema: &'static str,
    error: String,
    hint: Option<&'a str>,
    layout: Option<&'a Layout>,
}

impl Output<'_> {
    /// Prints a result: the object, or in words.
    pub(crate) fn result(&self, object: &impl Serialize, words: impl FnOnce(&Printer)) -> anyhow::Result<()> {
        if self.json {
            return self.printer.json(object);
        }
        words(self.printer);
        Ok(())
    }

    /// Prints why a command failed as an object, if objects are wanted; the words go to standard error by themselves.
    pub(crate) fn failure(&self, error: &anyhow::Error, layout: Option<&Layout>) {
        if !self.json {
            return;
        }
        let failure = Failure {
            schema: "recovery.change-error.v1",
            error: clean(&format!("{error:#}"), 1_000),
            hint: Hinted::of(error),
            layout,
        };
        // Texts and a layout: there is nothing that could fail.
        let _ = self.printer.json(&failure);
    }
}

/// A task in one line.
pub(crate) fn task(task: &TaskView) -> String {
    let id = task.id.as_deref().map_or_else(String::new, |id| format!("{id}: "));
    let mark = if task.completed { 'x' } else { ' ' };
    format!("[{mark}] {id}{} (line {})", clean(&task.text, LINE_CHARS), task.line)
}

/// A step in one line.
pub(crate) fn step(step: &NextAction) -> String {
    match &step.task_id {
        Some(id) => format!("{}, task {id}", step.kind.name()),
        None => step.kind.name().to_owned(),
    }
}

/// Prints a list, the name in front of its first line.
fn list(printer: &Printer, name: &str, lines: impl ExactSizeIterator<Item = String>) {
    let count = lines.len();
    for (index, line) in lines.take(MOST_LINES).enumerate() {
        printer.fact(if index == 0 { name } else { "" }, line);
    }
    if count > MOST_LINES {
        printer.fact("", format_args!("and {} more (--json prints all)", count - MOST_LINES));
    }
}

/// The summary in words.
pub(crate) fn summary(printer: &Printer, summary: &Summary) {
    let phase = match (summary.phase, summary.workflow, summary.state.status) {
        (Some(phase), Some(workflow), _) => format!("{phase}, {workflow} workflow"),
        (_, _, StateStatus::Missing) => "no .comet.yaml".to_owned(),
        _ => ".comet.yaml not valid".to_owned(),
    };
    printer.line(format_args!("{} ({phase}) in {}", summary.change, summary.change_dir));
    let tasks = &summary.task_state;
    printer.fact(
        "done",
        match (tasks.exists, tasks.total) {
            (false, _) => "nothing is recorded: there is no tasks.md".to_owned(),
            (true, 0) => "nothing is recorded: tasks.md has no task that can be read".to_owned(),
            (true, total) => format!("{} of {total} tasks", tasks.completed),
        },
    );
    match &summary.next_action {
        Some(next) => {
            printer.fact("next", step(next));
            let about = summary.task_state.next.as_ref().filter(|task| {
                next.task_id.is_some() && task.id == next.task_id
                    || next.task_id.is_none() && next.kind.name() == "reconcile-task"
            });
            if let Some(about) = about {
                printer.fact("", task(about));
            }
            printer.fact("", &next.reason);
        }
        None => printer.fact("next", "not known: the state has to be put right first"),
    }
    if let Some(recovery) = &summary.recovery {
        list(
            printer,
            "left",
            recovery.unfinished.iter().map(|left| format!("{}: {}", step(left), left.reason)),
        );
    }
    if let Some(all) = &tasks.tasks {
        list(printer, "tasks", all.iter().map(task));
    }
    if let Some(path) = &summary.plan_mapping.path {
        let kind = summary.plan_mapping.kind.map_or_else(String::new, |kind| format!(", {kind}"));
        let unmapped = match summary.plan_mapping.unmapped_count {
            0 => String::new(),
            count => format!(", {count} boxes of no task"),
        };
        printer.fact("plan", format_args!("{path}: {}{kind}{unmapped}", summary.plan_mapping.readiness));
    }
    coordination(printer, summary);
    if let Some(delivery) = &summary.delivery {
        let what = match (&delivery.action, &delivery.target_branch) {
            (Some(action), Some(branch)) => {
                format!("{} of {branch} authorised, not proven", format!("{action:?}").to_lowercase())
            }
            _ if delivery.invalidated => "the authorisation was taken back".to_owned(),
            _ if delivery.path.is_some() => "what is recorded cannot be read".to_owned(),
            _ => "nothing is authorised".to_owned(),
        };
        printer.fact("delivery", what);
    }
    let wrong: Vec<String> = summary
        .problems
        .iter()
        .flat_map(|p| [format!("{} {}", p.file, p.what), format!("-> {}", p.hint)])
        .collect();
    if wrong.is_empty() {
        printer.fact("wrong", "nothing");
    } else {
        list(printer, "wrong", wrong.into_iter());
    }
    list(printer, "note", summary.notes.iter().cloned());
    printer.fact("go on", go_on(summary));
}

fn coordination(printer: &Printer, summary: &Summary) {
    let coordination = &summary.coordination;
    let Some(stage) = coordination.stage else { return };
    let rounds = match (coordination.review_rounds, coordination.review_rounds_allowed) {
        (Some(used), Some(allowed)) => format!("{used} of {allowed} review rounds used"),
        (used, _) => format!("{} review rounds used", used.unwrap_or_default()),
    };
    let stale =
        if coordination.stale { "; stale: tasks.md has changed since, it decides nothing" } else { "" };
    let session = coordination.session_id.as_deref().unwrap_or_default();
    printer.fact("checkpoint", format_args!("{stage} by {}, {rounds}{stale}", clean(session, 60)));
    if let Some(unresolved) = &coordination.unresolved {
        list(printer, "unresolved", unresolved.iter().map(|text| clean(text, LINE_CHARS)));
    }
}

/// The one command to go on with.
pub(crate) fn go_on(summary: &Summary) -> String {
    match (summary.next_command, summary.next_action.as_ref().map(|next| next.kind.name())) {
        (_, Some("delivery")) => {
            let name = summary.archived_as.as_deref().unwrap_or(&summary.change);
            format!("recovery change delivery {name} --verify")
        }
        (Some(command), _) => format!("{command} {}", summary.change),
        (None, _) if summary.state.status == StateStatus::Missing => {
            format!("/comet-open {}", summary.change)
        }
        (None, _) => format!("git log -3 -- {}/.comet.yaml", summary.change_dir),
    }
}
