//! Where a workflow stopped.

use serde_json::{Value, json};
use session_state::Now;
use systems::workflow::{Outcome, PlanPresence, Presence, Readiness, Source, Step, Validation};

use crate::project::{CONTEXT, NOW, Project, RUN, documented, runtime, step, warnings};

#[test]
fn the_documented_layout() {
    let project = documented();
    let before = project.snapshot();
    let state = project.state();
    assert_eq!(project.snapshot(), before, "reading changes nothing");

    assert_eq!(step(state.last_completed_step).as_deref(), Some("2"));
    assert_eq!(state.last_completed_source, Some(Source::Gates));
    assert_eq!(step(state.last_contiguous_step).as_deref(), Some("2"));
    assert_eq!(step(state.next_step).as_deref(), Some("3"));
    assert_eq!(state.name.as_deref(), Some("Tide tables"));

    let good: Vec<_> = state
        .artifacts
        .iter()
        .filter(|one| one.validation == Validation::Pass)
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(good, ["outline", "model", "bundle"]);
    assert_eq!(state.missing_artifacts, ["bundle"]);
    assert!(state.damaged.is_empty() && state.gaps.is_empty(), "{:?} {:?}", state.damaged, state.gaps);

    let next = &state.next;
    assert_eq!(
        (next.state, next.name.as_deref(), next.agent.as_deref()),
        (Readiness::Blocked, Some("Judge"), Some("tester"))
    );
    assert_eq!(next.tasks, ["do Judge"]);
    assert_eq!(next.failed_with, ["two suites are red"]);
    assert!(next.dependencies.len() == 1 && next.dependencies[0].done);
    assert_eq!(next.missing.len(), 1);
    assert_eq!(next.missing[0].remedy, "builder makes bundle again");

    assert_eq!(warnings(&state), ["plan_behind_gates"]);
    assert_eq!(state.warnings[0].step, Some(Step::whole(2)));

    let phase = state.phase.as_ref().unwrap();
    assert_eq!(phase.resume_point.as_deref(), Some("t-2"));
    assert_eq!(phase.description.as_deref(), Some("draw the curve"));
    assert_eq!((phase.completed.as_slice(), phase.pending.len()), (&["t-1".to_owned()][..], 2));
    assert_eq!(phase.avoid[0].approach.as_deref(), Some("a spline a minute"));
    assert_eq!(phase.avoid[0].attempts, Some(2));

    let decisions: Vec<_> = state.decisions.iter().map(|one| one.decision.as_str()).collect();
    assert_eq!(decisions, ["choice of planner", "choice of modeller", "choice of builder"]);
    assert_eq!(state.open_questions[0].question, "who owns the clock");
}

#[test]
fn the_layout_of_a_run() {
    let project = runtime();
    for id in ["run-1-a", "small-flow"] {
        let state = project.state_of(id);
        assert_eq!(step(state.last_completed_step).as_deref(), Some("0"), "{id}");
        assert_eq!(step(state.last_contiguous_step).as_deref(), Some("0"));
        assert_eq!(step(state.next_step).as_deref(), Some("1"));
        assert_eq!(state.steps[0].gate, Some(Outcome::Passed));
        assert_eq!(state.steps[1].gate, Some(Outcome::Failed));
        let status: Vec<_> = state.artifacts.iter().map(|one| (one.name.as_str(), one.validation)).collect();
        assert_eq!(status, [("outline.json", Validation::Pass), ("work.json", Validation::Pending)]);
        assert!(state.missing_artifacts.is_empty());
        let run = state.run.as_ref().unwrap();
        assert_eq!((run.age_s, run.interrupted), (Some(4000), true));
        assert_eq!((state.next.state, state.next.agent.as_deref()), (Readiness::Ready, Some("builder")));
        assert!(state.next.dependencies[0].done && state.next.inputs[0].available);
        assert_eq!(warnings(&state), ["run_interrupted"]);
    }
    assert_eq!(project.state_of("run-1-a").workflow_id.as_deref(), Some("small-flow"));
}

#[test]
fn a_run_is_interrupted_from_the_first_second_beyond_thirty_minutes() {
    let project = runtime();
    let last = 1_772_448_800;
    for (age, interrupted) in [(1799, false), (1800, false), (1801, true), (-60, false)] {
        let state = project.workflows().read("run-1-a", Now((last + age) * 1000)).unwrap();
        assert_eq!(state.is_interrupted(), interrupted, "{age}");
    }
}

#[test]
fn last_contiguous_and_next_by_numbers() {
    for (gates, plan, last, contiguous, next) in [
        // without a plan
        ("", &[][..], None, None, None),
        ("+0", &[], Some("0"), Some("0"), Some("1")),
        ("-0", &[], None, None, Some("0")),
        ("+1", &[], Some("1"), Some("1"), Some("2")),
        ("+2", &[], Some("2"), None, Some("3")),
        ("+0 +2", &[], Some("2"), Some("0"), Some("3")),
        ("+1 +2 +9 +10 -11", &[], Some("10"), Some("2"), Some("11")),
        ("+1 +2 -3 +4", &[], Some("4"), Some("2"), Some("5")),
        ("+0 +0.1 +0.2 +1", &[], Some("1"), Some("1"), Some("2")),
        ("+0 -0.1 +1", &[], Some("1"), Some("0"), Some("2")),
        ("+0 +0.1 -0.2", &[], Some("0.1"), Some("0.1"), Some("0.2")),
        ("+0.1", &[], Some("0.1"), Some("0.1"), Some("1")),
        ("+0 +2.5", &[], Some("2.5"), Some("0"), Some("3")),
        ("+1 +1.9 +1.10", &[], Some("1.10"), Some("1.10"), Some("2")),
        ("+9 +10", &[], Some("10"), None, Some("11")),
        ("+0 -7", &[], Some("0"), Some("0"), Some("1")),
        // with one
        ("", &["0", "1"], None, None, Some("0")),
        ("+0", &["0", "1"], Some("0"), Some("0"), Some("1")),
        ("+0 +1", &["0", "1"], Some("1"), Some("1"), None),
        ("+0 +5", &["0", "5", "10"], Some("5"), Some("5"), Some("10")),
        ("+0 -1 +2", &["0", "1", "2"], Some("2"), Some("0"), Some("1")),
        ("+0 +2", &["0", "1", "2", "3"], Some("2"), Some("0"), Some("3")),
        ("+0", &["0", "0.1", "1"], Some("0"), Some("0"), Some("0.1")),
        ("+0 +0.1", &["0", "0.1", "1"], Some("0.1"), Some("0.1"), Some("1")),
        ("+2", &["2", "10"], Some("2"), Some("2"), Some("10")),
    ] {
        let project = Project::new();
        project.gates(gates).write(&format!("{CONTEXT}/history/gates/wf/.gitkeep"), "");
        if !plan.is_empty() {
            project.plan(plan);
        }
        let state = project.state();
        let found =
            (step(state.last_completed_step), step(state.last_contiguous_step), step(state.next_step));
        let expected = (last, contiguous, next);
        assert_eq!(
            (found.0.as_deref(), found.1.as_deref(), found.2.as_deref()),
            expected,
            "{gates} {plan:?}"
        );
    }
}

#[test]
fn gaps_are_told_as_ranges() {
    let gaps = |project: &Project| project.shown("wf")["gaps"].clone();
    let project = Project::new();
    project.gates("+1 +2 +9 +10 -11");
    project.json(&format!("{CONTEXT}/history/reasoning/wf/step-9.json"), json!({"decision": "keep it"}));
    assert_eq!(
        gaps(&project),
        json!([
            {"kind": "gate", "from": 3, "to": 8},
            {"kind": "reasoning", "from": 1, "to": 2},
            {"kind": "reasoning", "from": 10, "to": 10},
        ])
    );
    let state = project.state();
    assert_eq!(warnings(&state), ["passed_above_missing"]);
    assert!(state.warnings[0].text.contains("3-8"), "{}", state.warnings[0].text);

    // What the plan does not list is no gap.
    let project = Project::new();
    project.gates("+0 +5 +10").plan(&["0", "5", "7", "10", "12"]);
    assert_eq!(gaps(&project)[0], json!({"kind": "gate", "from": 7, "to": 7}));

    // A huge number is one range, not a list.
    let project = Project::new();
    project.gates("+0 +99999");
    assert_eq!(gaps(&project)[0], json!({"kind": "gate", "from": 1, "to": 99998}));
}

#[test]
fn a_pass_above_a_failure_is_told() {
    let project = Project::new();
    project.gates("+0 -1 +2").plan(&["0", "1", "2"]);
    let state = project.state();
    assert_eq!(warnings(&state)[0], "passed_above_failed");
    assert_eq!(state.next.state, Readiness::Ready, "step 1 depends on step 0 alone");
}

#[test]
fn complete_only_when_every_step_passed() {
    let project = Project::new();
    project.gates("+0 +1").plan(&["0", "1"]);
    let state = project.state();
    assert_eq!((state.next.state, state.next_step), (Readiness::Complete, None));
    project.gates("-1");
    assert_ne!(project.state().next.state, Readiness::Complete);
    // Without a list of the steps only the run can tell that there are no more.
    let project = runtime();
    let path = format!("{RUN}/run.json");
    let mut run: Value = serde_json::from_str(&project.text(&path)).unwrap();
    run["status"] = "completed".into();
    run["task_queue"] = json!([]);
    project.json(&path, run);
    assert_eq!(step(project.state_of("run-1-a").next_step).as_deref(), Some("1"), "its gate failed");
    project.remove(&format!("{RUN}/gates/step-1.json"));
    assert_eq!(project.state_of("run-1-a").next.state, Readiness::Complete);
}

#[test]
fn what_blocks_a_step() {
    let blocked = |project: &Project| {
        let state = project.state();
        assert_eq!(state.next.state, Readiness::Blocked);
        state.next.missing.iter().map(|missing| (missing.kind, missing.name.clone())).collect::<Vec<_>>()
    };
    // An artifact of the step it depends on.
    let project = Project::new();
    project.gates("+0").plan(&["0", "1"]).registry(&[("a", 0, "a.json", true), ("b", 0, "b.json", true)]);
    project.write("a.json", "{}");
    assert_eq!(blocked(&project), [("artifact", "b".to_owned())]);
    project.write("b.json", "{\"cut");
    assert_eq!(blocked(&project), [("artifact", "b".to_owned())]);
    project.write("b.json", "{}");
    assert_eq!(project.state().next.state, Readiness::Ready);

    // A step that did not pass.
    let project = Project::new();
    project.gates("+0 -1 +2").plan(&["0", "1", "2", "3"]);
    let path = format!("{CONTEXT}/artifacts/plan-wf.json");
    let mut plan: Value = serde_json::from_str(&project.text(&path)).unwrap();
    plan["steps"][3]["dependencies"] = json!(["step-1", 2, "notes"]);
    project.json(&path, plan.clone());
    assert_eq!(blocked(&project), [("step", "step-1".to_owned()), ("artifact", "notes".to_owned())]);

    // What the plan itself says.
    plan["steps"][3]["dependencies"] = json!([]);
    plan["steps"][3]["status"] = "blocked".into();
    project.json(&path, plan.clone());
    assert_eq!(blocked(&project), [("status", "step 3".to_owned())]);
    plan["steps"][3]["status"] = "pending".into();
    for (approval, ready) in [
        ("approved", true),
        ("draft", true),
        ("pending_review", true),
        ("rejected", false),
        ("requires_changes", false),
    ] {
        plan["approval_status"] = json!({"status": approval});
        project.json(&path, plan.clone());
        let state = project.state();
        assert_eq!(state.next.state == Readiness::Ready, ready, "{approval}");
        assert_eq!(warnings(&state).contains(&"plan_not_approved"), approval != "approved", "{approval}");
    }
}

#[test]
fn without_a_plan_the_planner_is_asked_and_the_rest_is_told() {
    let project = documented();
    project.remove(&format!("{CONTEXT}/artifacts/plan-wf.json"));
    let state = project.state();
    assert_eq!(state.plan.state, PlanPresence::Missing);
    let remedy = state.plan.remedy.clone().unwrap();
    assert!(remedy.contains("planner") && remedy.contains("requirements"), "{remedy}");
    assert_eq!(step(state.last_completed_step).as_deref(), Some("2"));
    assert_eq!((step(state.next_step).as_deref(), state.next.agent.as_deref()), (Some("3"), Some("tester")));
    let missing: Vec<_> = state.next.missing.iter().map(|missing| missing.kind).collect();
    assert_eq!(missing, ["plan", "artifact"]);
    assert_eq!(state.missing_artifacts, ["outline", "bundle"], "the plan is an artifact, too");
    assert_eq!(state.decisions.len(), 3);
    assert_eq!(state.phase.unwrap().resume_point.as_deref(), Some("t-2"), "phase plans are found beside it");
}

#[test]
fn without_any_gate_the_records_of_others_are_believed_and_that_is_said() {
    let project = runtime();
    project.remove(&format!("{RUN}/gates/step-0.json")).remove(&format!("{RUN}/gates/step-1.json"));
    let state = project.state_of("run-1-a");
    assert_eq!(
        (state.last_completed_source, step(state.last_completed_step).as_deref()),
        (Some(Source::Run), Some("0"))
    );
    assert!(warnings(&state).contains(&"not_confirmed_by_a_gate"));
    project.json(&format!("{RUN}/checkpoint.json"), json!({"workflow_file": "x", "last_completed_step": 1}));
    let state = project.state_of("run-1-a");
    assert_eq!(
        (state.last_completed_source, step(state.last_completed_step).as_deref()),
        (Some(Source::Checkpoint), Some("1"))
    );

    let project = documented();
    for name in ["00-planner", "01-modeller", "02-builder", "03-tester"] {
        project.remove(&format!("{CONTEXT}/history/gates/wf/{name}.json"));
    }
    let state = project.state();
    assert_eq!(
        (state.last_completed_source, step(state.last_completed_step).as_deref()),
        (Some(Source::Plan), Some("1"))
    );
    assert_eq!(step(state.next_step).as_deref(), Some("2"));
}

#[test]
fn gates_count_before_checkpoint_and_plan() {
    let project = runtime();
    project.json(&format!("{RUN}/checkpoint.json"), json!({"last_completed_step": 4}));
    let state = project.state_of("run-1-a");
    assert_eq!(
        (step(state.last_completed_step).as_deref(), state.checkpoint_step),
        (Some("0"), Some(Step::whole(4)))
    );
    assert!(warnings(&state).contains(&"checkpoint_disagrees"));

    let project = Project::new();
    project.gates("+0 -1").plan(&["0", "1", "2"]);
    let path = format!("{CONTEXT}/artifacts/plan-wf.json");
    let all = project.text(&path).replace("pending", "completed");
    project.write(&path, all);
    let state = project.state();
    assert_eq!(
        (step(state.last_completed_step).as_deref(), step(state.next_step).as_deref()),
        (Some("0"), Some("1"))
    );
    assert_eq!(warnings(&state), ["plan_ahead_of_gates", "plan_ahead_of_gates"], "a failed gate, and none");
}

#[test]
fn of_several_gates_of_a_step_the_newest_of_each_agent_counts() {
    let gate = |status: &str, agent: Option<&str>, second: u32| json!({"step": 1, "validation_status": status, "agent": agent, "timestamp": format!("2026-03-02T10:00:{second:02}Z")});
    for (gates, outcome, warning) in [
        (vec![gate("fail", Some("a"), 1), gate("pass", Some("a"), 2)], Outcome::Passed, Some("gate_changed")),
        (vec![gate("pass", Some("a"), 1), gate("fail", Some("a"), 2)], Outcome::Failed, Some("gate_changed")),
        (vec![gate("pass", Some("a"), 1), gate("fail", Some("a"), 1)], Outcome::Failed, Some("gate_changed")),
        (
            vec![gate("fail", Some("a"), 1), gate("pass", Some("b"), 2)],
            Outcome::Failed,
            Some("gates_disagree"),
        ),
        (vec![gate("pass", Some("a"), 1), gate("pass", Some("b"), 2)], Outcome::Passed, None),
        (vec![gate("fail", Some("a"), 1), gate("pass", None, 2)], Outcome::Passed, Some("gate_changed")),
        (vec![gate("pass", None, 1), gate("fail", Some("a"), 2)], Outcome::Failed, Some("gate_changed")),
    ] {
        let project = Project::new();
        for (number, gate) in gates.iter().enumerate() {
            project.json(&format!("{CONTEXT}/history/gates/wf/g{number}.json"), gate.clone());
        }
        let state = project.state();
        assert_eq!(state.steps[0].gate, Some(outcome), "{gates:?}");
        assert_eq!(warnings(&state).first().copied(), warning, "{gates:?}");
    }
}

#[test]
fn artifacts_that_cannot_be_used() {
    let project = Project::new();
    project.gates("+0 +1").registry(&[
        ("whole", 0, "whole.json", true),
        ("gone", 0, "gone.md", true),
        ("torn", 1, "torn.json", true),
        ("void", 1, "void.md", true),
        ("away", 1, "../away.json", true),
        ("bad", 1, "nowhere.json", false),
    ]);
    project.write("whole.json", "{}").write("torn.json", "{\"a\":").write("void.md", "");
    let state = project.state();
    let seen: Vec<_> = state.artifacts.iter().map(|one| (one.name.as_str(), one.presence)).collect();
    assert_eq!(
        seen,
        [
            ("whole", Presence::Present),
            ("gone", Presence::Missing),
            ("torn", Presence::Corrupt),
            ("void", Presence::Corrupt),
            ("away", Presence::Outside),
            ("bad", Presence::NotChecked),
        ]
    );
    assert_eq!(state.missing_artifacts, ["gone"]);
    assert_eq!(state.damaged, ["torn.json", "void.md"]);
    let remedy =
        |name: &str| state.artifacts.iter().find(|one| one.name == name).unwrap().remedy.clone().unwrap();
    assert_eq!(remedy("gone"), "maker-of-gone makes gone again");
    assert_eq!(remedy("torn"), "maker-of-torn makes torn again, with validation");
    assert_eq!(warnings(&state), ["artifact_not_read"]);
}

#[test]
fn a_smaller_text_than_recorded_is_told_but_json_that_parses_is_whole() {
    let project = Project::new();
    let entry = |name: &str, size: u64| json!({"name": name, "step": 0, "path": name, "validation_status": "pass", "size": size});
    project.json(
        &format!("{CONTEXT}/artifacts/registry-wf.json"),
        json!({"artifacts": [entry("less.md", 5), entry("same.md", 4), entry("more.md", 3), entry("less.json", 99)]}),
    );
    project
        .write("less.md", "four")
        .write("same.md", "four")
        .write("more.md", "four")
        .write("less.json", "{}");
    let state = project.state();
    assert_eq!(warnings(&state), ["artifact_size"]);
    assert!(state.warnings[0].text.contains("less.md"));
    assert!(state.artifacts.iter().all(|one| one.presence == Presence::Present));
}

#[test]
fn a_resume_point_that_is_done_is_not_repeated() {
    let project = documented();
    let path = format!("{CONTEXT}/artifacts/plan-wf-phase-1.json");
    let mut plan: Value = serde_json::from_str(&project.text(&path)).unwrap();
    plan["tasks"][1]["status"] = "completed".into();
    project.json(&path, plan.clone());
    let state = project.state();
    assert_eq!(state.phase.as_ref().unwrap().resume_point.as_deref(), Some("t-3"));
    assert!(warnings(&state).contains(&"resume_point_done"));
    plan["recoveryMetadata"]["canResume"] = false.into();
    project.json(&path, plan);
    assert!(warnings(&project.state()).contains(&"cannot_resume"));
}

#[test]
fn the_phase_the_plan_calls_current_counts() {
    let project = documented();
    for (number, status) in [(2, "in_progress"), (10, "pending")] {
        project.json(
            &format!("{CONTEXT}/artifacts/plan-wf-phase-{number}.json"),
            json!({"metadata": {"phaseId": format!("phase-{number}")}, "statusTracking": {"overallStatus": status},
                "recoveryMetadata": {"resumePoint": format!("u-{number}")}}),
        );
    }
    let point = |project: &Project| project.state().phase.unwrap().resume_point;
    assert_eq!(point(&project).as_deref(), Some("t-2"));
    let path = format!("{CONTEXT}/artifacts/plan-wf.json");
    project.write(
        &path,
        project.text(&path).replace("\"current_phase\": \"phase-1\"", "\"current_phase\": \"phase-10\""),
    );
    assert_eq!(point(&project).as_deref(), Some("u-10"));
}

#[test]
fn decisions_are_in_the_order_of_the_steps() {
    let project = Project::new();
    project.gates("+0");
    for number in ["10", "2", "0.1", "0"] {
        project.json(
            &format!("{CONTEXT}/history/reasoning/wf/step-{number}.json"),
            json!({"decisions": [number]}),
        );
    }
    let decisions: Vec<_> = project.state().decisions.into_iter().map(|one| one.decision).collect();
    assert_eq!(decisions, ["0", "0.1", "2", "10"]);
}

#[test]
fn times_in_every_form() {
    let project = runtime();
    let path = format!("{RUN}/run.json");
    for (time, age) in [
        (json!("2026-03-02T11:00:00Z"), Some(3600)),
        (json!("2026-03-02T12:00:00.500+01:00"), Some(3600)),
        (json!(1_772_449_200), Some(3600)),
        (json!("1772449200000"), Some(3600)),
        (json!("2030-01-01T00:00:00Z"), Some(0)),
        (json!("lately"), None),
    ] {
        let mut run: Value = serde_json::from_str(&project.text(&path)).unwrap();
        run["updated_at"] = time.clone();
        run["timestamps"] = json!({});
        project.json(&path, run);
        let state = project.workflows().read("run-1-a", NOW).unwrap();
        assert_eq!(state.run.unwrap().age_s, age, "{time}");
    }
}

#[test]
fn what_the_run_left_out_is_neither_a_gap_nor_next() {
    let project = runtime();
    let path = format!("{RUN}/run.json");
    let mut run: Value = serde_json::from_str(&project.text(&path)).unwrap();
    let task =
        |step: u32, status: &str| json!({"task_id": format!("t{step}"), "step": step, "status": status});
    run["task_queue"] = json!([
        task(0, "completed"),
        task(1, "skipped"),
        task(2, "completed"),
        task(3, "skipped"),
        task(4, "pending")
    ]);
    project.json(&path, run.clone());
    project.remove(&format!("{RUN}/gates/step-1.json"));
    project.json(&format!("{RUN}/gates/step-2.json"), json!({"valid": true}));
    let state = project.state_of("run-1-a");
    assert_eq!(step(state.last_contiguous_step).as_deref(), Some("2"));
    assert_eq!(
        (step(state.last_completed_step).as_deref(), step(state.next_step).as_deref()),
        (Some("2"), Some("4"))
    );
    assert!(!warnings(&state).contains(&"passed_above_missing"));
    // A gate says more than the queue.
    project.json(&format!("{RUN}/gates/step-1.json"), json!({"valid": false}));
    assert_eq!(step(project.state_of("run-1-a").last_contiguous_step).as_deref(), Some("0"));
    // Of several tasks of a step all have to be done.
    for name in ["step-0.json", "step-1.json", "step-2.json"] {
        project.remove(&format!("{RUN}/gates/{name}"));
    }
    run["task_queue"] = json!([task(0, "completed"), task(1, "completed"), task(1, "pending")]);
    project.json(&path, run);
    let state = project.state_of("run-1-a");
    assert_eq!(
        (step(state.last_completed_step).as_deref(), step(state.next_step).as_deref()),
        (Some("0"), Some("1"))
    );
}
