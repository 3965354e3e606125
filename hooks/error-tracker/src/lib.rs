//! `error-tracker`: MCP servers, edits and API errors, told once and at the right moment.
//!
//! | event | what it means here |
//! |---|---|
//! | PostToolUseFailure of `mcp__` | the server's streak, by the class of the error text |
//! | PostToolUse of `mcp__` | the server answered; or its whole result is one line in the shape of a transport error |
//! | PostToolBatch | edits that missed, tools of a server that is not there: these fire no failure event |
//! | PostToolUse of Edit, Write | the file's streak is over |
//! | StopFailure | an API error, recorded at once (a one-shot client ends the hook 20 ms later), said later |
//! | Stop | a good turn: API streaks are over |
//! | SessionStart, UserPromptSubmit | says what StopFailure could not |

mod api;
mod edits;
mod mcp;

use hook_flow::{Call, Known, Tracker};
use hook_io::Kind as Event;
use rules::advice::Advice;
use rules::fact::{Fact, What};
use rules::streak::{Due, Kind, State};

/// The part itself.
#[derive(Debug)]
pub struct ErrorTracker;

impl Tracker for ErrorTracker {
    fn facts(&self, call: &Call<'_>, known: &Known<'_>) -> Vec<Fact<'static>> {
        match &call.event.kind {
            Event::PostToolUseFailure(failure) if !failure.is_interrupt => {
                mcp::failed(call, failure).into_iter().collect()
            }
            Event::PostToolUse(success) => {
                let mut facts: Vec<_> = mcp::succeeded(call, known, success).into_iter().collect();
                facts.extend(edits::succeeded(call, known, &success.call));
                facts
            }
            Event::PostToolBatch { calls } => {
                let failed = calls.iter().filter_map(|one| Some((one, tool_use_error(one)?)));
                failed
                    .flat_map(|(one, error)| {
                        let mut facts = mcp::no_such_tool(call, &one.call, &error);
                        facts.extend(edits::missed(call, &one.call, &error));
                        facts
                    })
                    .collect()
            }
            Event::StopFailure { error, details, message } => {
                api::failed(call, known, error.as_deref(), details.as_deref(), message.as_deref())
                    .into_iter()
                    .collect()
            }
            Event::Stop => api::good_turn(call, known).into_iter().collect(),
            Event::SessionStart { .. } => api::turn_begins(call, known).into_iter().collect(),
            Event::UserPromptSubmit { prompt } if hook_flow::is_persons_prompt(prompt) => {
                api::turn_begins(call, known).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn speaks_of(&self, kind: Kind) -> bool {
        matches!(
            kind,
            Kind::Backoff
                | Kind::Fallback
                | Kind::Login
                | Kind::Wait
                | Kind::Edits
                | Kind::Model
                | Kind::Network
                | Kind::Limit
                | Kind::Permanent
        )
    }

    fn advice(&self, call: &Call<'_>, due: &Due, state: &State) -> Option<(Advice, String)> {
        let streak = state.streak(&due.key)?;
        match due.kind {
            Kind::Backoff | Kind::Fallback | Kind::Login | Kind::Wait => {
                call.config().mcp.then(|| mcp::advice(call, due.kind, streak))?
            }
            Kind::Edits => call.config().edits.then(|| edits::advice(call, streak))?,
            Kind::Model | Kind::Network | Kind::Limit | Kind::Permanent => {
                call.config().api.then(|| api::advice(call, due.kind, streak))?
            }
            Kind::Degradation | Kind::Crash => None,
        }
    }
}

/// The id of a fact: the call's own, else the prompt's, else a number used once.
fn fact_id(call: &Call<'_>, own: Option<&str>) -> String {
    session_state::fact_id(own.or(call.event.prompt_id.as_deref()), call.now)
}

fn fact(call: &Call<'_>, what: What, key: String, own_id: Option<&str>) -> Fact<'static> {
    Fact::new(what, key, fact_id(call, own_id))
}

/// The text of a call that the client itself refused or failed.
fn tool_use_error(one: &hook_io::BatchCall<'_>) -> Option<String> {
    let text = one.response.single_text()?;
    let inner = text.strip_prefix("<tool_use_error>")?;
    Some(inner.strip_suffix("</tool_use_error>").unwrap_or(inner).to_owned())
}

/// At most 200 characters of evidence, safe to keep and to show.
fn evidence(text: &str) -> String {
    rules::text::one_line(&rules::text::redact(text), 200)
}
