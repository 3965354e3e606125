//! Payloads as the client sends them, and as nobody should.

#![allow(missing_docs, clippy::unwrap_used, reason = "everything here is a test")]

use hook_io::{Event, Intake, Kind, Source};
use proptest::prelude::*;

/// A payload with the fields every event has, and some of its own.
fn payload(event: &str, own: &str) -> String {
    let comma = if own.is_empty() { "" } else { "," };
    format!(
        r#"{{"session_id":"s-1","transcript_path":"/h/t.jsonl","cwd":"/h/p","prompt_id":"p-1","permission_mode":"default","effort":{{"level":"medium"}},"hook_event_name":"{event}"{comma}{own}}}"#
    )
}

fn parsed<R>(text: &str, look: impl FnOnce(&Event<'_>) -> R) -> R {
    look(&Event::parse(text).unwrap_or_else(|| panic!("{text}")))
}

#[test]
fn fields_of_every_event() {
    parsed(&payload("Notification", r#""agent_id":"a-1","message":"x""#), |event| {
        assert_eq!((&*event.session_id, event.name.as_str()), ("s-1", "Notification"));
        assert_eq!(event.cwd.as_deref(), Some("/h/p"));
        assert_eq!(event.transcript_path.as_deref(), Some("/h/t.jsonl"));
        assert_eq!((event.prompt_id.as_deref(), event.agent_id.as_deref()), (Some("p-1"), Some("a-1")));
        assert!(matches!(event.kind, Kind::Other));
    });
}

#[test]
fn a_session_starts_for_a_reason() {
    for (word, source) in [
        ("startup", Source::Startup),
        ("resume", Source::Resume),
        ("clear", Source::Clear),
        ("compact", Source::Compact),
        ("fork", Source::Fork),
        ("teleport", Source::Other("teleport".into())),
    ] {
        parsed(&payload("SessionStart", &format!(r#""source":"{word}","model":"m""#)), |event| {
            let Kind::SessionStart { source: found, model } = &event.kind else { panic!("{event:?}") };
            assert_eq!((found, model.as_deref(), found.as_str()), (&source, Some("m"), word));
        });
    }
}

#[test]
fn results_in_all_their_shapes() {
    for (response, text) in [
        (r#"[{"type":"text","text":"one"}]"#, Some("one")),
        (r#"[{"type":"text","text":"one"},{"type":"text","text":"two"}]"#, None),
        (r#"[{"type":"image","text":"one"}]"#, None),
        (r#""{\"value\":1}""#, Some(r#"{"value":1}"#)),
        (r#"{"stdout":"x"}"#, None),
        ("[]", None),
        ("null", None),
        ("7", None),
    ] {
        let own = format!(r#""tool_name":"mcp__s__t","tool_response":{response}"#);
        parsed(&payload("PostToolUse", &own), |event| {
            let Kind::PostToolUse(success) = &event.kind else { panic!("{event:?}") };
            assert_eq!(success.response.single_text().as_deref(), text, "{response}");
        });
    }
    parsed(&payload("PostToolUse", r#""tool_output":"old name""#), |event| {
        let Kind::PostToolUse(success) = &event.kind else { panic!("{event:?}") };
        assert_eq!(success.response.single_text().as_deref(), Some("old name"));
    });
}

#[test]
fn a_time_out_and_an_answer_by_exit_status_are_told_apart_from_words() {
    for (response, timed_out, interpreted) in [
        (r#"{"stdout":"","timedOutAfterMs":1500}"#, true, false),
        (r#"{"stdout":"","returnCodeInterpretation":"No matches found"}"#, false, true),
        (r#"{"stdout":"\"timedOutAfterMs\": 5, \"returnCodeInterpretation\": 1"}"#, false, false),
        (r#"{"nested":{"timedOutAfterMs":1}}"#, false, false),
    ] {
        let own = format!(r#""tool_name":"Bash","tool_response":{response}"#);
        parsed(&payload("PostToolUse", &own), |event| {
            let Kind::PostToolUse(success) = &event.kind else { panic!("{event:?}") };
            assert_eq!(
                (success.response.timed_out(), success.response.has_interpretation()),
                (timed_out, interpreted)
            );
        });
    }
}

#[test]
fn a_failed_call() {
    let own = r#""tool_name":"mcp__s__t","tool_input":{"command":"a \"b\"","n":1},"tool_use_id":"toolu_1","error":"Connection closed","is_interrupt":true,"duration_ms":11,"mcp_server":{"name":"s","source":"dynamic"}"#;
    parsed(&payload("PostToolUseFailure", own), |event| {
        let Kind::PostToolUseFailure(failure) = &event.kind else { panic!("{event:?}") };
        assert_eq!((&*failure.call.tool, &*failure.error), ("mcp__s__t", "Connection closed"));
        assert!(failure.is_interrupt);
        assert_eq!(failure.call.mcp_server.as_deref(), Some("s"));
        assert_eq!(failure.call.duration_ms, Some(11));
        assert_eq!(failure.call.input("command").as_deref(), Some("a \"b\""));
        assert_eq!(failure.call.input("n"), None, "no text");
    });
}

#[test]
fn a_batch_keeps_the_order_of_its_calls() {
    let own = r#""tool_calls":[{"tool_name":"Edit","tool_input":{"file_path":"/a"},"tool_use_id":"1","tool_response":"<tool_use_error>String to replace not found in file.</tool_use_error>"},7,{"tool_name":"Bash","tool_use_id":"2","tool_response":"ok"}]"#;
    parsed(&payload("PostToolBatch", own), |event| {
        let Kind::PostToolBatch { calls } = &event.kind else { panic!("{event:?}") };
        let names: Vec<_> = calls.iter().map(|call| &*call.call.tool).collect();
        assert_eq!(names, ["Edit", "Bash"], "what is no object is left out");
        assert!(calls[0].response.single_text().unwrap().starts_with("<tool_use_error>"));
    });
}

#[test]
fn three_descriptions_of_an_api_error() {
    for (own, error, details) in [
        (r#""error":"server_error","error_details":"529""#, Some("server_error"), Some("529")),
        (r#""error_type":"overloaded","error_message":"busy""#, Some("overloaded"), Some("busy")),
        (r#""error_type":"overloaded","error":"529""#, Some("overloaded"), Some("529")),
        ("", None, None),
    ] {
        parsed(&payload("StopFailure", own), |event| {
            let Kind::StopFailure { error: e, details: d, message } = &event.kind else {
                panic!("{event:?}")
            };
            assert_eq!((e.as_deref(), d.as_deref(), message.as_deref()), (error, details, None), "{own}");
        });
    }
}

#[test]
fn what_is_no_event_is_none() {
    for text in [
        "",
        " ",
        "{}",
        "[]",
        "null",
        "7",
        "{\"session_id\":\"\"}",
        "{\"session_id\":5}",
        "{\"session_id\":\"a\"",
        "{\"session_id\":\"a\"}{}",
    ] {
        assert!(Event::parse(text).is_none(), "{text}");
    }
}

#[test]
fn wrong_types_are_absent_and_of_repeated_fields_the_last_counts() {
    let text = r#"{"session_id":"first","session_id":"last","cwd":7,"prompt_id":[],"agent_id":"","hook_event_name":"UserPromptSubmit","prompt":{"x":1}}"#;
    parsed(text, |event| {
        assert_eq!(&*event.session_id, "last");
        assert_eq!((&event.cwd, &event.prompt_id, &event.agent_id), (&None, &None, &None));
        assert!(matches!(&event.kind, Kind::UserPromptSubmit { prompt } if prompt.is_empty()));
    });
}

#[test]
fn depth_does_not_matter_where_nobody_looks() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    parsed(&payload("PostToolUseFailure", &format!(r#""tool_input":{deep},"error":"x""#)), |event| {
        assert!(matches!(&event.kind, Kind::PostToolUseFailure(failure) if failure.error == "x"));
    });
    let objects = r#"{"a":"#.repeat(10_000) + "1" + &"}".repeat(10_000);
    assert!(Event::parse(&payload("PostToolUse", &format!(r#""tool_response":{objects}"#))).is_some());
}

#[test]
fn bytes_as_they_come() {
    let text = payload("UserPromptSubmit", r#""prompt":"a\ud83db""#);
    for bytes in [
        text.clone().into_bytes(),
        [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        text.replace(',', ",\r\n").into_bytes(),
        [text.as_bytes(), b"\r\n"].concat(),
    ] {
        let mut intake = Intake::from_bytes(bytes);
        let event = intake.event().unwrap();
        assert!(matches!(&event.kind, Kind::UserPromptSubmit { prompt } if prompt == "a\u{fffd}b"));
    }
    let mut broken = text.replace("a\\ud83db", "a?b").into_bytes();
    let at = broken.iter().position(|byte| *byte == b'?').unwrap();
    broken[at] = 0xff;
    let mut intake = Intake::from_bytes(broken);
    assert!(
        matches!(&intake.event().unwrap().kind, Kind::UserPromptSubmit { prompt } if prompt == "a\u{fffd}b")
    );
}

proptest! {
    #[test]
    fn any_bytes_are_an_event_or_none(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let mut intake = Intake::from_bytes(bytes);
        let _ = intake.head();
        let _ = intake.event();
    }

    /// The head never says anything else than the parser does.
    #[test]
    fn head_and_parser_agree(id in "[a-z0-9-]{1,40}", tool in "[A-Za-z_]{1,30}", cwd in "/[a-zü /]{0,20}", noise in "[a-z\\\\\"{}\\[\\],:]{0,30}") {
        let noise = serde_json::to_string(&noise).unwrap();
        let text = format!(
            r#"{{"session_id":"{id}","x":{noise},"cwd":"{cwd}","y":{{"z":[{noise},1,null]}},"hook_event_name":"PostToolUse","tool_name":"{tool}","tool_input":{{}}}}"#
        );
        let mut intake = Intake::from_bytes(text.into_bytes());
        let head = intake.head().map(|head| (head.session_id.to_owned(), head.event.to_owned(), head.tool.map(str::to_owned), head.cwd.map(str::to_owned)));
        let event = intake.event().unwrap();
        let Kind::PostToolUse(success) = &event.kind else { panic!() };
        prop_assert_eq!(head, Some((event.session_id.clone().into_owned(), event.name.as_str().to_owned(), Some(success.call.tool.clone().into_owned()), event.cwd.clone().map(std::borrow::Cow::into_owned))));
    }

    /// Cut anywhere: never a panic, never an event out of half a payload.
    #[test]
    fn a_cut_payload_is_none(cut in 0..300_usize) {
        let text = payload("PostToolUseFailure", r#""tool_name":"Bash","error":"Exit code 1\nü","is_interrupt":false"#);
        let cut = cut.min(text.len() - 1);
        prop_assert!(Intake::from_bytes(text.as_bytes()[..cut].to_vec()).event().is_none());
    }
}
