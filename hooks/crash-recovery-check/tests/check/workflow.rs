use serde_json::{Value, json};

use crate::world::{ME, World};

const RUNS: &str = ".claude/context/runtime/runs";
const MINUTE: i64 = 60;

fn record(world: &World, status: &str, silent_s: i64) -> Value {
    json!({"run_id": "run-1-a", "workflow_id": "small-flow", "status": status, "current_step": 1,
        "updated_at": world.iso(silent_s)})
}

fn run(world: &World, folder: &str, name: &str, record: &Value) {
    world.write(&format!("{folder}/{name}/run.json"), &record.to_string());
}

#[test]
fn a_silent_run_is_told_once_until_it_went_on() {
    let mut world = World::new();
    run(&world, RUNS, "run-1-a", &record(&world, "in_progress", 70 * MINUTE));
    let said = world.start(ME).unwrap();
    assert_eq!(
        said,
        "[CRASH RECOVERY] workflow \"small-flow\" (run run-1-a) was in_progress at step 1 and has been silent for 1h; \
         `recovery workflow show run-1-a` says where it stopped."
    );
    assert_eq!(world.prompt(ME), None);
    world.restart_client();
    assert_eq!(world.event(ME, "SessionStart", &json!({"source": "resume"})), None, "told before");
    assert_eq!(world.start("next"), None, "told to another session");
    run(&world, RUNS, "run-1-a", &record(&world, "in_progress", 60 * MINUTE));
    assert!(world.start("later").is_some(), "it went on and was cut off again");
    let log = world.read("logs/error-recovery.log");
    assert!(log.lines().any(|line| line.contains("workflow") && line.contains("told")), "{log}");
}

#[test]
fn one_that_goes_on_ended_or_is_history_is_not_told() {
    for (status, silent_s) in [
        ("in_progress", 29 * MINUTE),
        ("paused", 70 * MINUTE),
        ("completed", 70 * MINUTE),
        ("in_progress", 14 * 86_400 + MINUTE),
    ] {
        let world = World::new();
        run(&world, RUNS, "run-1-a", &record(&world, status, silent_s));
        assert_eq!(world.start(ME), None, "{status} {silent_s}");
    }
}

#[test]
fn the_newest_records_of_both_places_are_read() {
    let world = World::new();
    run(&world, ".claude/context/runs", "run-1-a", &record(&world, "running", 90 * MINUTE));
    world.age(".claude/context/runs/run-1-a/run.json", 5_400);
    run(&world, RUNS, "run-2-b", &record(&world, "completed", MINUTE));
    assert!(world.start(ME).unwrap().contains("run-1-a"));
}

#[test]
fn a_record_of_long_ago_is_not_opened() {
    let world = World::new();
    run(&world, RUNS, "run-1-a", &record(&world, "in_progress", 70 * MINUTE));
    world.age(&format!("{RUNS}/run-1-a/run.json"), 14 * 86_400 + 60);
    assert_eq!(world.start(ME), None);
}

#[test]
fn damaged_huge_foreign_and_linked_things_are_passed_over() {
    let world = World::new();
    world.write(&format!("{RUNS}/run-1-a/run.json"), "{\"status\": \"in_progress\", ");
    world.write(&format!("{RUNS}/run-2-a/run.json"), "[1]");
    let mut large = record(&world, "in_progress", 70 * MINUTE);
    large["note"] = json!("x".repeat(70_000));
    run(&world, RUNS, "run-3-a", &large);
    run(&world, "elsewhere", "run-4-a", &record(&world, "in_progress", 70 * MINUTE));
    std::os::unix::fs::symlink(world.path("elsewhere/run-4-a"), world.path(&format!("{RUNS}/run-4-a")))
        .unwrap();
    std::fs::create_dir_all(world.path(&format!("{RUNS}/run-5-a/run.json"))).unwrap();
    run(&world, RUNS, "run 6 `rm`", &record(&world, "in_progress", 70 * MINUTE));
    assert_eq!(world.start(ME), None);
    let world = World::new();
    run(&world, "elsewhere", "run-4-a", &record(&world, "in_progress", 70 * MINUTE));
    std::fs::create_dir_all(world.path(".claude/context")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), world.path(".claude/context/runs")).unwrap();
    assert_eq!(world.start(ME), None, "a linked folder of runs");
}

#[test]
fn of_thousands_the_last_by_name_are_looked_at() {
    let world = World::new();
    for number in 0..3_000 {
        std::fs::create_dir_all(world.path(&format!("{RUNS}/run-{number:04}"))).unwrap();
    }
    run(&world, RUNS, "run-2990", &record(&world, "in_progress", 70 * MINUTE));
    assert!(world.start(ME).unwrap().contains("run-2990"));
}
