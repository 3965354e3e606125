//! `recovery explain ticks`: which sessions a row of ticks would save.

use std::{collections::HashSet, time::Duration};

use serde_json::{Map, Value, json};
use session_state::{Now, times};
use watcher::pace::{Pace, Seen, to_save};

use super::{liveness_signs, text};

/// Without a word about it, ticks are a minute apart, in seconds.
const INTERVAL_S: u64 = 60;

pub(super) fn answer(question: &Map<String, Value>) -> Value {
    let time = |value: Option<&Value>| value.and_then(times::of_json).map(|seconds| Now(seconds * 1000));
    let interval = question.get("interval_s").and_then(Value::as_u64).unwrap_or(INTERVAL_S);
    let mut pace = Pace::new(Duration::from_secs(interval), time(question.get("last_tick_before")));
    let mut saved = HashSet::new();
    let ticks = question.get("ticks").and_then(Value::as_array);
    let answers: Vec<Value> = ticks
        .into_iter()
        .flatten()
        .map(|tick| {
            // A tick without a time has no ages: nothing is concluded from it.
            let Some(now) = time(tick.get("now")) else { return json!([]) };
            let sessions = tick.get("sessions").and_then(Value::as_array);
            let sessions: Vec<Seen> = sessions
                .into_iter()
                .flatten()
                .filter_map(|session| seen(session.as_object()?, now))
                .collect();
            let step = pace.step(now, None);
            json!(to_save(step, &sessions, &mut saved))
        })
        .collect();
    json!({ "scavenge": answers })
}

fn seen(session: &Map<String, Value>, now: Now) -> Option<Seen> {
    let mut signs = liveness_signs(session);
    if let Some(beat) = session.get("heartbeat") {
        signs.heartbeat_age_s = times::of_json(beat).map(|beat| now.seconds().saturating_sub(beat));
    }
    let id = text(session, "id");
    (!id.is_empty()).then(|| Seen { id: id.to_owned(), signs })
}
