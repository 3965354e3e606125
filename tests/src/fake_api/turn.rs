//! What the fake model answers: one [`Turn`] for each request of a conversation.

use serde_json::{Value, json};

/// One scripted answer of the fake API.
#[derive(Clone, Debug)]
pub enum Turn {
    /// A message of the model: some text, some tool calls, or both.
    Message {
        /// Text block; left out when empty.
        text: String,
        /// Tool calls of this one message, run in parallel by the client.
        calls: Vec<ToolCall>,
        /// `stop_reason` when it is neither `end_turn` nor `tool_use`.
        stop_reason: Option<&'static str>,
    },
    /// An HTTP error answer.
    Status {
        /// HTTP status code.
        code: u16,
        /// Extra header lines.
        headers: Vec<(String, String)>,
        /// JSON body.
        body: Value,
    },
    /// The connection is closed without an answer.
    Drop,
    /// The connection is closed in the middle of a streamed answer (of an answer that is not streamed: at once).
    DropInStream,
    /// An `error` event in the middle of a streamed answer (not streamed: HTTP 529).
    ErrorInStream,
    /// Another answer, with further header lines.
    WithHeaders {
        /// Extra header lines.
        headers: Vec<(String, String)>,
        /// The answer.
        turn: Box<Turn>,
    },
}

/// A tool call of the model.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Tool name as the client knows it (`Bash`, `mcp__SERVER__TOOL`).
    pub name: String,
    /// The tool's input object.
    pub input: Value,
}

/// Which usage limit an answer of [`usage_limit`] claims.
#[derive(Clone, Copy, Debug)]
pub enum LimitClaim {
    /// The five-hour window.
    FiveHour,
    /// The weekly window.
    SevenDay,
    /// The weekly window of the Opus models.
    SevenDayOpus,
}

impl LimitClaim {
    fn header_value(self) -> &'static str {
        match self {
            Self::FiveHour => "five_hour",
            Self::SevenDay => "seven_day",
            Self::SevenDayOpus => "seven_day_opus",
        }
    }
}

/// A message of text; ends the client's turn.
pub fn text(text: impl Into<String>) -> Turn {
    Turn::Message { text: text.into(), calls: Vec::new(), stop_reason: None }
}

/// A message with one tool call.
pub fn call(call: ToolCall) -> Turn {
    calls([call])
}

/// A message with several tool calls, which the client runs in parallel.
pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Turn {
    Turn::Message { text: String::new(), calls: calls.into_iter().collect(), stop_reason: None }
}

/// A call of any tool.
pub fn tool(name: impl Into<String>, input: Value) -> ToolCall {
    ToolCall { name: name.into(), input }
}

/// A `Bash` call.
pub fn bash(command: impl Into<String>) -> ToolCall {
    tool("Bash", json!({ "command": command.into(), "description": "A step of the test" }))
}

/// A call of an MCP tool without arguments.
pub fn mcp(server: &str, name: &str) -> ToolCall {
    tool(format!("mcp__{server}__{name}"), json!({}))
}

/// A `Read` call.
pub fn read(path: impl AsRef<std::path::Path>) -> ToolCall {
    tool("Read", json!({ "file_path": path.as_ref() }))
}

/// An `Edit` call.
pub fn edit(path: impl AsRef<std::path::Path>, old: &str, new: &str) -> ToolCall {
    tool("Edit", json!({ "file_path": path.as_ref(), "old_string": old, "new_string": new }))
}

/// An `Agent` call that the client waits for. The subagent's first message is `prompt`, by which
/// [`FakeApi::script_for`](super::FakeApi::script_for) finds its conversation.
pub fn agent(prompt: &str) -> ToolCall {
    tool(
        "Agent",
        json!({
            "description": "A part of the work",
            "prompt": prompt,
            "subagent_type": "general-purpose",
            "run_in_background": false,
        }),
    )
}

/// An error answer in the API's form.
pub fn status(code: u16, kind: &str, message: &str) -> Turn {
    Turn::Status { code, headers: Vec::new(), body: error_body(kind, message) }
}

/// HTTP 529.
pub fn overloaded() -> Turn {
    status(529, "overloaded_error", "Overloaded")
}

/// HTTP 429 without usage-limit headers.
pub fn too_many_requests() -> Turn {
    status(
        429,
        "rate_limit_error",
        "This request would exceed your account's rate limit. Please try again later.",
    )
}

/// HTTP 429 that says a usage limit was reached (the client must be logged in with
/// [`Login::Subscription`](crate::sandbox::Login::Subscription) to believe it).
///
/// `resets_at` is in seconds since the epoch.
pub fn usage_limit(claim: LimitClaim, resets_at: u64) -> Turn {
    let reset = resets_at.to_string();
    usage_limit_with(&[("representative-claim", claim.header_value()), ("reset", &reset)])
}

/// HTTP 429 with `status: rejected` and these header lines of the family `anthropic-ratelimit-unified-*`, whose
/// beginning is left out.
pub fn usage_limit_with(unified: &[(&str, &str)]) -> Turn {
    Turn::Status {
        code: 429,
        headers: unified_headers(&[&[("status", "rejected")], unified].concat()),
        body: error_body("rate_limit_error", "This request would exceed your account's rate limit."),
    }
}

/// An answer that tells about the usage so far by header lines as those of [`usage_limit_with`], `status` included.
pub fn with_usage(turn: Turn, unified: &[(&str, &str)]) -> Turn {
    Turn::WithHeaders { headers: unified_headers(unified), turn: Box::new(turn) }
}

fn unified_headers(unified: &[(&str, &str)]) -> Vec<(String, String)> {
    let header =
        |(name, value): &(&str, &str)| (format!("anthropic-ratelimit-unified-{name}"), (*value).to_owned());
    unified.iter().map(header).collect()
}

/// Body of an error answer in the API's form.
pub(super) fn error_body(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}
