//! The four programs one by one and all of them in one process say the same and leave the same.

#![allow(missing_docs, clippy::expect_used, reason = "everything here is a test")]

use end_to_end::hook_project::HookProject;
use serde_json::{Value, json};

/// Which of the four an event goes to, in the order in which the one process asks them.
fn programs(event: &str) -> &'static [&'static str] {
    match event {
        "SessionStart" | "UserPromptSubmit" => &["crash-recovery-check", "error-tracker", "heartbeat-write"],
        "PostToolUse" | "PostToolUseFailure" => &["error-tracker", "tool-degradation", "heartbeat-write"],
        "Stop" => &["error-tracker", "heartbeat-write"],
        "PostToolBatch" | "StopFailure" => &["error-tracker"],
        _ => &["heartbeat-write"],
    }
}

fn story() -> Vec<(&'static str, Value)> {
    let mcp = |id: &str, error: &str| json!({"tool_name": "mcp__docs__find", "tool_use_id": id, "error": error, "is_interrupt": false});
    let missed = |id: &str| {
        json!({"tool_calls": [{"tool_name": "Edit", "tool_input": {"file_path": "/none/a.rs"}, "tool_use_id": id,
            "tool_response": "<tool_use_error>String to replace not found in file.</tool_use_error>"}]})
    };
    let mut story = vec![
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "go"})),
        ("PostToolUseFailure", mcp("1", "Connection closed")),
        ("PostToolUseFailure", mcp("2", "Connection closed")),
        ("PostToolUseFailure", mcp("3", "no such document")),
        ("PostToolUseFailure", mcp("4", "HTTP 401 Unauthorized")),
        ("PostToolUse", json!({"tool_name": "mcp__docs__find", "tool_use_id": "5", "tool_response": "fine"})),
        ("PostToolBatch", missed("6")),
        ("PostToolBatch", missed("7")),
        ("PostToolBatch", missed("8")),
    ];
    for turn in ["9", "10", "11"] {
        let own = json!({"prompt_id": turn, "error": "server_error", "last_assistant_message": "API Error: 529 Overloaded. "});
        story.push(("StopFailure", own));
    }
    story.push(("UserPromptSubmit", json!({"prompt": "again", "prompt_id": "12"})));
    story.push(("Stop", json!({"prompt_id": "12"})));
    story
}

fn left_overs(project: &HookProject) {
    project.write(
        "sessions/old/ralph.json",
        r#"{"active": true, "iteration": 7, "last_checked_at": "2024-01-01T00:00:00Z"}"#,
    );
    project.write(".working-state/current-plan.md", "- [ ] one\n");
}

/// The files of the session that other programs read.
fn views(project: &HookProject) -> Vec<(String, Option<String>)> {
    [
        "fail-count-mcp__docs__find.txt",
        "mcp-retry-mcp__docs__find.json",
        "failure-tracker.json",
        "status",
        "open",
    ]
    .iter()
    .map(|name| ((*name).to_owned(), project.session_file(name)))
    .collect()
}

#[test]
fn the_same_words_and_the_same_files() {
    let (one, four) = (HookProject::new(), HookProject::new());
    left_overs(&one);
    left_overs(&four);
    let mut said = 0;
    for (number, (event, own)) in story().into_iter().enumerate() {
        let together = one.run("recovery-hooks", &one.payload(event, &own)).context();
        let apart: Vec<String> = programs(event)
            .iter()
            .map(|program| four.run(program, &four.payload(event, &own)).context())
            .filter(|context| !context.is_empty())
            .collect();
        assert_eq!(together, apart.join("\n"), "event {number}, {event}");
        said += usize::from(!together.is_empty());
        assert_eq!(views(&one), views(&four), "after event {number}, {event}");
    }
    assert!(said >= 5, "the story has something to say: {said}");
}
