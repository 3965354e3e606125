//! `recovery explain`: what the rules say about a text, without reading or writing any file.

use std::io::Read as _;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::{exit_status::ExitStatus, hint::Hinted, printer::Printer};

mod limit;
mod screen;
mod tmux_target;

/// Say what the rules make of a text
///
/// Reads one JSON value from standard input: an object is one question and gives one answer, an array gives an array
/// of answers in the same order. A field that is left out counts as null. Nothing is read from disk or written.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    /// What the question is about; any other word lists the topics
    topic: String,
}

const EXAMPLES: &str = r#"Topics:
  mcp-error   what kind of failure of an MCP call is it, and does it count toward the retry limit
              `error`
  failure     what kind of failure of a build or a check is it
              `error`
  circular    is this the same fix once more
              `previous_failed` (a list, oldest first), `current`
  model       the family of a model id, and the next larger one
              `in`
  liveness    is a session alive
              `heartbeat_age_s`, `process`, `tmux`, `ended_mark`, `next_session_id`, `status`
  ticks       which sessions a row of looks would save
              `interval_s`, `last_tick_before`, `ticks`: each with `now` and `sessions` (`id`, `heartbeat`, as above)
  limit       what a message of the client says is used up, and when it is over
              `text`, `now` (RFC 3339), `host_tz`
  screen      what a captured pane shows, and which key, if any, is right
              `screen`, `now` (RFC 3339), `memory` (of the former answer), `first_seen`, `pane`: an object
              of `pane_id`, `in_mode`, `foreground`, `width`, `height`, `host_tz`, `capture`, `client`,
              `session_status`, `waiting_for`, `stop_failure`
  tmux-target how a recorded session or pane is named to tmux, and whether it is there
              `recorded`, `sessions`, `panes`, `tmux_error`

Examples:
  echo '{"error": "Connection closed"}' | recovery explain mcp-error
  echo '[{"in": "haiku"}, {"in": "opus"}]' | recovery explain model"#;

/// Answers one question; its fields are those of the topic.
type Answer = fn(&Map<String, Value>) -> Value;

/// Every topic, in the order of the help.
const TOPICS: &[(&str, Answer)] = &[
    ("mcp-error", mcp_error),
    ("failure", failure),
    ("circular", circular),
    ("model", model),
    ("liveness", liveness),
    ("ticks", ticks::answer),
    ("limit", limit::answer),
    ("screen", screen::answer),
    ("tmux-target", tmux_target::answer),
];

/// Runs the verb.
pub(crate) fn run(arguments: &ExplainArguments, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let Some((_, answer)) = TOPICS.iter().find(|(name, _)| *name == arguments.topic) else {
        let topics: Vec<&str> = TOPICS.iter().map(|(name, _)| *name).collect();
        let topics = topics.join(", ");
        printer.error(&Hinted::attach(
            anyhow::anyhow!("there is no topic {:?}", arguments.topic),
            format!("ask about one of: {topics}"),
        ));
        return Ok(ExitStatus::Usage);
    };
    let mut input = Vec::new();
    std::io::stdin().lock().read_to_end(&mut input)?;
    match answers(*answer, &input) {
        Ok(answers) => {
            printer.line(answers);
            Ok(ExitStatus::Success)
        }
        Err(error) => {
            let hint = format!("see the examples of `recovery explain --help` for {}", arguments.topic);
            printer.error(&Hinted::attach(error, hint));
            Ok(ExitStatus::Usage)
        }
    }
}

/// Why standard input holds no question.
#[derive(Debug, thiserror::Error)]
enum QuestionError {
    #[error("standard input is not one JSON value ({0})")]
    NotJson(#[from] serde_json::Error),
    #[error("a question is a JSON object, or an array of objects")]
    NotAnObject,
}

fn answers(answer: Answer, input: &[u8]) -> Result<Value, QuestionError> {
    let one = |question: &Value| question.as_object().map(answer).ok_or(QuestionError::NotAnObject);
    match serde_json::from_slice(input)? {
        Value::Array(questions) => questions.iter().map(one).collect(),
        question => one(&question),
    }
}

fn text<'q>(question: &'q Map<String, Value>, field: &str) -> &'q str {
    question.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn mcp_error(question: &Map<String, Value>) -> Value {
    let class = rules::mcp::classify(text(question, "error"));
    json!({ "class": class.name(), "counts": class.counts() })
}

fn failure(question: &Map<String, Value>) -> Value {
    json!({ "class": rules::failure::classify(text(question, "error")).name() })
}

fn circular(question: &Map<String, Value>) -> Value {
    let attempts = question.get("previous_failed").and_then(Value::as_array);
    let previous: Vec<String> =
        attempts.into_iter().flatten().filter_map(|attempt| attempt.as_str().map(str::to_owned)).collect();
    json!({ "circular": rules::circular::is_circular(&previous, text(question, "current")) })
}

fn model(question: &Map<String, Value>) -> Value {
    let id = text(question, "in");
    json!({ "family": rules::model::family(id), "next": rules::model::next(id) })
}

fn liveness(question: &Map<String, Value>) -> Value {
    json!({ "verdict": rules::liveness::verdict(&liveness_signs(question)).name() })
}

/// The signs of a session, by the fields that name them.
fn liveness_signs(question: &Map<String, Value>) -> rules::liveness::Signs {
    use rules::liveness::{Mark, Process, Signs, Terminal};
    let is_set = |field| match question.get(field) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    };
    let status = text(question, "status");
    // The latest fact about a session comes first: what was saved had ended, what goes on elsewhere too.
    let mark = if status == "scavenged" {
        Some(Mark::Scavenged)
    } else if is_set("next_session_id") || status == "superseded" {
        Some(Mark::Superseded)
    } else if is_set("ended_mark") || status == "ended" {
        Some(Mark::Ended)
    } else {
        None
    };
    Signs {
        heartbeat_age_s: question.get("heartbeat_age_s").and_then(whole_seconds),
        process: match text(question, "process") {
            "alive" => Process::Alive,
            "gone" => Process::Gone,
            _ => Process::Unknown,
        },
        terminal: match text(question, "tmux") {
            "present" => Terminal::Present,
            "absent" => Terminal::Absent,
            "not_recorded" | "" => Terminal::NotRecorded,
            _ => Terminal::Error,
        },
        mark,
    }
}

/// Returns a number as whole seconds, rounded down.
#[expect(clippy::cast_possible_truncation, reason = "a float outside of i64 becomes the nearest i64")]
fn whole_seconds(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds.floor() as i64))
}

mod ticks;

#[cfg(test)]
mod tests;
