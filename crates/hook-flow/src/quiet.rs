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
            return !may_be_transport_error(&bytes[bytes.len().saturating_sub(TAIL)..]);
        }
        Look::Errors => return find(intake.bytes(), b"\"<tool_use_error>").is_none(),
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

/// Cheap look before the payload is parsed: a short result that names what transport errors name.
fn may_be_transport_error(tail: &[u8]) -> bool {
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
    let response = find(tail, b"\"tool_response\"").or_else(|| find(tail, b"\"tool_output\""));
    response.is_some_and(|at| WORDS.iter().any(|word| find(&tail[at..], word).is_some()))
}

/// Finds a literal.
///
/// The library's usual search asks the processor for its abilities first: in a virtual machine that costs more than all
/// else a quiet call does. What every processor of the family has is fast enough.
#[cfg(target_arch = "x86_64")]
fn find(bytes: &[u8], literal: &[u8]) -> Option<usize> {
    match memchr::arch::x86_64::sse2::packedpair::Finder::new(literal) {
        Some(finder) if bytes.len() >= finder.min_haystack_len() => finder.find(bytes, literal),
        _ => bytes.windows(literal.len()).position(|window| window == literal),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn find(bytes: &[u8], literal: &[u8]) -> Option<usize> {
    memchr::arch::all::twoway::Finder::new(literal).find(bytes, literal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_found_wherever_it_stands() {
        for (text, at) in [
            ("xx_ab", None),
            ("a_b", Some(0)),
            ("__a_b", Some(2)),
            ("a_a_b", Some(2)),
            ("a_", None),
            ("", None),
        ] {
            assert_eq!(find(text.as_bytes(), b"a_b"), at, "{text}");
        }
    }

    #[test]
    fn only_a_short_result_in_the_shape_of_an_outage_is_looked_at() {
        for (tail, may) in [
            (r#""tool_response":[{"type":"text","text":"connect ECONNREFUSED 127.0.0.1:1"}]}"#, true),
            (r#""tool_output": "Error: transport closed"}"#, true),
            (r#""tool_input":{"x":"ECONNREFUSED"},"tool_response":"fine"}"#, false),
            (r#""tool_response":[{"type":"text","text":"all good"}]}"#, false),
            (r#"ECONNREFUSED and no response"#, false),
        ] {
            assert_eq!(may_be_transport_error(tail.as_bytes()), may, "{tail}");
        }
    }
}
