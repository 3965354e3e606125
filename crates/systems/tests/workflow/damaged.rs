//! Damaged, escaping and hostile files: named, never guessed, never a crash, never changed.

use proptest::prelude::*;
use serde_json::{Value, json};
use systems::workflow::{PlanPresence, Readiness};

use crate::project::{CONTEXT, NOW, Project, RUN, documented, runtime, step, warnings};

const HALF: &str = "{\"validation_status\": \"pa";

#[test]
fn a_damaged_gate_is_named_and_skipped() {
    let gates = format!("{CONTEXT}/history/gates/wf");
    for (name, last, contiguous, next) in [
        ("00-planner.json", "2", None, "3"),
        ("01-modeller.json", "2", Some("0"), "3"),
        ("02-builder.json", "1", Some("1"), "2"),
        ("03-tester.json", "2", Some("2"), "3"),
    ] {
        for bytes in [&b""[..], HALF.as_bytes(), b"[]", b"{}", b"\xff\xfe{\0}\0", b"null", b"\0\0\0\0"] {
            let project = documented();
            project.write(&format!("{gates}/{name}"), bytes);
            let before = project.snapshot();
            let state = project.state();
            assert_eq!(project.snapshot(), before);
            assert_eq!(state.damaged, [name], "{bytes:?}");
            assert_eq!(step(state.last_completed_step).as_deref(), Some(last), "{name}");
            assert_eq!(step(state.last_contiguous_step).as_deref(), contiguous, "{name}");
            assert_eq!(step(state.next_step).as_deref(), Some(next), "{name}");
            let below = last == "2" && contiguous != Some("2");
            assert_eq!(warnings(&state).contains(&"passed_above_unread"), below, "{name}");
        }
    }
}

#[test]
fn every_other_damaged_file_is_named_and_the_rest_is_told() {
    let artifacts = format!("{CONTEXT}/artifacts");
    for (path, what) in [
        (format!("{artifacts}/registry-wf.json"), "registry"),
        (format!("{artifacts}/plan-wf-phase-1.json"), "phase plan"),
        (format!("{CONTEXT}/history/reasoning/wf/01-modeller.json"), "reasoning"),
    ] {
        let project = documented();
        project.write(&path, HALF);
        let state = project.state();
        let damaged: Vec<_> = state.damaged_files.iter().map(|file| (file.path.clone(), file.what)).collect();
        assert_eq!(damaged, [(path, what)]);
        assert_eq!(step(state.next_step).as_deref(), Some("3"));
    }
    for (name, what) in
        [("run.json", "run"), ("checkpoint.json", "checkpoint"), ("artifact-registry.json", "registry")]
    {
        let project = runtime();
        project.write(&format!("{RUN}/{name}"), HALF);
        let state = project.state_of("run-1-a");
        assert_eq!((state.damaged.as_slice(), state.damaged_files[0].what), (&[name.to_owned()][..], what));
        assert_eq!(step(state.last_completed_step).as_deref(), Some("0"));
    }
}

#[test]
fn a_run_with_a_damaged_record_keeps_its_registry_and_its_workflow() {
    let project = runtime();
    project.write(&format!("{RUN}/run.json"), HALF);
    for id in ["run-1-a", "small-flow"] {
        let state = project.state_of(id);
        assert_eq!(state.run_id.as_deref(), Some("run-1-a"), "{id}");
        assert_eq!(state.artifacts.len(), 2, "{id}");
        assert_eq!((step(state.next_step).as_deref(), state.damaged.len()), (Some("1"), 1));
    }
    // Of another run by its own words.
    let path = format!("{RUN}/artifact-registry.json");
    project.write(&path, project.text(&path).replace("run-1-a", "run-9-z"));
    assert_eq!(project.state_of("run-1-a").ignored, [path]);
}

#[test]
fn a_damaged_plan_is_made_again_by_the_planner() {
    let project = documented();
    project.write(&format!("{CONTEXT}/artifacts/plan-wf.json"), HALF);
    let state = project.state();
    assert_eq!(state.plan.state, PlanPresence::Damaged);
    assert!(state.plan.remedy.as_ref().unwrap().contains("planner"));
    assert_eq!((state.next.state, step(state.next_step).as_deref()), (Readiness::Blocked, Some("3")));
    assert!(state.damaged.contains(&"plan-wf.json".to_owned()));
    // Another copy is sound: it counts, and the damaged one is still named.
    project
        .json(&format!("{CONTEXT}/artifacts/generated/plan-wf.json"), json!({"steps": [{"step_number": 3}]}));
    let state = project.state();
    assert_eq!(state.plan.state, PlanPresence::Present);
    assert!(state.damaged.contains(&"plan-wf.json".to_owned()));
}

#[test]
fn a_file_cut_off_anywhere_is_survived() {
    let whole = documented();
    for path in [
        ".claude/context/artifacts/plan-wf.json",
        ".claude/context/artifacts/registry-wf.json",
        ".claude/context/artifacts/plan-wf-phase-1.json",
        ".claude/context/history/gates/wf/02-builder.json",
        ".claude/context/history/reasoning/wf/02-builder.json",
    ] {
        let text = whole.text(path);
        for end in (0..text.trim_end().len()).step_by(7) {
            whole.write(path, &text[..end]);
            let state = whole.state();
            assert!(state.damaged_files.iter().any(|file| file.path == path), "{path} {end}");
        }
        whole.write(path, &text);
    }
}

#[test]
fn marks_and_line_ends_are_no_damage() {
    let project = documented();
    for (path, bytes) in project.snapshot() {
        let text = String::from_utf8(bytes).unwrap();
        std::fs::write(path, format!("\u{feff}{}", text.replace('\n', "\r\n"))).unwrap();
    }
    let state = project.state();
    assert!(state.damaged.is_empty(), "{:?}", state.damaged_files);
    assert_eq!(step(state.next_step).as_deref(), Some("3"));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_out_of_the_project() {
    use std::os::unix::fs::symlink;
    let elsewhere = Project::new();
    elsewhere.gates("+0 +1 +2").write("secret.json", "{}");
    let outside = elsewhere.root().join(".claude/context/history/gates/wf");

    let project = Project::new();
    project.gates("+0").registry(&[("far", 0, "far.json", true), ("near", 0, "near.json", true)]);
    project.write("real.json", "{}");
    symlink(elsewhere.root().join("secret.json"), project.root().join("far.json")).unwrap();
    symlink("real.json", project.root().join("near.json")).unwrap();
    let gates = project.root().join(".claude/context/history/gates");
    symlink(outside.join("step-1.json"), gates.join("wf/step-1.json")).unwrap();
    symlink(&outside, gates.join("linked")).unwrap();
    let state = project.state();
    assert_eq!(step(state.last_completed_step).as_deref(), Some("0"));
    assert_eq!(state.damaged, ["step-1.json"]);
    assert_eq!(warnings(&state)[0], "artifact_not_read");
    assert!(state.missing_artifacts.is_empty());
    let linked = project.state_of("linked");
    assert_eq!((linked.last_completed_step, linked.damaged.as_slice()), (None, &["linked".to_owned()][..]));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_stops_nobody() {
    let project = documented();
    let pipe = project.root().join(".claude/context/history/gates/wf/04-porter.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::create_dir(project.root().join(".claude/context/history/gates/wf/05-x.json")).unwrap();
    assert_eq!(project.state().damaged, ["04-porter.json", "05-x.json"]);
}

#[test]
fn no_secret_and_no_control_character_comes_out() {
    let project = documented();
    let nasty = "\u{1b}[31mred\u{1b}[0m \u{202e}key ghp_0123456789abcdefABCDEF0123456789abcd\u{7}\r\nnext";
    let token = "ghp_0123456789abcdef";
    for (path, _) in project.snapshot() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        poison(&mut value, nasty);
        std::fs::write(path, serde_json::to_string(&value).unwrap()).unwrap();
    }
    let gates = format!("{CONTEXT}/history/gates/wf");
    project.json(&format!("{gates}/06-x.json"), json!({"valid": false, "errors": [nasty], "agent": nasty}));
    project.json(
        &format!("{RUN}/run.json"),
        json!({"workflow_id": "wf", "status": nasty, "env": {"K": token}, "inputs": {"prompt": "the quiet word"}}),
    );
    let shown = project.shown("wf").to_string();
    assert!(
        shown.contains("red [") || shown.contains("key [redacted]"),
        "the texts did come through: {shown}"
    );
    for bad in [token, "\\u001b", "\\u0007", "\u{1b}", "\u{202e}", "\\r", "\\n", "the quiet word"] {
        assert!(!shown.contains(bad), "{bad:?} in {shown}");
    }
    let resumed = project.workflows().resume("wf", true, NOW).unwrap();
    let written = project.text(&resumed.path) + &project.text(resumed.logged.as_ref().unwrap());
    for bad in [token, "\\u001b", "\u{202e}", "the quiet word"] {
        assert!(!written.contains(bad), "{bad:?}");
    }
}

/// Puts the text behind every text that is not a word for programs.
fn poison(value: &mut Value, nasty: &str) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| poison(value, nasty)),
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                let fixed = [
                    "workflow_id",
                    "validation_status",
                    "timestamp",
                    "step",
                    "status",
                    "path",
                    "dependencies",
                    "phase_plan_path",
                ];
                if !fixed.contains(&name.as_str()) {
                    poison(value, nasty);
                }
            }
        }
        Value::String(text) => text.push_str(nasty),
        _ => {}
    }
}

#[test]
fn paths_that_leave_the_project_are_named() {
    let project = documented();
    let path = format!("{CONTEXT}/artifacts/plan-wf.json");
    project.write(
        &path,
        project
            .text(&path)
            .replace(".claude/context/artifacts/plan-wf-phase-1.json", "../../../../phase.json"),
    );
    let state = project.state();
    let text = &state.warnings.iter().find(|warning| warning.kind == "phase_plan_missing").unwrap().text;
    assert!(text.contains("leads out"), "{text}");
    assert_eq!(state.phase.unwrap().resume_point.as_deref(), Some("t-2"), "the one beside the plan is read");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "pass|fail|completed|step-1|0.1|\\PC{0,6}".prop_map(Value::from),
    ];
    let name = "steps?|step_number|status|valid|allowed|validation_status|artifacts|artifacts_list|name|path|metadata|\
        dependencies|phases|phase_plan_path|recoveryMetadata|scratchpad|tasks|task_queue|timestamps|updated_at|owners|\
        decisions|decision|agent|errors|last_completed_step";
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_the_files_hold_nothing_breaks_and_nothing_is_written(
        values in prop::collection::vec(any_json(), 8),
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        raw in 0usize..8,
    ) {
        let project = Project::new();
        let paths = [
            ".claude/context/history/gates/wf/00-a.json",
            ".claude/context/history/gates/wf/step-1.json",
            ".claude/context/history/reasoning/wf/00-a.json",
            ".claude/context/artifacts/registry-wf.json",
            ".claude/context/artifacts/plan-wf.json",
            ".claude/context/artifacts/plan-wf-phase-1.json",
            ".claude/context/runtime/runs/wf/run.json",
            ".claude/context/runtime/runs/wf/checkpoint.json",
        ];
        for (path, value) in paths.iter().zip(values) {
            project.json(path, value);
        }
        project.write(paths[raw], bytes);
        let before = project.snapshot();
        let workflows = project.workflows();
        let state = workflows.read("wf", NOW).unwrap();
        let _ = (workflows.list(9, NOW), workflows.export("wf", NOW).unwrap());
        prop_assert_eq!(project.snapshot(), before);
        let text = serde_json::to_string(&state).unwrap();
        prop_assert!(!text.contains("\\u00") && !text.contains("\\n"), "{}", text);
    }
}
