//! What of a record is never shown: environment, prompt, inputs, secrets (FORMATS 1.6 and 7).

use serde_json::{Map, Value};

use super::{record::Record, shown};

/// Fields that are left out wherever they stand.
const FIELDS: [&str; 4] = ["env", "prompt", "inputs", "secretFile"];
/// Parts of other names whose values are left out.
const SECRET_PARTS: [&str; 10] = [
    "secret",
    "token",
    "password",
    "passwd",
    "credential",
    "apikey",
    "api_key",
    "authorization",
    "cookie",
    "privatekey",
];
/// Variables of the environment whose values are ids that every log is full of.
const KNOWN_IDS: [&str; 5] = [
    "PI_SESSION_ID",
    "AGIFLOW_JOB_ID",
    "AGIFLOW_JOB_KIND",
    "AGIFLOW_PROJECT_ID",
    "DOOMPI_WORKFLOW_LAUNCHER_SESSION_ID",
];
/// A shorter value is too common to be taken out of other files.
const SHORTEST_VALUE: usize = 6;
/// Values looked for in other files.
const MAX_VALUES: usize = 256;
/// Characters of one text of a record.
const MAX_TEXT: usize = 4_000;
/// What stands in place of a withheld value.
const WITHHELD: &str = "[withheld]";

/// Whether a field of this name is left out.
pub(crate) fn is_withheld(name: &str) -> bool {
    if FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field)) {
        return true;
    }
    let lower = name.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| lower.contains(part))
}

/// The record as it may be shown: everything else stays, unknown fields too, its texts clean.
#[must_use]
pub fn visible(record: &Record) -> Map<String, Value> {
    visible_map(&record.all)
}

/// Names of the fields that were left out at the top of the record.
#[must_use]
pub fn left_out(record: &Record) -> Vec<String> {
    record.all.keys().filter(|name| is_withheld(name)).map(|name| shown::line(name, 60)).collect()
}

pub(crate) fn visible_map(all: &Map<String, Value>) -> Map<String, Value> {
    let kept = all.iter().filter(|(name, _)| !is_withheld(name));
    kept.map(|(name, value)| (shown::line(name, 200), visible_value(value))).collect()
}

fn visible_value(value: &Value) -> Value {
    match value {
        Value::String(text) => shown::line(text, MAX_TEXT).into(),
        Value::Array(items) => items.iter().map(visible_value).collect(),
        Value::Object(fields) => visible_map(fields).into(),
        other => other.clone(),
    }
}

/// The values of what is withheld, longest first: a log may repeat them.
#[derive(Debug, Default)]
pub struct Values(Vec<String>);

impl Values {
    /// Collects them.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let mut found = Vec::new();
        for (name, value) in record.all.iter().filter(|(name, _)| is_withheld(name)) {
            match value {
                Value::Object(fields) if name == "env" => {
                    let secret = fields.iter().filter(|(name, _)| !KNOWN_IDS.contains(&name.as_str()));
                    secret.for_each(|(_, value)| collect(value, &mut found));
                }
                value => collect(value, &mut found),
            }
        }
        found.sort_by_key(|value| std::cmp::Reverse(value.len()));
        found.dedup();
        found.truncate(MAX_VALUES);
        Self(found)
    }

    /// Takes them out of a text.
    #[must_use]
    pub fn out_of(&self, text: String) -> String {
        let out = |text: String, value: &String| {
            if text.contains(value.as_str()) { text.replace(value.as_str(), WITHHELD) } else { text }
        };
        self.0.iter().fold(text, out)
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        // As it may stand in a file, and line by line, as a prompt is often repeated.
        Value::String(text) => {
            let lines = text.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_VALUE);
            found.extend(lines.map(str::to_owned));
            if text.trim().len() >= SHORTEST_VALUE {
                found.push(text.trim().to_owned());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::record;

    fn record(more: &str) -> Record {
        let text = format!(
            r#"{{"runKey":"k","workspace":"w","workflowPath":"/f","startedAt":"1772442000","stage":"error",{more}}}"#
        );
        record::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn withheld_fields_go_and_unknown_ones_stay() {
        let record = record(
            r#""env":{"A":"b"},"prompt":"do it","inputs":{"x":1},"secretFile":"/s/keys","apiToken":"x","seen":{"deep":[{"password":"p","plain":"\u001b[1mv"}]},"errorMessage":"token=abcdef0123456789abcd gone""#,
        );
        let visible = Value::from(visible(&record));
        for name in ["env", "prompt", "inputs", "secretFile", "apiToken"] {
            assert_eq!(visible.get(name), None, "{name}");
        }
        assert_eq!(visible["seen"]["deep"][0], serde_json::json!({"plain": "v"}));
        assert_eq!(visible["errorMessage"], "token=[redacted] gone");
        assert_eq!(visible["runKey"], "k");
        assert_eq!(left_out(&record), ["apiToken", "env", "inputs", "prompt", "secretFile"]);
    }

    #[test]
    fn the_values_are_taken_out_of_other_texts() {
        let record = record(
            r#""env":{"DEPLOY":"hunter-two","AGIFLOW_JOB_ID":"job-77","S":"short"},"prompt":"write the parser\nthen stop it","inputs":{"n":["value-of-input"]}"#,
        );
        let text = "job-77 used hunter-two, short; then stop it. value-of-input, write the parser".to_owned();
        assert_eq!(
            Values::of(&record).out_of(text),
            "job-77 used [withheld], short; [withheld]. [withheld], [withheld]"
        );
    }
}
