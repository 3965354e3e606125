//! Where files lie, and whose they are.

use serde_json::json;
use systems::workflow::WorkflowError;

use crate::project::{CONTEXT, NOW, Project, RUN, documented, runtime, step, warnings};

#[test]
fn gates_in_all_shapes_and_places_are_one_workflow() {
    let project = Project::new();
    project.json(&format!("{CONTEXT}/history/gates/wf/00-a.json"), json!({"validation_status": "pass"}));
    project.json(&format!("{CONTEXT}/history/gates/wf/00.1-b.json"), json!({"valid": true, "step": 0.1}));
    project.json(&format!("{CONTEXT}/registry/wf/gates/1.json"), json!({"valid": true}));
    project.json(
        &format!("{CONTEXT}/registry/wf/gates/2.json"),
        json!({"gate_id": "gate-x", "step": 2, "status": "warning", "allowed": true, "agent": "c"}),
    );
    project.json(&format!("{RUN}/run.json"), json!({"workflow_id": "wf", "status": "in_progress"}));
    project.json(&format!("{RUN}/gates/step-3.json"), json!({"valid": true, "validated_data": {"step": 0}}));
    project.json(
        &format!("{CONTEXT}/runs/run-1-a/gates/step-4.json"),
        json!({"run_id": "run-1-a", "step": 4, "status": "passed"}),
    );
    for id in ["wf", "run-1-a"] {
        let state = project.state_of(id);
        assert_eq!(step(state.last_contiguous_step).as_deref(), Some("4"), "{id} {:?}", state.damaged_files);
        assert_eq!(state.steps.len(), 6);
    }
}

#[test]
fn registries_in_all_places() {
    let project = Project::new();
    let entry = |status: &str| json!({"path": "x.md", "step": 0, "validationStatus": status});
    for (place, name) in [
        ("artifacts/registry-wf.json", "a"),
        ("artifacts/generated/registry-wf.json", "b"),
        ("registry/wf/artifacts.json", "c"),
        ("runtime/runs/run-1-a/artifact-registry.json", "d"),
        ("runs/run-1-a/artifact-registry.json", "e"),
    ] {
        project.json(&format!("{CONTEXT}/{place}"), json!({"artifacts": {name: entry("pass")}}));
    }
    project.json(&format!("{RUN}/run.json"), json!({"workflow_id": "wf"}));
    let state = project.state();
    let mut names: Vec<_> = state.artifacts.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
}

#[test]
fn of_two_registries_the_newer_word_counts() {
    let project = Project::new();
    let with = |status: &str, time: &str| json!({"artifacts": [{"name": "a", "validation_status": status, "updated_at": time}]});
    project.json(&format!("{CONTEXT}/artifacts/registry-wf.json"), with("fail", "2026-03-02T11:00:00Z"));
    project.json(&format!("{CONTEXT}/registry/wf/artifacts.json"), with("pass", "2026-03-02T10:00:00Z"));
    assert!(project.state().missing_artifacts.is_empty());
    project.json(&format!("{CONTEXT}/registry/wf/artifacts.json"), with("pass", "2026-03-02T11:00:01Z"));
    assert_eq!(project.state().missing_artifacts, ["a"]);
}

#[test]
fn plans_in_all_places() {
    for place in [
        "artifacts/plan-wf.json",
        "artifacts/generated/plan-wf.json",
        "artifacts/plan-run-1-a.json",
        "runtime/runs/run-1-a/plan.json",
    ] {
        let project = Project::new();
        project.json(&format!("{RUN}/run.json"), json!({"workflow_id": "wf"}));
        project
            .json(&format!("{CONTEXT}/{place}"), json!({"steps": [{"step_number": 0, "agent": "planner"}]}));
        for id in ["wf", "run-1-a"] {
            let state = project.state_of(id);
            assert_eq!(state.plan.path.as_deref(), Some(&*format!("{CONTEXT}/{place}")), "{id}");
            assert_eq!(state.next.agent.as_deref(), Some("planner"));
        }
    }
}

#[test]
fn of_several_runs_none_is_guessed() {
    let project = runtime();
    project.json(
        &format!("{CONTEXT}/runtime/runs/run-2-b/run.json"),
        json!({"workflow_id": "small-flow", "status": "completed", "updated_at": "2026-03-02T11:59:00Z"}),
    );
    let newest = project.state_of("small-flow");
    assert_eq!(newest.run_id.as_deref(), Some("run-2-b"));
    assert!(warnings(&newest).contains(&"several_runs"));
    assert_eq!(step(project.state_of("run-1-a").last_completed_step).as_deref(), Some("0"));
    // Files of its own: they belong to nobody knows which run.
    project
        .json(&format!("{CONTEXT}/history/gates/small-flow/05-x.json"), json!({"validation_status": "pass"}));
    let own = project.state_of("small-flow");
    assert_eq!((own.run_id, step(own.last_completed_step).as_deref()), (None, Some("5")));
    assert_eq!(step(project.state_of("run-1-a").last_completed_step).as_deref(), Some("0"));
}

#[test]
fn files_of_others_are_named_and_left_alone() {
    let project = documented();
    let gates = format!("{CONTEXT}/history/gates/wf");
    project.json(
        &format!("{gates}/09-other.json"),
        json!({"workflow_id": "another", "step": 9, "validation_status": "pass"}),
    );
    project.json(&format!("{gates}/summary.json"), json!({"total": 4}));
    project.write(&format!("{gates}/README.md"), "gates");
    for residue in [
        "04-porter.json.12.1772440000.tmp",
        "04-porter.json.tmp",
        "04-porter.json.corrupted.0a1b2c3d",
        ".DS_Store",
    ] {
        project.write(&format!("{gates}/{residue}"), r#"{"validation_status": "pass"}"#);
    }
    project.json(
        &format!("{CONTEXT}/history/reasoning/wf/09-other.json"),
        json!({"workflow_id": "another", "step": 9, "decisions": ["no"]}),
    );
    let state = project.state();
    assert_eq!(step(state.last_completed_step).as_deref(), Some("2"));
    let mut ignored: Vec<_> = state.ignored.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
    ignored.sort_unstable();
    assert_eq!(ignored, ["09-other.json", "09-other.json", "README.md", "summary.json"]);
    assert!(state.damaged.is_empty());
    assert_eq!(state.decisions.len(), 3);

    let path = format!("{CONTEXT}/artifacts/registry-wf.json");
    project
        .write(&path, project.text(&path).replace("\"workflow_id\": \"wf\"", "\"workflow_id\": \"another\""));
    let state = project.state();
    assert!(state.artifacts.is_empty() && state.ignored.contains(&path));
}

#[test]
fn ids_from_outside() {
    let project = documented();
    for id in ["", ".", "..", "../wf", "history/gates", "wf\0", "-\u{1b}[2J", ".hidden"] {
        assert!(matches!(project.workflows().read(id, NOW), Err(WorkflowError::NotAnId(_))), "{id:?}");
    }
    match project.workflows().read("none", NOW) {
        Err(WorkflowError::Unknown { known, .. }) => assert_eq!(known, ["wf"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_list_has_each_once_the_newest_first() {
    let project = documented();
    let run = |name: &str, workflow: &str, time: &str| {
        project.json(
            &format!("{CONTEXT}/runtime/runs/{name}/run.json"),
            json!({"workflow_id": workflow, "status": "in_progress", "updated_at": time}),
        );
    };
    run("run-1-a", "wf", "2099-01-01T00:00:03Z");
    run("run-2-b", "other", "2099-01-01T00:00:02Z");
    run("run-3-c", "../../evil", "2099-01-01T00:00:01Z");
    let ids = |limit: usize| {
        let list = project.workflows().list(limit, NOW);
        (list.workflows.into_iter().map(|one| one.id).collect::<Vec<_>>(), list.left_out)
    };
    assert_eq!(ids(9), (vec!["wf".to_owned(), "run-2-b".to_owned(), "run-3-c".to_owned()], 0));
    assert_eq!(ids(1), (vec!["wf".to_owned()], 2));
    let list = project.workflows().list(1, NOW);
    assert_eq!(
        (list.workflows[0].run_id.as_deref(), step(list.workflows[0].next_step).as_deref()),
        (Some("run-1-a"), Some("3"))
    );
    assert!(Project::new().workflows().list(9, NOW).workflows.is_empty());
}

#[test]
fn a_workflow_with_one_run_is_one_line_and_of_several_runs_each_has_its_own() {
    let project = Project::new();
    project.gates("+0");
    let listed = || -> Vec<String> {
        let mut ids: Vec<String> =
            project.workflows().list(50, NOW).workflows.into_iter().map(|one| one.id).collect();
        ids.sort();
        ids
    };
    let run = |number: usize| {
        let path = format!("{CONTEXT}/runtime/runs/run-{number}/run.json");
        project.json(&path, json!({"workflow_id": "wf", "status": "completed"}));
    };
    assert_eq!(listed(), ["wf"]);
    run(1);
    assert_eq!(listed(), ["wf"]);
    run(2);
    assert_eq!(listed(), ["run-1", "run-2", "wf"]);
}
