//! `recovery watch --detach`: the same in the background.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use watcher::instance;

use super::{Options, daemon};
use crate::{environment::Environment, exit_status::ExitStatus, hint::Hinted, printer::Printer};

/// How long the background process may take to begin.
const TIME_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Starts it and waits until it watches.
pub(super) fn run(
    options: &Options,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let folder = super::folder(environment)?;
    if let Some(incumbent) = instance::incumbent(&folder) {
        printer.line(daemon::already_watching(Some(&incumbent)));
        return Ok(ExitStatus::Success);
    }
    let mut command = Command::new(&environment.current_exe);
    command.args(["watch", "--detached", "--interval", &options.interval.to_string()]);
    for project in &options.projects {
        command.arg("--project").arg(project);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().context("cannot start the watcher")?;
    let until = Instant::now() + TIME_LIMIT;
    while Instant::now() < until {
        if let Some(incumbent) = instance::incumbent(&folder) {
            printer.line(format_args!(
                "watching in the background (pid {}); `recovery watch stop` ends it",
                incumbent.process.pid
            ));
            return Ok(ExitStatus::Success);
        }
        if child.try_wait().context("cannot wait for the watcher")?.is_some() {
            break;
        }
        thread::sleep(POLL);
    }
    Err(Hinted::attach(
        anyhow::anyhow!("the watcher did not begin"),
        "run `recovery watch --once` to see why",
    ))
}
