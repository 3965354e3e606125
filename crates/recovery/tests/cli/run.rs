//! `recovery run`.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command},
};

use serde_json::{Value, json};

use crate::schema::assert_valid;
use crate::world::{Said, World, program};

/// A world with a registry of another system's runs in its home.
struct Registry {
    world: World,
}

impl Registry {
    fn new() -> Self {
        let registry = Self { world: World::new() };
        registry.add(
            "error",
            "loaf-1",
            json!({"outcome": "failed", "errorMessage": "job bake failed: read ECONNRESET at oven-code-4711", "activeRepairId": "mend-2"}),
        );
        registry.write("error", "loaf-1", "progress.ndjson", event("failed", "bake"));
        registry.write("error", "loaf-1", "engine.log", "\u{1b}[1mstart\u{1b}[0m\nused oven-code-4711\n");
        registry.write("error", "loaf-1", "repairs/mend-1/repair.json", "{\"of\": \"an earlier cycle\"}");
        registry.write("error", "loaf-1", "repairs/mend-2/repair.json", "{\"state\": \"open\"}");
        registry.write("error", "loaf-1", "repairs/mend-2/issue.md", "The oven went away.\n");
        registry.add("error", "loaf-2", json!({}));
        registry.add("error", "loaf-3", json!({"failedJob": ""}));
        registry.add("error", "loaf-4", json!({"env": {}}));
        registry.add("running", "loaf-5", json!({"finishedAt": null, "outcome": null, "failedJob": null}));
        registry.add("completed", "loaf-6", json!({"outcome": "success", "failedJob": null}));
        registry.write("error", "torn", "run.json", "{\"runKey\": \"to");
        registry
    }

    fn folder(&self, stage: &str, key: &str) -> PathBuf {
        self.world.home.join(".workflow-mcp/workspaces/bakery").join(stage).join(key)
    }

    fn write(&self, stage: &str, key: &str, file: &str, text: impl AsRef<[u8]>) {
        let path = self.folder(stage, key).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A run interrupted in its job `bake`; `change` makes something else of it.
    fn add(&self, stage: &str, key: &str, change: Value) {
        let mut record = json!({
            "runKey": key,
            "workspace": "bakery",
            "workflowPath": "/nowhere/at/all/loaf.yml",
            "originalRepoPath": "/nowhere/at/all",
            "worktreeBranch": "loaf",
            "stage": stage,
            "startedAt": "2026-03-02T08:00:00.000Z",
            "finishedAt": "2026-03-02T09:00:00.000Z",
            "outcome": "interrupted",
            "failedJob": "bake",
            "env": {"AGIFLOW_JOB_ID": "order-9", "OVEN": "oven-code-4711"},
            "prompt": "bake a loaf for the mayor",
        });
        record.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        self.write(stage, key, "run.json", record.to_string());
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let mut all = vec!["run"];
        all.extend(arguments);
        self.world.run(&all)
    }

    fn json(&self, schema: &str, arguments: &[&str]) -> (Option<i32>, Value) {
        let mut all = arguments.to_vec();
        all.push("--json");
        let said = self.run(&all);
        let answer = serde_json::from_str(&said.stdout).unwrap();
        assert_valid(schema, &answer);
        (said.code, answer)
    }
}

fn event(status: &str, job: &str) -> String {
    format!(
        "{{\"type\":\"job\",\"status\":\"{status}\",\"job\":\"{job}\",\"at\":\"2026-03-02T08:59:00Z\"}}\n"
    )
}

/// A process that lives until the test is over.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_pass_reads_at_a_glance() {
    let registry = Registry::new();
    let said = registry.run(&["judge", "--all", "--budget", "1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    insta::assert_snapshot!(said.stdout);
    let said = registry.run(&["judge", "loaf-1"]);
    assert_eq!(said.code, Some(0));
    insta::assert_snapshot!("one_run_in_detail", said.stdout);
}

#[test]
fn every_document_is_what_its_schema_says() {
    let registry = Registry::new();
    let (_, list) = registry.json("run-list.v1", &["list"]);
    let keys: Vec<_> =
        list["runs"].as_array().unwrap().iter().map(|run| run["run_key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["loaf-5", "loaf-1", "loaf-2", "loaf-3", "loaf-4"]);
    assert_eq!(
        (&list["not_read"], &list["problems"][0]["path"]),
        (&json!(1), &json!("bakery/error/torn/run.json"))
    );
    let (_, all) = registry.json("run-list.v1", &["list", "--all"]);
    assert_eq!(all["runs"].as_array().unwrap().len(), 6);

    for (key, outcome, row) in [
        ("loaf-1", "recover", "transient"),
        ("loaf-2", "recover", "interrupted"),
        ("loaf-3", "defer", "no_failed_job"),
        ("loaf-4", "report_only", "no_job_id"),
        ("loaf-5", "report_only", "not_recoverable"),
        ("loaf-6", "report_only", "not_recoverable"),
        ("torn", "report_only", "no_record"),
    ] {
        let (code, judgement) = registry.json("run-judge.v1", &["judge", key]);
        assert_eq!(
            (code, &judgement["outcome"], &judgement["row"]),
            (Some(0), &json!(outcome), &json!(row)),
            "{key}"
        );
    }
    let (_, blocked) = registry.json("run-judge.v1", &["judge", "loaf-2", "--blocked", "loaf-2"]);
    assert_eq!((&blocked["outcome"], &blocked["row"]), (&json!("defer"), &json!("blocked")));
    let (_, pass) = registry.json("run-judge-all.v1", &["judge", "--all", "--budget", "1"]);
    let launches =
        pass["judgements"].as_array().unwrap().iter().filter(|judgement| judgement["outcome"] == "recover");
    assert_eq!((launches.count(), &pass["spent"]), (1, &json!(1)));

    for key in ["loaf-1", "loaf-2", "loaf-6"] {
        registry.json("run-evidence.v1", &["evidence", key]);
    }
    assert_eq!(registry.json("run-verify.v1", &["verify", "loaf-1"]).0, Some(4));
    assert_eq!(registry.json("run-release.v1", &["release", "loaf-1"]).1["result"], "not_claimed");
    assert_eq!(registry.json("run-claim.v1", &["claim", "loaf-1"]).0, Some(0));
    assert_eq!(registry.json("run-claim.v1", &["claim", "loaf-1"]).0, Some(3));
    assert_eq!(registry.json("run-judge.v1", &["judge", "loaf-1"]).0, Some(3));
    assert_eq!(registry.json("run-release.v1", &["release", "loaf-1", "--session", "other"]).0, Some(3));
    // Claimed by the same parent process, as by the same shell.
    assert_eq!(registry.json("run-release.v1", &["release", "loaf-1"]).1["result"], "released");
}

#[test]
fn evidence_and_every_other_verb_keep_secrets_and_write_nothing() {
    let registry = Registry::new();
    let before = registry.world.snapshot();
    let mut all = String::new();
    for arguments in [
        &["list"][..],
        &["list", "--all", "--json"],
        &["evidence", "loaf-1"],
        &["evidence", "loaf-1", "--json"],
        &["evidence", "loaf-6"],
        &["evidence", "loaf-5"],
        &["judge", "--all"],
        &["judge", "loaf-1"],
        &["judge", "torn"],
        &["verify", "loaf-1"],
        &["release", "loaf-1"],
    ] {
        let said = registry.run(arguments);
        all.push_str(&said.stdout);
        all.push_str(&said.stderr);
    }
    for secret in ["oven-code-4711", "order-9", "mayor", "earlier cycle", "--dry-run", "\u{1b}"] {
        assert!(!all.contains(secret), "{secret}");
    }
    assert!(all.contains("--- engine.log ---\nstart\nused [withheld]\n"), "{all}");
    assert!(all.contains("--- repairs/mend-2/issue.md ---\nThe oven went away.\n"), "{all}");
    assert!(all.contains("No durable recovery evidence files are recorded for this run."), "of loaf-6");
    assert_eq!(registry.world.snapshot(), before);
}

#[test]
fn a_claim_changes_no_file_of_the_system() {
    let registry = Registry::new();
    let before = registry.world.snapshot();
    assert_eq!(registry.run(&["claim", "loaf-1"]).code, Some(0));
    let claim = registry.folder("error", "loaf-1").join("recovery-claim.json");
    let mut after = registry.world.snapshot();
    after.retain(|(path, ..)| *path != claim);
    assert_eq!(after, before);
    assert_eq!(registry.run(&["release", "loaf-1"]).code, Some(0));
    assert_eq!(registry.world.snapshot(), before);
}

#[test]
fn of_many_processes_that_claim_at_once_exactly_one_wins() {
    let registry = Registry::new();
    let started: Vec<Child> = (0..20)
        .map(|number| {
            let mut command = registry.world.command(&["run", "claim", "loaf-2", "--session"]);
            command.arg(format!("s-{number}")).stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    let codes: Vec<_> = started.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    let of = |code| codes.iter().filter(|got| **got == Some(code)).count();
    assert_eq!((of(0), of(3)), (1, 19), "{codes:?}");
    assert_eq!(
        fs::read_dir(registry.folder("error", "loaf-2")).unwrap().count(),
        2,
        "the record and the claim"
    );
}

#[test]
fn what_cannot_be_claimed_is_said() {
    let registry = Registry::new();
    for (key, code, text) in [
        ("loaf-5", 1, "is at stage running"),
        ("loaf-6", 1, "is at stage completed"),
        ("torn", 1, "is damaged"),
        ("nothing", 1, "No failed workflow run matches \"nothing\"."),
        ("../error/loaf-1", 1, "is no run key"),
    ] {
        let said = registry.run(&["claim", key]);
        assert_eq!(said.code, Some(code), "{key}: {}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(text), "{key}: {}", said.stderr);
    }
    let said = registry.run(&["claim", "loaf-4"]);
    assert_eq!(said.code, Some(0));
    assert!(said.stderr.contains("the judgement on it is to report only"), "{}", said.stderr);
    let alive = Sleeper::new();
    registry.add("error", "loaf-7", json!({"pid": alive.0.id(), "finishedAt": "2999-01-01T00:00:00Z"}));
    let said = registry.run(&["claim", "loaf-7"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("is still alive"), "{}", said.stderr);
}

#[test]
fn evidence_is_of_ended_runs_only() {
    let registry = Registry::new();
    for (key, code) in [("loaf-1", 0), ("loaf-6", 0), ("loaf-5", 1), ("torn", 1), ("nothing", 1)] {
        let said = registry.run(&["evidence", key]);
        assert_eq!((said.code, said.stdout.is_empty()), (Some(code), code == 1), "{key}: {}", said.stderr);
    }
}

#[test]
fn a_run_caught_in_a_move_is_not_claimed() {
    let registry = Registry::new();
    registry.add("running", "loaf-2", json!({"outcome": null, "finishedAt": null}));
    let said = registry.run(&["claim", "loaf-2"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("the same run key is also at stage running"), "{}", said.stderr);
    assert!(!registry.folder("error", "loaf-2").join("recovery-claim.json").exists());
}

#[test]
fn a_key_in_two_workspaces_needs_its_workspace() {
    let registry = Registry::new();
    let other = registry.world.home.join(".workflow-mcp/workspaces/mill/error/loaf-1");
    fs::create_dir_all(&other).unwrap();
    let record = fs::read_to_string(registry.folder("error", "loaf-1").join("run.json")).unwrap();
    fs::write(other.join("run.json"), record.replace("bakery", "mill")).unwrap();
    let said = registry.run(&["judge", "loaf-1"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("Failed workflow run key \"loaf-1\" exists in more than one workspace."));
    assert!(said.stderr.contains("--workspace: bakery, mill"), "{}", said.stderr);
    assert_eq!(registry.run(&["judge", "loaf-1", "--workspace", "mill"]).code, Some(0));
}

#[test]
fn only_a_living_process_and_a_new_event_confirm_a_recovery() {
    let registry = Registry::new();
    assert_eq!(registry.run(&["claim", "loaf-1"]).code, Some(0));
    assert_eq!(
        registry.json("run-verify.v1", &["verify", "loaf-1"]).1["reason"],
        "it is still in stage error"
    );
    // What the engine does when it takes the run up again: the folder moves, the record is written anew.
    let alive = Sleeper::new();
    fs::rename(registry.folder("error", "loaf-1"), registry.folder("running", "loaf-1")).unwrap();
    let started = json!({"pid": alive.0.id(), "finishedAt": null, "outcome": null});
    registry.add("running", "loaf-1", started);
    let (code, answer) = registry.json("run-verify.v1", &["verify", "loaf-1"]);
    assert_eq!(
        (code, &answer["confirmed"], &answer["new_events"]),
        (Some(4), &json!(false), &json!(0)),
        "{answer}"
    );
    let mut events =
        fs::read_to_string(registry.folder("running", "loaf-1").join("progress.ndjson")).unwrap();
    events.push_str("{\"type\":\"job\",\"stat");
    registry.write("running", "loaf-1", "progress.ndjson", &events);
    assert_eq!(registry.run(&["verify", "loaf-1"]).code, Some(4), "a torn event is none");
    events.push('\n');
    events.push_str(&event("running", "bake"));
    registry.write("running", "loaf-1", "progress.ndjson", &events);
    let (code, answer) = registry.json("run-verify.v1", &["verify", "loaf-1"]);
    assert_eq!(
        (code, &answer["confirmed"], &answer["new_events"]),
        (Some(0), &json!(true), &json!(1)),
        "{answer}"
    );
    let pid = alive.0.id();
    drop(alive);
    let (code, answer) = registry.json("run-verify.v1", &["verify", "loaf-1"]);
    assert_eq!((code, &answer["reason"]), (Some(4), &json!("its process is gone")), "{pid}: {answer}");
    assert_eq!(registry.run(&["release", "loaf-1"]).code, Some(0), "the claim moved with the folder");
}

#[test]
fn without_a_claim_the_start_of_the_process_is_the_measure() {
    let registry = Registry::new();
    let alive = Sleeper::new();
    registry.add("running", "loaf-5", json!({"pid": alive.0.id(), "finishedAt": null, "outcome": null}));
    registry.write("running", "loaf-5", "progress.ndjson", event("running", "bake"));
    let (code, answer) = registry.json("run-verify.v1", &["verify", "loaf-5"]);
    assert_eq!(
        (code, &answer["baseline"]),
        (Some(4), &json!("process_start")),
        "an event of before: {answer}"
    );
    let later = event("running", "bake").replace("2026-03-02T08:59:00Z", "2999-01-01T00:00:00Z");
    registry.write("running", "loaf-5", "progress.ndjson", later);
    assert_eq!(registry.run(&["verify", "loaf-5"]).code, Some(0));
}

#[test]
fn a_window_in_which_something_runs_is_alive() {
    let registry = Registry::new();
    let launcher = json!({"launcher": {"type": "tmux", "sessionName": "oven", "paneId": "%3"}});
    registry.add("error", "loaf-7", launcher);
    let path = registry.world.build().parent().unwrap().join("path");
    for (script, row, window) in [
        ("echo '%3:0:oven:node'", "alive", "tmux oven %3: something runs in it (node)"),
        ("echo '%3:0:oven:bash'", "interrupted", "tmux oven %3: there, at rest (bash)"),
        ("echo '%3:0:other:node'", "interrupted", "tmux oven %3: gone"),
        (
            "echo 'no server running on x' >&2; exit 1",
            "interrupted",
            "tmux oven %3: gone (no tmux server runs)",
        ),
        ("echo 'it broke' >&2; exit 1", "interrupted", "tmux oven %3: not known (tmux says it broke)"),
    ] {
        program(&path.join("tmux"), &format!("#!/bin/sh\n{script}\n"));
        let (_, judgement) = registry.json("run-judge.v1", &["judge", "loaf-7"]);
        assert_eq!(judgement["row"], row, "{script}: {judgement}");
        let facts = judgement["evidence"].as_array().unwrap();
        assert!(facts.contains(&json!({"name": "window", "value": window})), "{script}: {judgement}");
    }
}

#[test]
fn there_may_be_more_runs_than_files_may_be_open() {
    let registry = Registry::new();
    for number in 0..100 {
        registry.add("error", &format!("more-{number}"), json!({}));
    }
    for verb in [&["list", "--json"][..], &["judge", "--all", "--json"]] {
        let line = format!("ulimit -n 40; exec \"$0\" run {}", verb.join(" "));
        let mut shell = registry.world.prepared(std::path::Path::new("/bin/sh"), &["-c", &line]);
        let said = registry.world.said(shell.arg(registry.world.build().join("recovery")).output().unwrap());
        assert_eq!(said.stdout.matches("\"run_key\": \"more-").count(), 100, "{}", said.stderr);
    }
}

#[test]
fn another_home_and_an_empty_one() {
    let registry = Registry::new();
    let elsewhere = registry.world.home.join("elsewhere");
    let list = |home: &std::path::Path| {
        let mut command = registry.world.command(&["run", "list"]);
        registry.world.said(command.env("WORKFLOW_MCP_HOME", home).output().unwrap())
    };
    assert_eq!(list(&elsewhere).stdout, "no runs in [HOME]/elsewhere\n");
    fs::rename(registry.world.home.join(".workflow-mcp"), &elsewhere).unwrap();
    assert!(list(&elsewhere).stdout.starts_with("failed (4)\n"));
    assert!(
        list(std::path::Path::new("../elsewhere")).stdout.starts_with("failed (4)\n"),
        "from the current folder"
    );
    assert!(list(std::path::Path::new("")).stdout.starts_with("no runs in [HOME]/.workflow-mcp"));
}
