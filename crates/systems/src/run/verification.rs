//! Whether a recovery really goes on: a living process *and* an event that is new.

use serde::Serialize;

use super::process::Life;
use super::record::{Ending, Stage};

/// From when on an event is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// After the claim: whatever was appended since.
    Claim,
    /// There is no claim: after the living process started.
    ProcessStart,
    /// There is neither.
    None,
}

/// What was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// Stage of the run.
    pub stage: Stage,
    /// How it ended, if it did.
    pub ending: Option<Ending>,
    /// Its process.
    pub process: Life,
    /// From when on an event is new.
    pub baseline: Baseline,
    /// New events.
    pub new_events: usize,
    /// It ended after the claim was taken.
    pub ended_since: bool,
}

/// The answer, with the reason in one sentence.
#[must_use]
pub fn verify(signs: &Signs) -> (bool, String) {
    let events = match signs.new_events {
        1 => "1 new event".to_owned(),
        events => format!("{events} new events"),
    };
    match signs.stage {
        Stage::Queued => (false, "it waits for a place".to_owned()),
        Stage::Error if signs.ended_since => (false, "it has ended in error again".to_owned()),
        Stage::Error => (false, "it is still in stage error".to_owned()),
        Stage::Completed if signs.baseline == Baseline::Claim => {
            let done = signs.ending == Some(Ending::Success) && signs.ended_since && signs.new_events > 0;
            let words = if done {
                format!("it was completed since the claim, {events}")
            } else {
                "it was completed, but not since the claim".to_owned()
            };
            (done, words)
        }
        Stage::Completed => (false, "it is completed, and no claim says what was before".to_owned()),
        Stage::Running => match (signs.process, signs.new_events) {
            (Life::Alive, 0) => (false, "its process is alive, but no new event was written yet".to_owned()),
            (Life::Alive, _) => (true, format!("its process is alive and wrote {events}")),
            (Life::Gone, _) => (false, "its process is gone".to_owned()),
            (Life::NotKnown, _) => (false, "whether its process lives cannot be told from here".to_owned()),
            (Life::NotRecorded, _) => (false, "no process is recorded".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_living_process_with_a_new_event_is_progress() {
        let signs = |stage, process, new_events| Signs {
            stage,
            ending: None,
            process,
            baseline: Baseline::Claim,
            new_events,
            ended_since: false,
        };
        for (stage, process, new_events, confirmed) in [
            (Stage::Running, Life::Alive, 1, true),
            (Stage::Running, Life::Alive, 7, true),
            (Stage::Running, Life::Alive, 0, false),
            (Stage::Running, Life::Gone, 1, false),
            (Stage::Running, Life::NotKnown, 1, false),
            (Stage::Running, Life::NotRecorded, 1, false),
            (Stage::Queued, Life::Alive, 1, false),
            (Stage::Error, Life::Alive, 1, false),
            (Stage::Completed, Life::Alive, 1, false),
        ] {
            assert_eq!(
                verify(&signs(stage, process, new_events)).0,
                confirmed,
                "{stage:?} {process:?} {new_events}"
            );
        }
        let done = Signs {
            ending: Some(Ending::Success),
            ended_since: true,
            ..signs(Stage::Completed, Life::Gone, 1)
        };
        assert!(verify(&done).0);
        for not_done in [
            Signs { ended_since: false, ..done },
            Signs { new_events: 0, ..done },
            Signs { ending: Some(Ending::Failed), ..done },
            Signs { baseline: Baseline::None, ..done },
        ] {
            assert!(!verify(&not_done).0, "{not_done:?}");
        }
    }
}
