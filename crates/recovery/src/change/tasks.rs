//! The verbs about tasks, plan and checkpoint; all that write.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use anyhow::Context as _;
use serde::Serialize;
use systems::change::{
    coordination,
    plan::SyncError,
    project::{ChangeFolder, TASKS},
    summary::{CheckpointView, TaskView},
    tasks::needs_ids,
    writing::{self, PlanSync, TaskList, WriteFault},
};

use super::{
    CheckpointArguments, OneChange, TaskCompleteArguments, TasksArguments,
    open::Place,
    view::{self, Output},
};
use crate::{exit_status::ExitStatus, hint::hinted, printer::Printer};

/// How far the tasks are.
#[derive(Serialize)]
struct Progress {
    total: usize,
    completed: usize,
}

impl Progress {
    fn of(list: &TaskList) -> Self {
        Self { total: list.tasks.len(), completed: list.tasks.iter().filter(|task| task.completed).count() }
    }
}

fn next_of(list: &TaskList) -> Option<TaskView> {
    list.tasks.iter().find(|task| !task.completed).map(TaskView::of)
}

/// What `tasks` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tasks {
    schema: &'static str,
    change: String,
    authority: String,
    revision: String,
    needs_ids: bool,
    /// Ids that were given just now.
    assigned: usize,
    progress: Progress,
    next: Option<TaskView>,
    tasks: Vec<TaskView>,
}

/// Runs `tasks`.
pub(crate) fn list(
    arguments: &TasksArguments,
    place: &Place<'_>,
    out: &Output<'_>,
) -> anyhow::Result<ExitStatus> {
    let (project, change) = place.open_change(arguments.change.change.as_deref())?;
    let (assigned, list) = if arguments.assign_ids {
        writing::assign_ids(&project, &change).map_err(hinted)?
    } else {
        (0, writing::read_tasks(&change).map_err(hinted)?)
    };
    let tasks = Tasks {
        schema: "recovery.change-tasks.v1",
        change: change.name.clone(),
        authority: change.file(TASKS),
        needs_ids: needs_ids(&list.tasks),
        assigned,
        progress: Progress::of(&list),
        next: next_of(&list),
        tasks: list.tasks.iter().map(TaskView::of).collect(),
        revision: list.revision,
    };
    out.result(&tasks, |printer| {
        let progress = &tasks.progress;
        printer
            .line(format_args!("{}: {} of {} tasks done", tasks.change, progress.completed, progress.total));
        for task in &tasks.tasks {
            printer.line(format_args!("  {}", view::task(task)));
        }
        if arguments.assign_ids {
            printer.fact("ids", format_args!("{assigned} given"));
        }
        printer.fact("revision", &tasks.revision);
        printer.fact("go on", go_on(&tasks.change, tasks.needs_ids, tasks.next.as_ref(), &tasks.revision));
    })?;
    Ok(ExitStatus::Success)
}

fn go_on(change: &str, needs_ids: bool, next: Option<&TaskView>, revision: &str) -> String {
    match next.map(|next| next.id.as_deref()) {
        _ if needs_ids => format!("recovery change tasks {change} --assign-ids"),
        Some(Some(id)) => format!("recovery change task-complete {change} {id} --expect {revision}"),
        _ => format!("recovery change check {change}"),
    }
}

/// What `task-complete` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Complete {
    schema: &'static str,
    change: String,
    authority: String,
    task_id: String,
    /// Whether the box was open before.
    newly_completed: bool,
    revision: String,
    plan_sync: PlanSync,
    progress: Progress,
    next: Option<TaskView>,
}

/// Runs `task-complete`.
pub(crate) fn complete(
    arguments: &TaskCompleteArguments,
    place: &Place<'_>,
    out: &Output<'_>,
) -> anyhow::Result<ExitStatus> {
    let (project, change) = place.open_change(arguments.change.as_deref())?;
    let done = writing::complete(&project, &change, &arguments.id, &arguments.expect).map_err(hinted)?;
    let complete = Complete {
        schema: "recovery.change-task-complete.v1",
        change: change.name.clone(),
        authority: change.file(TASKS),
        task_id: arguments.id.clone(),
        newly_completed: done.newly,
        plan_sync: done.plan,
        progress: Progress::of(&done.list),
        next: next_of(&done.list),
        revision: done.list.revision,
    };
    out.result(&complete, |printer| {
        let ticked = if done.newly { "ticked" } else { "was ticked already" };
        let progress = &complete.progress;
        printer.line(format_args!(
            "{} {ticked}: {} of {} tasks of {} done",
            complete.task_id, progress.completed, progress.total, complete.change
        ));
        printer.fact("plan", plan_words(done.plan));
        printer.fact(
            "next",
            complete.next.as_ref().map_or_else(|| "every task is ticked".to_owned(), view::task),
        );
        printer.fact("go on", go_on(&complete.change, false, complete.next.as_ref(), &complete.revision));
    })?;
    Ok(ExitStatus::Success)
}

const fn plan_words(sync: PlanSync) -> &'static str {
    match sync {
        PlanSync::None => "there is none with boxes",
        PlanSync::Canonical => "it names the tasks and has no boxes: nothing to copy",
        PlanSync::Synced => "its ticks are those of tasks.md",
        PlanSync::MappingRequired => "mapping-required: it has boxes of no task, nothing was copied",
        PlanSync::Unusable => "it cannot be read, nothing was copied; `recovery change check` says why",
    }
}

/// What `sync-plan` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sync {
    schema: &'static str,
    change: String,
    plan_sync: PlanSync,
    /// Whether the plan was written.
    changed: bool,
    /// Boxes of no task.
    unmapped_count: usize,
}

/// Runs `sync-plan`.
pub(crate) fn sync_plan(
    arguments: &OneChange,
    place: &Place<'_>,
    out: &Output<'_>,
) -> anyhow::Result<ExitStatus> {
    let (project, change) = place.open_change(arguments.change.as_deref())?;
    let (plan_sync, changed, unmapped_count) = match writing::sync_plan(&project, &change) {
        Ok((sync, changed)) => (sync, changed, 0),
        Err(WriteFault::Sync { why: SyncError::MappingRequired { unmapped }, .. }) if out.json => {
            (PlanSync::MappingRequired, false, unmapped)
        }
        Err(fault) => return Err(hinted(fault)),
    };
    let sync = Sync {
        schema: "recovery.change-sync-plan.v1",
        change: change.name,
        plan_sync,
        changed,
        unmapped_count,
    };
    out.result(&sync, |printer| {
        let written = if changed { "written" } else { "unchanged" };
        printer.line(format_args!("plan of {} {written}: {}", sync.change, plan_words(plan_sync)));
    })?;
    Ok(if unmapped_count == 0 { ExitStatus::Success } else { ExitStatus::Failure })
}

/// What `checkpoint` prints.
#[derive(Serialize)]
struct Checkpoint {
    schema: &'static str,
    change: String,
    checkpoint: Option<CheckpointView>,
    stale: bool,
    written: bool,
}

/// Runs `checkpoint`.
pub(crate) fn checkpoint(
    arguments: &CheckpointArguments,
    place: &Place<'_>,
    out: &Output<'_>,
) -> anyhow::Result<ExitStatus> {
    let (project, change) = place.open_change(arguments.change.change.as_deref())?;
    let (found, written) = match &arguments.file {
        Some(file) => {
            let file = place.environment.current_dir.join(file);
            let given = read_given(&file)?;
            let written = writing::write_checkpoint(&project, &change, &given).map_err(hinted)?;
            (Some((written, false)), true)
        }
        None => (writing::read_checkpoint(&change).map_err(hinted)?, false),
    };
    let stale = found.as_ref().is_some_and(|(_, stale)| *stale);
    let checkpoint = Checkpoint {
        schema: "recovery.change-checkpoint.v1",
        change: change.name.clone(),
        checkpoint: found.as_ref().map(|(checkpoint, _)| CheckpointView::of(checkpoint)),
        stale,
        written,
    };
    out.result(&checkpoint, |printer| {
        checkpoint_words(printer, &change, found.as_ref().map(|(checkpoint, _)| checkpoint), stale, written);
    })?;
    Ok(ExitStatus::Success)
}

fn checkpoint_words(
    printer: &Printer,
    change: &ChangeFolder,
    checkpoint: Option<&coordination::Checkpoint>,
    stale: bool,
    written: bool,
) {
    let Some(checkpoint) = checkpoint else {
        printer.line(format_args!(
            "{} has no checkpoint, which does not mean that nothing is done",
            change.name
        ));
        return;
    };
    let view = if written {
        "written"
    } else if stale {
        "stale: tasks.md has changed since"
    } else {
        "fresh"
    };
    printer.line(format_args!("checkpoint of {}: {}, {view}", change.name, checkpoint.stage.name()));
    let clean = |text: &str| rules::text::safe_line(text, 100);
    printer.fact("tasks", checkpoint.task_ids.join(", "));
    printer.fact("session", clean(&checkpoint.session_id));
    printer.fact("rounds", checkpoint.review_rounds);
    for (name, texts) in [("evidence", &checkpoint.evidence), ("unresolved", &checkpoint.unresolved)] {
        for text in texts {
            printer.fact(name, clean(text));
        }
    }
    printer.fact("go on", format_args!("recovery change check {}", change.name));
}

/// Reads what was given, a little more than is allowed at most.
fn read_given(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = coordination::LIMIT as u64 + 1;
    if file.ends_with("-") {
        io::stdin().lock().take(limit).read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(bytes);
    }
    let shown = file.display();
    let meta = file.metadata().with_context(|| format!("cannot read {shown}"))?;
    anyhow::ensure!(meta.is_file(), "{shown} is no ordinary file");
    File::open(file)
        .and_then(|opened| opened.take(limit).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {shown}"))?;
    Ok(bytes)
}
