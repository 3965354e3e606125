//! Who is alive: a verdict from the signs a session left.
//!
//! Marks come first, then the process, the age of the heartbeat and the terminal. A session counts as dead only when
//! its process is *proven* gone and its heartbeat is readable, in the past and older than [`FRESH_S`].

use serde::{Deserialize, Serialize};

/// A heartbeat up to this many seconds old is fresh.
pub const FRESH_S: i64 = 300;

/// What is known about the process of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// It runs, and it is the same process (start time compared).
    Alive,
    /// It is proven gone: same machine, same namespace, no such process or another start time.
    Gone,
    /// It was not recorded or cannot be judged from here.
    Unknown,
}

/// What the terminal multiplexer answered about the recorded pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// The pane is there.
    Present,
    /// The multiplexer answered that there is no such pane.
    Absent,
    /// It could not be asked.
    Error,
    /// The session never told of a pane.
    NotRecorded,
}

/// A mark that settles the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// SessionEnd was seen.
    Ended,
    /// The conversation goes on under another id.
    Superseded,
    /// Its findings were already saved.
    Scavenged,
}

/// Everything that is known about one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signs {
    /// Age of the heartbeat in seconds; negative = in the future; `None` = missing or not a number.
    pub heartbeat_age_s: Option<i64>,
    /// The process.
    pub process: Process,
    /// The terminal.
    pub terminal: Terminal,
    /// The mark, if one was left.
    pub mark: Option<Mark>,
}

/// The verdict about a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It works or did so a moment ago.
    Alive,
    /// It is there and waits.
    Idle,
    /// The process lives without its terminal: reported, never touched.
    Orphan,
    /// The process is gone, but so recently that its last words may still be written.
    NotYet,
    /// It is gone for good.
    Dead,
    /// It ended in order.
    Ended,
    /// It goes on under another id.
    Superseded,
    /// It was dead and its findings are saved.
    AlreadyScavenged,
    /// The signs do not decide.
    Unknown,
}

impl Verdict {
    /// Returns the word used in files and answers, such as `not_yet`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Idle => "idle",
            Self::Orphan => "orphan",
            Self::NotYet => "not_yet",
            Self::Dead => "dead",
            Self::Ended => "ended",
            Self::Superseded => "superseded",
            Self::AlreadyScavenged => "already_scavenged",
            Self::Unknown => "unknown",
        }
    }
}

/// Returns the verdict for the signs of one session (the table "Who is alive" of the design).
///
/// The two borders differ on purpose: at exactly [`FRESH_S`] a session is no longer *alive* by its heartbeat alone,
/// and not yet *dead* either. A heartbeat from the future proves a clock that jumped: it never makes a session dead.
pub fn verdict(signs: &Signs) -> Verdict {
    match signs.mark {
        Some(Mark::Ended) => return Verdict::Ended,
        Some(Mark::Superseded) => return Verdict::Superseded,
        Some(Mark::Scavenged) => return Verdict::AlreadyScavenged,
        None => {}
    }
    let fresh = signs.heartbeat_age_s.is_some_and(|age| age < FRESH_S);
    match signs.process {
        Process::Alive if signs.terminal == Terminal::Absent => Verdict::Orphan,
        Process::Alive if fresh => Verdict::Alive,
        Process::Alive => Verdict::Idle,
        Process::Gone => match signs.heartbeat_age_s {
            Some(age) if age > FRESH_S => Verdict::Dead,
            Some(0..) => Verdict::NotYet,
            Some(_) | None => Verdict::Unknown,
        },
        Process::Unknown if fresh => Verdict::Alive,
        Process::Unknown if signs.terminal == Terminal::Present => Verdict::Idle,
        Process::Unknown => Verdict::Unknown,
    }
}

/// A clock may be read this many seconds after a process started.
const START_SLACK_S: i64 = 2;

/// Returns whether a process that started at `start_s` is a later one with the same number, when only the last sign of the
/// one sought is known: nothing can have written before it started.
#[must_use]
pub const fn is_later_process(start_s: i64, last_sign_s: i64) -> bool {
    start_s > last_sign_s.saturating_add(START_SLACK_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(age: Option<i64>, process: Process, terminal: Terminal) -> &'static str {
        verdict(&Signs { heartbeat_age_s: age, process, terminal, mark: None }).name()
    }

    #[test]
    fn a_living_process_is_never_dead() {
        for terminal in [Terminal::Present, Terminal::NotRecorded, Terminal::Error] {
            assert_eq!(of(Some(299), Process::Alive, terminal), "alive");
            assert_eq!(of(Some(300), Process::Alive, terminal), "idle");
            assert_eq!(of(Some(301), Process::Alive, terminal), "idle");
            assert_eq!(of(Some(-5), Process::Alive, terminal), "alive");
            assert_eq!(of(None, Process::Alive, terminal), "idle");
        }
        for age in [Some(0), Some(99_999), Some(-1), None] {
            assert_eq!(of(age, Process::Alive, Terminal::Absent), "orphan");
        }
    }

    #[test]
    fn a_proven_end_needs_an_old_readable_heartbeat() {
        for terminal in [Terminal::Present, Terminal::Absent, Terminal::Error, Terminal::NotRecorded] {
            assert_eq!(of(Some(299), Process::Gone, terminal), "not_yet");
            assert_eq!(of(Some(300), Process::Gone, terminal), "not_yet");
            assert_eq!(of(Some(301), Process::Gone, terminal), "dead");
            assert_eq!(of(Some(0), Process::Gone, terminal), "not_yet");
            assert_eq!(of(Some(-1), Process::Gone, terminal), "unknown");
            assert_eq!(of(Some(i64::MIN), Process::Gone, terminal), "unknown");
            assert_eq!(of(Some(i64::MAX), Process::Gone, terminal), "dead");
            assert_eq!(of(None, Process::Gone, terminal), "unknown");
        }
    }

    #[test]
    fn without_a_process_the_heartbeat_and_the_terminal_speak() {
        for terminal in [Terminal::Present, Terminal::Absent, Terminal::Error, Terminal::NotRecorded] {
            assert_eq!(of(Some(299), Process::Unknown, terminal), "alive");
        }
        for age in [Some(300), Some(301), None] {
            assert_eq!(of(age, Process::Unknown, Terminal::Present), "idle");
            for terminal in [Terminal::Absent, Terminal::Error, Terminal::NotRecorded] {
                assert_eq!(of(age, Process::Unknown, terminal), "unknown");
            }
        }
    }

    #[test]
    fn a_mark_settles_it() {
        for (mark, expected) in
            [(Mark::Ended, "ended"), (Mark::Superseded, "superseded"), (Mark::Scavenged, "already_scavenged")]
        {
            for process in [Process::Alive, Process::Gone, Process::Unknown] {
                let signs = Signs {
                    heartbeat_age_s: Some(9_000),
                    process,
                    terminal: Terminal::Absent,
                    mark: Some(mark),
                };
                assert_eq!(verdict(&signs).name(), expected);
            }
        }
    }

    #[test]
    fn names_are_the_serialised_form() {
        for verdict in [Verdict::NotYet, Verdict::AlreadyScavenged, Verdict::Dead] {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
        }
    }
}
