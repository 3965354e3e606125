//! Counters as other programs left them, and files of earlier and later versions of our own, load and go on.

#![allow(missing_docs, clippy::expect_used, reason = "everything here is a test")]

use end_to_end::hook_project::{HookProject, SESSION};
use serde_json::{Value, json};

fn given(files: &[(&str, &str)]) -> HookProject {
    let project = HookProject::new();
    for (name, text) in files {
        project.write(&format!("sessions/{SESSION}/{name}"), text);
    }
    project
}

fn number(project: &HookProject, file: &str, field: &str) -> Value {
    let text = project.session_file(file).expect("the view is there");
    serde_json::from_str::<Value>(&text).expect("the view is JSON")[field].clone()
}

#[test]
fn a_servers_count_goes_on_under_either_name() {
    for (name, text, then) in [
        (
            "mcp-retry-mcp__docs__find.json",
            r#"{"attempt": 3, "last_attempt_ts": "2026-03-02T11:59:51Z"}"#,
            "(4 of 5 in a row)",
        ),
        ("mcp-retry-docs.json", r#"{"attempt": 3, "last_attempt_ts": 1772452791}"#, "(4 of 5 in a row)"),
        ("mcp-retry-docs.json", r#"{"attempt": 1}"#, "(2 of 5 in a row)"),
        ("mcp-retry-docs.json", r#"{"attempt": 4, "last_attempt_ts": 1772452791000}"#, "[MCP FALLBACK]"),
        ("mcp-retry-docs.json", r#"{"attempt": 5}"#, "[MCP FALLBACK]"),
        ("mcp-retry-docs.json", "not json", "(1 of 5 in a row)"),
        ("mcp-retry-docs.json", r#"{"attempt": "3"}"#, "(1 of 5 in a row)"),
    ] {
        let project = given(&[(name, text)]);
        let said = project.run("error-tracker", &project.mcp_failure("toolu_1")).context();
        assert!(said.contains(then), "{name} {text}: {said}");
    }
}

#[test]
fn a_tools_count_goes_on_and_a_success_ends_it() {
    let tool = json!({"tool_name": "WebFetch", "tool_use_id": "toolu_1", "error": "no network", "is_interrupt": false});
    for (text, speaks) in [("1", true), ("4\n", true), ("0", false), ("", false), ("many", false)] {
        let project = given(&[("fail-count-WebFetch.txt", text)]);
        let answer = project.run("tool-degradation", &project.payload("PostToolUseFailure", &tool));
        assert_eq!(!answer.stdout.is_empty(), speaks, "{text:?}: {}", answer.stdout);
    }
    let project = given(&[("fail-count-WebFetch.txt", "4")]);
    let ok = json!({"tool_name": "WebFetch", "tool_use_id": "toolu_2", "tool_response": "fine"});
    project.run("tool-degradation", &project.payload("PostToolUse", &ok));
    assert_eq!(project.session_file("fail-count-WebFetch.txt"), None);
}

#[test]
fn turns_that_ended_on_overload_go_on_with_their_model() {
    let project =
        given(&[("failure-tracker.json", r#"{"consecutive_failures": 2, "current_model": "haiku"}"#)]);
    let stop = json!({"error": "server_error", "last_assistant_message": "API Error: 529 Overloaded. "});
    project.run("error-tracker", &project.payload("StopFailure", &stop));
    assert_eq!(number(&project, "failure-tracker.json", "consecutive_failures"), 0);
    assert_eq!(number(&project, "failure-tracker.json", "current_model"), "haiku");
    let answer = project.run("error-tracker", &project.payload("UserPromptSubmit", &json!({"prompt": "go"})));
    assert!(
        answer.context().contains("[MODEL] the last 3 turns") && answer.context().contains("/model sonnet"),
        "{answer:?}"
    );
}

/// Written by this version, with members it does not know and a line of a later version. A failure here means that
/// sessions of people who update are lost.
#[test]
fn a_journal_of_this_version_always_loads() {
    let journal = include_str!("../fixtures/journal-v1.jsonl");
    let project = given(&[("journal.jsonl", journal), ("open", "")]);
    let said = project.run("recovery-hooks", &project.mcp_failure("toolu_next")).context();
    assert!(said.contains("(4 of 5 in a row)"), "{said}");
    assert_eq!(number(&project, "mcp-retry-mcp__docs__find.json", "attempt"), 4);
}
