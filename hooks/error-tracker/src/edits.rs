//! Edits that keep missing: one streak a file.

use std::path::Path;

use hook_flow::{Call, Known};
use hook_io::ToolCall;
use rules::advice::{self, Advice, Changed};
use rules::fact::{Fact, What};
use rules::streak::Streak;
use session_state::{times, transcript};

use crate::{evidence, fact};

const EDITING: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

fn file(of: &ToolCall<'_>) -> Option<String> {
    if !EDITING.contains(&&*of.tool) {
        return None;
    }
    of.input("file_path").or_else(|| of.input("notebook_path")).map(std::borrow::Cow::into_owned)
}

/// The path itself may be long and may tell things: the key has its hash.
fn key(call: &Call<'_>, path: &str) -> String {
    format!("file:{}{}", session_state::hash_name(path), call.agent_suffix())
}

/// An edit the client could not make. Wrong parameters, refusals and denials say nothing about the file.
pub(crate) fn missed(call: &Call<'_>, of: &ToolCall<'_>, error: &str) -> Option<Fact<'static>> {
    const NEUTRAL: [&str; 3] = ["InputValidationError", "Blocked", "Error: No such tool"];
    let path = file(of)?;
    if NEUTRAL.iter().any(|start| error.starts_with(start)) {
        return None;
    }
    let mut fact = fact(call, What::Fail, key(call, &path), of.id.as_deref());
    fact.cls = "edit".into();
    fact.tool = of.tool.clone().into_owned().into();
    fact.txt = evidence(&path).into();
    Some(fact)
}

pub(crate) fn succeeded(call: &Call<'_>, known: &Known<'_>, of: &ToolCall<'_>) -> Option<Fact<'static>> {
    let key = key(call, &file(of)?);
    known
        .state
        .streak(&key)
        .is_some_and(|streak| streak.open)
        .then(|| fact(call, What::Ok, key, of.id.as_deref()))
}

pub(crate) fn advice(call: &Call<'_>, streak: &Streak) -> Option<(Advice, String)> {
    let path = Path::new(&streak.txt);
    let shown = call.project.relative(path).display().to_string();
    let tool = streak.tools.last().map_or("Edit", String::as_str);
    let n = u32::try_from(streak.n).unwrap_or(u32::MAX);
    Some((advice::edit_missed(tool, &shown, n, changed(call, path)), String::new()))
}

/// Whether the file changed after the session last read or wrote it.
fn changed(call: &Call<'_>, path: &Path) -> Changed {
    let modified = std::fs::metadata(path)
        .and_then(|found| found.modified())
        .ok()
        .and_then(|time| i64::try_from(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs()).ok());
    let known = call
        .event
        .transcript_path
        .as_deref()
        .and_then(|transcript| transcript::last_read_s(Path::new(transcript), &path.to_string_lossy()));
    match (modified, known) {
        (Some(modified), Some(known)) if modified > known => {
            Changed::AfterRead(times::local_clock(modified, call.now))
        }
        (Some(_), Some(_)) => Changed::NotSinceRead,
        _ => Changed::Unknown,
    }
}
