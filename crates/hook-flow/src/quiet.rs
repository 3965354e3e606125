//! The quiet path: a call that changes nothing and says nothing, decided from the first bytes of its payload.

use hook_io::{Head, Intake};
use session_state::env::Env;
use session_state::{Now, Project, Session, heartbeat, views};

/// A success is told in this much of the payload's end: a result of one line and 300 characters, escaped, and the
/// fields behind it.
const TAIL: usize = 4 * 1024;

/// Ends a call that is quiet. Returns whether it was; the intake is then drained.
///
/// `beats`: the calling program also gives the session's sign of life.
pub fn call(intake: &mut Intake, env: &Env, now: Now, beats: bool) -> bool {
    let Some(head) = intake.head() else { return false };
    let look = match head.event {
        "PostToolUse" if head.tool.is_some_and(|tool| tool.starts_with("mcp__")) => Look::Tail,
        "PostToolUse" => Look::Nothing,
        "PostToolBatch" => Look::Errors,
        _ => return false,
    };
    if !is_untracked(head, env, now, beats) {
        return false;
    }
    match look {
        Look::Nothing => intake.drain(),
        // One exception to "words in a result never count": all of it is one line in the shape of a transport error.
        Look::Tail => {
            let bytes = intake.bytes();
            let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
            return !(has(tail, b"\"tool_response\"") || has(tail, b"\"tool_output\""))
                || !may_be_short_text(tail);
        }
        Look::Errors => return !has(intake.bytes(), b"\"<tool_use_error>"),
    }
    true
}

enum Look {
    Nothing,
    Tail,
    Errors,
}

/// Whether nothing is tracked for the call, in a session that has its folder (or none of the callers needs one).
fn is_untracked(head: Head<'_>, env: &Env, now: Now, beats: bool) -> bool {
    let Some(project) = Project::find(env, head.cwd) else { return true };
    let Some(session) = Session::open(&project, head.session_id) else { return !beats };
    if views::is_tracked(&session.dir, head.tool) {
        return false;
    }
    if beats {
        // A beat that cannot be written is a missing sign of life, no more.
        let _ = heartbeat::beat(&session.dir, now);
    }
    true
}

fn has(bytes: &[u8], literal: &[u8]) -> bool {
    memchr::memmem::find(bytes, literal).is_some()
}

/// Cheap look before the payload is parsed: transport errors of MCP results name one of these.
fn may_be_short_text(tail: &[u8]) -> bool {
    const WORDS: [&[u8]; 14] = [
        b"ECONN",
        b"EPIPE",
        b"ETIMEDOUT",
        b"ENOTFOUND",
        b"EHOSTUNREACH",
        b"losed",
        b"onnect",
        b"imed out",
        b"imeout",
        b"transport",
        b"socket",
        b"fetch",
        b"running",
        b"SSE",
    ];
    WORDS.iter().any(|word| has(tail, word))
}
