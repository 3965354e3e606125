//! The pace of ticks, and which sessions a tick may save.

use std::collections::HashSet;
use std::time::Duration;

use rules::liveness::{Signs, Verdict, verdict};
use session_state::Now;

/// A gap of more than this many intervals between two ticks means that the machine slept.
const SLEPT_AFTER: u32 = 3;
/// Wall and monotonic clock may be apart by this much over one interval.
const DRIFT: Duration = Duration::from_secs(10);

/// Whether a tick may draw conclusions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It may.
    Go,
    /// The machine slept or its clock was set: whatever looks old may only look so. One interval is let pass.
    Skip(Why),
}

/// Why a tick is let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// More than three intervals since the last tick.
    Gap,
    /// The wall clock moved otherwise than the monotonic one.
    ClockJump,
}

impl Why {
    /// For the log.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::ClockJump => "clock-jump",
        }
    }
}

/// Remembers the last tick.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    interval: Duration,
    last: Option<(Now, Option<Duration>)>,
}

impl Pace {
    /// Nothing has happened yet; or the last tick was at `last`.
    #[must_use]
    pub fn new(interval: Duration, last: Option<Now>) -> Self {
        Self { interval, last: last.map(|now| (now, None)) }
    }

    /// The next tick. `monotonic` is left out where there is no such clock.
    pub fn step(&mut self, now: Now, monotonic: Option<Duration>) -> Step {
        let Some((before, mono_before)) = self.last.replace((now, monotonic)) else { return Step::Go };
        let Ok(gap) = u64::try_from(now.0.saturating_sub(before.0)).map(Duration::from_millis) else {
            return Step::Skip(Why::ClockJump);
        };
        if gap > self.interval.saturating_mul(SLEPT_AFTER) {
            return Step::Skip(Why::Gap);
        }
        let passed = mono_before.zip(monotonic).map(|(before, now)| now.saturating_sub(before));
        if passed.is_some_and(|passed| passed.abs_diff(gap) > DRIFT) {
            return Step::Skip(Why::ClockJump);
        }
        Step::Go
    }
}

/// A session as one tick sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its id.
    pub id: String,
    /// Its signs.
    pub signs: Signs,
}

/// Which of the sessions are to be saved at this tick; each once.
pub fn to_save<'s>(step: Step, sessions: &'s [Seen], saved: &mut HashSet<String>) -> Vec<&'s str> {
    if step != Step::Go {
        return Vec::new();
    }
    let dead = sessions.iter().filter(|session| verdict(&session.signs) == Verdict::Dead);
    dead.filter(|session| saved.insert(session.id.clone())).map(|session| session.id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::liveness::{Process, Terminal};

    const MINUTE: Duration = Duration::from_secs(60);

    fn pace(steps: &[(i64, u64)]) -> Vec<Step> {
        let mut pace = Pace::new(MINUTE, None);
        steps
            .iter()
            .map(|(wall_s, mono_s)| pace.step(Now(wall_s * 1000), Some(Duration::from_secs(*mono_s))))
            .collect()
    }

    #[test]
    fn a_gap_of_three_intervals_is_borne_and_one_of_more_is_not() {
        assert_eq!(pace(&[(0, 0), (180, 180)]), [Step::Go, Step::Go]);
        assert_eq!(pace(&[(0, 0), (181, 181), (241, 241)]), [Step::Go, Step::Skip(Why::Gap), Step::Go]);
    }

    #[test]
    fn a_clock_that_was_set_or_a_sleep_within_the_interval_is_noticed() {
        assert_eq!(pace(&[(0, 0), (60, 60), (130, 120)]), [Step::Go; 3]);
        assert_eq!(pace(&[(0, 0), (71, 60), (131, 120)])[1..], [Step::Skip(Why::ClockJump), Step::Go]);
        assert_eq!(pace(&[(100, 0), (99, 60)])[1], Step::Skip(Why::ClockJump));
        assert_eq!(pace(&[(0, 0), (10, 60)])[1], Step::Skip(Why::ClockJump));
    }

    #[test]
    fn the_dead_are_saved_once_and_not_right_after_a_sleep() {
        let dead = Signs {
            heartbeat_age_s: Some(301),
            process: Process::Gone,
            terminal: Terminal::Absent,
            mark: None,
        };
        let idle = Signs { process: Process::Alive, terminal: Terminal::Present, ..dead };
        let sessions = [Seen { id: "a".into(), signs: dead }, Seen { id: "b".into(), signs: idle }];
        let mut saved = HashSet::new();
        assert!(to_save(Step::Skip(Why::Gap), &sessions, &mut saved).is_empty());
        assert_eq!(to_save(Step::Go, &sessions, &mut saved), ["a"]);
        assert!(to_save(Step::Go, &sessions, &mut saved).is_empty());
    }
}
