//! The topic `screen`: a captured pane, what its client is doing, and which key, if any, is right.

use chrono::{DateTime, SecondsFormat, Utc};
use screens::{Keys, Look, Memory, Options, Pane, State, StopFailure, Wordings};
use serde_json::{Map, Value, json};

use super::text;

/// Without a readable `now` nothing is ever due, so no key can be right.
pub(super) fn answer(question: &Map<String, Value>) -> Value {
    let now = DateTime::parse_from_rfc3339(text(question, "now")).ok().map(|now| now.with_timezone(&Utc));
    let memory: Option<Memory> =
        question.get("memory").and_then(|memory| serde_json::from_value(memory.clone()).ok());
    let pane = question.get("pane").and_then(Value::as_object).map(pane).unwrap_or_default();
    let look = Look {
        text: text(question, "screen"),
        pane: &pane,
        now: now.unwrap_or_default(),
        memory: memory.as_ref(),
        first_seen: question.get("first_seen").and_then(Value::as_bool).unwrap_or(false),
        known: None,
    };
    let answer = screens::look(&look, &Wordings::default(), &Options::for_a_screen());
    let keys = if now.is_some() { answer.keys } else { Keys::None };
    let row = match &answer.state {
        State::Menu { row } => Some(row),
        _ => None,
    };
    json!({
        "verdict": answer.verdict.word(),
        "state": answer.state.word(),
        "native": answer.native.word(),
        "kind": answer.kind,
        "reset_at": answer.reset_at.filter(|_| now.is_some()).map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true)),
        "assumed_zone": answer.assumed_zone,
        "marker_row": row,
        "keys": keys.word(),
        "why": answer.why,
        "memory": if now.is_some() { json!(answer.memory) } else { json!(memory) },
    })
}

/// Reads the facts beside the text; one of another type than expected counts as unknown.
fn pane(facts: &Map<String, Value>) -> Pane {
    let word = |field: &str| facts.get(field).and_then(Value::as_str).map(str::to_owned);
    let number = |field: &str| {
        facts.get(field).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
    };
    Pane {
        pane_id: word("pane_id").unwrap_or_default(),
        in_mode: facts.get("in_mode").and_then(Value::as_bool),
        foreground: word("foreground"),
        width: number("width"),
        height: number("height"),
        host_tz: word("host_tz"),
        capture: word("capture"),
        client: word("client"),
        session_status: word("session_status"),
        waiting_for: word("waiting_for"),
        stop_failure: facts.get("stop_failure").and_then(Value::as_object).map(stop_failure),
    }
}

fn stop_failure(payload: &Map<String, Value>) -> StopFailure {
    let word = |field: &str| payload.get(field).and_then(Value::as_str).map(str::to_owned);
    StopFailure {
        error: word("error").unwrap_or_default(),
        last_assistant_message: word("last_assistant_message"),
        agent_id: word("agent_id"),
    }
}
