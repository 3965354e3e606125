use super::*;

fn ask(topic: &str, question: &str) -> String {
    let (_, answer) = TOPICS.iter().find(|(name, _)| *name == topic).unwrap();
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

#[test]
fn a_screen_is_asked_with_its_memory() {
    let rule = "─".repeat(60);
    let screen =
        format!("❯ go on\n  ⎿  You've hit your session limit · resets 4:20am (UTC)\n\n{rule}\n❯ \n{rule}\n");
    let look = |now: &str, memory: &Value| -> Value {
        let question = json!({
            "screen": screen, "now": now, "memory": memory,
            "pane": { "pane_id": "%1", "foreground": "claude", "in_mode": false, "width": 60 },
        });
        serde_json::from_str(&ask("screen", &question.to_string())).unwrap()
    };
    let first = look("2026-07-04T02:00:00Z", &Value::Null);
    assert_eq!(
        (&first["verdict"], &first["kind"], &first["reset_at"], &first["keys"]),
        (&json!("limited"), &json!("usage_limit"), &json!("2026-07-04T04:20:00Z"), &json!("none"))
    );
    let second = look("2026-07-04T04:30:00Z", &first["memory"]);
    assert_eq!(second["keys"], "resume_once");
    assert_eq!(look("2026-07-04T04:30:20Z", &second["memory"])["keys"], "none");
    for foreign in [json!("text"), json!([1]), json!({ "v": "old" }), json!({ "v": 99 })] {
        assert_eq!(
            look("2026-07-04T04:30:00Z", &foreign)["keys"],
            "none",
            "{foreign}: one look is not enough"
        );
    }
    assert_eq!(look("yesterday", &second["memory"])["memory"], second["memory"], "no time, no decision");
    assert_eq!(look("yesterday", &Value::Null)["keys"], "none");
}

#[test]
fn facts_of_a_pane_reach_the_decision() {
    let ask_about = |pane: &str| -> Value {
        let question = format!(r#"{{"screen": "❯ ", "now": "2026-07-04T02:00:00Z", "pane": {pane}}}"#);
        serde_json::from_str(&ask("screen", &question)).unwrap()
    };
    for (pane, why) in [
        (r#"{"in_mode": true}"#, "copy mode"),
        (r#"{"foreground": "vim"}"#, "another program is in the foreground"),
        (
            r#"{"foreground": 7, "in_mode": "yes", "stop_failure": [], "width": -1}"#,
            "the screen is not understood",
        ),
        ("null", "the screen is not understood"),
    ] {
        assert_eq!(ask_about(pane)["why"], why, "{pane}");
    }
}

#[test]
fn a_target_is_told_with_its_presence() {
    assert_eq!(
        ask(
            "tmux-target",
            r#"[{"recorded": "api.v2", "sessions": ["api_v2"]}, {"recorded": "%1", "panes": []}]"#
        ),
        r#"[{"present":true,"target":"=api_v2"},{"present":false,"target":"%1"}]"#
    );
    assert_eq!(
        ask(
            "tmux-target",
            r#"[{"recorded": "a", "sessions": ["a"], "tmux_error": "lost server"}, {"recorded": ""}, {}]"#
        ),
        r#"[{"present":null,"target":"=a"},{"present":null,"target":null},{"present":null,"target":null}]"#
    );
}
