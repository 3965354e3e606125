//! A kill or an error at every system call of every writing path: nothing torn, nothing foreign harmed, and the next
//! call works.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "everything here is a test"
)]

use std::path::{Path, PathBuf};

use end_to_end::{
    hook_project::{Answer, HookProject, SESSION, at_once, finish, start},
    wiring::program_folder,
};
use serde_json::{Value, json};

/// The system calls that change something.
const WRITING: &str = "write,pwrite64,openat,mkdirat,renameat,renameat2,unlinkat,fsync,flock,fchmod";

/// Whether strace is there; without it the test is skipped, which under `CI=true` is a failure.
fn has_strace() -> bool {
    let found =
        std::process::Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var("CI").as_deref() != Ok("true"), "strace is missing: install it");
    if !found {
        eprintln!("SKIPPED: strace is missing");
    }
    found
}

/// A project with another program's stale loop, an old claim and a plan.
fn project() -> HookProject {
    let project = HookProject::new();
    project.write(LOOP, LOOP_TEXT);
    project.write(".claims/a.lock", "");
    let old =
        std::fs::File::options().write(true).open(project.root.join(".claims/a.lock")).expect("it is there");
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000))
        .expect("a time can be set");
    project.write(".working-state/current-plan.md", "- [ ] one\n");
    project
}

const LOOP: &str = "sessions/theirs/ralph.json";
const LOOP_TEXT: &str =
    "{\"active\": true, \"iteration\": 7, \"last_checked_at\": \"2024-01-01T00:00:00Z\"}\n";

/// One life: what is called, in order.
fn life(project: &HookProject) -> Vec<Vec<u8>> {
    vec![
        project.payload("SessionStart", &json!({"source": "startup"})),
        project.mcp_failure("toolu_1"),
        project.mcp_failure("toolu_2"),
        project.payload(
            "StopFailure",
            &json!({"error": "rate_limit", "last_assistant_message": "You've hit your 5-hour limit"}),
        ),
        project.payload("SessionEnd", &json!({"reason": "other"})),
    ]
}

/// Runs one call of a life under strace with an injection; the calls before it are undisturbed.
fn disturbed(injection: &str, call: usize) -> (HookProject, Answer) {
    let project = project();
    let payloads = life(&project);
    for payload in &payloads[..call] {
        project.run("recovery-hooks", payload);
    }
    let mut command = project.command_of(Path::new("strace"));
    command.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={WRITING}"),
        "-e",
        &format!("inject={injection}"),
    ]);
    command.arg(program_folder().join("recovery-hooks"));
    let answer = finish(start(&mut command), &payloads[call]);
    (project, answer)
}

/// How many such system calls a call makes.
fn count(call: usize, name: &str) -> usize {
    let project = project();
    let payloads = life(&project);
    for payload in &payloads[..call] {
        project.run("recovery-hooks", payload);
    }
    let log = project.home().join("trace");
    let mut command = project.command_of(Path::new("strace"));
    command.args(["-f", "-qq", "-e", &format!("trace={name}"), "-o"]).arg(&log);
    command.arg(program_folder().join("recovery-hooks"));
    finish(start(&mut command), &payloads[call]);
    std::fs::read_to_string(log)
        .expect("strace wrote it")
        .lines()
        .filter(|line| line.contains(&format!("{name}(")))
        .count()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        if entry.path().is_dir() { files(&entry.path(), found) } else { found.push(entry.path()) }
    }
}

/// Everything that must hold after a disturbed call.
fn nothing_is_harmed(project: &HookProject, answer: &Answer, what: &str) {
    if !answer.stdout.is_empty() {
        assert!(serde_json::from_str::<Value>(&answer.stdout).is_ok(), "{what}: {}", answer.stdout);
    }
    let text = std::fs::read_to_string(project.root.join(LOOP))
        .unwrap_or_else(|_| panic!("{what}: their loop is gone"));
    let mended: Value =
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{what}: their loop is torn: {text}"));
    assert!(text == LOOP_TEXT || mended["active"] == false && mended["iteration"] == 7, "{what}: {text}");
    assert_eq!(
        std::fs::read_to_string(project.root.join(".working-state/current-plan.md")).expect("it is there"),
        "- [ ] one\n",
        "{what}"
    );
    let mut all = Vec::new();
    files(&project.root, &mut all);
    for path in all.iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
        let text = std::fs::read_to_string(path).expect("readable");
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{what}: {} is torn: {text}", path.display());
    }
    if let Some(journal) = project.session_file("journal.jsonl") {
        let whole = journal.rsplit_once('\n').map_or("", |(whole, _)| whole);
        assert!(
            whole.lines().all(|line| line.is_empty() || serde_json::from_str::<Value>(line).is_ok()),
            "{what}: {journal}"
        );
    }
    // The next life of the project works, and counts right.
    for payload in
        [project.payload("SessionStart", &json!({"source": "resume"})), project.mcp_failure("toolu_after")]
    {
        let answer = project.run("recovery-hooks", &payload);
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{what}");
    }
    let journal = project.session_file("journal.jsonl").expect("the journal is there");
    let facts: std::collections::BTreeSet<String> = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|fact| fact["k"] == "fail" && fact["key"] == "mcp:docs")
        .map(|fact| fact["id"].to_string())
        .collect();
    let view = project
        .session_file("mcp-retry-mcp__docs__find.json")
        .unwrap_or_else(|| panic!("{what}: no view of {SESSION}"));
    assert_eq!(
        serde_json::from_str::<Value>(&view).expect("JSON")["attempt"],
        facts.len(),
        "{what}: {journal}"
    );
}

/// Disturbs each call of a life at each of these system calls.
fn everywhere(injection: impl Fn(&str, usize) -> String + Sync, calls: &[&str], stays_alive: bool) {
    let mut points = Vec::new();
    for call in 0..5 {
        for name in calls {
            points.extend((1..=count(call, name)).map(|number| (call, *name, number)));
        }
    }
    assert!(points.len() > 20, "there is something to disturb: {}", points.len());
    at_once(2, points.len(), |job| {
        let (call, name, number) = points[job];
        let injection = injection(name, number);
        let (project, answer) = disturbed(&injection, call);
        if stays_alive {
            assert_eq!(answer.code, Some(0), "call {call}, {injection}: {answer:?}");
        } else {
            assert_ne!(answer.code, Some(0), "call {call}, {injection} did not hit");
        }
        nothing_is_harmed(&project, &answer, &format!("call {call}, {injection}"));
    });
}

#[test]
fn killed_at_every_writing_call() {
    if has_strace() {
        let calls = ["write", "pwrite64", "mkdirat", "renameat", "renameat2", "unlinkat", "flock", "fsync"];
        everywhere(|name, number| format!("{name}:signal=SIGKILL:when={number}"), &calls, false);
    }
}

#[test]
fn an_error_at_every_writing_call() {
    if has_strace() {
        for error in ["ENOSPC", "EIO", "EACCES", "EROFS"] {
            let calls = ["write", "pwrite64", "mkdirat", "renameat", "unlinkat", "fsync"];
            everywhere(|name, number| format!("{name}:error={error}:when={number}"), &calls, true);
        }
    }
}
