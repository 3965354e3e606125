//! A place that is not as it should be: huge files, trees that cannot be written, a pipe that is never closed.

#![allow(missing_docs, clippy::expect_used, reason = "everything here is a test")]

use std::io::Write as _;
use std::time::Duration;

use end_to_end::hook_project::{HookProject, SESSION};
use end_to_end::wait::try_wait_for;
use serde_json::json;

const GIGABYTE: u64 = 1 << 30;

/// Far above what any call takes, so that only one that hangs meets it.
const GENEROUS: Duration = Duration::from_secs(30);

#[test]
fn files_of_a_gigabyte_are_not_read_whole() {
    for name in [
        &*format!("sessions/{SESSION}/journal.jsonl"),
        &*format!("sessions/{SESSION}/session.json"),
        &*format!("sessions/{SESSION}/failure-tracker.json"),
        "sessions/theirs/ralph.json",
        ".working-state/fallback-tools.md",
        ".working-state/current-plan.md",
        ".claims/a.lock",
        ".claude/recovery.json",
        "none/t.jsonl",
    ] {
        let project = HookProject::new();
        project.write(name, "");
        let file = std::fs::File::options().write(true).open(project.root.join(name)).expect("it is there");
        file.set_len(GIGABYTE).expect("a sparse file can be made");
        for (event, own) in [
            ("SessionStart", json!({"source": "startup"})),
            ("UserPromptSubmit", json!({"prompt": "go"})),
            (
                "StopFailure",
                json!({"error": "rate_limit", "last_assistant_message": "You've hit your 5-hour limit"}),
            ),
            ("SessionEnd", json!({"reason": "other"})),
        ] {
            let answer = limited(&project, &project.payload(event, &own));
            assert!(answer, "{name}, {event}: more than 512 MiB of memory or an error");
        }
        for id in ["toolu_1", "toolu_2"] {
            assert!(limited(&project, &project.mcp_failure(id)), "{name}: a failure");
        }
        let left = std::fs::metadata(project.root.join(name)).map(|found| found.len());
        assert!(
            left.is_ok_and(|size| size >= GIGABYTE) || name.ends_with(".json") && !name.contains("theirs"),
            "{name}"
        );
    }
}

/// Runs a call that may use half of such a file's size as memory; whether it ended well.
fn limited(project: &HookProject, payload: &[u8]) -> bool {
    let mut command = project.command_of(std::path::Path::new("/bin/sh"));
    command
        .args(["-c", "ulimit -v 524288; exec \"$0\""])
        .arg(end_to_end::wiring::program_folder().join("recovery-hooks"));
    let answer = end_to_end::hook_project::finish(end_to_end::hook_project::start(&mut command), payload);
    answer.code == Some(0) && answer.stderr.is_empty()
}

#[test]
fn a_tree_that_cannot_be_written_is_silence() {
    let project = HookProject::new();
    // Even root cannot make a folder where a file is.
    for in_the_way in ["sessions", "logs"] {
        project.write(in_the_way, "theirs");
    }
    for (event, own) in
        [("SessionStart", json!({"source": "startup"})), ("SessionEnd", json!({"reason": "other"}))]
    {
        assert_eq!(project.run("recovery-hooks", &project.payload(event, &own)).code, Some(0));
    }
    for id in ["toolu_1", "toolu_2"] {
        let answer = project.run("recovery-hooks", &project.mcp_failure(id));
        assert_eq!((answer.code, answer.stdout.as_str(), answer.stderr.as_str()), (Some(0), "", ""));
    }
    for in_the_way in ["sessions", "logs"] {
        assert_eq!(std::fs::read_to_string(project.root.join(in_the_way)).expect("it is there"), "theirs");
    }
}

#[test]
fn a_pipe_that_is_never_closed_holds_nobody() {
    let whole = |project: &HookProject| project.mcp_failure("toolu_1");
    for (what, part, speaks) in [("whole", 1.0, true), ("half", 0.5, false), ("nothing", 0.0, false)] {
        let project = HookProject::new();
        let payload = whole(&project);
        let mut child = project.start("recovery-hooks");
        let mut stdin = child.stdin.take().expect("it has one");
        stdin.write_all(&payload[..(payload.len() as f64 * part) as usize]).expect("the pipe takes it");
        let status = try_wait_for(GENEROUS, || child.try_wait().ok().flatten());
        if status.is_none() {
            child.kill().expect("it was started here");
        }
        assert!(status.is_some_and(|status| status.success()), "{what}: it waits for the end of the stream");
        let output = child.wait_with_output().expect("it ended");
        assert_eq!(!output.stdout.is_empty(), speaks, "{what}");
        drop(stdin);
    }
}

#[test]
fn an_answer_nobody_reads_is_no_error() {
    let project = HookProject::new();
    let mut child = project.start("recovery-hooks");
    drop(child.stdout.take());
    let answer = end_to_end::hook_project::finish(child, &project.mcp_failure("toolu_1"));
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
}
