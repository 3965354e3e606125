//! Counters under the names other programs read: `mcp-retry-<TOOL>.json`, `fail-count-<TOOL>.txt`,
//! `failure-tracker.json`. Derived from the journal; written by whoever gets the lock without waiting.

use std::io;

use rules::fact::{Fact, What};
use rules::streak::{State, Streak, TURNS_AT};
use serde::{Deserialize, Serialize};

use crate::clock::Now;
use crate::dir::Dir;
use crate::journal::Journal;
use crate::lock::StateLock;
use crate::names::file_name;
use crate::{layout, times};

const LIMIT: usize = 4 * 1024;
/// How often the holder of the lock looks again when others keep writing.
const LOOKS: usize = 64;
/// Names of a session's folder looked at when a server answered again.
const NAMES: usize = 512;

/// The file of an MCP tool's failures.
#[must_use]
pub fn mcp_retry(tool: &str) -> String {
    format!("{}{}.json", layout::MCP_RETRY, file_name(tool))
}

/// The file of a tool's failures.
#[must_use]
pub fn fail_count(tool: &str) -> String {
    format!("{}{}.txt", layout::FAIL_COUNT, file_name(tool))
}

#[derive(Serialize, Deserialize)]
struct McpRetry {
    attempt: u64,
    #[serde(default)]
    last_attempt_ts: serde_json::Value,
}

#[derive(Default, Serialize, Deserialize)]
struct FailureTracker {
    #[serde(default)]
    consecutive_failures: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current_model: Option<String>,
}

/// Makes the session tracked: before the first fact, and once more after it, since a view writer may have found all
/// streaks closed in between.
pub fn mark_tracked(dir: &Dir) -> io::Result<()> {
    match dir.create_new(layout::OPEN, b"") {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Whether anything is tracked for a call of this tool: a streak, queued advice, or a count another program left.
#[must_use]
pub fn is_tracked(dir: &Dir, tool: Option<&str>) -> bool {
    dir.has(layout::OPEN) || tool.is_some_and(|tool| dir.has(&fail_count(tool)) || dir.has(&mcp_retry(tool)))
}

/// The count another program left for a streak the journal knows nothing of, as a fact to write before the first one.
#[must_use]
pub fn import(dir: &Dir, state: &State, key: &str, tool: &str) -> Option<Fact<'static>> {
    let (family, rest) = key.split_once(':')?;
    // One file stands for all programs Bash runs; a subagent's streak has none.
    let known = match family {
        "bash" => state.streaks().iter().any(|streak| streak.key.starts_with("bash:")),
        _ => state.streak(key).is_some(),
    };
    if known || matches!(family, "tool" | "bash") && rest.contains('@') {
        return None;
    }
    let count = match family {
        "mcp" => retry_count(dir, tool).or_else(|| retry_count(dir, rest)),
        "tool" | "bash" => {
            std::str::from_utf8(&dir.read(&fail_count(tool), LIMIT).ok()?).ok()?.trim().parse().ok()
        }
        "api" if key == "api:overload" => failure_tracker(dir).map(|tracker| tracker.consecutive_failures),
        _ => None,
    }?;
    (count > 0).then(|| {
        let mut fact = Fact::new(What::Import, key.to_owned(), format!("import:{key}"));
        fact.n = count;
        fact
    })
}

/// The model another program wrote down.
#[must_use]
pub fn current_model(dir: &Dir) -> Option<String> {
    failure_tracker(dir)?.current_model
}

fn retry_count(dir: &Dir, name: &str) -> Option<u64> {
    let retry: McpRetry = serde_json::from_slice(&dir.read(&mcp_retry(name), LIMIT).ok()?).ok()?;
    Some(retry.attempt)
}

fn failure_tracker(dir: &Dir) -> Option<FailureTracker> {
    serde_json::from_slice(&dir.read(layout::FAILURE_TRACKER, LIMIT).ok()?).ok()
}

/// Brings all views up to date, unless somebody else is at it. To be called after the answer.
pub fn write(dir: &Dir, journal: &mut Journal, now: Now) -> io::Result<()> {
    for _ in 0..LOOKS {
        let Some(lock) = StateLock::try_take(dir)? else { return Ok(()) };
        journal.catch_up()?;
        for streak in journal.state().streaks() {
            write_one(dir, streak, now)?;
        }
        if !journal.state().is_open() && dir.has(layout::OPEN) {
            dir.remove_file(layout::OPEN)?;
            if journal.has_grown() {
                mark_tracked(dir)?;
            }
        }
        // Looked at after the release: whoever found the lock taken had appended before, so it is up to us.
        drop(lock);
        if !journal.has_grown() {
            break;
        }
    }
    Ok(())
}

fn write_one(dir: &Dir, streak: &Streak, now: Now) -> io::Result<()> {
    let Some((family, name)) = streak.key.split_once(':') else { return Ok(()) };
    match family {
        "mcp" if streak.open && streak.n > 0 => {
            let last = if streak.t == 0 { now } else { Now(streak.t) };
            let retry =
                McpRetry { attempt: streak.n, last_attempt_ts: times::rfc3339_utc_s(last.seconds()).into() };
            let text = serde_json::to_string(&retry).map_err(io::Error::other)? + "\n";
            streak.tools.iter().try_for_each(|tool| put(dir, &mcp_retry(tool), &text))
        }
        "mcp" => forget_server(dir, name, streak),
        "tool" | "bash" => {
            // A subagent's streak is its own; the file has the main conversation's.
            if name.contains('@') {
                return Ok(());
            }
            let tool = if family == "bash" { "Bash" } else { name };
            if streak.open {
                put(dir, &fail_count(tool), &format!("{}\n", streak.n))
            } else {
                take_away(dir, &fail_count(tool))
            }
        }
        "api" if streak.key == "api:overload" => {
            let old = failure_tracker(dir);
            let fresh = FailureTracker {
                consecutive_failures: streak.n % TURNS_AT,
                current_model: old.as_ref().and_then(|old| old.current_model.clone()),
            };
            if old.is_none() && !streak.open {
                return Ok(());
            }
            put(
                dir,
                layout::FAILURE_TRACKER,
                &(serde_json::to_string(&fresh).map_err(io::Error::other)? + "\n"),
            )
        }
        _ => Ok(()),
    }
}

/// The server answered: the files of all its tools go, whoever wrote them.
fn forget_server(dir: &Dir, server: &str, streak: &Streak) -> io::Result<()> {
    streak.tools.iter().try_for_each(|tool| take_away(dir, &mcp_retry(tool)))?;
    take_away(dir, &mcp_retry(server))?;
    let prefix = format!("{}mcp__{server}__", layout::MCP_RETRY);
    dir.names(NAMES).iter().filter(|name| name.starts_with(&prefix)).try_for_each(|name| take_away(dir, name))
}

fn put(dir: &Dir, name: &str, text: &str) -> io::Result<()> {
    if dir.read(name, LIMIT).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    dir.replace(name, text.as_bytes(), false)
}

fn take_away(dir: &Dir, name: &str) -> io::Result<()> {
    match dir.remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
