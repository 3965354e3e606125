use serde_json::{Value, json};

use crate::world::{ME, World, ended_process, living_process, write};

fn record(world: &World, stage: &str, more: &Value) -> Value {
    let mut record = json!({"runKey": "shop-101", "workspace": "shop", "workflowPath": "/f.yaml", "stage": stage,
        "runId": "r-1", "workflowName": "Nightly build", "startedAt": world.iso(3_600),
        "originalRepoPath": world.project()});
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

fn run(world: &World, stage: &str, record: &Value) {
    write(&file(world, stage), &record.to_string());
}

fn file(world: &World, stage: &str) -> std::path::PathBuf {
    world.home().join(format!(".workflow-mcp/workspaces/shop/{stage}/shop-101/run.json"))
}

fn age(world: &World, stage: &str, seconds: u64) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
    std::fs::File::open(file(world, stage)).unwrap().set_modified(then).unwrap();
}

#[test]
fn a_run_whose_process_is_gone_is_told_and_not_again_when_the_engine_notices() {
    let world = World::new();
    run(&world, "running", &record(&world, "running", &json!({"pid": ended_process().pid})));
    let said = world.start(ME).unwrap();
    assert!(
        said.starts_with("[CRASH RECOVERY] run shop-101 of \"Nightly build\" is recorded as running and its process is gone")
            && said.ends_with("`recovery run judge shop-101` says what to do about it."),
        "{said}"
    );
    std::fs::remove_file(file(&world, "running")).unwrap();
    run(&world, "error", &record(&world, "error", &json!({"outcome": "interrupted"})));
    assert_eq!(world.start("next"), None);
    run(&world, "error", &record(&world, "error", &json!({"outcome": "interrupted", "runId": "r-2"})));
    assert!(world.start("later").unwrap().contains("was interrupted"), "another run with this key");
}

#[test]
fn what_lives_failed_or_belongs_elsewhere_is_not_told() {
    let gone = ended_process().pid;
    for (stage, more) in [
        ("running", json!({"pid": living_process().pid})),
        ("running", json!({})),
        ("running", json!({"pid": gone, "originalRepoPath": "/elsewhere"})),
        ("running", json!({"pid": gone, "dryRun": true})),
        ("running", json!({"pid": gone, "stage": "completed"})),
        ("running", json!({"pid": gone, "claimId": "c-1"})),
        ("error", json!({"outcome": "failed"})),
        ("error", json!({"outcome": "interrupted", "runKey": "other"})),
    ] {
        let world = World::new();
        run(&world, stage, &record(&world, stage, &more));
        assert_eq!(world.start(ME), None, "{stage} {more}");
    }
}

#[test]
fn for_a_day() {
    for (age_s, told) in [(86_340, true), (86_460, false)] {
        let world = World::new();
        run(&world, "error", &record(&world, "error", &json!({"outcome": "interrupted"})));
        age(&world, "error", age_s);
        assert_eq!(world.start(ME).is_some(), told, "{age_s}");
    }
}

#[test]
fn one_that_somebody_recovers_is_not_told() {
    let world = World::new();
    run(&world, "error", &record(&world, "error", &json!({"outcome": "interrupted"})));
    write(&file(&world, "error").with_file_name("recovery-claim.json"), "{}");
    assert_eq!(world.start(ME), None);
}

#[test]
fn damaged_and_linked_records_are_passed_over() {
    let world = World::new();
    write(&file(&world, "error"), "{\"runKey\": ");
    assert_eq!(world.start(ME), None);
    let target = world.home().join("record.json");
    write(&target, &record(&world, "error", &json!({"outcome": "interrupted"})).to_string());
    std::fs::remove_file(file(&world, "error")).unwrap();
    std::os::unix::fs::symlink(&target, file(&world, "error")).unwrap();
    assert_eq!(world.start(ME), None);
}
