//! Whole runs, from their files to the outcome.

use serde_json::json;
use systems::run::judgement::{Outcome, Row};
use systems::run::progress::Status;
use systems::run::record::Stage;

use crate::home::Home;

fn bakery() -> Home {
    let home = Home::new();
    home.add(
        "error",
        "loaf-1",
        json!({"outcome": "failed", "exitCode": 1, "errorMessage": "job bake failed: read ECONNRESET", "activeRepairId": "mend-2"}),
    );
    home.write(
        "error",
        "loaf-1",
        "progress.ndjson",
        r#"{"type":"job","status":"running","job":"knead","at":"2026-03-02T08:00:10Z"}
{"type":"job","status":"completed","job":"knead","at":"2026-03-02T08:10:00Z"}
{"type":"job","status":"running","job":"bake","at":"2026-03-02T08:10:05Z"}
{"type":"step","status":"running","job":"bake","step":"heat","index":1,"total":2,"at":"2026-03-02T08:10:06Z"}
{"type":"step","status":"failed","job":"bake","step":"heat","reason":"read ECONNRESET","at":"2026-03-02T08:59:00Z"}
{"type":"job","status":"failed","job":"bake","reason":"read ECONNRESET","at":"2026-03-02T08:59:01Z"}
{"type":"job","status":"runn"#,
    );
    home.write("error", "loaf-1", "repairs/mend-1/repair.json", "{\"old\": true}");
    home.write("error", "loaf-1", "repairs/mend-2/repair.json", "{\"open\": true}");
    home.write("error", "loaf-1", "repairs/mend-2/issue.md", "The oven went away.\n");
    home.add("error", "loaf-2", json!({}));
    home.add("error", "loaf-3", json!({"outcome": "failed", "failedJob": ""}));
    home.add("error", "loaf-4", json!({"env": {"PI_SESSION_ID": "by-hand"}}));
    home.add("running", "loaf-5", json!({"finishedAt": "absent", "outcome": "absent"}));
    home.add("completed", "loaf-6", json!({"outcome": "success"}));
    home
}

#[test]
fn each_run_has_exactly_one_outcome() {
    let home = bakery();
    let before = home.snapshot();
    for (key, outcome, row) in [
        ("loaf-1", Outcome::Recover, Row::Transient),
        ("loaf-2", Outcome::Recover, Row::Interrupted),
        ("loaf-3", Outcome::Defer, Row::NoFailedJob),
        ("loaf-4", Outcome::ReportOnly, Row::NoJobId),
        ("loaf-5", Outcome::ReportOnly, Row::NotRecoverable),
        ("loaf-6", Outcome::ReportOnly, Row::NotRecoverable),
    ] {
        let judgement = home.judge(key);
        assert_eq!((judgement.outcome, judgement.row), (outcome, row), "{key}: {}", judgement.reason);
        let shown = format!("{judgement:?}");
        for secret in ["warm-and-secret", "order-9", "mayor"] {
            assert!(!shown.contains(secret), "{key} shows {secret}");
        }
    }
    assert_eq!(home.snapshot(), before, "nothing is written");
}

#[test]
fn the_events_are_counted_and_the_torn_one_is_not() {
    let home = bakery();
    let (progress, _) = home.find("loaf-1").progress().unwrap().unwrap();
    assert_eq!((progress.events, progress.skipped_lines), (6, 1));
    assert_eq!((progress.jobs["knead"], progress.jobs["bake"]), (Status::Completed, Status::Failed));
    assert!(home.find("loaf-2").progress().unwrap().is_none());
}

#[test]
fn the_list_reads_what_it_is_asked_for_and_counts_the_rest() {
    let home = bakery();
    let (runs, overview) = home.list(&[Stage::Error, Stage::Running]);
    let keys: Vec<_> = runs.iter().map(|run| run.key.as_str()).collect();
    assert_eq!(keys, ["loaf-5", "loaf-1", "loaf-2", "loaf-3", "loaf-4"]);
    assert_eq!((overview.not_read, overview.problems.len()), (1, 0));
    home.registry().visit(Some("elsewhere"), &Stage::ALL, |run| panic!("{run:?}"));
}

#[test]
fn a_failed_job_is_looked_up_in_the_workflow() {
    let home = Home::new();
    let repository = home.path().join("repository");
    std::fs::create_dir_all(repository.join("flows")).unwrap();
    let flow = repository.join("flows/loaf.yml");
    let paths = json!({"workflowPath": flow, "originalRepoPath": repository});
    home.add("error", "loaf-1", paths.clone());
    assert_eq!(home.judge("loaf-1").row, Row::Incomplete, "the repository is there, the file is not");
    std::fs::write(&flow, "name: loaf\njobs:\n  knead:\n    steps: []\n  bake:\n    steps: []\n").unwrap();
    assert_eq!(home.judge("loaf-1").row, Row::Interrupted);
    std::fs::write(&flow, "name: loaf\njobs:\n  knead:\n    steps: []\n").unwrap();
    let judgement = home.judge("loaf-1");
    assert_eq!((judgement.outcome, judgement.row), (Outcome::LaunchFresh, Row::InvalidTarget));
    home.add(
        "error",
        "loaf-2",
        json!({"workflowPath": flow, "originalRepoPath": repository, "failedJob": ""}),
    );
    let judgement = home.judge("loaf-2");
    assert_eq!((judgement.outcome, judgement.row), (Outcome::LaunchFresh, Row::NoFailedJob), "it is ready");
}

#[test]
fn a_process_that_was_there_before_the_run_ended_is_alive() {
    let home = Home::new();
    let mut sleeper = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let now = session_state::times::rfc3339_utc_s(session_state::Now::read().seconds() + 1);
    home.add("error", "loaf-1", json!({"pid": sleeper.id(), "finishedAt": now}));
    let judgement = home.judge("loaf-1");
    assert_eq!((judgement.outcome, judgement.row), (Outcome::Defer, Row::Alive), "{}", judgement.reason);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert_eq!(home.judge("loaf-1").row, Row::Interrupted);
}

#[test]
fn a_run_that_lies_at_two_stages_is_being_moved() {
    let home = Home::new();
    home.add("error", "loaf-1", json!({}));
    home.add("running", "loaf-1", json!({"outcome": "absent"}));
    let found = home.registry().find("loaf-1", None);
    assert_eq!(found.len(), 2);
    let (_, overview) = home.list(&[Stage::Error]);
    assert!(overview.problems[0].problem.contains("also at stage running"), "{:?}", overview.problems);
    home.add("error", "loaf-2", json!({"stage": "running"}));
    assert_eq!(home.judge("loaf-2").row, Row::Incomplete);
}
