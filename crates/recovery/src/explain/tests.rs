use super::*;

fn ask(topic: &str, question: &str) -> String {
    let (_, answer) = TOPICS.into_iter().find(|(name, _)| *name == topic).unwrap();
    match answers(*answer, question.as_bytes()) {
        Ok(answer) => answer.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_object_gives_an_object_and_an_array_an_array() {
    assert_eq!(ask("model", r#"{"in": "haiku", "note": 1}"#), r#"{"family":"haiku","next":"sonnet"}"#);
    assert_eq!(
        ask("model", r#"[{"in": "opus"}, {}, {"in": null}]"#),
        r#"[{"family":"opus","next":null},{"family":null,"next":null},{"family":null,"next":null}]"#
    );
    assert_eq!(ask("model", "[]"), "[]");
}

#[test]
fn what_is_no_question_is_said() {
    for question in ["", "{", "{} {}"] {
        assert!(ask("model", question).contains("not one JSON value"), "{question}");
    }
    for question in ["1", "null", "\"haiku\"", "[1]", "[[]]"] {
        assert!(ask("model", question).contains("a question is a JSON object"), "{question}");
    }
}

#[test]
fn the_fields_of_each_topic_reach_its_rule() {
    assert_eq!(
        ask("mcp-error", r#"{"error": "Connection closed"}"#),
        r#"{"class":"connection","counts":true}"#
    );
    let words = r#""rename the parser token field""#;
    assert_eq!(
        ask(
            "circular",
            &format!(r#"{{"previous_failed": [{words}, {words}, {words}], "current": {words}}}"#)
        ),
        r#"{"circular":true}"#
    );
    assert_eq!(ask("circular", &format!(r#"{{"current": {words}}}"#)), r#"{"circular":false}"#);
}

#[test]
fn marks_come_before_signs_of_life() {
    let verdict = |rest: &str| {
        let question = format!(r#"{{"heartbeat_age_s": 400, "process": "gone", "tmux": "absent"{rest}}}"#);
        ask("liveness", &question)
    };
    assert_eq!(verdict(""), r#"{"verdict":"dead"}"#);
    assert_eq!(
        verdict(r#", "ended_mark": false, "next_session_id": null, "status": "running""#),
        r#"{"verdict":"dead"}"#
    );
    assert_eq!(verdict(r#", "ended_mark": true"#), r#"{"verdict":"ended"}"#);
    assert_eq!(verdict(r#", "ended_mark": true, "next_session_id": "n""#), r#"{"verdict":"superseded"}"#);
    assert_eq!(
        verdict(r#", "ended_mark": true, "status": "scavenged""#),
        r#"{"verdict":"already_scavenged"}"#
    );
    assert_eq!(
        ask("liveness", r#"{"heartbeat_age_s": "old", "process": "gone"}"#),
        r#"{"verdict":"unknown"}"#,
        "an unreadable time is not old"
    );
}

#[test]
fn a_limit_has_its_kind_even_without_a_moment() {
    let limit = |rest: &str| {
        let text = "You've hit your Opus limit · resets 3:45pm";
        ask("limit", &format!(r#"{{"text": "{text}"{rest}}}"#))
    };
    assert_eq!(
        limit(r#", "now": "2026-09-01T08:00:00Z", "host_tz": "Europe/Oslo""#),
        r#"{"assumed_zone":true,"kind":"model_limit","reset_at":"2026-09-01T13:45:00Z","waits":true}"#
    );
    assert_eq!(
        limit(r#", "now": "2026-09-01T08:00:00Z""#),
        r#"{"assumed_zone":true,"kind":"model_limit","reset_at":"2026-09-01T15:45:00Z","waits":true}"#
    );
    let unknown = r#"{"assumed_zone":false,"kind":"model_limit","reset_at":null,"waits":false}"#;
    assert_eq!(limit(""), unknown);
    assert_eq!(limit(r#", "now": "today""#), unknown);
    assert_eq!(
        ask("limit", r#"{"text": "all is well", "now": "2026-09-01T08:00:00Z"}"#),
        r#"{"assumed_zone":false,"kind":null,"reset_at":null,"waits":false}"#
    );
}
