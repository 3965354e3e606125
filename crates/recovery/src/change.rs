//! `recovery change`: where an interrupted change of Comet Classic stands, and the few things that may be written to it.

mod check;
mod delivery;
pub(crate) mod git;
mod list;
mod open;
mod tasks;
mod view;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use systems::change::project::CometProject;

use crate::{environment::Environment, exit_status::ExitStatus, hint::hinted, printer::Printer};

/// Say where a change of Comet Classic stands, and take it up again
///
/// Read from its files alone. Only `tasks --assign-ids`, `task-complete`, `sync-plan` and `checkpoint --file` write, under the change's own lock; .comet.yaml and the Engine's checkpoint.json are never written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  recovery change check                         the open change, or a list of them
  recovery change check add-export --recover    with every step that is left
  recovery change tasks add-export              its tasks and their revision
  recovery change task-complete add-export nightly-job --expect REVISION
  recovery change delivery add-export --verify  what git says about its delivery")]
pub(crate) struct ChangeArguments {
    #[command(subcommand)]
    verb: ChangeVerb,
    /// Print one JSON object; its schema stands in schemas/
    #[arg(long, global = true)]
    json: bool,
    /// The project in this folder [default: the one around the current folder]
    #[arg(long, value_name = "DIR", global = true)]
    project: Option<PathBuf>,
}

/// What to do with a change.
#[derive(Debug, Subcommand)]
enum ChangeVerb {
    /// Say what is done, what comes next, what is wrong
    ///
    /// Exit status 1 when something is wrong: a damaged or missing file, a conflict, another phase than the given one.
    Check(CheckArguments),
    /// List the tasks and their revision
    Tasks(TasksArguments),
    /// Tick one task: one character of tasks.md, and its box in a plan that has one
    #[command(allow_missing_positional = true)]
    TaskComplete(TaskCompleteArguments),
    /// Copy the ticks of tasks.md to the plan, never back
    SyncPlan(OneChange),
    /// Show the coordination checkpoint, or write one
    Checkpoint(CheckpointArguments),
    /// Say what may be delivered, and what git says about it
    Delivery(DeliveryArguments),
}

/// A change.
#[derive(Debug, Args)]
struct OneChange {
    /// Name of the change, or of its folder in the archive [default: the only active one]
    change: Option<String>,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
struct CheckArguments {
    #[command(flatten)]
    change: OneChange,
    /// The phase you believe it is in: open, design, build, verify, archive
    phase: Option<String>,
    /// Add every step that is left
    #[arg(long)]
    recover: bool,
    /// Add all tasks and the whole checkpoint
    #[arg(long)]
    details: bool,
}

/// Arguments of `tasks`.
#[derive(Debug, Args)]
struct TasksArguments {
    #[command(flatten)]
    change: OneChange,
    /// Give every task without an id one, at the end of its line
    #[arg(long)]
    assign_ids: bool,
}

/// Arguments of `task-complete`.
#[derive(Debug, Args)]
struct TaskCompleteArguments {
    /// Name of the change [default: the only active one]
    change: Option<String>,
    /// Id of the task
    id: String,
    /// Revision of the tasks you have seen; `tasks` and `check` print it
    #[arg(long, value_name = "REVISION")]
    expect: String,
}

/// Arguments of `checkpoint`.
#[derive(Debug, Args)]
struct CheckpointArguments {
    #[command(flatten)]
    change: OneChange,
    /// Write the checkpoint in this JSON file; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Arguments of `delivery`.
#[derive(Debug, Args)]
struct DeliveryArguments {
    #[command(flatten)]
    change: OneChange,
    /// Ask git, read-only and without the network
    #[arg(long)]
    verify: bool,
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &ChangeArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let place = open::Place { project: arguments.project.as_deref(), environment };
    let out = view::Output { printer, json: arguments.json };
    let done = match &arguments.verb {
        ChangeVerb::Check(check) => check::run(check, &place, &out),
        ChangeVerb::Tasks(tasks) => tasks::list(tasks, &place, &out),
        ChangeVerb::TaskComplete(complete) => tasks::complete(complete, &place, &out),
        ChangeVerb::SyncPlan(change) => tasks::sync_plan(change, &place, &out),
        ChangeVerb::Checkpoint(checkpoint) => tasks::checkpoint(checkpoint, &place, &out),
        ChangeVerb::Delivery(delivery) => delivery::run(delivery, &place, &out),
    };
    match done {
        Err(error) => {
            out.failure(&error, place.open_any().ok().map(|project| project.layout).as_ref());
            Err(error)
        }
        done => done,
    }
}

/// Opens the project around a folder. Ok(None): there is none.
pub(crate) fn open_project(
    dir: Option<&Path>,
    environment: &Environment,
) -> anyhow::Result<Option<CometProject>> {
    match (open::Place { project: dir, environment }).open_any() {
        Ok(project) => Ok(Some(project)),
        Err(open::OpenError::NoProject(_)) => Ok(None),
        Err(error) => Err(hinted(error)),
    }
}
