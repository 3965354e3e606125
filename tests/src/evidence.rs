//! What a client leaves behind: its debug log and its transcripts.

use std::{fs, io, path::Path};

use serde_json::Value;

/// The client's debug log of one run.
#[derive(Clone, Debug)]
pub struct DebugLog {
    text: String,
}

impl DebugLog {
    /// Reads a log.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(Self { text: String::from_utf8_lossy(&fs::read(path)?).into_owned() })
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lines that tell of a hook the client started.
    pub fn hook_runs(&self) -> Vec<&str> {
        self.text.lines().filter(|line| message_of(line).and_then(end_of_run).is_some()).collect()
    }

    /// The lines that tell of a hook the client started for one event.
    pub fn hook_runs_for(&self, event: &str) -> Vec<&str> {
        let of_event = |line: &&str| {
            message_of(line).is_some_and(|message| {
                let rest = message.strip_prefix("Hooks: ").unwrap_or(message).strip_prefix(event);
                rest.is_some_and(|rest| rest.starts_with([':', ' ']))
            })
        };
        self.hook_runs().into_iter().filter(of_event).collect()
    }

    /// The lines that report a hook which did not start, was stopped, failed, or printed what the client refused; and
    /// those that report settings it skipped.
    pub fn hook_errors(&self) -> Vec<String> {
        self.lines_where(|message, line| {
            message.contains("Hook JSON output validation failed")
                || message.contains("Hook command failed to spawn")
                || message.contains("Invalid setting skipped")
                || outcome(message).is_some_and(|outcome| outcome != "success")
                || end_of_run(message).is_some_and(|end| !ENDS_WELL.iter().any(|good| end.starts_with(good)))
                || (message.starts_with("Hooks: ") && is_warning(line))
        })
    }

    /// The lines that report a hook whose standard output was neither empty nor JSON.
    pub fn plain_outputs(&self) -> Vec<String> {
        self.lines_where(|message, _| {
            message.split_once(" success:\\n").is_some_and(|(before, output)| {
                before.trim_start_matches('"').starts_with("Hook ") && !output.trim_start().starts_with('{')
            })
        })
    }

    fn lines_where(&self, wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
        self.text
            .lines()
            .filter(|line| message_of(line).is_some_and(|message| wanted(message, line)))
            .map(str::to_owned)
            .collect()
    }
}

/// The text after time and level. Long texts stand there as a JSON string, on one line.
fn message_of(line: &str) -> Option<&str> {
    Some(line.split_once("] ")?.1)
}

fn is_warning(line: &str) -> bool {
    line.contains(" [ERROR] ") || line.contains(" [WARN] ")
}

/// The outcome in a message of the form `Hook NAME (EVENT) OUTCOME: ...`.
fn outcome(message: &str) -> Option<&str> {
    let rest = message.trim_start_matches('"').strip_prefix("Hook ")?;
    let (outcome, _) = rest.split_once(") ")?.1.split_once(':')?;
    outcome.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_').then_some(outcome)
}

/// How the client's account of a run goes on when all is well.
const ENDS_WELL: [&str; 3] =
    ["finished with status 0 ", "completed with status 0", "moved to the background"];
const ENDS_BADLY: [&str; 5] =
    ["finished with status ", "completed with status ", "failed to start", "timed out", "cancelled"];

/// How a run ended, from a message of the form `Hooks: EVENT [COMMAND] ...`, or without `Hooks: ` for the events that
/// cannot say anything (`StopFailure`, `SessionEnd`).
fn end_of_run(message: &str) -> Option<&str> {
    let (start, end) = message.rsplit_once("] ")?;
    let event = start.strip_prefix("Hooks: ").unwrap_or(start).split([' ', ':']).next()?;
    if event.is_empty() || !event.chars().all(|letter| letter.is_ascii_alphabetic()) || event == "StatusLine"
    {
        return None;
    }
    // A plugin's hook names its plugin there.
    let end = end.split_once(") ").filter(|_| end.starts_with("(plugin ")).map_or(end, |(_, end)| end);
    ENDS_WELL.iter().chain(&ENDS_BADLY).any(|known| end.starts_with(known)).then_some(end)
}

/// The transcript of one session, or of one subagent.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// Its lines; a line that is not JSON is left out.
    pub lines: Vec<Value>,
}

impl Transcript {
    /// Reads a transcript.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
        Ok(Self { lines: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect() })
    }

    /// The contexts that hooks gave, whole: event and text.
    pub fn hook_contexts(&self) -> Vec<(String, String)> {
        self.attachments("hook_additional_context")
            .flat_map(|attachment| {
                let event = attachment["hookEvent"].as_str().unwrap_or_default();
                let texts = attachment["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                texts.iter().filter_map(Value::as_str).map(|text| (event.to_owned(), text.to_owned()))
            })
            .collect()
    }

    /// The lines that hooks gave for the person (`systemMessage`).
    pub fn notes_to_the_person(&self) -> Vec<String> {
        self.attachments("hook_system_message")
            .filter_map(|note| note["content"].as_str())
            .map(str::to_owned)
            .collect()
    }

    /// The attachments that report a hook which failed, was stopped, or blocked something.
    pub fn hook_errors(&self) -> Vec<String> {
        ["hook_non_blocking_error", "hook_blocking_error", "hook_cancelled", "hook_error_during_execution"]
            .into_iter()
            .flat_map(|kind| self.attachments(kind))
            .map(Value::to_string)
            .collect()
    }

    /// The attachments of one type.
    pub fn attachments<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.lines
            .iter()
            .filter(|line| line["type"] == "attachment")
            .map(|line| &line["attachment"])
            .filter(move |attachment| attachment["type"] == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(message: &str) -> DebugLog {
        DebugLog { text: format!("2027-01-01T00:00:00.000Z {message}\n") }
    }

    #[test]
    fn every_kind_of_hook_error_is_seen() {
        for message in [
            r#"[ERROR] "Hook Stop (Stop) error: status code 1\nstderr:\nno""#,
            "[DEBUG] Hook Stop (Stop) cancelled:",
            "[DEBUG] Hooks: PostToolUse:Bash [/a b] finished with status 101 (3ms)",
            "[DEBUG] Hooks: PostToolUse:Bash [/a b] (plugin recovery) finished with status 127 (3ms)",
            "[DEBUG] Hooks: PostToolUse:Bash [/a b] failed to start (3ms)",
            "[DEBUG] Hooks: PostToolUse:Bash [/a b] timed out after 5000ms (5003ms)",
            "[DEBUG] SessionEnd:other [/a b] completed with status 3",
            "[DEBUG] StopFailure:server_error [/a b] cancelled",
            "[ERROR] Hook command failed to spawn (Stop): ENOENT",
            r#"[DEBUG] "Hook JSON output validation failed \u2014 missing""#,
        ] {
            assert_eq!(log(message).hook_errors().len(), 1, "{message}");
        }
    }

    #[test]
    fn a_good_run_is_no_error() {
        for message in [
            "[DEBUG] Hooks: PostToolUseFailure:mcp__a__b [/opt/error-tracker] finished with status 0 (3ms)",
            r#"[DEBUG] "Hook PostToolUseFailure:Bash (PostToolUseFailure) success:\n{\"hookSpecificOutput\":{}}""#,
            "[DEBUG] Hook PostToolUse (/opt/error-tracker) provided additionalContext (12 chars)",
            "[DEBUG] Hooks: PostToolUse:Bash [/a] (plugin recovery) finished with status 0 (3ms)",
            "[DEBUG] SessionEnd:other [/a b] completed with status 0",
            "[DEBUG] StatusLine [/a b] completed with status 1",
            "[ERROR] API error (attempt 1/1): 529",
        ] {
            assert!(log(message).hook_errors().is_empty(), "{message}");
            assert!(log(message).plain_outputs().is_empty(), "{message}");
        }
    }

    #[test]
    fn runs_are_counted_by_event() {
        let log = log("[DEBUG] StopFailure:server_error [/a b] completed with status 0");
        assert_eq!(log.hook_runs_for("StopFailure").len(), 1);
        assert_eq!(log.hook_runs_for("Stop").len(), 0);
    }

    #[test]
    fn plain_output_is_seen() {
        assert_eq!(log(r#"[DEBUG] "Hook Stop (Stop) success:\nsome words""#).plain_outputs().len(), 1);
    }
}
