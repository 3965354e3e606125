//! What is written into a change: ids, ticks, a plan's ticks, a checkpoint. Under the lock of its system, in one step a
//! file, with all other bytes kept; a file that cannot be read is never replaced.

use std::io;

use session_state::Dir;

use crate::bounded;

use super::coordination::{self, Checkpoint, CheckpointError};
use super::lock::{ChangeLock, LockError};
use super::plan::{self, PlanKind, SyncError};
use super::project::{
    COMET, COORDINATION, ChangeFolder, CometProject, Found, PROGRESS, STATE, TASKS, TEXT_LIMIT, TRANSACTION,
    open_parent, read_text,
};
use super::state;
use super::tasks::{self, CompleteError, Task, TasksError};

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteFault {
    /// The lock was not to be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// An archived change does not change any more.
    #[error("the change is archived")]
    Archived,
    /// Its system has to end a write of its own first.
    #[error("{0} is there: a write of Comet was interrupted")]
    Interrupted(&'static str),
    /// A file that is needed is not there or not readable.
    #[error("{file} {why}")]
    Unusable {
        /// Path from the project's root.
        file: String,
        /// Why, in words.
        why: String,
    },
    /// The tasks cannot be read.
    #[error("{file}: {why}")]
    Tasks {
        /// Path from the project's root.
        file: String,
        /// Why.
        why: TasksError,
    },
    /// The task is not ticked.
    #[error(transparent)]
    Complete(CompleteError),
    /// The plan is not brought up to date.
    #[error("{file}: {why}")]
    Sync {
        /// Path from the project's root.
        file: String,
        /// Why.
        why: SyncError,
    },
    /// The checkpoint that was given is none.
    #[error("the checkpoint that was given {0}")]
    Given(CheckpointError),
    /// The checkpoint that is there is none; it is left alone.
    #[error("{file} {why}")]
    Recorded {
        /// Path from the project's root.
        file: String,
        /// Why.
        why: CheckpointError,
    },
    /// The checkpoint that was given may not take the place of the one that is there.
    #[error(transparent)]
    Refused(coordination::WriteError),
    /// Somebody else wrote the file in the meantime.
    #[error("{0} was changed by somebody else at this moment")]
    Overtaken(String),
    /// The system says no.
    #[error("{file} cannot be written ({why})")]
    Io {
        /// Path from the project's root.
        file: String,
        /// Why.
        why: io::Error,
    },
}

/// What was done about the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanSync {
    /// There is none, or it has no boxes.
    None,
    /// It names the tasks and has no boxes: there is nothing to copy.
    Canonical,
    /// Its ticks are those of the tasks.
    Synced,
    /// It has boxes of no task; nothing was copied.
    MappingRequired,
    /// It cannot be read; nothing was copied.
    Unusable,
}

/// The tasks of a change.
#[derive(Clone, Debug)]
pub struct TaskList {
    /// The text of the file.
    pub source: String,
    /// Its tasks.
    pub tasks: Vec<Task>,
    /// Its revision.
    pub revision: String,
}

/// Reads the tasks of a change.
pub fn read_tasks(change: &ChangeFolder) -> Result<TaskList, WriteFault> {
    let file = || change.file(TASKS);
    match read_text(&change.dir, TASKS, TEXT_LIMIT) {
        Found::Missing => Err(WriteFault::Unusable { file: file(), why: "does not exist".to_owned() }),
        Found::Unusable(why) => Err(WriteFault::Unusable { file: file(), why }),
        Found::Text(source) => {
            let tasks = tasks::parse(&source).map_err(|why| WriteFault::Tasks { file: file(), why })?;
            let revision = tasks::revision_of(&source, &tasks);
            Ok(TaskList { source, tasks, revision })
        }
    }
}

/// Takes the lock of a change, when it may be written at all.
fn open<'c>(project: &CometProject, change: &'c ChangeFolder) -> Result<ChangeLock<'c>, WriteFault> {
    if change.archived_as.is_some() {
        return Err(WriteFault::Archived);
    }
    if project.root_move_pending() {
        return Err(WriteFault::Interrupted(".comet/classic-root-move.json"));
    }
    let lock = ChangeLock::take(&change.dir)?;
    if change.dir.has(TRANSACTION) {
        return Err(WriteFault::Interrupted(TRANSACTION));
    }
    Ok(lock)
}

/// Replaces a file that still has the bytes it was read with. Returns whether there was something to write.
fn replace(dir: &Dir, name: &str, path: String, before: &str, after: &str) -> Result<bool, WriteFault> {
    if before == after {
        return Ok(false);
    }
    let unchanged = || dir.read(name, TEXT_LIMIT).is_ok_and(|now| now == before.as_bytes());
    match dir.replace_if(name, after.as_bytes(), unchanged) {
        Ok(true) => Ok(true),
        Ok(false) => Err(WriteFault::Overtaken(path)),
        Err(why) => Err(WriteFault::Io { file: path, why }),
    }
}

/// Gives every task without an id one. Returns how many got one, and the tasks as they are now.
pub fn assign_ids(project: &CometProject, change: &ChangeFolder) -> Result<(usize, TaskList), WriteFault> {
    let _lock = open(project, change)?;
    let list = read_tasks(change)?;
    let mut given = 0;
    let named = tasks::with_ids(&list.source, || {
        given += 1;
        uuid::Uuid::new_v4().to_string()
    })
    .map_err(|why| WriteFault::Tasks { file: change.file(TASKS), why })?;
    replace(&change.dir, TASKS, change.file(TASKS), &list.source, &named)?;
    Ok((given, read_tasks(change)?))
}

/// A task that was ticked.
#[derive(Debug)]
pub struct Completed {
    /// Whether its box was open before.
    pub newly: bool,
    /// The tasks as they are now.
    pub list: TaskList,
    /// What was done about the plan.
    pub plan: PlanSync,
}

/// Ticks one task, and its box in a plan whose boxes all belong to tasks. The tasks are written first: a plan that was
/// not reached is made good by the next tick or by [`sync_plan`].
pub fn complete(
    project: &CometProject,
    change: &ChangeFolder,
    id: &str,
    expected: &str,
) -> Result<Completed, WriteFault> {
    let _lock = open(project, change)?;
    let list = read_tasks(change)?;
    let ticked = tasks::with_task_done(&list.source, id, expected).map_err(WriteFault::Complete)?;
    let newly = replace(&change.dir, TASKS, change.file(TASKS), &list.source, &ticked)?;
    let list = read_tasks(change)?;
    let plan = match copy_ticks(project, change, &list.tasks) {
        Ok(plan) => plan,
        Err(WriteFault::Sync { why: SyncError::MappingRequired { .. }, .. }) => PlanSync::MappingRequired,
        Err(_) => PlanSync::Unusable,
    };
    Ok(Completed { newly, list, plan })
}

/// Copies the ticks of the tasks to the plan, never back.
pub fn sync_plan(project: &CometProject, change: &ChangeFolder) -> Result<(PlanSync, bool), WriteFault> {
    let _lock = open(project, change)?;
    let list = read_tasks(change)?;
    let before = plan_text(project, change)?;
    let done = copy_ticks(project, change, &list.tasks)?;
    Ok((done, plan_text(project, change)? != before))
}

/// Path of the plan that the state names; None: it names none.
fn plan_path(change: &ChangeFolder) -> Result<Option<String>, WriteFault> {
    let file = change.file(STATE);
    match read_text(&change.dir, STATE, state::LIMIT) {
        Found::Text(text) => match state::parse(&text) {
            Ok(state) => Ok(state.plan),
            Err(faults) => Err(WriteFault::Unusable { file, why: faults.in_words() }),
        },
        Found::Missing => Err(WriteFault::Unusable { file, why: "does not exist".to_owned() }),
        Found::Unusable(why) => Err(WriteFault::Unusable { file, why }),
    }
}

fn plan_text(project: &CometProject, change: &ChangeFolder) -> Result<Option<String>, WriteFault> {
    let Some(path) = plan_path(change)? else { return Ok(None) };
    Ok(super::project::read_path(&project.root, &path, TEXT_LIMIT).text().map(str::to_owned))
}

fn copy_ticks(project: &CometProject, change: &ChangeFolder, known: &[Task]) -> Result<PlanSync, WriteFault> {
    let Some(path) = plan_path(change)? else { return Ok(PlanSync::None) };
    let unusable = |why: String| WriteFault::Unusable { file: path.clone(), why };
    let Some((dir, name)) = open_parent(&project.root, &path).map_err(unusable)? else {
        return Ok(PlanSync::None);
    };
    let text = match read_text(&dir, &name, TEXT_LIMIT) {
        Found::Missing => return Ok(PlanSync::None),
        Found::Unusable(why) => return Err(unusable(why)),
        Found::Text(text) => text,
    };
    let reading = plan::read(&text, &change.file(TASKS), known)
        .map_err(|why| WriteFault::Sync { file: path.clone(), why: why.into() })?;
    let synced =
        plan::synchronized(&text, known).map_err(|why| WriteFault::Sync { file: path.clone(), why })?;
    replace(&dir, &name, path, &text, &synced)?;
    Ok(match (reading.boxes, reading.kind) {
        (0, PlanKind::Canonical) => PlanSync::Canonical,
        (0, PlanKind::Legacy) => PlanSync::None,
        _ => PlanSync::Synced,
    })
}

/// The checkpoint of a change and whether it speaks of another list of tasks. Ok(None): there is none.
pub fn read_checkpoint(change: &ChangeFolder) -> Result<Option<(Checkpoint, bool)>, WriteFault> {
    let Some(checkpoint) = recorded(change)? else { return Ok(None) };
    let list = read_tasks(change)?;
    let stale = coordination::is_stale(&checkpoint, &list.revision, &list.tasks);
    Ok(Some((checkpoint, stale)))
}

fn recorded(change: &ChangeFolder) -> Result<Option<Checkpoint>, WriteFault> {
    let file = || change.file(&format!("{COMET}/{COORDINATION}"));
    let unusable = |why| WriteFault::Unusable { file: file(), why };
    let Some(dir) = change.comet().map_err(unusable)? else { return Ok(None) };
    match bounded::read(&dir, COORDINATION, coordination::LIMIT) {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => {
            coordination::parse(&bytes).map(Some).map_err(|why| WriteFault::Recorded { file: file(), why })
        }
        Err(why) => Err(unusable(why)),
    }
}

/// Writes a checkpoint and its Markdown. The Engine's `checkpoint.json` beside them is never touched.
pub fn write_checkpoint(
    project: &CometProject,
    change: &ChangeFolder,
    given: &[u8],
) -> Result<Checkpoint, WriteFault> {
    let next = coordination::parse(given).map_err(WriteFault::Given)?;
    let _lock = open(project, change)?;
    let list = read_tasks(change)?;
    let before = recorded(change)?;
    coordination::may_replace(&next, before.as_ref(), &list.revision, &list.tasks)
        .map_err(WriteFault::Refused)?;
    let failed = |name: &str| {
        let file = change.file(&format!("{COMET}/{name}"));
        move |why| WriteFault::Io { file, why }
    };
    let (dir, _) = change.dir.make_folder(COMET).map_err(failed(""))?;
    // A link or folder in the place of either is found before one of them is written.
    for name in [COORDINATION, PROGRESS] {
        bounded::read(&dir, name, TEXT_LIMIT)
            .map_err(|why| WriteFault::Unusable { file: change.file(&format!("{COMET}/{name}")), why })?;
    }
    dir.replace(COORDINATION, coordination::to_json(&next).as_bytes(), true).map_err(failed(COORDINATION))?;
    dir.replace(PROGRESS, coordination::to_markdown(&next).as_bytes(), true).map_err(failed(PROGRESS))?;
    Ok(next)
}
