//! `recovery watch`: limits pass and dead sessions are saved with nobody watching.

mod daemon;
mod detach;
mod log;
mod service;
mod status;
mod stop;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use session_state::Dir;

use crate::{environment::Environment, exit_status::ExitStatus, printer::Printer};

/// Resume sessions after a usage limit, and save what dead sessions knew
///
/// Looks at all sessions once a minute. A session in tmux that stands at a limit gets the text "continue" some minutes
/// after the reset, if its screen, its hooks and the client itself all say that it waits for one; a session whose process
/// is gone gets a hand-over document. Whatever is in doubt is left alone and said in the log.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  recovery watch --dry-run --once          what would be done now, and why
  recovery watch --detach                  watch all projects the hooks have seen, in the background
  recovery watch status                    who watches, since when, what waits for what
  recovery watch service install           start at every login (systemd, launchd)

Settings: \"watch\" in the user's config.json, such as {\"watch\": {\"menu\": true, \"resume_text\": \"go on\"}}.
A project's file has no say in what is typed or run.")]
pub(crate) struct WatchArguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    options: Options,
}

/// How to watch.
#[derive(Debug, Args)]
struct Options {
    /// Watch the project in this folder only; may be given several times [default: all that the hooks have seen]
    #[arg(long = "project", value_name = "DIR")]
    projects: Vec<PathBuf>,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(5..=3600))]
    interval: u64,
    /// Look once, do what is due, and end
    #[arg(long)]
    once: bool,
    /// Say what would be done and why; send no key, write no file
    #[arg(long)]
    dry_run: bool,
    /// Go on in the background
    #[arg(long, conflicts_with_all = ["once", "dry_run"])]
    detach: bool,
    /// This is the process in the background
    #[arg(long, hide = true)]
    detached: bool,
}

/// What else to do.
#[derive(Debug, Subcommand)]
enum Action {
    /// Say who watches, and what waits for what
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// End the watcher
    Stop,
    /// Print what was done and what was refused
    Log {
        /// Lines to print
        #[arg(short = 'n', long, value_name = "N", default_value_t = 40)]
        lines: usize,
    },
    /// Start the watcher at every login
    Service {
        #[command(subcommand)]
        action: service::ServiceAction,
    },
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &WatchArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    match &arguments.action {
        None if arguments.options.detach => detach::run(&arguments.options, environment, printer),
        None => daemon::run(&arguments.options, environment, printer),
        Some(Action::Status { json }) => status::run(*json, &folder(environment)?, printer),
        Some(Action::Stop) => stop::run(&folder(environment)?, printer),
        Some(Action::Log { lines }) => log::run(*lines, &folder(environment)?, printer),
        Some(Action::Service { action }) => service::run(action, environment, printer),
    }
}

/// The watcher's folder.
fn folder(environment: &Environment) -> anyhow::Result<Dir> {
    watcher::instance::folder(&environment.variables).context("the watcher has no folder to remember in")
}
