//! A tmux window for each session, named as it was.

use std::{collections::BTreeMap, process::Command, time::Duration};

use anyhow::Context as _;

use super::sessions::Lost;
use crate::{environment::Environment, exit_status::ExitStatus, hint::Hinted, printer::Printer};

/// How long tmux may take for one answer.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The tmux session of those whose own is not known.
const UNKNOWN_SESSION: &str = "claude";

/// A window to be made.
struct Window<'l> {
    session: String,
    name: String,
    lost: &'l Lost,
}

/// Shows the windows, or makes them.
pub(super) fn run(
    lost: &[Lost],
    go: bool,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let windows: Vec<Window<'_>> = lost.iter().map(window).collect();
    if !go {
        for window in &windows {
            printer.line(format_args!(
                "{}:{}  {}: {}",
                window.session,
                window.name,
                window.lost.folder.display(),
                window.lost.command()
            ));
        }
        printer.line("nothing was started; add --yes");
        return Ok(ExitStatus::Success);
    }
    if environment.find_on_path("tmux").is_none() {
        return Err(Hinted::attach(
            anyhow::anyhow!("tmux is not on PATH"),
            "install it, or continue sessions one by one: `recovery resume ID --yes`",
        ));
    }
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    for window in &windows {
        let pane = open(window)?;
        // The shell of the window is new and waits for a line: nothing else can be hit.
        tmux(&["send-keys", "-t", &pane, "-l", "--", &window.lost.command()])?;
        tmux(&["send-keys", "-t", &pane, "Enter"])?;
        *made.entry(&window.session).or_default() += 1;
    }
    for (session, count) in made {
        printer.line(format_args!("{count} in tmux session {session}: tmux attach -t ={session}"));
    }
    Ok(ExitStatus::Success)
}

fn window(lost: &Lost) -> Window<'_> {
    let place = lost.place.as_ref();
    let folder = lost.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let given = |name: Option<&str>| name.filter(|name| !name.is_empty()).map(str::to_owned);
    Window {
        session: screens::tmux_target::session_name(
            &given(place.map(|place| place.session.as_str())).unwrap_or_else(|| UNKNOWN_SESSION.to_owned()),
        ),
        name: given(place.map(|place| place.window.as_str())).unwrap_or(folder),
        lost,
    }
}

/// Opens the window in its session, made if missing. Returns the id of its pane.
fn open(window: &Window<'_>) -> anyhow::Result<String> {
    let folder = window.lost.folder.to_str().context("the project's path is not text")?;
    let session = format!("={}", window.session);
    let place = ["-d", "-P", "-F", "#{pane_id}", "-n", &window.name, "-c", folder];
    let is_there = tmux(&["has-session", "-t", &session]).is_ok();
    let target = format!("{session}:");
    let mut arguments =
        if is_there { vec!["new-window", "-t", &target] } else { vec!["new-session", "-s", &window.session] };
    arguments.extend(place);
    Ok(tmux(&arguments)?.trim().to_owned())
}

fn tmux(arguments: &[&str]) -> anyhow::Result<String> {
    let answer = bounded_command::run(Command::new("tmux").arg("-u").args(arguments), TIME_LIMIT)
        .map_err(|error| anyhow::anyhow!("tmux {error}"))?;
    if answer.status.success() {
        return Ok(String::from_utf8_lossy(&answer.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&answer.stderr);
    Err(anyhow::anyhow!("tmux: {}", rules::text::one_line(said.trim(), 160)))
}
