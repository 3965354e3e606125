//! Streaks of MCP servers.

use std::path::Path;
use std::time::Duration;

use hook_flow::{Call, Known};
use hook_io::{Failure, Success, ToolCall};
use rules::advice::{self, Advice};
use rules::fact::{Fact, What};
use rules::mcp::{self, McpClass};
use rules::streak::{Kind, Streak};
use session_state::{fallback_table, tool_message, views};

use crate::{evidence, fact};

/// The server of a call: from the payload where it tells, else from the tool's name.
fn server<'a>(call: &'a ToolCall<'_>) -> Option<&'a str> {
    call.mcp_server.as_deref().filter(|name| !name.is_empty()).or_else(|| mcp::server_of(&call.tool))
}

pub(crate) fn failed(call: &Call<'_>, failure: &Failure<'_>) -> Option<Fact<'static>> {
    let class = match () {
        () if !failure.call.tool.starts_with("mcp__") => return None,
        () => mcp::classify(&failure.error),
    };
    match class {
        // Our arguments were wrong: says nothing about the server.
        McpClass::Caller => None,
        // It answered, so it is there.
        McpClass::Result => answered(call, &failure.call),
        _ => failing(call, &failure.call, class, &failure.error),
    }
}

pub(crate) fn succeeded(call: &Call<'_>, known: &Known<'_>, success: &Success<'_>) -> Option<Fact<'static>> {
    if !success.call.tool.starts_with("mcp__") {
        return None;
    }
    let text = success.response.single_text();
    if let Some(text) = text.filter(|text| mcp::is_transport_error_result(text)) {
        return failing(call, &success.call, mcp::classify(&text), &text);
    }
    let key = format!("mcp:{}", server(&success.call)?);
    let open = known.state.streak(&key).is_some_and(|streak| streak.open);
    let left = known.session.is_some_and(|session| session.dir.has(&views::mcp_retry(&success.call.tool)));
    (open || left).then(|| answered(call, &success.call))?
}

/// A tool of a server that is not there: it failed to start, or went for good.
pub(crate) fn no_such_tool(call: &Call<'_>, of: &ToolCall<'_>, error: &str) -> Vec<Fact<'static>> {
    if !of.tool.starts_with("mcp__") || !error.contains("No such tool available") {
        return Vec::new();
    }
    let mut facts: Vec<_> = failing(call, of, McpClass::NotConnected, error).into_iter().collect();
    // No failure event follows for this call, so the tool's own streak is kept here as well.
    let mut tool =
        fact(call, What::Fail, format!("tool:{}{}", of.tool, call.agent_suffix()), of.id.as_deref());
    tool.cls = class_word(McpClass::NotConnected).into();
    tool.tool = of.tool.clone().into_owned().into();
    tool.txt = "not connected".into();
    facts.push(tool);
    facts
}

fn answered(call: &Call<'_>, of: &ToolCall<'_>) -> Option<Fact<'static>> {
    let mut fact = fact(call, What::Ok, format!("mcp:{}", server(of)?), of.id.as_deref());
    fact.tool = of.tool.clone().into_owned().into();
    Some(fact)
}

fn failing(call: &Call<'_>, of: &ToolCall<'_>, class: McpClass, error: &str) -> Option<Fact<'static>> {
    let mut fact = fact(call, What::Fail, format!("mcp:{}", server(of)?), of.id.as_deref());
    fact.cls = class_word(class).into();
    fact.tool = of.tool.clone().into_owned().into();
    fact.txt = evidence(error).into();
    Some(fact)
}

/// A failure this long after one that asked is certainly another try, in milliseconds.
const BESIDE_MS: i64 = 2_000;
/// How long the client is given to write down the message of a call that failed at once, in steps: it writes with a
/// delay, the first message of a session with the longest.
const PATIENCE: u32 = 20;
const STEP: Duration = Duration::from_millis(5);

/// Whether a call of the same model message already spoke: parallel calls are one try, and the first of them to fail
/// speaks for all. Without a transcript each failure is a try of its own.
fn is_same_try(call: &Call<'_>, streak: &Streak) -> bool {
    let Some((own, earlier)) = streak.asked_at.split_first() else { return false };
    let mut near = earlier.iter().filter(|one| own.t.saturating_sub(one.t) < BESIDE_MS).peekable();
    let Some(path) = call.event.transcript_path.as_deref().map(Path::new) else { return false };
    // Mostly there is nothing near, and nothing to look up or to wait for.
    if near.peek().is_none() || !path.parent().is_some_and(Path::is_dir) {
        return false;
    }
    for _ in 0..PATIENCE {
        if let Some(message) = tool_message::id(path, &own.id) {
            return near.any(|one| tool_message::id(path, &one.id).as_ref() == Some(&message));
        }
        std::thread::sleep(STEP);
    }
    false
}

/// The class as the journal has it. `not_connected` is told at once, so it has a word of its own.
const fn class_word(class: McpClass) -> &'static str {
    match class {
        McpClass::Connection => "connection",
        McpClass::NotConnected => "not_connected",
        McpClass::Timeout => "timeout",
        McpClass::SessionExpired => "session_expired",
        McpClass::Auth => "auth",
        McpClass::RateLimited => "rate_limited",
        McpClass::Caller => "caller",
        McpClass::Result => "result",
    }
}

pub(crate) fn advice(call: &Call<'_>, kind: Kind, streak: &Streak) -> Option<(Advice, String)> {
    let server = streak.key.strip_prefix("mcp:")?;
    if matches!(kind, Kind::Backoff | Kind::Fallback) && is_same_try(call, streak) {
        return None;
    }
    let cause = mcp::cause(&streak.txt);
    let n = u32::try_from(streak.n).unwrap_or(u32::MAX);
    let advice = match kind {
        Kind::Backoff => advice::mcp_backoff(server, &cause, n, rules::backoff::wait_s(n)),
        Kind::Login => advice::mcp_login(server),
        Kind::Wait => advice::mcp_rate_limited(server),
        _ => {
            let tool = streak.tools.last()?;
            let row = fallback_table::row_for(call.project, tool);
            let other = row.as_ref().map(|row| (row.replacement.as_str(), row.difference.as_str()));
            if streak.cls == class_word(McpClass::NotConnected) {
                advice::mcp_not_connected(server, other)
            } else {
                advice::mcp_fallback(server, n, &cause, other)
            }
        }
    };
    Some((advice, String::new()))
}
