//! `tool-degradation`: which other tool does the job of one that keeps failing.
//!
//! A streak for each tool and agent; for Bash one for each program, or for each `Bash(prefix)` row of the project's
//! table. Counts failures of tools, never words in good results; a failing test is no outage.

use hook_flow::{Call, Known, Tracker};
use hook_io::{Failure, Kind as Event, Success, ToolCall};
use rules::advice::{self, Advice};
use rules::bash::{self, BashOutcome};
use rules::fact::{Fact, What};
use rules::mcp::{self, McpClass};
use rules::streak::{Due, Kind, State, Streak};
use session_state::{fallback_table, views};

/// The part itself.
#[derive(Debug)]
pub struct ToolDegradation;

impl Tracker for ToolDegradation {
    fn facts(&self, call: &Call<'_>, known: &Known<'_>) -> Vec<Fact<'static>> {
        match &call.event.kind {
            Event::PostToolUseFailure(failure) if !failure.is_interrupt => {
                failed(call, failure).into_iter().collect()
            }
            Event::PostToolUse(success) => succeeded(call, known, success),
            _ => Vec::new(),
        }
    }

    fn speaks_of(&self, kind: Kind) -> bool {
        kind == Kind::Degradation
    }

    fn advice(&self, call: &Call<'_>, due: &Due, state: &State) -> Option<(Advice, String)> {
        let streak = state.streak(&due.key)?;
        let config = call.config();
        if !config.degradation || streak.n < config.degradation_at {
            return None;
        }
        words(call, streak).map(|advice| (advice, String::new()))
    }
}

fn failed(call: &Call<'_>, failure: &Failure<'_>) -> Option<Fact<'static>> {
    let tool = &*failure.call.tool;
    match tool {
        "" => None,
        "Bash" => bash_failed(call, failure),
        // The client's own refusals are about the call, not about the tool.
        _ if tool.starts_with("mcp__") => {
            let class = mcp::classify(&failure.error);
            let word = match class {
                McpClass::Connection | McpClass::NotConnected | McpClass::Timeout => OUTAGE,
                McpClass::Result => ANSWER,
                McpClass::Auth | McpClass::SessionExpired | McpClass::RateLimited | McpClass::Caller => {
                    return None;
                }
            };
            Some(failing(call, &failure.call, format!("tool:{tool}"), word, &mcp::cause(&failure.error)))
        }
        _ => Some(failing(call, &failure.call, format!("tool:{tool}"), ANSWER, &failure.error)),
    }
}

/// The tool was not reached: "no known replacement" is worth saying.
const OUTAGE: &str = "outage";
/// The tool answered with an error: worth saying only when there is a row.
const ANSWER: &str = "error";

fn bash_failed(call: &Call<'_>, failure: &Failure<'_>) -> Option<Fact<'static>> {
    let command = failure.call.input("command")?;
    let row =
        fallback_table::read(call.project).and_then(|table| table.for_command(&command)?.prefix.clone());
    let outcome = bash::outcome(&command, &failure.error);
    let name = match (&row, outcome) {
        // An exit status that is an answer is none of a failure, whatever the table says.
        (_, BashOutcome::Answer) => return None,
        // The user's row wins over "a test is no outage".
        (Some(prefix), _) => prefix.clone(),
        (None, BashOutcome::Outage) => bash::program(&command).to_owned(),
        (None, BashOutcome::Check | BashOutcome::Other) => return None,
    };
    Some(failing(call, &failure.call, format!("bash:{name}"), OUTAGE, &bash::cause(&failure.error)))
}

fn failing(
    call: &Call<'_>,
    of: &ToolCall<'_>,
    key: String,
    class: &'static str,
    error: &str,
) -> Fact<'static> {
    let mut fact = fact(call, What::Fail, key, of);
    fact.cls = class.into();
    fact.tool = of.tool.clone().into_owned().into();
    fact.txt = rules::text::one_line(&rules::text::redact(error), 200).into();
    fact
}

fn fact(call: &Call<'_>, what: What, key: String, of: &ToolCall<'_>) -> Fact<'static> {
    let id = of.id.as_deref().or(call.event.prompt_id.as_deref());
    Fact::new(what, key + &call.agent_suffix(), session_state::fact_id(id, call.now))
}

fn succeeded(call: &Call<'_>, known: &Known<'_>, success: &Success<'_>) -> Vec<Fact<'static>> {
    let tool = &*success.call.tool;
    if tool == "Bash" {
        // Moved to the background, or an exit status that is an answer: neither good nor bad.
        if success.response.timed_out() || success.response.has_interpretation() {
            return Vec::new();
        }
        return bash_succeeded(call, known, &success.call);
    }
    if tool.starts_with("mcp__")
        && let Some(text) = success.response.single_text().filter(|text| mcp::is_transport_error_result(text))
    {
        return vec![failing(call, &success.call, format!("tool:{tool}"), OUTAGE, &mcp::cause(&text))];
    }
    let key = format!("tool:{tool}{}", call.agent_suffix());
    let open = known.state.streak(&key).is_some_and(|streak| streak.open);
    if !open && !count_left(known, tool) {
        return Vec::new();
    }
    vec![fact(call, What::Ok, format!("tool:{tool}"), &success.call)]
}

/// Ends the streaks of the programs and rows that this command belongs to.
fn bash_succeeded(call: &Call<'_>, known: &Known<'_>, of: &ToolCall<'_>) -> Vec<Fact<'static>> {
    let Some(command) = of.input("command") else { return Vec::new() };
    let program = bash::program(&command);
    let suffix = call.agent_suffix();
    let mut names: Vec<&str> = known
        .state
        .streaks()
        .iter()
        .filter(|streak| streak.open)
        .filter_map(|streak| streak.key.strip_prefix("bash:")?.strip_suffix(suffix.as_str()))
        .filter(|name| *name == program || bash::command_matches(&command, name))
        .collect();
    if names.is_empty() && count_left(known, "Bash") && !known.state.streaks().iter().any(is_open_bash) {
        // A count another program left stands for Bash as a whole.
        names.push(program);
    }
    names.into_iter().map(|name| fact(call, What::Ok, format!("bash:{name}"), of)).collect()
}

fn is_open_bash(streak: &Streak) -> bool {
    streak.open && streak.key.starts_with("bash:")
}

fn count_left(known: &Known<'_>, tool: &str) -> bool {
    known.session.is_some_and(|session| session.dir.has(&views::fail_count(tool)))
}

fn words(call: &Call<'_>, streak: &Streak) -> Option<Advice> {
    let (family, name) = streak.key.split_once(':')?;
    let name = name.split('@').next()?;
    let n = u32::try_from(streak.n).unwrap_or(u32::MAX);
    let row = match family {
        "bash" => fallback_table::row_for_bash(call.project, name),
        _ => fallback_table::row_for(call.project, name),
    };
    match row {
        Some(row) => Some(advice::degradation(name, n, &streak.txt, (&row.replacement, &row.difference))),
        None if name.starts_with("mcp__") && streak.cls == OUTAGE => {
            Some(advice::degradation_no_alternative(name, n, &streak.txt))
        }
        None => None,
    }
}
