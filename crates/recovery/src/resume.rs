//! `recovery resume`: after a reboot or a killed tmux server, every session back where it was.

mod sessions;
mod windows;

use clap::Args;
use session_state::{Now, registry};

use crate::{
    environment::Environment,
    exit_status::ExitStatus,
    hint::{Remedy, hinted},
    printer::Printer,
    project,
};
use sessions::Lost;

/// Projects looked at with `--all`.
const MAX_PROJECTS: usize = 1_000;

/// List the sessions that were cut off, and bring them back
///
/// A session is listed when its process is gone and nobody ended it: killed, closed with its terminal, lost with the
/// machine. Nothing is started without --yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  recovery resume                      what was cut off in this project, and the command that continues each
  recovery resume --all                the same for all projects the hooks have seen
  recovery resume --all --tmux         what windows would be made, and what runs in each
  recovery resume --all --tmux --yes   make them
  recovery resume 3f2a9c1e --yes       continue this one here")]
pub(crate) struct ResumeArguments {
    /// Only this session; the beginning of its id is enough
    session: Option<String>,
    /// Sessions of all projects the hooks have seen
    #[arg(long)]
    all: bool,
    /// Make a tmux window for each, named as it was
    #[arg(long)]
    tmux: bool,
    /// Do it; without this it is only shown
    #[arg(long)]
    yes: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with_all = ["yes", "tmux"])]
    json: bool,
    /// The project in this folder [default: the one around the current folder]
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    project: Option<std::path::PathBuf>,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
enum ResumeError {
    #[error("no session of that id was cut off: {0}")]
    NoSuchSession(String),
    #[error("{0} sessions were cut off, and one terminal takes one")]
    TooMany(usize),
    #[error("the client was not started ({0})")]
    NotStarted(std::io::Error),
}

impl Remedy for ResumeError {
    fn remedy(&self) -> String {
        match self {
            Self::NoSuchSession(_) => "run `recovery resume --all` to see which were".to_owned(),
            Self::TooMany(_) => "name one by its id, or make a window for each with --tmux --yes".to_owned(),
            Self::NotStarted(_) => "see that `claude` is on PATH".to_owned(),
        }
    }
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &ResumeArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let projects = if arguments.all {
        registry::all(&environment.variables, MAX_PROJECTS)
    } else {
        vec![project::find(environment, arguments.project.as_deref()).map_err(hinted)?]
    };
    let now = Now::read();
    let mut lost = sessions::find(&projects, environment, now);
    if let Some(wanted) = &arguments.session {
        lost.retain(|session| session.id.starts_with(wanted.as_str()));
        if lost.is_empty() {
            return Err(hinted(ResumeError::NoSuchSession(wanted.clone())));
        }
    }
    if arguments.json {
        let sessions: Vec<_> = lost.iter().map(Lost::to_json).collect();
        printer.line(serde_json::json!({ "v": 1, "sessions": sessions }));
        return Ok(ExitStatus::Success);
    }
    if lost.is_empty() {
        printer.line("no session was cut off");
        return Ok(ExitStatus::Success);
    }
    if arguments.tmux {
        return windows::run(&lost, arguments.yes, environment, printer);
    }
    if !arguments.yes {
        list(&lost, now, printer);
        return Ok(ExitStatus::Success);
    }
    match &*lost {
        [one] => start(one),
        several => Err(hinted(ResumeError::TooMany(several.len()))),
    }
}

fn list(lost: &[Lost], now: Now, printer: &Printer) {
    for (at, session) in lost.iter().enumerate() {
        if at > 0 {
            printer.line("");
        }
        for line in session.lines(now) {
            printer.line(line);
        }
    }
    if lost.len() > 1 {
        printer.line("");
        printer.line("All in tmux windows: add --tmux --yes");
    }
}

/// Continues a session in this terminal.
fn start(session: &Lost) -> anyhow::Result<ExitStatus> {
    let mut command = std::process::Command::new("claude");
    command.args(["--resume", &session.id]).current_dir(&session.folder);
    let status = command.status().map_err(|error| hinted(ResumeError::NotStarted(error)))?;
    Ok(if status.success() { ExitStatus::Success } else { ExitStatus::Failure })
}
