//! What counts as a failure of a tool, row by row, and what is said about it.

#![allow(missing_docs, clippy::unwrap_used, reason = "everything here is a test")]

use std::ffi::OsStr;
use std::fs;

use hook_flow::Call;
use hook_io::Event;
use serde_json::{Value, json};
use session_state::env::{self, Env};
use session_state::{Now, Project};
use tool_degradation::ToolDegradation;

/// A project in a temporary folder, and a session in it.
struct Session {
    project: tempfile::TempDir,
    calls: u32,
}

impl Session {
    fn new(table: &str) -> Self {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join(".working-state")).unwrap();
        fs::write(project.path().join(".working-state/fallback-tools.md"), table).unwrap();
        Self { project, calls: 0 }
    }

    /// Lets an event happen; returns what the agent is told.
    fn event(&mut self, name: &str, own: &Value) -> Option<String> {
        self.calls += 1;
        let mut payload = json!({
            "session_id": "s-1", "cwd": self.project.path(), "hook_event_name": name,
            "tool_use_id": format!("toolu_{}", self.calls), "is_interrupt": false,
        });
        payload.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let text = payload.to_string();
        let event = Event::parse(&text).unwrap();
        let home = self.project.path().join("home");
        let env = Env::of(&[
            (env::CLAUDE_PROJECT_DIR, self.project.path().as_os_str()),
            (env::HOME, home.as_os_str()),
            (env::CLAUDE_PID, OsStr::new("1")),
        ]);
        let project = Project::find(&env, None).unwrap();
        let call = Call::new("test", &event, &env, &project, Now(i64::from(self.calls) * 60_000));
        let spoken = hook_flow::track(&call, &[&ToolDegradation]);
        let said = hook_flow::reply(&spoken.advice).agent;
        spoken.finish(&call);
        said
    }

    fn fail(&mut self, tool: &str, error: &str) -> Option<String> {
        self.event("PostToolUseFailure", &json!({"tool_name": tool, "error": error}))
    }

    fn bash(&mut self, command: &str, error: &str) -> Option<String> {
        self.event(
            "PostToolUseFailure",
            &json!({"tool_name": "Bash", "tool_input": {"command": command}, "error": error}),
        )
    }

    fn bash_ok(&mut self, command: &str, response: &Value) -> Option<String> {
        self.event(
            "PostToolUse",
            &json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": response}),
        )
    }

    fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project.path().join("sessions/s-1").join(name)).ok()
    }
}

const TABLE: &str = "\
| tool | fallback | difference |
|---|---|---|
| mcp__pages__grab | WebFetch | no scripts |
| Read | Bash(cat) | |
| Bash | Grep | search only |
| Bash(npm test) | Bash(npx vitest) | unit tests only |
";

const GONE: &str = "connect ECONNREFUSED 127.0.0.1:1";

#[test]
fn the_second_failure_in_a_row_names_the_row() {
    let mut session = Session::new(TABLE);
    assert_eq!(session.fail("mcp__pages__grab", GONE), None);
    assert_eq!(session.file("fail-count-mcp__pages__grab.txt").as_deref(), Some("1\n"));
    let said = session.fail("mcp__pages__grab", GONE).unwrap();
    assert!(said.starts_with("[DEGRADATION] mcp__pages__grab failed 2 times in a row"), "{said}");
    assert!(said.contains("WebFetch") && said.contains("no scripts"), "{said}");
    assert_eq!(session.fail("mcp__pages__grab", GONE), None, "once");
    session.event(
        "PostToolUse",
        &json!({"tool_name": "mcp__pages__grab", "tool_response": [{"type": "text", "text": "fine"}]}),
    );
    assert_eq!(session.file("fail-count-mcp__pages__grab.txt"), None, "a success takes the count away");
    assert_eq!(session.file("open"), None, "and nothing is tracked any more");
    assert_eq!(session.fail("mcp__pages__grab", GONE), None);
}

#[test]
fn an_mcp_tool_without_a_row() {
    let mut session = Session::new("");
    session.fail("mcp__odd__tool", GONE);
    assert!(session.fail("mcp__odd__tool", GONE).unwrap().contains("No known replacement"));
    let mut session = Session::new("");
    session.fail("mcp__odd__tool", "no such page");
    assert_eq!(
        session.fail("mcp__odd__tool", "no such page"),
        None,
        "it answered: only a row is worth a word"
    );
}

#[test]
fn neutral_failures_neither_count_nor_reset() {
    let mut session = Session::new(TABLE);
    session.fail("mcp__pages__grab", GONE);
    for error in [
        "MCP error -32602: Invalid params",
        "HTTP 401 Unauthorized",
        "HTTP 429 Too Many Requests",
        "MCP error -32004: Unknown session",
    ] {
        assert_eq!(session.fail("mcp__pages__grab", error), None, "{error}");
    }
    let aborted = json!({"tool_name": "mcp__pages__grab", "error": GONE, "is_interrupt": true});
    assert_eq!(session.event("PostToolUseFailure", &aborted), None, "a person stopped it");
    assert!(session.fail("mcp__pages__grab", GONE).is_some(), "the second in a row");
}

#[test]
fn a_shell_program_that_is_not_there_is_an_outage_and_others_are_not() {
    let mut session = Session::new(TABLE);
    assert_eq!(session.bash("rgx -n a src", "Exit code 127\n/bin/sh: 1: rgx: not found"), None);
    assert_eq!(session.bash("jqx .", "Exit code 127\nsh: jqx: not found"), None, "each program for itself");
    assert!(session.bash("cd x && rgx -n b", "Exit code 127\nrgx: not found").unwrap().contains("Grep"));
    let mut session = Session::new(TABLE);
    for _ in 0..4 {
        assert_eq!(session.bash("make all", "Exit code 2\nmake: *** [all] Error 1"), None, "any other exit");
        assert_eq!(
            session.bash("cargo test", "Exit code 101\ntest result: FAILED"),
            None,
            "a test is no outage"
        );
        assert_eq!(session.bash("grep -rn x src", "Exit code 1"), None, "an answer");
    }
    assert_eq!(session.file("fail-count-Bash.txt"), None);
}

#[test]
fn the_users_row_wins_over_a_test_is_no_outage() {
    let mut session = Session::new(TABLE);
    assert_eq!(session.bash("npm test", "Exit code 1\n1 failed"), None);
    assert!(
        session
            .bash("npm test -- --watch=false", "Exit code 1\n1 failed")
            .unwrap()
            .contains("Bash(npx vitest)")
    );
}

#[test]
fn what_the_client_calls_a_success_may_be_neutral() {
    let mut session = Session::new(TABLE);
    session.bash("rgx a", "Exit code 127\nrgx: not found");
    session.bash_ok("rgx a", &json!({"stdout": "", "timedOutAfterMs": 1500}));
    session.bash_ok("rgx a", &json!({"stdout": "", "returnCodeInterpretation": "No matches found"}));
    session.bash_ok("ls", &json!({"stdout": "a"}));
    assert!(
        session.bash("rgx b", "Exit code 127\nrgx: not found").is_some(),
        "none of them was a success of rgx"
    );
    session.bash_ok("rgx a", &json!({"stdout": "a"}));
    assert_eq!(session.file("fail-count-Bash.txt"), None);
    assert_eq!(session.bash("rgx b", "Exit code 127\nrgx: not found"), None);
}

#[test]
fn words_in_good_results_never_count_but_one_line_in_the_shape_of_an_outage_does() {
    let mut session = Session::new(TABLE);
    let answer = |text: &str| json!({"tool_name": "mcp__pages__grab", "tool_response": [{"type": "text", "text": text}]});
    for _ in 0..3 {
        assert_eq!(
            session.event(
                "PostToolUse",
                &answer("0 errors; ECONNREFUSED is explained in chapter 3\nsee also EPIPE")
            ),
            None
        );
    }
    assert_eq!(session.event("PostToolUse", &answer(GONE)), None);
    assert!(session.event("PostToolUse", &answer(GONE)).is_some());
}

#[test]
fn a_subagents_streak_is_its_own() {
    let mut session = Session::new(TABLE);
    let by = |agent: &str| json!({"tool_name": "Read", "error": "EISDIR", "agent_id": agent});
    assert_eq!(session.fail("Read", "EISDIR"), None);
    assert_eq!(session.event("PostToolUseFailure", &by("a1")), None);
    assert_eq!(session.event("PostToolUseFailure", &by("a2")), None);
    assert!(session.event("PostToolUseFailure", &by("a1")).unwrap().contains("Bash(cat)"));
    assert_eq!(
        session.file("fail-count-Read.txt").as_deref(),
        Some("1\n"),
        "the file has the main conversation's"
    );
}

#[test]
fn a_project_can_ask_for_silence() {
    let mut session = Session::new(TABLE);
    fs::create_dir(session.project.path().join(".claude")).unwrap();
    fs::write(session.project.path().join(".claude/recovery.json"), r#"{"degradation": false}"#).unwrap();
    session.fail("Read", "EISDIR");
    assert_eq!(session.fail("Read", "EISDIR"), None);
    assert_eq!(session.file("fail-count-Read.txt").as_deref(), Some("2\n"), "still counted for others");
}
