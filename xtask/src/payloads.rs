//! Recorded hook payloads: what the client writes on a hook's standard input, with the names of one call filled in.
//!
//! The files in `fixtures/payloads` have a line break after each field for the reader's sake; a payload is one line
//! without spaces between its tokens, as the client writes it, and keeps the order of the fields: a hook's quick path
//! reads the head only.

use std::path::Path;

/// One kind of payload.
#[derive(Clone, Copy)]
pub(crate) struct Recorded {
    /// The event, as in `hook_event_name`.
    pub(crate) event: &'static str,
    /// What a matcher of the wiring is compared with, where the event has one.
    pub(crate) subject: &'static str,
    /// What happened, for people.
    pub(crate) title: &'static str,
    template: &'static str,
}

macro_rules! recorded {
    ($name:ident, $event:literal, $subject:literal, $title:literal, $file:literal) => {
        #[doc = $title]
        pub(crate) const $name: Recorded = Recorded {
            event: $event,
            subject: $subject,
            title: $title,
            template: include_str!(concat!("../fixtures/payloads/", $file)),
        };
    };
}

recorded!(SESSION_START, "SessionStart", "startup", "a session starts", "session-start.json");
recorded!(PROMPT, "UserPromptSubmit", "", "a person writes a prompt", "user-prompt-submit.json");
recorded!(READ_OK, "PostToolUse", "Read", "a file was read", "read-ok.json");
recorded!(BASH_OK, "PostToolUse", "Bash", "a command went well", "bash-ok.json");
recorded!(READ_MISSING, "PostToolUseFailure", "Read", "a file to read is not there", "read-missing.json");
recorded!(
    MCP_CLOSED,
    "PostToolUseFailure",
    "mcp__docsearch__query",
    "an MCP server ended during a call",
    "mcp-closed.json"
);
recorded!(EDIT_NOT_FOUND, "PostToolBatch", "", "an edit did not find its text", "edit-not-found.json");
recorded!(OVERLOAD, "StopFailure", "server_error", "a turn ended on an overloaded API", "overload.json");
recorded!(STOP, "Stop", "", "a turn ended well", "stop.json");
recorded!(SESSION_END, "SessionEnd", "other", "the session ends", "session-end.json");

/// The names of one call.
pub(crate) struct Call<'a> {
    /// The session's id.
    pub(crate) session: &'a str,
    /// The project folder.
    pub(crate) project: &'a Path,
    /// A number that no other call of this session has.
    pub(crate) number: u32,
    /// How many bytes the payload has at least: a tool's result is as long as it takes.
    pub(crate) bytes: usize,
}

impl Recorded {
    /// The payload as the client would write it, line end included.
    pub(crate) fn fill(&self, call: &Call<'_>) -> Vec<u8> {
        let project = json_text(&call.project.to_string_lossy());
        let transcript = json_text(&call.project.join(format!("{}.jsonl", call.session)).to_string_lossy());
        let short = self
            .template
            .lines()
            .map(str::trim_start)
            .collect::<String>()
            .replace("@PROJECT@", &project)
            .replace("@TRANSCRIPT@", &transcript)
            .replace("@SESSION@", call.session)
            .replace("@PROMPT@", &format!("00000000-0000-4000-9000-{:012}", call.number))
            .replace("@CALL@", &format!("toolu_{:024}", call.number));
        let missing = call.bytes.saturating_sub(short.len());
        let mut text = short.replace("@FILL@", &lines(missing));
        text.push('\n');
        text.into_bytes()
    }
}

/// At least this many bytes of ordinary program text as the inside of a JSON string.
fn lines(bytes: usize) -> String {
    const LINE: &str = "    let token = self.next().ok_or(\\\"expected a token\\\")?;\\n";
    LINE.repeat(bytes.div_ceil(LINE.len()))
}

/// The inside of a JSON string.
fn json_text(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const ALL: [Recorded; 10] = [
        SESSION_START,
        PROMPT,
        READ_OK,
        BASH_OK,
        READ_MISSING,
        MCP_CLOSED,
        EDIT_NOT_FOUND,
        OVERLOAD,
        STOP,
        SESSION_END,
    ];

    fn call(bytes: usize) -> Call<'static> {
        Call {
            session: "00000000-0000-4000-8000-000000000001",
            project: Path::new("/p \"q\""),
            number: 7,
            bytes,
        }
    }

    #[test]
    fn every_payload_is_one_line_of_json_that_names_its_event() {
        for recorded in ALL {
            let text = String::from_utf8(recorded.fill(&call(0))).expect("is text");
            let value: Value = serde_json::from_str(&text).expect("is JSON");
            assert_eq!(value["hook_event_name"], recorded.event);
            assert_eq!(value["session_id"], "00000000-0000-4000-8000-000000000001");
            assert_eq!(value["cwd"], "/p \"q\"");
            assert!(!text.contains('@'), "{text}");
            assert_eq!(text.find('\n'), Some(text.len() - 1));
            assert_eq!(text, format!("{}\n", text.trim_end()));
        }
    }

    #[test]
    fn a_payload_has_the_size_asked_for() {
        for bytes in [600, 40_000, 330_000] {
            let length = READ_OK.fill(&call(bytes)).len();
            assert!((bytes..bytes + 200).contains(&length), "{length} for {bytes}");
            serde_json::from_slice::<Value>(&BASH_OK.fill(&call(bytes))).expect("is JSON");
        }
    }

    #[test]
    fn the_head_names_session_event_and_tool() {
        let text = String::from_utf8(BASH_OK.fill(&call(40_000))).expect("is text");
        let head = &text[..1024];
        for field in ["\"session_id\":", "\"hook_event_name\":", "\"tool_name\":"] {
            assert!(head.contains(field), "{field}");
        }
    }
}
