//! Where a workflow keeps what (FORMATS 5.2). Paths are from the project's root, `/` between their parts.

pub(crate) use session_state::layout::{RUN_RECORD as RUN, WORKFLOW_RUNS as RUNS, WORKFLOWS as CONTEXT};
/// Folders of gates, one a workflow.
pub(crate) const GATES: &str = ".claude/context/history/gates";
/// Folders of reasoning files, one a workflow.
pub(crate) const REASONING: &str = ".claude/context/history/reasoning";
/// Registries and plans.
pub(crate) const ARTIFACTS: [&str; 2] = [".claude/context/artifacts", ".claude/context/artifacts/generated"];
/// Folders of registries with gates, one a workflow.
pub(crate) const REGISTRIES: &str = ".claude/context/registry";

/// In the folder of a run: its registry.
pub(crate) const RUN_REGISTRY: &str = "artifact-registry.json";
/// In the folder of a run: its checkpoint.
pub(crate) const CHECKPOINT: &str = "checkpoint.json";

/// What a workflow or a run is found by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    /// Ids under which gates, reasoning and registries lie.
    pub(crate) ids: Vec<String>,
    /// Ids under which a plan may lie, the first choice first.
    pub(crate) plan_ids: Vec<String>,
    /// The name of the run's folder.
    pub(crate) run: Option<String>,
}

impl Keys {
    /// Folders of the run.
    pub(crate) fn run_folders(&self) -> Vec<String> {
        let run = self.run.iter();
        run.flat_map(|run| RUNS.iter().map(move |base| format!("{base}/{run}"))).collect()
    }

    /// Folders with gates.
    pub(crate) fn gates(&self) -> Vec<String> {
        let own =
            self.ids.iter().flat_map(|id| [format!("{GATES}/{id}"), format!("{REGISTRIES}/{id}/gates")]);
        own.chain(self.run_folders().into_iter().map(|run| format!("{run}/gates"))).collect()
    }

    /// Folders with reasoning files.
    pub(crate) fn reasoning(&self) -> Vec<String> {
        let own = self.ids.iter().map(|id| format!("{REASONING}/{id}"));
        own.chain(self.run_folders().into_iter().map(|run| format!("{run}/reasoning"))).collect()
    }

    /// Folders and names of registries.
    pub(crate) fn registries(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for id in &self.ids {
            found.extend(ARTIFACTS.map(|folder| (folder.to_owned(), format!("registry-{id}.json"))));
            found.push((format!("{REGISTRIES}/{id}"), "artifacts.json".to_owned()));
        }
        for run in self.run_folders() {
            found.push((run.clone(), RUN_REGISTRY.to_owned()));
            found.push((run, "artifacts.json".to_owned()));
        }
        found
    }

    /// Folders and names of plans, the first choice first.
    pub(crate) fn plans(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for id in &self.plan_ids {
            found.extend(ARTIFACTS.map(|folder| (folder.to_owned(), format!("plan-{id}.json"))));
        }
        found.extend(self.run_folders().into_iter().map(|run| (run, "plan.json".to_owned())));
        found
    }
}

/// Returns the id in the name of a registry, a plan or a phase plan.
pub(crate) fn id_of_artifact(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".json")?;
    if let Some(id) = stem.strip_prefix("registry-") {
        return Some(id);
    }
    let id = stem.strip_prefix("plan-")?;
    match id.rsplit_once("-phase-") {
        Some((id, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(id)
        }
        _ => Some(id),
    }
}

/// Returns whether an id from outside can be part of a path as it is.
pub(crate) fn is_id(id: &str) -> bool {
    session_state::file_name(id) == id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_names() {
        for (name, id) in [
            ("registry-wf-1.json", Some("wf-1")),
            ("plan-wf-1.json", Some("wf-1")),
            ("plan-wf-1-phase-2.json", Some("wf-1")),
            ("plan-two-phase-commit.json", Some("two-phase-commit")),
            ("plan-wf.md", None),
            ("qa-report.json", None),
        ] {
            assert_eq!(id_of_artifact(name), id, "{name}");
        }
    }

    #[test]
    fn ids_that_are_no_part_of_a_path() {
        for good in ["wf-1", "run-1772440000000-ab12cd", "a.b_c"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/b", "a\\b", "a\0", ".hidden", "a b", "CON"] {
            assert!(!is_id(bad), "{bad:?}");
        }
    }
}
