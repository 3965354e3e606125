//! `recovery watch log`.

use session_state::{Dir, layout, log};

use crate::{exit_status::ExitStatus, printer::Printer};

/// Prints the last lines of the watcher's own log.
pub(super) fn run(lines: usize, folder: &Dir, printer: &Printer) -> anyhow::Result<ExitStatus> {
    // The log and the generation before it: the first lines after a rotation would be few.
    let limit = usize::try_from(log::MAX_BYTES).unwrap_or(usize::MAX).saturating_mul(2);
    let read = |name: &str| folder.read(name, limit).unwrap_or_default();
    let text = [read(&format!("{}.1", layout::LOG)), read(layout::LOG)].concat();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    if all.is_empty() {
        printer.line("nothing was done so far");
    }
    for line in &all[all.len().saturating_sub(lines)..] {
        printer.line(line);
    }
    Ok(ExitStatus::Success)
}
