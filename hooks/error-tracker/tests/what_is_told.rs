//! What is told of MCP servers, edits and API errors, and when.

#![allow(missing_docs, clippy::unwrap_used, reason = "everything here is a test")]

use std::ffi::OsStr;
use std::fs;

use error_tracker::ErrorTracker;
use hook_flow::Call;
use hook_io::{Event, Reply};
use serde_json::{Value, json};
use session_state::env::{self, Env};
use session_state::{Now, Project};

struct Session {
    project: tempfile::TempDir,
    calls: u32,
}

impl Session {
    fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join(".working-state")).unwrap();
        let table = "- mcp__docs__find -> Grep (local files only)\n";
        fs::write(project.path().join(".working-state/fallback-tools.md"), table).unwrap();
        Self { project, calls: 0 }
    }

    fn event(&mut self, name: &str, own: &Value) -> Reply {
        self.calls += 1;
        let mut payload = json!({
            "session_id": "s-1", "cwd": self.project.path(), "hook_event_name": name,
            "transcript_path": self.project.path().join("t.jsonl"),
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
        let spoken = hook_flow::track(&call, &[&ErrorTracker]);
        let reply = hook_flow::reply(&spoken.advice);
        spoken.finish(&call);
        reply
    }

    fn mcp(&mut self, error: &str) -> Reply {
        let own = json!({"tool_name": "mcp__docs__find", "error": error, "tool_use_id": format!("toolu_{}", self.calls)});
        self.event("PostToolUseFailure", &own)
    }

    fn stop_failure(&mut self, error: &str, message: &str) -> Reply {
        self.event("StopFailure", &json!({"error": error, "last_assistant_message": message}))
    }

    fn prompt(&mut self) -> Reply {
        self.event("UserPromptSubmit", &json!({"prompt": "go on"}))
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.project.path().join("sessions/s-1").join(name)
    }
}

fn agent(reply: &Reply) -> &str {
    reply.agent.as_deref().unwrap_or_default()
}

fn person(reply: &Reply) -> &str {
    reply.person.as_deref().unwrap_or_default()
}

#[test]
fn a_server_from_its_first_failure_to_its_last() {
    let mut session = Session::new();
    for (n, wait) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        let reply = session.mcp("MCP error -32000: Connection closed");
        assert_eq!(
            agent(&reply),
            format!(
                "[MCP] docs: connection closed ({n} of 5 in a row). The client restarts it at the next call; next try after {wait} s."
            )
        );
        assert_eq!(reply.person, None);
    }
    let fifth = session.mcp("Not connected");
    assert!(agent(&fifth).starts_with("[MCP FALLBACK] docs failed 5 times in a row"), "{fifth:?}");
    assert!(agent(&fifth).contains("Grep") && person(&fifth).contains("/mcp"), "{fifth:?}");
    assert_eq!(session.mcp("Not connected"), Reply::default());
    let retry = fs::read_to_string(session.path("mcp-retry-mcp__docs__find.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&retry).unwrap()["attempt"], 6);
    // Any tool of the server shows that it answers; the files of all its tools go.
    fs::write(session.path("mcp-retry-mcp__docs__other.json"), r#"{"attempt": 2}"#).unwrap();
    session.event("PostToolUse", &json!({"tool_name": "mcp__docs__list", "tool_response": "ok"}));
    assert!(!session.path("mcp-retry-mcp__docs__find.json").exists());
    assert!(!session.path("mcp-retry-mcp__docs__other.json").exists());
    assert!(!session.path("open").exists());
}

#[test]
fn an_answer_with_an_error_in_it_shows_that_the_server_is_there() {
    let mut session = Session::new();
    session.mcp("Connection closed");
    assert_eq!(session.mcp("no document of that name"), Reply::default());
    assert!(agent(&session.mcp("Connection closed")).contains("1 of 5"));
    session.mcp("MCP error -32602: Invalid params");
    assert!(agent(&session.mcp("Connection closed")).contains("2 of 5"), "our own mistake is neutral");
}

#[test]
fn what_waiting_does_not_mend_is_told_at_once() {
    let mut session = Session::new();
    let reply = session.mcp("MCP server \"docs\" is not connected");
    assert!(agent(&reply).contains("Grep") && person(&reply).contains("/mcp"), "{reply:?}");
    let mut session = Session::new();
    let reply = session.mcp("Error POSTing to endpoint (HTTP 401): unauthorized");
    assert!(agent(&reply).contains("login") && person(&reply).contains("/mcp"), "{reply:?}");
    assert_eq!(session.mcp("HTTP 403 Forbidden"), Reply::default(), "once");
    let mut session = Session::new();
    let call = json!({"tool_calls": [{"tool_name": "mcp__docs__find", "tool_use_id": "toolu_b",
        "tool_response": "<tool_use_error>Error: No such tool available: mcp__docs__find</tool_use_error>"}]});
    assert!(agent(&session.event("PostToolBatch", &call)).contains("Grep"));
}

#[test]
fn edits_that_miss_three_times_and_what_ends_them() {
    let mut session = Session::new();
    let file = session.project.path().join("a.rs");
    fs::write(&file, "x").unwrap();
    let edit = |session: &mut Session, id: &str, text: &str| {
        let call = json!({"tool_calls": [{"tool_name": "Edit", "tool_input": {"file_path": file}, "tool_use_id": id,
            "tool_response": format!("<tool_use_error>{text}</tool_use_error>")}]});
        session.event("PostToolBatch", &call)
    };
    const MISSED: &str = "String to replace not found in file.\nString: y";
    assert_eq!(edit(&mut session, "1", MISSED), Reply::default());
    for neutral in ["InputValidationError: Edit failed", "Blocked: no"] {
        assert_eq!(edit(&mut session, neutral, neutral), Reply::default());
    }
    assert_eq!(edit(&mut session, "2", MISSED), Reply::default());
    assert_eq!(edit(&mut session, "2", MISSED), Reply::default(), "the same call again is no third one");
    let third = edit(&mut session, "3", MISSED);
    assert!(
        agent(&third).starts_with("[DEGRADATION] Edit did not find its text in a.rs 3 times"),
        "{third:?}"
    );
    assert_eq!(edit(&mut session, "4", MISSED), Reply::default());
    session.event(
        "PostToolUse",
        &json!({"tool_name": "Edit", "tool_input": {"file_path": file}, "tool_use_id": "5"}),
    );
    assert_eq!(edit(&mut session, "6", MISSED), Reply::default());
    assert_eq!(edit(&mut session, "7", MISSED), Reply::default());
    assert!(edit(&mut session, "8", MISSED).agent.is_some(), "once more after it was over");
}

#[test]
fn overload_is_told_at_the_third_turn_to_the_next_person() {
    let mut session = Session::new();
    for _ in 0..3 {
        assert_eq!(session.prompt(), Reply::default());
        assert_eq!(
            session.stop_failure("server_error", "API Error: 529 Overloaded. Try again."),
            Reply::default()
        );
    }
    let notice = json!({"prompt": "<task-notification>\n<task-id>a</task-id>"});
    assert_eq!(session.event("UserPromptSubmit", &notice), Reply::default(), "no person wrote that");
    let told = session.prompt();
    assert!(agent(&told).starts_with("[MODEL] the last 3 turns ended on API overload (529)"), "{told:?}");
    assert!(person(&told).contains("fallbackModel"), "{told:?}");
    assert_eq!(session.prompt(), Reply::default(), "once");
}

#[test]
fn a_good_turn_ends_all_streaks_and_what_was_queued() {
    let mut session = Session::new();
    for _ in 0..3 {
        session.stop_failure("server_error", "API Error: 500 Internal");
    }
    session.event("Stop", &json!({"stop_hook_active": false}));
    assert_eq!(session.prompt(), Reply::default());
    assert!(!session.path("open").exists());
}

#[test]
fn limits_and_permanent_errors_are_told_once_and_never_lead_to_another_model() {
    for (error, message, tag, hint) in [
        ("rate_limit", "You've hit your 5-hour limit · resets 10:20pm (UTC)", "[LIMIT]", "10:20pm (UTC)"),
        ("rate_limit", "API Error: Request rejected (429) · later", "[LIMIT]", "429"),
        ("authentication_failed", "Invalid API key · Please run /login", "[PERMANENT ERROR]", "/login"),
        ("billing_error", "Credit balance is too low", "[PERMANENT ERROR]", "credits"),
        ("model_not_found", "There's an issue with the selected model (x).", "[PERMANENT ERROR]", "/model"),
        ("invalid_request", "Prompt is too long · the request is", "[PERMANENT ERROR]", "/compact"),
    ] {
        let mut session = Session::new();
        for _ in 0..4 {
            assert_eq!(session.stop_failure(error, message), Reply::default());
        }
        let told = session.prompt();
        assert!(agent(&told).starts_with(tag), "{message}: {told:?}");
        assert!(person(&told).contains(hint), "{message}: {told:?}");
        assert!(!agent(&told).contains("[MODEL]"));
        assert_eq!(session.prompt(), Reply::default(), "{message}");
    }
}

#[test]
fn a_subagents_api_error_is_logged_only() {
    let mut session = Session::new();
    for _ in 0..3 {
        let own = json!({"error": "server_error", "last_assistant_message": "API Error: 529 Overloaded", "agent_id": "a1"});
        assert_eq!(session.event("StopFailure", &own), Reply::default());
    }
    assert_eq!(session.prompt(), Reply::default());
    let log = fs::read_to_string(session.project.path().join("logs/error-recovery.log")).unwrap();
    assert_eq!(log.matches("subagent-error").count(), 3);
}
