//! The harness proved with the real client and hooks of its own: what the scenarios rely on is seen, and what they
//! forbid would be noticed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use end_to_end::{
    fake_api::{
        LimitClaim, Turn, agent, bash, call, calls, edit, mcp, overloaded, read, status, text, tool,
        usage_limit,
    },
    mcp_server::Behaviour,
    sandbox::{Login, Sandbox},
    story::with_sandbox,
    wait::wait_until,
    wiring::RawHook,
};
use serde_json::{Value, json};

/// Far more than anything here takes.
const SOON: Duration = Duration::from_secs(60);

const EVENTS: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Stop",
    "StopFailure",
    "SessionEnd",
];

/// Records the payloads of all events.
fn record_all(sandbox: &mut Sandbox) -> PathBuf {
    let folder = sandbox.scratch().join("payloads");
    fs::create_dir_all(&folder).unwrap();
    sandbox.wire_raw(EVENTS.iter().map(|event| RawHook::recording(event, &folder)).collect());
    folder
}

/// Waits for `count` payloads of a kind that the client does not wait for when it ends.
fn wait_for_stop_failures(sandbox: &Sandbox, payloads: &Path, count: usize) -> Vec<Value> {
    wait_until(SOON, "StopFailure to be recorded", || {
        sandbox.recorded(payloads, "StopFailure").len() >= count
    });
    sandbox.recorded(payloads, "StopFailure")
}

fn context(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}

#[test]
fn a_valid_context_reaches_the_next_request() {
    with_sandbox(|sandbox| {
        sandbox.wire_raw(vec![
            RawHook::printing("UserPromptSubmit", &context("UserPromptSubmit", "Told at the prompt.")),
            RawHook::printing("PostToolUse", &context("PostToolUse", "Told after the call.")),
        ]);
        sandbox.api.script([call(bash("echo done")), text("Finished.")]);

        let run = sandbox.run_print("Begin", &[]);

        assert_eq!(run.code, Some(0), "{run:?}");
        let requests = sandbox.api.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].contexts_with("Told"), ["Told at the prompt."]);
        let new = requests[1].new_contexts();
        assert_eq!(new.len(), 1, "{new:?}");
        assert_eq!((new[0].event.as_str(), new[0].detail.as_deref()), ("PostToolUse", Some("Bash")));
        assert_eq!(new[0].text, "Told after the call.");
        assert_eq!(requests[1].contexts().len(), 2);
        assert_eq!(sandbox.hook_errors(), Vec::<String>::new());
        assert_eq!(sandbox.debug_logs()[0].hook_runs().len(), 2);
        let transcript = sandbox.transcript(run.session_id());
        assert!(transcript.hook_contexts().contains(&("PostToolUse".into(), "Told after the call.".into())));
    });
}

#[test]
fn an_older_model_gets_contexts_as_reminders_and_they_are_found_too() {
    with_sandbox(|sandbox| {
        sandbox.wire_raw(vec![
            RawHook::printing("UserPromptSubmit", &context("UserPromptSubmit", "Told at the prompt.")),
            RawHook::printing("PostToolUse", &context("PostToolUse", "Told after the call.")),
        ]);
        sandbox.api.script([call(bash("echo done")), text("Finished.")]);

        let _ = sandbox.run_print("Begin", &["--model", "claude-sonnet-4-5"]);

        let requests = sandbox.api.requests();
        assert!(requests[1].body["messages"].as_array().unwrap().iter().all(|m| m["role"] != "system"));
        assert_eq!(requests[1].contexts_with("Told"), ["Told at the prompt.", "Told after the call."]);
    });
}

#[test]
fn output_the_client_refuses_is_seen_as_a_hook_error() {
    with_sandbox(|sandbox| {
        let refused =
            json!({ "decision": "allow", "hookSpecificOutput": { "additionalContext": "Never told." } });
        sandbox.wire_raw(vec![RawHook::printing("PostToolUse", &refused)]);
        sandbox.api.script([call(bash("echo done")), text("Finished.")]);

        let _ = sandbox.run_print("Begin", &[]);

        assert_eq!(sandbox.api.requests()[1].contexts(), []);
        let errors = sandbox.hook_errors();
        assert!(errors.iter().any(|line| line.contains("Hook JSON output validation failed")), "{errors:?}");
    });
}

#[test]
fn hooks_that_fail_or_hang_or_are_missing_are_seen_as_hook_errors() {
    for hook in [
        RawHook::shell("PostToolUse", "echo broken >&2; exit 1"),
        RawHook::shell("PostToolUse", "exec sleep 30").timeout_s(1),
        RawHook::program("PostToolUse", std::path::Path::new("/nowhere/hook"), &[]),
    ] {
        with_sandbox(|sandbox| {
            sandbox.wire_raw(vec![hook.clone()]);
            sandbox.api.script([call(bash("echo done")), text("Finished.")]);
            let _ = sandbox.run_print("Begin", &[]);
            assert!(sandbox.debug_logs().iter().any(|log| !log.hook_errors().is_empty()), "{hook:?}");
            assert!(sandbox.transcripts().iter().any(|t| !t.hook_errors().is_empty()), "{hook:?}");
        });
    }
}

#[test]
fn plain_output_of_a_background_hook_is_seen() {
    with_sandbox(|sandbox| {
        sandbox.wire_raw(vec![RawHook::shell("PostToolUse", "echo words").in_background()]);
        sandbox.api.script([call(bash("sleep 0.2")), call(bash("sleep 0.2")), text("Finished.")]);
        let _ = sandbox.run_print("Begin", &[]);
        assert!(!sandbox.plain_hook_outputs().is_empty());
    });
}

#[test]
fn an_mcp_server_fails_in_every_way_on_demand() {
    with_sandbox(|sandbox| {
        sandbox.set_variable("MCP_TOOL_TIMEOUT", "1000");
        let flaky = sandbox.mcp_server("flaky");
        flaky.set("lookup", Behaviour::Exit);
        flaky.set("scrape", Behaviour::ErrorResult("the page is gone".into()));
        flaky.set("search", Behaviour::RpcError { code: -32603, message: "internal trouble".into() });
        flaky.set("fetch", Behaviour::Hang);
        flaky.set("index", Behaviour::ExitForGood);
        let payloads = record_all(sandbox);
        sandbox.api.script(
            ["lookup", "scrape", "search", "fetch", "index", "summarize"]
                .map(|name| call(mcp("flaky", name))),
        );
        sandbox.api.script([text("Finished.")]);

        let _ = sandbox.run_print("Begin", &[]);

        let failures = sandbox.recorded(&payloads, "PostToolUseFailure");
        let error_of = |tool: &str| {
            let name = format!("mcp__flaky__{tool}");
            let payload = failures.iter().find(|payload| payload["tool_name"] == *name);
            payload.map(|payload| payload["error"].as_str().unwrap().to_owned()).unwrap_or_default()
        };
        assert_eq!(error_of("lookup"), "Connection closed");
        assert_eq!(error_of("scrape"), "the page is gone");
        assert_eq!(error_of("search"), "internal trouble");
        assert!(error_of("fetch").contains("timed out after 1s"), "{}", error_of("fetch"));
        assert_eq!(error_of("index"), "Connection closed");
        assert!(error_of("summarize").contains("is not connected"), "{}", error_of("summarize"));
        assert_eq!(failures[0]["mcp_server"]["name"], "flaky");
    });
}

#[test]
fn parallel_calls_of_one_message_all_run() {
    with_sandbox(|sandbox| {
        let payloads = record_all(sandbox);
        sandbox.api.script([calls((0..5).map(|n| bash(format!("exit {}", n + 1)))), text("Finished.")]);
        let _ = sandbox.run_print("Begin", &[]);
        assert_eq!(sandbox.recorded(&payloads, "PostToolUseFailure").len(), 5);
        assert_eq!(sandbox.recorded(&payloads, "PostToolBatch").len(), 1);
    });
}

#[test]
fn an_edit_that_finds_nothing_is_shown_by_the_batch_event_alone() {
    with_sandbox(|sandbox| {
        let payloads = record_all(sandbox);
        let readme = sandbox.project().join("README.md");
        sandbox.api.script([call(read(&readme)), call(edit(&readme, "not in it", "x")), text("Finished.")]);

        let _ = sandbox.run_print("Begin", &[]);

        let batches = sandbox.recorded(&payloads, "PostToolBatch");
        assert_eq!(batches.len(), 2);
        assert!(batches.iter().any(|batch| {
            let response = batch["tool_calls"][0]["tool_response"].as_str().unwrap_or_default();
            response.starts_with("<tool_use_error>String to replace not found")
        }));
        assert_eq!(sandbox.recorded(&payloads, "PostToolUseFailure"), Vec::<Value>::new());
        assert_eq!(sandbox.recorded(&payloads, "PostToolUse").len(), 1, "the Read");
    });
}

#[test]
fn a_killed_client_leaves_its_session_file_and_an_open_call() {
    with_sandbox(|sandbox| {
        let payloads = record_all(sandbox);
        let mark = sandbox.scratch().join("begun");
        sandbox.api.script([call(bash(format!("touch '{}'; sleep 300; true", mark.display())))]);
        let mut session = sandbox.session(&[]);
        session.send("Begin");
        wait_until(SOON, "the call to run", || mark.exists());
        let (pid, id) = (session.pid(), session.id());

        session.kill();

        let live = sandbox.live_sessions();
        assert_eq!(live.len(), 1);
        assert_eq!(live[0]["pid"], pid);
        assert_eq!(live[0]["sessionId"], *id);
        assert_eq!(live[0]["status"], "busy");
        assert_eq!(sandbox.recorded(&payloads, "PreToolUse").len(), 1);
        for event in ["PostToolUse", "PostToolUseFailure", "PostToolBatch", "SessionEnd"] {
            assert_eq!(sandbox.recorded(&payloads, event), Vec::<Value>::new());
        }
        let lines = sandbox.transcript(&id).lines;
        assert!(lines.iter().any(|line| line["message"]["content"][0]["type"] == "tool_use"));
        assert!(lines.iter().all(|line| line["message"]["content"][0]["type"] != "tool_result"));
    });
}

#[test]
fn three_overloads_in_one_session_are_three_failed_turns() {
    with_sandbox(|sandbox| {
        let payloads = record_all(sandbox);
        sandbox.api.script([overloaded(), overloaded(), overloaded(), text("Back again.")]);
        let mut session = sandbox.session(&[]);
        for turn in 0..3 {
            let result = session.prompt("Go on");
            assert_eq!(result["is_error"], true, "turn {turn}: {result}");
        }
        assert_eq!(session.prompt("And now?")["result"], "Back again.");
        let failures = wait_for_stop_failures(sandbox, &payloads, 3);
        session.end();

        assert_eq!(failures.len(), 3);
        assert_eq!(failures[0]["error"], "server_error");
        assert!(
            failures[0]["last_assistant_message"].as_str().unwrap().starts_with("API Error: 529 Overloaded")
        );
        assert_eq!(sandbox.recorded(&payloads, "UserPromptSubmit").len(), 4);
        assert_eq!(sandbox.api.answers_left(), 0);
        assert_eq!(sandbox.api.unscripted_requests(), 0);
    });
}

#[test]
fn a_usage_limit_is_believed_with_its_reset() {
    with_sandbox(|sandbox| {
        sandbox.log_in(Login::Subscription);
        let payloads = record_all(sandbox);
        // 2031-05-04 10:20 UTC: far enough out to be told with its date, whenever the test runs.
        sandbox.api.script([usage_limit(LimitClaim::FiveHour, 1_935_656_400), text("Back again.")]);
        let mut session = sandbox.session(&[]);
        assert_eq!(session.prompt("Begin")["is_error"], true);
        let failures = wait_for_stop_failures(sandbox, &payloads, 1);
        session.end();

        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0]["error"], "rate_limit");
        let told = failures[0]["last_assistant_message"].as_str().unwrap();
        assert!(told.starts_with("You've hit your 5-hour limit · resets"), "{told}");
        assert_eq!(sandbox.api.requests().len(), 1, "no retry");
    });
}

#[test]
fn other_api_errors_end_the_turn_with_their_own_words() {
    for (answer, error, words) in [
        (
            status(401, "authentication_error", "invalid x-api-key"),
            "authentication_failed",
            "Invalid API key",
        ),
        (status(400, "invalid_request_error", "no such thing"), "unknown", "API Error: 400"),
        (status(500, "api_error", "Internal server error"), "server_error", "API Error: 500"),
        (Turn::Drop, "server_error", "API Error: Connection dropped"),
        (Turn::DropInStream, "server_error", "API Error: Connection lost mid-response"),
        (Turn::ErrorInStream, "server_error", "API Error: Server error mid-response"),
    ] {
        with_sandbox(|sandbox| {
            let payloads = record_all(sandbox);
            // The client tries some of them again at once, whatever its number of retries.
            sandbox.api.script(std::iter::repeat_n(answer.clone(), 20));
            let mut session = sandbox.session(&[]);
            let result = session.prompt("Begin");
            assert_eq!(result["is_error"], true, "{answer:?}: {result}");
            let failures = wait_for_stop_failures(sandbox, &payloads, 1);
            session.end();
            assert_eq!(failures.len(), 1, "{answer:?}");
            assert_eq!(failures[0]["error"], error, "{answer:?}");
            let told = failures[0]["last_assistant_message"].as_str().unwrap();
            assert!(told.starts_with(words), "{answer:?}: {told}");
        });
    }
}

#[test]
fn a_subagent_is_scripted_by_its_own_prompt() {
    with_sandbox(|sandbox| {
        let payloads = record_all(sandbox);
        sandbox.api.script([call(agent("Count the sheep")), text("Finished.")]);
        sandbox.api.script_for("Count the sheep", [call(bash("exit 4")), text("Three sheep.")]);

        let run = sandbox.run_print("Begin", &[]);

        assert_eq!(run.result["result"], "Finished.");
        assert_eq!(sandbox.api.requests_for("Count the sheep").len(), 2);
        let main = sandbox.api.requests();
        assert_eq!(main.len(), 2);
        assert!(main[1].new_tool_results()[0].contains("Three sheep."), "{}", main[1].new_text());
        let failures = sandbox.recorded(&payloads, "PostToolUseFailure");
        assert_eq!(failures.len(), 1);
        assert!(failures[0]["agent_id"].is_string());
    });
}

#[test]
fn a_resumed_session_keeps_its_id() {
    with_sandbox(|sandbox| {
        let payloads = record_all(sandbox);
        sandbox.api.script([text("One."), text("Two.")]);
        let first = sandbox.run_print("Begin", &[]);
        let second = sandbox.run_print("Go on", &["--resume", first.session_id()]);
        assert_eq!(second.session_id(), first.session_id());
        let mut sources: Vec<_> = sandbox
            .recorded(&payloads, "SessionStart")
            .iter()
            .map(|payload| payload["source"].as_str().unwrap().to_owned())
            .collect();
        sources.sort();
        assert_eq!(sources, ["resume", "startup"]);
    });
}

#[test]
fn an_interactive_client_takes_prompts_in_its_terminal() {
    with_sandbox(|sandbox| {
        let payloads = record_all(sandbox);
        sandbox.api.script([call(tool("Bash", json!({ "command": "echo seen" }))), text("All quiet here.")]);
        let terminal = sandbox.terminal(&[]);
        terminal.submit("Begin");
        terminal.wait_for_text("All quiet here.");
        wait_until(SOON, "the end of the turn", || !sandbox.recorded(&payloads, "Stop").is_empty());
        assert_eq!(sandbox.recorded(&payloads, "UserPromptSubmit")[0]["prompt"], "Begin");
        wait_until(SOON, "the session to be idle", || sandbox.live_sessions()[0]["status"] == "idle");
        terminal.submit("/exit");
        wait_until(SOON, "the end of the session", || sandbox.live_sessions().is_empty());
    });
}

#[test]
fn a_terminal_that_is_closed_ends_the_session_and_leaves_no_process() {
    with_sandbox(|sandbox| {
        let payloads = record_all(sandbox);
        sandbox.api.script([text("All quiet here.")]);
        let terminal = sandbox.terminal(&[]);
        terminal.submit("Begin");
        terminal.wait_for_text("All quiet here.");
        drop(terminal);
        assert_eq!(sandbox.live_sessions(), Vec::<Value>::new());
        assert_eq!(sandbox.recorded(&payloads, "SessionEnd").len(), 1);
    });
}
