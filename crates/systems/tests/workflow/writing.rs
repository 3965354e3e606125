//! The two writes that are asked for by name.

use serde_json::{Value, json};
use session_state::Now;
use systems::workflow::{Answer, CannotMark, RECOVERY_STATE_SCHEMA, Step, StepStatus, WorkflowError};

use crate::project::{CONTEXT, NOW, Project, RUN, documented, runtime};

const DOCUMENT: &str = ".claude/context/artifacts/recovery-state-wf.json";

#[test]
fn resume_writes_one_document_that_reads_as_it_was_written() {
    let project = documented();
    let before = project.snapshot();
    let resumed = project.workflows().resume("wf", false, NOW).unwrap();
    assert_eq!((resumed.path.as_str(), resumed.logged.as_deref()), (DOCUMENT, None));
    let written: Value = serde_json::from_str(&project.text(DOCUMENT)).unwrap();
    assert_eq!(written, serde_json::to_value(&resumed).unwrap());
    assert_eq!(written["schema"], RECOVERY_STATE_SCHEMA);
    assert_eq!(written["state"], project.shown("wf"), "it changes nothing that is read");
    let others: Vec<_> = project
        .snapshot()
        .into_iter()
        .filter(|(path, _)| !path.ends_with("recovery-state-wf.json"))
        .collect();
    assert_eq!(others, before, "one file, and nothing left beside it");
    let first = project.text(DOCUMENT);
    project.workflows().resume("wf", false, NOW).unwrap();
    assert_eq!(project.text(DOCUMENT), first, "twice is once");
}

#[test]
fn the_checklist_says_what_is_true() {
    let answers = |project: &Project, id: &str, log: bool| {
        let resumed = project.workflows().resume(id, log, NOW).unwrap();
        resumed.checklist.iter().map(|point| point.answer).collect::<Vec<_>>()
    };
    use Answer::{No, Partly, Yes};
    let project = documented();
    assert_eq!(answers(&project, "wf", false), [Yes, Yes, Partly, Yes, Partly, Yes, No, No]);
    // All mended.
    project.json(&format!("{CONTEXT}/artifacts/bundle.json"), json!({}));
    project.workflows().mark("wf", Step::whole(2), StepStatus::Completed, NOW).unwrap();
    assert_eq!(answers(&project, "wf", true), [Yes; 8]);

    assert_eq!(answers(&runtime(), "run-1-a", false), [Yes, No, Yes, No, Partly, Yes, Yes, No]);

    let bare = Project::new();
    bare.registry(&[("a", 0, "a.json", true)]);
    assert_eq!(answers(&bare, "wf", false), [No, No, No, Yes, Yes, No, No, No]);

    let gaps = Project::new();
    gaps.gates("+0 +4").plan(&["0", "1", "4", "5"]);
    assert_eq!(answers(&gaps, "wf", false), [Yes, Yes, Yes, No, Partly, Partly, Yes, No]);
}

#[test]
fn the_prompt_hands_on_what_is_known() {
    let resumed = documented().workflows().resume("wf", false, NOW).unwrap();
    for part in [
        "step 3 (Judge) is next, for tester",
        "not to be done again: step 0-2",
        "- builder makes bundle again",
        "- do Judge",
        "- Judge is good",
        "- two suites are red",
        "Resume at task t-2: draw the curve",
        "- a spline a minute (too slow)",
        "- step 1: choice of modeller",
    ] {
        assert!(resumed.prompt.contains(part), "{part} in {}", resumed.prompt);
    }
    let done = Project::new();
    done.gates("+0").plan(&["0"]);
    assert!(done.workflows().resume("wf", false, NOW).unwrap().prompt.contains("complete"));
}

#[test]
fn only_a_document_of_ours_is_replaced() {
    for other in [
        "{}",
        "{\"schema\": \"else\"}",
        "{\"schema\": \"recovery.workflow-recovery-state.v2\"}",
        "{\"schema",
        "",
    ] {
        let project = documented();
        project.write(DOCUMENT, other);
        let before = project.snapshot();
        match project.workflows().resume("wf", false, NOW) {
            Err(WorkflowError::Taken { path, .. }) => assert_eq!(path, DOCUMENT),
            other => panic!("{other:?}"),
        }
        assert_eq!(project.snapshot(), before, "{other}");
    }
}

#[test]
fn the_recovery_is_noted_only_when_asked_for_and_is_no_reasoning() {
    let project = documented();
    let first = project.workflows().resume("wf", true, NOW).unwrap().logged.unwrap();
    let second = project.workflows().resume("wf", true, NOW).unwrap().logged.unwrap();
    assert!(
        first.starts_with(".claude/context/history/reasoning/wf/recovery-") && first != second,
        "{first} {second}"
    );
    let note: Value = serde_json::from_str(&project.text(&first)).unwrap();
    assert_eq!((&note["workflow_id"], &note["next_step"]), (&json!("wf"), &json!(3)));
    let state = project.state();
    assert_eq!(state.decisions.len(), 3);
    assert!(state.ignored.is_empty() && state.damaged.is_empty());

    let project = runtime();
    let logged = project.workflows().resume("run-1-a", true, NOW).unwrap().logged.unwrap();
    assert!(logged.starts_with(&format!("{RUN}/reasoning/")), "{logged}");
}

#[test]
fn marking_changes_the_status_and_the_time_alone() {
    let project = documented();
    let path = format!("{CONTEXT}/artifacts/plan-wf.json");
    let before = project.text(&path);
    let marked = project.workflows().mark("wf", Step::whole(2), StepStatus::Completed, NOW).unwrap();
    assert!(marked.changed && marked.contradicted.is_none());
    let expected = before
        .replace("\"in_progress\",\n      \"step_number\": 2", "\"completed\",\n      \"step_number\": 2")
        .replace("2026-03-02T09:55:00Z", "2026-03-02T12:00:00Z");
    assert_ne!(before, expected);
    assert_eq!(project.text(&path), expected);
    let again =
        project.workflows().mark("wf", Step::whole(2), StepStatus::Completed, Now(NOW.0 + 60_000)).unwrap();
    assert!(!again.changed);
    assert_eq!(project.text(&path), expected, "it says so already");
}

#[test]
fn marking_against_the_gates_is_done_and_told() {
    let project = documented();
    let mark = |step: u32, status| {
        project.workflows().mark("wf", Step::whole(step), status, NOW).unwrap().contradicted
    };
    assert!(mark(3, StepStatus::Completed).unwrap().contains("failed"));
    assert!(mark(4, StepStatus::Completed).unwrap().contains("no gate"));
    assert!(mark(1, StepStatus::Pending).unwrap().contains("passed"));
    assert_eq!(mark(3, StepStatus::InProgress), None);
}

#[test]
fn a_plan_that_cannot_be_marked_is_left_as_it_is() {
    let project = documented();
    let path = format!("{CONTEXT}/artifacts/plan-wf.json");
    let mark = |step: u32| project.workflows().mark("wf", Step::whole(step), StepStatus::Blocked, NOW);
    assert!(matches!(mark(9), Err(WorkflowError::CannotMark { why: CannotMark::NoSuchStep { .. }, .. })));
    let text = project.text(&path);
    for damaged in [&text[..text.len() / 2], "", "[1]x"] {
        project.write(&path, damaged);
        assert!(matches!(mark(2), Err(WorkflowError::CannotMark { why: CannotMark::Damaged(_), .. })));
        assert_eq!(project.text(&path), damaged);
    }
    project.remove(&path);
    assert!(matches!(mark(2), Err(WorkflowError::NoPlan { .. })));
}

#[test]
fn many_who_mark_at_once_lose_nothing() {
    let project = Project::new();
    let steps: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    project.plan(&steps.iter().map(String::as_str).collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for number in 0..12 {
            let project = &project;
            scope.spawn(move || {
                loop {
                    match project.workflows().mark("wf", Step::whole(number), StepStatus::Completed, NOW) {
                        Ok(marked) => break assert!(marked.changed),
                        Err(WorkflowError::Busy { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let plan: Value =
        serde_json::from_str(&project.text(&format!("{CONTEXT}/artifacts/plan-wf.json"))).unwrap();
    for step in plan["steps"].as_array().unwrap() {
        assert_eq!(step["status"], "completed");
    }
    assert_eq!(project.snapshot().len(), 1, "nothing is left beside it");
}

#[test]
fn many_who_resume_at_once_leave_one_document_and_a_note_each() {
    const MANY: usize = 12;
    let project = Project::new();
    project.gates("+0 -1");
    let notes: std::collections::BTreeSet<String> = std::thread::scope(|scope| {
        let resume = || project.workflows().resume("wf", true, NOW).unwrap().logged.unwrap();
        let all: Vec<_> = (0..MANY).map(|_| scope.spawn(resume)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(notes.len(), MANY, "no note took the place of another: {notes:?}");
    for note in &notes {
        assert!(serde_json::from_str::<Value>(&project.text(note)).is_ok(), "{note}");
    }
    let document: Value = serde_json::from_str(&project.text(DOCUMENT)).unwrap();
    assert_eq!(document["schema"], "recovery.workflow-recovery-state.v1");
    assert_eq!(project.snapshot().len(), 2 + MANY + 1, "nothing is left beside them");
}

#[test]
fn an_export_names_every_file_with_its_digest() {
    let project = documented();
    let export = project.workflows().export("wf", NOW).unwrap();
    let names: Vec<_> = export.files.iter().map(|file| file.path.rsplit('/').next().unwrap()).collect();
    for name in ["00-planner.json", "plan-wf.json", "plan-wf-phase-1.json", "registry-wf.json", "model.json"]
    {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert!(!names.contains(&"bundle.json"));
    // SHA-256 of `abc`, from FIPS 180-2.
    project.write(&format!("{CONTEXT}/artifacts/generated/registry-wf.json"), "abc");
    let export = project.workflows().export("wf", NOW).unwrap();
    let file = export.files.iter().find(|file| file.path.contains("generated")).unwrap();
    assert_eq!(file.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
