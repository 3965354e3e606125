//! The topic `limit`: a message of the client, the kind of limit it tells of, and its reset.

use screens::{Moment, Wordings};
use serde_json::{Map, Value, json};

use super::text;

/// Without a readable `now` no reset can be told, the kind still can.
pub(super) fn answer(question: &Map<String, Value>) -> Value {
    let message = text(question, "text");
    let host = question.get("host_tz").and_then(Value::as_str);
    let wordings = Wordings::default();
    let Some(moment) = Moment::parse(text(question, "now"), host) else {
        return json!({ "kind": wordings.kind(message), "reset_at": null, "assumed_zone": false, "waits": false });
    };
    let limit = wordings.read(message, &moment);
    let reset = limit.and_then(|limit| limit.reset);
    json!({
        "kind": limit.map(|limit| limit.kind),
        "reset_at": reset.map(|reset| reset.rfc3339()),
        "assumed_zone": reset.is_some_and(|reset| reset.assumed_zone),
        "waits": limit.is_some_and(|limit| limit.waits),
    })
}
