//! Every event in every shape, and as nobody should send it: exit 0, and nothing or one accepted answer.

#![allow(missing_docs, clippy::expect_used, reason = "everything here is a test")]

use end_to_end::hook_project::{Answer, HookProject, SESSION, at_once};
use serde_json::{Value, json};

const PROGRAMS: [&str; 5] =
    ["recovery-hooks", "crash-recovery-check", "error-tracker", "tool-degradation", "heartbeat-write"];

/// Events and fields of their own, in the shapes the client sends.
fn events() -> Vec<(&'static str, Value)> {
    let tool =
        |name: &str, input: Value| json!({"tool_name": name, "tool_input": input, "tool_use_id": "toolu_1"});
    let with = |mut base: Value, more: Value| {
        if let (Some(all), Some(more)) = (base.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        base
    };
    let bash = || tool("Bash", json!({"command": "make all", "description": "d"}));
    let mcp = || {
        with(tool("mcp__docs__find", json!({})), json!({"mcp_server": {"name": "docs", "source": "dynamic"}}))
    };
    vec![
        ("SessionStart", json!({"source": "startup"})),
        ("SessionStart", json!({"source": "resume", "seconds_since_last_response": 2, "context_tokens": 1})),
        ("SessionStart", json!({"source": "compact", "model": "claude-sonnet-5-5"})),
        ("SessionStart", json!({"source": "clear"})),
        ("SessionStart", json!({"source": "fork"})),
        ("UserPromptSubmit", json!({"prompt": "go on"})),
        ("UserPromptSubmit", json!({"prompt": "<task-notification>\n<status>completed</status>"})),
        ("PreToolUse", bash()),
        (
            "PostToolUse",
            with(
                bash(),
                json!({"tool_response": {"stdout": "Error: ok", "stderr": "", "interrupted": false}}),
            ),
        ),
        (
            "PostToolUse",
            with(
                bash(),
                json!({"tool_response": {"stdout": "", "timedOutAfterMs": 1500, "backgroundTaskId": "b1"}}),
            ),
        ),
        (
            "PostToolUse",
            with(
                bash(),
                json!({"tool_response": {"stdout": "", "returnCodeInterpretation": "No matches found"}}),
            ),
        ),
        (
            "PostToolUse",
            with(
                tool("Read", json!({"file_path": "/a"})),
                json!({"tool_response": {"type": "text", "file": {"content": "ECONNREFUSED"}}}),
            ),
        ),
        (
            "PostToolUse",
            with(
                tool("Edit", json!({"file_path": "/a"})),
                json!({"tool_response": {"filePath": "/a", "structuredPatch": []}}),
            ),
        ),
        ("PostToolUse", with(mcp(), json!({"tool_response": [{"type": "text", "text": "ok"}]}))),
        ("PostToolUse", with(mcp(), json!({"tool_response": "{\"value\":1}"}))),
        (
            "PostToolUse",
            with(
                mcp(),
                json!({"tool_response": [{"type": "text", "text": "connect ECONNREFUSED 127.0.0.1:1"}]}),
            ),
        ),
        (
            "PostToolUse",
            with(
                tool("Agent", json!({"prompt": "p"})),
                json!({"tool_response": {"status": "async_launched", "isAsync": true}}),
            ),
        ),
        (
            "PostToolUseFailure",
            with(bash(), json!({"error": "Exit code 127\nsh: rgx: not found", "is_interrupt": false})),
        ),
        (
            "PostToolUseFailure",
            with(
                bash(),
                json!({"error": "Exit code 1", "is_interrupt": false, "agent_id": "a1", "agent_type": "general-purpose"}),
            ),
        ),
        (
            "PostToolUseFailure",
            with(mcp(), json!({"error": "Connection closed", "is_interrupt": false, "duration_ms": 9})),
        ),
        (
            "PostToolUseFailure",
            with(mcp(), json!({"error": "MCP server \"docs\" is not connected", "is_interrupt": false})),
        ),
        (
            "PostToolUseFailure",
            with(
                tool("WebFetch", json!({"url": "http://127.0.0.1:1"})),
                json!({"error": "Unable to verify if domain is safe", "is_interrupt": false}),
            ),
        ),
        (
            "PostToolBatch",
            json!({"tool_calls": [with(tool("Edit", json!({"file_path": "/a"})), json!({"tool_response": "<tool_use_error>String to replace not found in file.</tool_use_error>"})), with(bash(), json!({"tool_response": "Exit code 4"}))]}),
        ),
        (
            "PostToolBatch",
            json!({"tool_calls": [with(mcp(), json!({"tool_response": "<tool_use_error>Error: No such tool available: mcp__docs__find</tool_use_error>"}))]}),
        ),
        (
            "Stop",
            json!({"stop_hook_active": false, "last_assistant_message": "done", "background_tasks": []}),
        ),
        (
            "StopFailure",
            json!({"error": "server_error", "last_assistant_message": "API Error: 529 Overloaded."}),
        ),
        (
            "StopFailure",
            json!({"error": "rate_limit", "last_assistant_message": "You've hit your 5-hour limit · resets 10:20pm (UTC)"}),
        ),
        (
            "StopFailure",
            json!({"error": "billing_error", "last_assistant_message": "Credit balance is too low", "agent_id": "a1"}),
        ),
        ("SubagentStart", json!({"agent_id": "a1", "agent_type": "x"})),
        ("SubagentStop", json!({"agent_id": "a1", "agent_type": ""})),
        ("PreCompact", json!({"trigger": "auto", "custom_instructions": null})),
        ("Notification", json!({"message": "m", "notification_type": "idle_prompt"})),
        ("ConfigChange", json!({"source": "local_settings", "file_path": "/x"})),
        ("SomethingNew", json!({"field": {"deep": [1, 2, {}]}})),
        ("SessionEnd", json!({"reason": "other"})),
        ("SessionEnd", json!({"reason": "clear"})),
    ]
}

/// Exit 0, nothing on standard error, and standard output empty or exactly the accepted form for this event.
fn is_harmless(answer: &Answer, event: Option<&str>, what: &str) {
    assert_eq!(answer.code, Some(0), "{what}: {answer:?}");
    assert_eq!(answer.stderr, "", "{what}");
    if answer.stdout.is_empty() {
        return;
    }
    let event = event.unwrap_or_else(|| unreachable_speech(what, answer));
    let value: Value = serde_json::from_str(&answer.stdout).expect("one JSON object");
    let speaks = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch"];
    assert!(speaks.contains(&event), "{what}: {event} must be silent: {}", answer.stdout);
    let object = value.as_object().expect("an object");
    assert!(
        object.keys().all(|key| ["hookSpecificOutput", "systemMessage"].contains(&key.as_str())),
        "{what}: {value}"
    );
    if let Some(context) = object.get("hookSpecificOutput") {
        assert_eq!(context["hookEventName"], event, "{what}");
        assert!(
            context["additionalContext"].as_str().is_some_and(|text| !text.is_empty()),
            "{what}: {value}"
        );
        assert_eq!(context.as_object().map(serde_json::Map::len), Some(2), "{what}: {value}");
    }
}

#[expect(clippy::panic, reason = "a test")]
fn unreachable_speech(what: &str, answer: &Answer) -> ! {
    panic!("{what} was answered: {}", answer.stdout)
}

/// Runs each payload through each program, several times, so that streaks open and advice becomes due.
fn through_all(payloads: &[(Option<&str>, Vec<u8>)], rounds: usize) {
    for program in PROGRAMS {
        let project = HookProject::new();
        for round in 0..rounds {
            for (number, (event, payload)) in payloads.iter().enumerate() {
                let answer = project.run(program, payload);
                is_harmless(
                    &answer,
                    *event,
                    &format!("{program}, round {round}, payload {number} {event:?}"),
                );
                assert!(program != "heartbeat-write" || answer.stdout.is_empty(), "a heartbeat never prints");
            }
        }
    }
}

#[test]
fn every_event_in_every_shape() {
    let project = HookProject::new();
    let payloads: Vec<_> =
        events().iter().map(|(event, own)| (Some(*event), project.payload(event, own))).collect();
    through_all(&payloads, 4);
}

#[test]
fn every_event_cut_anywhere_is_silence() {
    let project = HookProject::new();
    let payloads: Vec<Vec<u8>> = events().iter().map(|(event, own)| project.payload(event, own)).collect();
    at_once(4, payloads.len() * 12, |job| {
        let payload = &payloads[job % payloads.len()];
        let cut = (payload.len() - 2) * (job / payloads.len()) / 12;
        let answer = project.run("recovery-hooks", &payload[..cut]);
        is_harmless(&answer, None, &format!("cut at {cut}"));
    });
}

#[test]
fn every_field_dropped_repeated_or_of_another_type() {
    let project = HookProject::new();
    let mut payloads = Vec::new();
    for (event, own) in events() {
        let whole: Value = serde_json::from_slice(&project.payload(event, &own)).expect("a payload");
        let fields: Vec<String> = whole.as_object().expect("an object").keys().cloned().collect();
        for field in &fields {
            let mut dropped = whole.clone();
            dropped.as_object_mut().expect("an object").shift_remove_or_remove(field);
            payloads.push((Some(event), dropped.to_string().into_bytes()));
            for other in [json!(null), json!(7), json!([]), json!({"a": {}}), json!(true)] {
                let mut changed = whole.clone();
                changed[field] = other;
                payloads.push((Some(event), changed.to_string().into_bytes()));
            }
            let text = whole.to_string();
            payloads.push((Some(event), text.replacen('{', &format!("{{{:?}:1,", field), 1).into_bytes()));
        }
    }
    at_once(4, payloads.len(), |job| {
        let (event, payload) = &payloads[job];
        let answer = project.run("recovery-hooks", payload);
        // Without its name an event is none; with another type of name neither.
        let event = if String::from_utf8_lossy(payload)
            .contains(&format!("\"hook_event_name\":\"{}\"", event.unwrap_or_default()))
        {
            *event
        } else {
            None
        };
        is_harmless(&answer, event, &String::from_utf8_lossy(&payload[..payload.len().min(300)]));
    });
}

trait Remove {
    fn shift_remove_or_remove(&mut self, key: &str);
}

impl Remove for serde_json::Map<String, Value> {
    fn shift_remove_or_remove(&mut self, key: &str) {
        self.remove(key);
    }
}

#[test]
fn bytes_that_are_no_payload_and_payloads_that_are_huge() {
    let project = HookProject::new();
    let failure = || project.mcp_failure("toolu_x");
    let text = String::from_utf8(failure()).expect("text");
    let big = "x".repeat(5_000_000);
    let ok = json!({"tool_name": "Read", "tool_input": {}, "tool_response": {"file": {"content": big}}, "tool_use_id": "t"});
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let payloads: Vec<(Option<&str>, Vec<u8>)> = vec![
        (None, Vec::new()),
        (None, b"\0\0\0".to_vec()),
        (None, b"[]".to_vec()),
        (None, b"null".to_vec()),
        (None, b"not json".to_vec()),
        (None, [failure(), failure()].concat()),
        (Some("PostToolUseFailure"), [b"\xef\xbb\xbf".to_vec(), failure()].concat()),
        (Some("PostToolUseFailure"), text.replace(',', ",\r\n").into_bytes()),
        (
            Some("PostToolUseFailure"),
            text.replace("Connection closed", "Connection closed \\ud83d").into_bytes(),
        ),
        (
            Some("PostToolUseFailure"),
            text.replace("\"is_interrupt\"", &format!("\"tool_input\":{deep},\"is_interrupt\"")).into_bytes(),
        ),
        (
            Some("PostToolUseFailure"),
            text.replace("Connection closed", &format!("Connection closed {big}")).into_bytes(),
        ),
        (Some("PostToolUse"), project.payload("PostToolUse", &ok)),
    ];
    through_all(&payloads, 1);
    let mut broken = failure();
    let at = broken.iter().position(|byte| *byte == b'C').expect("it is there");
    broken[at] = 0xff;
    is_harmless(&project.run("recovery-hooks", &broken), Some("PostToolUseFailure"), "invalid UTF-8");
}

#[test]
fn names_from_outside_stay_inside() {
    for id in ["../../escape", "/etc/x", "a\0b", "..", ".", "con", &"y".repeat(10_000), "übung", " "] {
        let project = HookProject::new();
        for tool in ["mcp__../../x__y", "mcp__a__/../..", &"t".repeat(5_000)] {
            let own = json!({"session_id": id, "tool_name": tool, "error": "Connection closed", "tool_use_id": "../t"});
            for _ in 0..2 {
                let answer = project.run("recovery-hooks", &project.payload("PostToolUseFailure", &own));
                is_harmless(&answer, Some("PostToolUseFailure"), id);
            }
        }
        let beside: Vec<_> =
            std::fs::read_dir(project.root.parent().expect("a parent")).expect("readable").collect();
        assert_eq!(beside.len(), 2, "the project and the home, nothing else");
        let sessions: Vec<_> = std::fs::read_dir(project.root.join("sessions")).expect("readable").collect();
        assert_eq!(sessions.len(), 3, "one folder, the marks, the ignore file");
    }
}

#[test]
fn links_and_pipes_in_the_place_of_our_files() {
    for name in ["journal.jsonl", "heartbeat", "session.json", "status", "open", ".state.lock", "ralph.json"]
    {
        let project = HookProject::new();
        let outside = project.home().join("outside");
        std::fs::write(&outside, "kept").expect("writable");
        let session = project.root.join("sessions").join(SESSION);
        std::fs::create_dir_all(&session).expect("writable");
        std::os::unix::fs::symlink(&outside, session.join(name)).expect("writable");
        for (event, own) in events() {
            is_harmless(&project.run("recovery-hooks", &project.payload(event, &own)), Some(event), name);
        }
        assert_eq!(std::fs::read_to_string(&outside).expect("it is there"), "kept", "{name}");
        let project = HookProject::new();
        let session = project.root.join("sessions").join(SESSION);
        std::fs::create_dir_all(&session).expect("writable");
        let made =
            std::process::Command::new("mkfifo").arg(session.join(name)).status().expect("mkfifo is there");
        assert!(made.success());
        for (event, own) in events() {
            is_harmless(&project.run("recovery-hooks", &project.payload(event, &own)), Some(event), name);
        }
    }
}

#[test]
fn a_linked_folder_of_sessions_is_not_entered() {
    let project = HookProject::new();
    let outside = project.home().join("elsewhere");
    std::fs::create_dir(&outside).expect("writable");
    std::os::unix::fs::symlink(&outside, project.root.join("sessions")).expect("writable");
    for (event, own) in events() {
        is_harmless(&project.run("recovery-hooks", &project.payload(event, &own)), Some(event), event);
    }
    assert_eq!(std::fs::read_dir(&outside).expect("readable").count(), 0);
}

#[test]
fn switched_off_or_without_a_place_it_is_silent_and_writes_nothing() {
    let project = HookProject::new();
    for (variable, value) in [
        ("RECOVERY_OFF", "1"),
        ("CLAUDE_PROJECT_DIR", &*project.home().to_string_lossy()),
        ("CLAUDE_PROJECT_DIR", "/"),
    ] {
        for _ in 0..3 {
            let mut command = project.command("recovery-hooks");
            command.env(variable, value);
            let payload = project.mcp_failure("toolu_off");
            let answer =
                end_to_end::hook_project::finish(end_to_end::hook_project::start(&mut command), &payload);
            assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""), "{variable}={value}");
        }
    }
    assert!(!project.root.join("sessions").exists() && !project.home().join("sessions").exists());
}
