//! The topic `tmux-target`: a recorded name or pane id, as tmux takes it, and whether tmux has it.

use screens::tmux_target::{Listing, target};
use serde_json::{Map, Value, json};

use super::text;

pub(super) fn answer(question: &Map<String, Value>) -> Value {
    let names = |field: &str| -> Option<Vec<String>> {
        let names = question.get(field)?.as_array()?;
        Some(names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
    };
    let (sessions, panes) = (names("sessions"), names("panes"));
    let error = question.get("tmux_error").and_then(Value::as_str);
    let recorded = text(question, "recorded");
    let told = target(recorded, listed(error, sessions.as_deref()), listed(error, panes.as_deref()));
    json!({
        "target": told.as_ref().map(|told| &told.target),
        "present": told.as_ref().and_then(|told| told.present),
    })
}

/// An error comes first: a list beside it is not tmux's answer.
fn listed<'a>(error: Option<&'a str>, names: Option<&'a [String]>) -> Listing<'a> {
    match (error, names) {
        (Some(error), _) => Listing::Error(error),
        (None, Some(names)) => Listing::Names(names),
        (None, None) => Listing::Unknown,
    }
}
