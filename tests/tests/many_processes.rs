//! Many hooks at once: nothing lost, nothing said twice, nobody waits.

#![allow(missing_docs, clippy::expect_used, reason = "everything here is a test")]

use end_to_end::hook_project::{Answer, HookProject, at_once};
use serde_json::Value;

fn attempts(project: &HookProject) -> u64 {
    let text = project.session_file("mcp-retry-mcp__docs__find.json").expect("the view is there");
    serde_json::from_str::<Value>(&text).expect("the view is JSON")["attempt"].as_u64().expect("a number")
}

fn count(answers: &[Answer], words: &str) -> usize {
    answers.iter().filter(|answer| answer.context().contains(words)).count()
}

/// Every count from one to five was seen by exactly one process, which told it; the rest kept silent.
fn each_step_was_told_once(answers: &[Answer]) {
    assert!(answers.iter().all(|answer| answer.code == Some(0) && answer.stderr.is_empty()));
    for step in 1..=4 {
        assert_eq!(count(answers, &format!("({step} of 5 in a row)")), 1, "step {step}");
    }
    assert_eq!(count(answers, "[MCP FALLBACK]"), 1);
    assert_eq!(count(answers, "[DEGRADATION]"), 1);
}

fn many(calls: usize, at_a_time: usize, programs: &[&str]) {
    let project = HookProject::new();
    let answers = at_once(at_a_time, calls * programs.len(), |job| {
        let payload = project.mcp_failure(&format!("toolu_{}", job / programs.len()));
        project.run(programs[job % programs.len()], &payload)
    });
    each_step_was_told_once(&answers);
    assert_eq!(attempts(&project), calls as u64);
    assert_eq!(project.session_file("fail-count-mcp__docs__find.txt"), Some(format!("{calls}\n")));
    let journal = project.session_file("journal.jsonl").expect("the journal is there");
    let whole = |line: &str| line.is_empty() || serde_json::from_str::<Value>(line).is_ok();
    assert!(journal.lines().all(whole), "no line is torn");
}

#[test]
fn fifteen_hundred_processes_thirty_two_at_once() {
    many(1_500, 32, &["recovery-hooks"]);
}

#[test]
fn fifteen_hundred_processes_sixty_four_at_once_wired_one_by_one() {
    many(750, 64, &["error-tracker", "tool-degradation"]);
}

/// A repeat is known among the last 512 facts: more than sixty-four processes at once put between two of them.
#[test]
fn two_wirings_at_once_double_nothing() {
    many(500, 64, &["recovery-hooks", "error-tracker", "tool-degradation"]);
}

#[test]
fn nobody_waits_for_a_stopped_holder_of_the_lock() {
    let project = HookProject::new();
    project.run("recovery-hooks", &project.mcp_failure("toolu_first"));
    let lock = project.root.join("sessions").join(end_to_end::hook_project::SESSION).join(".state.lock");
    let held = std::fs::File::open(&lock).expect("the lock file is there");
    fs2::FileExt::lock_exclusive(&held).expect("it is free");
    let answers =
        at_once(16, 60, |job| project.run("recovery-hooks", &project.mcp_failure(&format!("toolu_{job}"))));
    assert_eq!(count(&answers, "[MCP FALLBACK]"), 1, "they spoke while the lock was held");
    assert_eq!(attempts(&project), 1, "and left the views to its holder");
    drop(held);
    project.run("recovery-hooks", &project.mcp_failure("toolu_last"));
    assert_eq!(attempts(&project), 62);
}

#[test]
fn a_third_of_them_killed_leaves_nothing_torn() {
    let project = HookProject::new();
    at_once(32, 600, |job| {
        let mut child = project.start("recovery-hooks");
        let payload = project.mcp_failure(&format!("toolu_{job}"));
        if job % 10 < 3 {
            // At another point each time: before the input, in the middle of the work, at its end.
            use std::io::Write as _;
            if let Some(mut stdin) = child.stdin.take() {
                let _ = stdin.write_all(&payload[..payload.len() * (job % 7) / 6]);
            }
            for _ in 0..(job * 37) % 4_000 {
                std::hint::spin_loop();
            }
            child.kill().expect("it was started here");
            child.wait().expect("it was started here");
        } else {
            end_to_end::hook_project::finish(child, &payload);
        }
    });
    project.run("recovery-hooks", &project.mcp_failure("toolu_last"));
    let journal = project.session_file("journal.jsonl").expect("the journal is there");
    let facts: std::collections::BTreeSet<String> = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|fact| fact["k"] == "fail" && fact["key"] == "mcp:docs")
        .map(|fact| fact["id"].to_string())
        .collect();
    let whole = journal.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    assert_eq!(whole, journal.lines().filter(|line| !line.is_empty()).count(), "no line is torn");
    assert!(facts.len() > 420, "those that were left alone are all in: {}", facts.len());
    assert_eq!(attempts(&project), facts.len() as u64);
}
