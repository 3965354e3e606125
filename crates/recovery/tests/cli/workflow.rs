//! `recovery workflow`.

use serde_json::{Value, json};

use super::{schema::assert_valid, world::World};

const CONTEXT: &str = ".claude/context";
const PLAN: &str = ".claude/context/artifacts/plan-tides.json";

/// Step 0 and 2 passed, 1 has a gate that was cut off, 3 failed; an artifact is gone.
fn tides() -> World {
    let world = World::new();
    let write = |path: &str, value: Value| {
        world.write(&format!("{CONTEXT}/{path}"), serde_json::to_string_pretty(&value).unwrap());
    };
    for (number, agent, status) in [(0, "planner", "pass"), (2, "builder", "pass"), (3, "tester", "fail")] {
        write(
            &format!("history/gates/tides/0{number}-{agent}.json"),
            json!({"step": number, "agent": agent, "validation_status": status,
                "errors": if status == "fail" { json!(["the curve is late"]) } else { json!([]) },
                "timestamp": "2026-03-02T10:00:00Z"}),
        );
    }
    world.write(&format!("{CONTEXT}/history/gates/tides/01-modeller.json"), "{\"step\": 1, \"valid");
    write(
        "history/reasoning/tides/00-planner.json",
        json!({"step": 0, "agent": "planner", "decisions": [{"decision": "two gauges", "rationale": "one may fail"}],
            "open_questions": ["which harbour"]}),
    );
    write(
        "artifacts/registry-tides.json",
        json!({"artifacts": [
            {"name": "curve", "step": "2", "agent": "builder", "path": "curve.json", "dependencies": [],
                "metadata": {"validation_status": "pass"}}]}),
    );
    let step = |number: u32, name: &str, agent: &str| {
        json!({"step_number": number, "name": name, "agent": agent, "status": "pending",
            "dependencies": if number == 0 { json!([]) } else { json!([format!("step-{}", number - 1)]) }})
    };
    write(
        "artifacts/plan-tides.json",
        json!({"name": "Tide tables", "updated_at": "2026-03-02T09:00:00Z",
            "steps": [step(0, "Outline", "planner"), step(1, "Model", "modeller"), step(2, "Build", "builder"), step(3, "Judge", "tester")],
            "phases": [], "overall_status": {"current_phase": "p1"}}),
    );
    write(
        "artifacts/plan-tides-phase-1.json",
        json!({"metadata": {"phaseId": "p1"}, "tasks": [{"taskId": "t-1", "description": "read the gauge", "status": "pending"}],
            "recoveryMetadata": {"resumePoint": "t-1", "scratchpad": [{"avoidApproach": "polling", "failureReason": "too slow"}]}}),
    );
    write(
        "runtime/runs/run-7-x/run.json",
        json!({"run_id": "run-7-x", "workflow_id": "tides", "status": "in_progress", "current_step": 3}),
    );
    world
}

fn json_of(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_str(&world.succeed(arguments).stdout).unwrap()
}

#[test]
fn show_reads_at_a_glance() {
    let world = tides();
    let before = world.snapshot();
    let said = world.succeed(&["workflow", "show", "tides"]);
    assert_eq!(world.snapshot(), before, "nothing is written");
    insta::assert_snapshot!(said.stdout);
}

#[test]
fn every_answer_is_as_its_schema_says() {
    let world = tides();
    assert_valid("workflow.v1.json", &json_of(&world, &["workflow", "show", "tides", "--json"]));
    assert_valid("workflow-list.v1.json", &json_of(&world, &["workflow", "list", "--json"]));
    assert_valid("workflow-export.v1.json", &json_of(&world, &["workflow", "export", "tides"]));
    let resumed = json_of(&world, &["workflow", "resume", "tides", "--log", "--json"]);
    assert_valid("workflow-recovery-state.v1.json", &resumed);
    let written: Value = serde_json::from_str(&world.read(resumed["path"].as_str().unwrap())).unwrap();
    assert_eq!(written, resumed);
    let marked = json_of(&world, &["workflow", "mark", "tides", "2", "completed", "--json"]);
    assert_valid("workflow-mark.v1.json", &marked);
    // What has a form of its own: a sub-step, a step that no number can tell, nothing at all.
    world.write(&format!("{CONTEXT}/history/gates/odd/00.1-x.json"), r#"{"valid": true}"#);
    world.write(&format!("{CONTEXT}/history/gates/odd/00.10-x.json"), r#"{"valid": true}"#);
    world.write(&format!("{CONTEXT}/history/gates/none/.gitkeep"), "");
    for id in ["odd", "none"] {
        assert_valid("workflow.v1.json", &json_of(&world, &["workflow", "show", id, "--json"]));
    }
}

#[test]
fn resume_prints_checklist_and_prompt_and_writes_one_file() {
    let world = tides();
    let said = world.succeed(&["workflow", "resume", "tides"]);
    insta::assert_snapshot!(said.stdout);
    assert!(world.project.join(".claude/context/artifacts/recovery-state-tides.json").exists());
    assert!(
        !world
            .project
            .join(".claude/context/history/reasoning/tides")
            .read_dir()
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with("recovery-") })
    );
}

#[test]
fn mark_keeps_every_other_byte() {
    let world = tides();
    let before = world.read(PLAN);
    let said = world.succeed(&["workflow", "mark", "tides", "0", "completed"]);
    assert_eq!(said.stdout, format!("step 0 is now completed in {PLAN}\n"));
    assert_eq!(said.stderr, "");
    let after = world.read(PLAN);
    let changed: Vec<_> =
        before.lines().zip(after.lines()).filter(|(before, after)| before != after).collect();
    assert_eq!(before.lines().count(), after.lines().count());
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed[0].1.contains("\"completed\"") && changed[1].1.contains("updated_at"));
    let said = world.succeed(&["workflow", "mark", "tides", "3", "completed"]);
    assert_eq!(said.stderr, "note: the gate of step 3 says failed: gates count\n");
}

#[test]
fn list_and_export() {
    let world = tides();
    let said = world.succeed(&["workflow", "list"]);
    assert!(
        said.stdout.starts_with("tides  done up to 2, next 3 tester (blocked), in progress, 1 damaged"),
        "{}",
        said.stdout
    );
    let said = world.succeed(&["workflow", "export", "tides", "--output", "out.json"]);
    assert!(said.stdout.contains("[PROJECT]/out.json"), "{}", said.stdout);
    let again = world.run(&["workflow", "export", "tides", "--output", "out.json"]);
    assert_eq!(again.code, Some(1), "a file is never overwritten");
    let said = World::new().succeed(&["workflow", "list"]);
    assert_eq!(said.stdout, "no workflow is kept below .claude/context\n");
}

#[test]
fn from_a_folder_below_and_from_elsewhere() {
    let world = tides();
    world.write("src/deep/x", "");
    let below = world
        .command(&["workflow", "show", "tides"])
        .current_dir(world.project.join("src/deep"))
        .output()
        .unwrap();
    assert_eq!(below.status.code(), Some(0), "{}", String::from_utf8_lossy(&below.stderr));
    let project = world.project.to_str().unwrap().to_owned();
    let elsewhere = world
        .command(&["workflow", "show", "tides", "--project", &project])
        .current_dir(&world.home)
        .output()
        .unwrap();
    assert_eq!((elsewhere.status.code(), elsewhere.stdout), (Some(0), below.stdout));
}

#[test]
fn what_cannot_be_done_says_what_to_do() {
    let world = tides();
    for (arguments, code, hint) in [
        (&["show", "none"][..], 1, "hint: there are: tides\n"),
        (&["show", "../tides"], 1, "hint: `recovery workflow list` shows the ids\n"),
        (&["mark", "tides", "9", "completed"], 1, "hint: its steps are 0-3\n"),
        (
            &["mark", "tides", "first", "completed"],
            2,
            "hint: give a number such as 3, or 0.1 for a sub-step\n",
        ),
        (&["mark", "tides", "1", "done"], 2, "hint: give one of: pending, in_progress, completed, blocked\n"),
        (&["show"], 2, ""),
    ] {
        let said = world.run(&[&["workflow"], arguments].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(code), ""), "{arguments:?}");
        assert!(said.stderr.contains(hint), "{arguments:?}: {}", said.stderr);
    }
    world.write(".claude/context/artifacts/recovery-state-tides.json", "mine");
    let said = world.run(&["workflow", "resume", "tides"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.contains("left as it is") && said.stderr.contains("hint: move it away"),
        "{}",
        said.stderr
    );
    assert_eq!(world.read(".claude/context/artifacts/recovery-state-tides.json"), "mine");
}
