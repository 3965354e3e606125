//! Whether something of a run still lives: its process, and the window it was started in.

use std::{process::Command, time::Duration};

use bounded_command::NoAnswer;
use rules::liveness::{Process, is_later_process};
use serde::Serialize;
use session_state::process;

use super::record::{Launcher, Record};
use super::shown;

/// tmux answers in milliseconds, or never.
const TMUX_LIMIT: Duration = Duration::from_secs(2);
/// In a pane these wait for a person: nothing of the run is at work.
const SHELLS: [&str; 12] =
    ["sh", "bash", "zsh", "fish", "dash", "ksh", "tcsh", "csh", "nu", "pwsh", "elvish", "xonsh"];

/// What became of the process of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// It runs.
    Alive,
    /// It has ended.
    Gone,
    /// It cannot be judged from here.
    NotKnown,
    /// The record names none.
    NotRecorded,
}

/// The process of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunProcess {
    /// Its number.
    pub pid: Option<u32>,
    /// Start of the process that has this number now, seconds since 1970.
    pub started_at_s: Option<i64>,
    /// What became of it.
    pub state: Life,
    /// The number belongs to a process that started after the run was last written: it is another one.
    pub number_reused: bool,
}

/// Looks for the process. The record has no start time, so a process that started after both the end of the run and
/// the last change of its record (`written_s`) is another one with the same number.
#[must_use]
pub fn of(record: &Record, written_s: i64) -> RunProcess {
    let Some(pid) = record.pid else {
        return RunProcess { pid: None, started_at_s: None, state: Life::NotRecorded, number_reused: false };
    };
    let presence = process::presence(pid, None);
    let start = if presence == Process::Alive { process::start_epoch_s(pid) } else { None };
    let (state, number_reused) = life(presence, start, record.finished_s.unwrap_or(0).max(written_s));
    RunProcess { pid: Some(pid), started_at_s: start.filter(|_| state != Life::Gone), state, number_reused }
}

const fn life(presence: Process, start_s: Option<i64>, last_sign_s: i64) -> (Life, bool) {
    match (presence, start_s) {
        (Process::Gone, _) => (Life::Gone, false),
        (Process::Alive, Some(start)) if is_later_process(start, last_sign_s) => (Life::Gone, true),
        (Process::Alive, _) => (Life::Alive, false),
        (Process::Unknown, _) => (Life::NotKnown, false),
    }
}

/// One pane of the tmux server around us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pane {
    id: String,
    dead: bool,
    session: String,
    command: String,
}

/// What the tmux server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Panes {
    /// These are all.
    Listed(Vec<Pane>),
    /// There is no server, so there is no pane.
    NoServer,
    /// It could not be asked.
    NotKnown(String),
}

impl Panes {
    /// Asks the server once for all its panes.
    #[must_use]
    pub fn ask() -> Self {
        let mut tmux = Command::new("tmux");
        // A session's name holds no colon, so the command, which may, comes last.
        tmux.args([
            "list-panes",
            "-a",
            "-F",
            "#{pane_id}:#{pane_dead}:#{session_name}:#{pane_current_command}",
        ]);
        match bounded_command::run_long(&mut tmux, TMUX_LIMIT, 1024 * 1024) {
            Ok(answer) if answer.status.success() => Self::read(&String::from_utf8_lossy(&answer.stdout)),
            Ok(answer) => {
                let complaint = String::from_utf8_lossy(&answer.stderr);
                if ["no server running", "error connecting", "No such file"]
                    .iter()
                    .any(|text| complaint.contains(text))
                {
                    Self::NoServer
                } else {
                    Self::NotKnown(shown::line(&format!("tmux says {complaint}"), 120))
                }
            }
            Err(NoAnswer::NotStarted(_)) => Self::NotKnown("tmux could not be started".to_owned()),
            Err(error) => Self::NotKnown(format!("tmux {error}")),
        }
    }

    fn read(answer: &str) -> Self {
        let pane = |line: &str| {
            let mut parts = line.splitn(4, ':').map(str::to_owned);
            let (id, dead, session) = (parts.next()?, parts.next()? == "1", parts.next()?);
            Some(Pane { id, dead, session, command: parts.next()? })
        };
        Self::Listed(answer.lines().filter_map(pane).collect())
    }
}

/// What became of the window a run was started in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// `tmux`, `cmux`, `native` or another word; none: not recorded.
    pub kind: Option<String>,
    /// Where: a session, a pane.
    pub place: Option<String>,
    /// What became of it.
    pub state: WindowState,
    /// The program in it, or why its state is not known.
    pub detail: Option<String>,
}

/// What became of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowState {
    /// Something that is no shell runs in it.
    Busy,
    /// It is there, with a shell or with nothing in it.
    Present,
    /// It is gone.
    Absent,
    /// It cannot be asked.
    NotKnown,
    /// None is recorded.
    NotRecorded,
}

/// Looks for the window of a run among the panes.
#[must_use]
pub fn window(launcher: Option<&Launcher>, panes: &Panes) -> Window {
    let Some(launcher) = launcher else {
        return Window { kind: None, place: None, state: WindowState::NotRecorded, detail: None };
    };
    let place = [&launcher.session, &launcher.pane].into_iter().flatten();
    let place = place.map(|part| shown::line(part, 60)).collect::<Vec<_>>().join(" ");
    let kind = Some(shown::line(&launcher.kind, 20)).filter(|kind| !kind.is_empty());
    let at = |state, detail| Window {
        kind: kind.clone(),
        place: Some(place.clone()).filter(|place| !place.is_empty()),
        state,
        detail,
    };
    if launcher.kind != "tmux" {
        let why = if launcher.kind == "native" {
            "it has no window of its own"
        } else {
            "it cannot be asked from here"
        };
        return at(WindowState::NotKnown, Some(why.to_owned()));
    }
    let panes = match panes {
        Panes::Listed(panes) => panes,
        Panes::NoServer => return at(WindowState::Absent, Some("no tmux server runs".to_owned())),
        Panes::NotKnown(why) => return at(WindowState::NotKnown, Some(why.clone())),
    };
    // A pane number is given again by the next server, so the session has to be the recorded one too.
    let Some(session) = &launcher.session else {
        return at(WindowState::NotKnown, Some("the name of its session is not recorded".to_owned()));
    };
    let mut here = panes
        .iter()
        .filter(|pane| pane.session == *session && launcher.pane.as_ref().is_none_or(|id| pane.id == *id));
    let is_shell = |pane: &Pane| SHELLS.contains(&pane.command.trim_start_matches('-'));
    let first = here.clone().next();
    match (here.find(|pane| !pane.dead && !is_shell(pane)), first) {
        (Some(busy), _) => at(WindowState::Busy, Some(shown::line(&busy.command, 40))),
        (None, Some(idle)) => at(WindowState::Present, Some(shown::line(&idle.command, 40))),
        (None, None) => at(WindowState::Absent, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_process_with_the_same_number_is_another_one() {
        for (presence, start, expected) in [
            (Process::Gone, None, (Life::Gone, false)),
            (Process::Alive, Some(101), (Life::Alive, false)),
            (Process::Alive, Some(102), (Life::Alive, false)),
            (Process::Alive, Some(103), (Life::Gone, true)),
            (Process::Alive, None, (Life::Alive, false)),
            (Process::Unknown, None, (Life::NotKnown, false)),
        ] {
            assert_eq!(life(presence, start, 100), expected, "{presence:?} {start:?}");
        }
    }

    #[test]
    fn the_window_is_the_recorded_pane_of_the_recorded_session() {
        let launcher = |kind: &str, session: Option<&str>, pane: Option<&str>| Launcher {
            kind: kind.to_owned(),
            session: session.map(str::to_owned),
            pane: pane.map(str::to_owned),
        };
        let panes = Panes::read("%1:0:wf-a:node\n%2:0:wf-b:-zsh\n%3:1:wf-c:node\n%4:0:wf d:a:b\nnonsense\n");
        for (kind, session, pane, state, detail) in [
            ("tmux", Some("wf-a"), Some("%1"), WindowState::Busy, Some("node")),
            ("tmux", Some("wf-a"), None, WindowState::Busy, Some("node")),
            ("tmux", Some("wf-a"), Some("%2"), WindowState::Absent, None),
            ("tmux", Some("wf-b"), Some("%2"), WindowState::Present, Some("-zsh")),
            ("tmux", Some("wf-c"), None, WindowState::Present, Some("node")),
            ("tmux", Some("wf d"), None, WindowState::Busy, Some("a:b")),
            ("tmux", Some("wf"), None, WindowState::Absent, None),
            (
                "tmux",
                None,
                Some("%1"),
                WindowState::NotKnown,
                Some("the name of its session is not recorded"),
            ),
            ("cmux", Some("x"), None, WindowState::NotKnown, Some("it cannot be asked from here")),
            ("native", None, None, WindowState::NotKnown, Some("it has no window of its own")),
        ] {
            let window = window(Some(&launcher(kind, session, pane)), &panes);
            assert_eq!(
                (window.state, window.detail.as_deref()),
                (state, detail),
                "{kind} {session:?} {pane:?}"
            );
        }
        assert_eq!(window(None, &panes).state, WindowState::NotRecorded);
        let tmux = launcher("tmux", Some("wf-a"), None);
        assert_eq!(window(Some(&tmux), &Panes::NoServer).state, WindowState::Absent);
        assert_eq!(window(Some(&tmux), &Panes::NotKnown("why".into())).state, WindowState::NotKnown);
    }
}
