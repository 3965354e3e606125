//! A project in a temporary folder, with the files of workflows.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use session_state::Now;
use systems::workflow::{State, Workflows};

/// The present of these tests: 2026-03-02T12:00:00Z.
pub(crate) const NOW: Now = Now(1_772_452_800_000);

pub(crate) const CONTEXT: &str = ".claude/context";
/// The folder of a run.
pub(crate) const RUN: &str = ".claude/context/runtime/runs/run-1-a";

pub(crate) struct Project(tempfile::TempDir);

impl Project {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn json(&self, path: &str, value: Value) -> &Self {
        self.write(path, serde_json::to_string_pretty(&value).unwrap())
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        fs::remove_file(self.root().join(path)).unwrap();
        self
    }

    /// Gates of workflow `wf` as documented: `+` passed, `-` failed.
    pub(crate) fn gates(&self, gates: &str) -> &Self {
        for gate in gates.split_whitespace() {
            let (step, passed) = (&gate[1..], gate.starts_with('+'));
            let status = if passed { "pass" } else { "fail" };
            self.json(
                &format!("{CONTEXT}/history/gates/wf/step-{step}.json"),
                json!({"validation_status": status, "timestamp": "2026-03-02T10:00:00Z"}),
            );
        }
        self
    }

    /// A plan of workflow `wf` with these steps, each after the one before.
    pub(crate) fn plan(&self, steps: &[&str]) -> &Self {
        let list: Vec<Value> = steps
            .iter()
            .enumerate()
            .map(|(at, step)| {
                let before: Vec<String> =
                    at.checked_sub(1).map(|at| format!("step-{}", steps[at])).into_iter().collect();
                json!({"step_number": step, "name": format!("Part {step}"), "agent": format!("agent-{step}"),
                    "dependencies": before, "status": "pending"})
            })
            .collect();
        self.json(
            &format!("{CONTEXT}/artifacts/plan-wf.json"),
            json!({"plan_id": "plan-wf", "steps": list, "updated_at": "2026-03-02T09:00:00Z"}),
        )
    }

    /// A registry of workflow `wf`: name, step, path, whether it is called good.
    pub(crate) fn registry(&self, entries: &[(&str, u32, &str, bool)]) -> &Self {
        let entries: Vec<Value> = entries
            .iter()
            .map(|(name, step, path, good)| {
                json!({"name": name, "step": step.to_string(), "agent": format!("maker-of-{name}"), "path": path,
                    "metadata": {"validation_status": if *good { "pass" } else { "fail" }}})
            })
            .collect();
        self.json(&format!("{CONTEXT}/artifacts/registry-wf.json"), json!({"artifacts": entries}))
    }

    pub(crate) fn workflows(&self) -> Workflows {
        Workflows::open(self.root()).unwrap()
    }

    pub(crate) fn state(&self) -> State {
        self.state_of("wf")
    }

    pub(crate) fn state_of(&self, id: &str) -> State {
        self.workflows().read(id, NOW).unwrap()
    }

    pub(crate) fn shown(&self, id: &str) -> Value {
        serde_json::to_value(self.state_of(id)).unwrap()
    }

    /// Every file with its bytes.
    pub(crate) fn snapshot(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                match fs::symlink_metadata(&path).unwrap() {
                    meta if meta.is_dir() => folders.push(path),
                    meta if meta.is_file() => found.push((path.clone(), fs::read(&path).unwrap())),
                    _ => found.push((path, Vec::new())),
                }
            }
        }
        found.sort();
        found
    }
}

/// The kinds of all warnings.
pub(crate) fn warnings(state: &State) -> Vec<&'static str> {
    state.warnings.iter().map(|warning| warning.kind).collect()
}

/// Steps as text.
pub(crate) fn step(step: Option<systems::workflow::Step>) -> Option<String> {
    step.map(|step| step.to_string())
}

/// A whole workflow in the layout of the document: three steps passed, the fourth failed.
pub(crate) fn documented() -> Project {
    let project = Project::new();
    for (number, agent, passed) in
        [(0, "planner", true), (1, "modeller", true), (2, "builder", true), (3, "tester", false)]
    {
        project.json(
            &format!("{CONTEXT}/history/gates/wf/0{number}-{agent}.json"),
            json!({"workflow_id": "wf", "step": number, "agent": agent,
                "validation_status": if passed { "pass" } else { "fail" },
                "errors": if passed { json!([]) } else { json!(["two suites are red"]) },
                "timestamp": format!("2026-03-02T10:0{number}:00Z")}),
        );
        if passed {
            project.json(
                &format!("{CONTEXT}/history/reasoning/wf/0{number}-{agent}.json"),
                json!({"agent": agent, "step": number, "workflow_id": "wf",
                    "decisions": [{"decision": format!("choice of {agent}"), "rationale": "least risk"}],
                    "open_questions": if number == 1 { json!(["who owns the clock"]) } else { json!([]) }}),
            );
        }
    }
    let registry = [
        ("outline", "0", "planner", ".claude/context/artifacts/plan-wf.json", "pass", vec![]),
        ("model", "1", "modeller", ".claude/context/artifacts/model.json", "pass", vec!["outline"]),
        ("bundle", "2", "builder", ".claude/context/artifacts/bundle.json", "pass", vec!["model"]),
        ("verdict", "3", "tester", ".claude/context/artifacts/verdict.json", "fail", vec!["bundle"]),
    ];
    let registry: Vec<Value> = registry
        .iter()
        .map(|(name, step, agent, path, status, before)| {
            json!({"name": name, "step": step, "agent": agent, "path": path, "dependencies": before,
                "version": "1.0.0", "metadata": {"size": 900, "type": "json", "validation_status": status}})
        })
        .collect();
    project.json(
        &format!("{CONTEXT}/artifacts/registry-wf.json"),
        json!({"workflow_id": "wf", "artifacts": registry, "dependencies": {}}),
    );
    project.json(&format!("{CONTEXT}/artifacts/model.json"), json!({"parts": 2}));
    project.json(&format!("{CONTEXT}/artifacts/verdict.json"), json!({"good": false}));
    let steps = [
        ("Outline", "planner", "completed"),
        ("Model", "modeller", "completed"),
        ("Bundle", "builder", "in_progress"),
        ("Judge", "tester", "pending"),
        ("Hand over", "porter", "pending"),
    ];
    let steps: Vec<Value> = steps
        .iter()
        .enumerate()
        .map(|(number, (name, agent, status))| {
            let before: Vec<String> = number.checked_sub(1).map(|before| format!("step-{before}")).into_iter().collect();
            json!({"step_number": number, "name": name, "agent": agent, "dependencies": before,
                "tasks": [format!("do {name}")], "success_criteria": [format!("{name} is good")], "status": status})
        })
        .collect();
    project.json(
        &format!("{CONTEXT}/artifacts/plan-wf.json"),
        json!({"plan_id": "plan-wf", "name": "Tide tables", "plan_type": "hierarchical",
            "approval_status": {"status": "approved"}, "steps": steps,
            "phases": [{"phase_id": "phase-1", "phase_name": "First", "status": "in_progress",
                "phase_plan_path": ".claude/context/artifacts/plan-wf-phase-1.json"}],
            "overall_status": {"status": "in_progress", "current_phase": "phase-1"},
            "updated_at": "2026-03-02T09:55:00Z", "status": "in_execution"}),
    );
    project.json(
        &format!("{CONTEXT}/artifacts/plan-wf-phase-1.json"),
        json!({"metadata": {"phaseId": "phase-1", "phaseName": "First", "masterPlanId": "plan-wf"},
            "tasks": [
                {"taskId": "t-1", "description": "read the gauge", "status": "completed", "assignedAgent": "builder"},
                {"taskId": "t-2", "description": "draw the curve", "status": "in_progress", "assignedAgent": "builder",
                    "files": ["src/curve.rs"]},
                {"taskId": "t-3", "description": "print it", "status": "pending"}],
            "statusTracking": {"overallStatus": "in_progress", "nextTask": "t-2"},
            "recoveryMetadata": {"canResume": true, "resumePoint": "t-2", "contextSummary": "gauge done",
                "completedWork": ["t-1"], "pendingWork": ["t-2", "t-3"],
                "scratchpad": [{"taskId": "t-2", "attempts": 2, "failureReason": "too slow", "avoidApproach": "a spline a minute"}]}}),
    );
    project
}

/// A run as the programs of the system write it: step 0 passed, step 1 failed, silent for 4000 s.
pub(crate) fn runtime() -> Project {
    let project = Project::new();
    let gate = |valid: bool, errors: Value, time: &str| {
        json!({"timestamp": time, "schema_path": ".claude/schemas/x.json", "schema_used": true,
            "input_path": "artifacts/x.json", "valid": valid, "errors": errors, "autofix_applied": false,
            "fixed_fields_count": 0, "validated_data": {"step": 7, "valid": !valid}, "secrets_validated": false})
    };
    project.json(&format!("{RUN}/gates/step-0.json"), gate(true, json!([]), "2026-03-02T09:30:00.000Z"));
    project.json(
        &format!("{RUN}/gates/step-1.json"),
        gate(false, json!(["/list is too short"]), "2026-03-02T10:53:20.000Z"),
    );
    project.json(
        &format!("{RUN}/artifact-registry.json"),
        json!({"run_id": "run-1-a", "workflow_id": "small-flow", "artifacts": {
            "outline.json": {"name": "outline.json", "step": 0, "agent": "planner", "path": "artifacts/outline.json",
                "validationStatus": "pass", "dependencies": [], "metadata": {"size": 20, "type": "plan"}},
            "work.json": {"name": "work.json", "step": 1, "agent": "builder", "path": "artifacts/work.json",
                "validationStatus": "pending", "dependencies": ["outline.json"], "metadata": {}}}}),
    );
    project.json(&format!("{RUN}/artifacts/outline.json"), json!({"plan_id": "plan-x"}));
    project.json(
        &format!("{RUN}/run.json"),
        json!({"run_id": "run-1-a", "workflow_id": "small-flow", "current_step": 1, "status": "in_progress",
            "created_at": "2026-03-02T08:26:40.000Z", "updated_at": "2026-03-02T10:53:20.000Z",
            "task_queue": [
                {"task_id": "a", "step": 0, "agent": "planner", "status": "completed", "dependencies": []},
                {"task_id": "b", "step": 1, "agent": "builder", "status": "in_progress", "dependencies": ["a"]}],
            "owners": {"step-1": "builder"},
            "timestamps": {"started_at": "2026-03-02T08:26:40.000Z", "last_step_completed_at": "2026-03-02T09:30:00.000Z",
                "completed_at": null}}),
    );
    project
}
