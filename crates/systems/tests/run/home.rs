//! A registry in a temporary folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use systems::run::{
    branch,
    judgement::Judgement,
    pass::{Pass, Told},
    record::Stage,
    registry::{Overview, Registry, Run},
};

pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Folder of a run of the workspace `bakery`.
    pub(crate) fn folder(&self, stage: &str, key: &str) -> PathBuf {
        self.path().join("workspaces/bakery").join(stage).join(key)
    }

    pub(crate) fn write(&self, stage: &str, key: &str, file: &str, text: impl AsRef<[u8]>) {
        let path = self.folder(stage, key).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A run that was interrupted in its job `bake` and has all that it takes; `change` makes something else of it.
    pub(crate) fn add(&self, stage: &str, key: &str, change: Value) {
        let mut record = json!({
            "runId": format!("generation-of-{key}"),
            "runKey": key,
            "workspace": "bakery",
            "workflowId": "order-to-loaf",
            "displayName": format!("Order to loaf {key}"),
            "workflowPath": "/nowhere/at/all/flows/loaf.yml",
            "originalRepoPath": "/nowhere/at/all",
            "worktreeBranch": format!("loaf/{key}"),
            "stage": stage,
            "dryRun": false,
            "startedAt": "2026-03-02T08:00:00.000Z",
            "finishedAt": "2026-03-02T09:00:00.000Z",
            "outcome": "interrupted",
            "failedJob": "bake",
            "errorMessage": "ended by SIGTERM",
            "env": {"AGIFLOW_JOB_ID": "order-9", "AGIFLOW_JOB_KIND": "task", "OVEN_CODE": "warm-and-secret"},
            "prompt": "bake a loaf for the mayor",
        });
        for (name, value) in change.as_object().unwrap() {
            if value == "absent" {
                record.as_object_mut().unwrap().remove(name);
            } else {
                record[name.as_str()] = value.clone();
            }
        }
        self.write(stage, key, "run.json", serde_json::to_vec_pretty(&record).unwrap());
    }

    pub(crate) fn registry(&self) -> Registry {
        Registry::open(self.path()).unwrap()
    }

    pub(crate) fn list(&self, stages: &[Stage]) -> (Vec<Run>, Overview) {
        let mut runs = Vec::new();
        let overview = self.registry().visit(None, stages, |run| runs.push(run));
        (runs, overview)
    }

    pub(crate) fn find(&self, key: &str) -> Run {
        let mut found = self.registry().find(key, None);
        assert_eq!(found.len(), 1, "{key}");
        found.remove(0)
    }

    pub(crate) fn judge(&self, key: &str) -> Judgement {
        self.judge_with(key, branch::FAR)
    }

    pub(crate) fn judge_with(&self, key: &str, far: u64) -> Judgement {
        Pass::new(Told { blocked: Vec::new(), far }).judge(&self.find(key))
    }

    /// Every path below the home with what it is and when it was last changed.
    pub(crate) fn snapshot(&self) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                if meta.is_dir() {
                    folders.push(path.clone());
                }
                found.push((path, bytes, meta.modified().unwrap()));
            }
        }
        found.sort();
        found
    }
}
