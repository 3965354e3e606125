//! `recovery watch stop`.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use session_state::Dir;
use watcher::instance;

use crate::{exit_status::ExitStatus, hint::Hinted, platform, printer::Printer};

/// How long the watcher may take to end: it finishes the step it is in.
const TIME_LIMIT: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(20);

/// Asks the watcher to end and waits until it did.
pub(super) fn run(folder: &Dir, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let Some(incumbent) = instance::incumbent(folder) else {
        printer.line("nobody watches");
        return Ok(ExitStatus::Success);
    };
    let pid = incumbent.process.pid;
    platform::ask_to_end(pid).with_context(|| format!("cannot ask pid {pid} to end"))?;
    let until = Instant::now() + TIME_LIMIT;
    while Instant::now() < until {
        if instance::incumbent(folder).as_ref() != Some(&incumbent) {
            printer.line(format_args!("stopped (pid {pid})"));
            return Ok(ExitStatus::Success);
        }
        thread::sleep(POLL);
    }
    Err(Hinted::attach(
        anyhow::anyhow!("pid {pid} did not end within {} s", TIME_LIMIT.as_secs()),
        format!("it may be in the middle of an act; look again, or end it with `kill {pid}`"),
    ))
}
