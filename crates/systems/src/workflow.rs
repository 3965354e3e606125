//! Workflows of agent-studio: gates, reasoning, artifact registry, plan, phase plans, runs (FORMATS 5).
//!
//! [`Workflows::read`] reconstructs where a workflow stopped from whatever is left of its files. Reading never writes;
//! the two writes there are ([`Workflows::resume`], [`Workflows::mark`]) are asked for by name.
//!
//! ```text
//! places ── where things lie          tree ── files below the project's root
//! gate registry plan phase_plan reasoning run ── one module a kind of file: bytes -> facts, pure
//! reader ── all files of a workflow   artifact ── is it there, and whole
//! judge ── facts -> State, pure       checklist prompt ── State -> words, pure
//! recovery_state recovery_log lock ── what is written
//! ```

mod artifact;
mod checklist;
mod gate;
mod json;
mod judge;
mod lock;
mod phase_plan;
mod places;
mod plan;
mod prompt;
mod reader;
mod reasoning;
mod recovery_log;
mod recovery_state;
mod registry;
mod run;
mod state;
mod step;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::Serialize;
use session_state::{FileKind, Now, times};
use sha2::{Digest as _, Sha256};

pub use artifact::Presence;
pub use checklist::{Answer, Point};
pub use gate::Outcome;
pub use plan::{CannotMark, StepStatus};
pub use recovery_state::{Resumed, SCHEMA as RECOVERY_STATE_SCHEMA};
pub use registry::Validation;
pub use state::{
    ArtifactState, Avoid, DamagedFile, Decision, Dependency, Gap, Input, Missing, Next, PhaseState,
    PlanPresence, PlanState, Question, Readiness, RunState, SCHEMA, Source, State, StepState, Warning,
};
pub use step::{Step, ranges};

use self::places::Keys;
use self::reader::Material;
use self::tree::{STATE_LIMIT, Tree};
use crate::bounded;

/// The name and version of the form of [`List`].
pub const LIST_SCHEMA: &str = "recovery.workflow-list.v1";
/// The name and version of the form of [`Export`].
pub const EXPORT_SCHEMA: &str = "recovery.workflow-export.v1";

/// Names looked at in one folder.
const MAX_NAMES: usize = 20_000;

/// Why a workflow could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowError {
    /// The id cannot be the name of a folder.
    #[error("{0:?} is no id of a workflow")]
    NotAnId(String),
    /// There are no files of it.
    #[error("there is no workflow {id}")]
    Unknown {
        /// What was asked for.
        id: String,
        /// What there is, the newest first.
        known: Vec<String>,
    },
    /// It has no plan whose steps could be marked.
    #[error("workflow {id} has no plan")]
    NoPlan {
        /// The workflow.
        id: String,
    },
    /// The plan does not allow it.
    #[error("{path}: {why}")]
    CannotMark {
        /// The plan, from the project's root.
        path: String,
        /// Why.
        why: CannotMark,
    },
    /// Another program changed or holds the file.
    #[error("{path} is being changed by another program")]
    Busy {
        /// The file, from the project's root.
        path: String,
    },
    /// The place of a file of ours is taken by something else.
    #[error("{path} {why}: it is left as it is")]
    Taken {
        /// The file, from the project's root.
        path: String,
        /// In words that stand after the name.
        why: String,
    },
    /// The system refused.
    #[error("cannot {operation} {path}")]
    Io {
        /// `read`, `write`.
        operation: &'static str,
        /// From the project's root.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// The workflows of a project.
#[derive(Debug)]
pub struct Workflows {
    tree: Tree,
}

/// The workflows there are.
#[derive(Debug, Serialize)]
pub struct List {
    /// [`LIST_SCHEMA`].
    pub schema: &'static str,
    /// The newest first.
    pub workflows: Vec<Summary>,
    /// Older ones that are not among them.
    pub left_out: usize,
}

/// A workflow in a line.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// What `show` takes.
    pub id: String,
    /// The workflow of a run.
    pub workflow_id: Option<String>,
    /// The run that belongs to it.
    pub run_id: Option<String>,
    /// The title in the plan.
    pub name: Option<String>,
    /// The highest step that passed.
    pub last_completed_step: Option<Step>,
    /// The step to go on with.
    pub next_step: Option<Step>,
    /// Whether it can begin.
    pub state: Readiness,
    /// Who does it.
    pub agent: Option<String>,
    /// What the run says of itself.
    pub run_status: Option<String>,
    /// Whether the run was cut off.
    pub interrupted: bool,
    /// Files that could not be read.
    pub damaged: usize,
    /// Last change, RFC 3339.
    pub changed: Option<String>,
}

/// A workflow with the files it was reconstructed from: enough to compare it on another machine.
#[derive(Debug, Serialize)]
pub struct Export {
    /// [`EXPORT_SCHEMA`].
    pub schema: &'static str,
    /// RFC 3339.
    pub exported_at: String,
    /// The state.
    pub state: State,
    /// The state files and the artifacts that could be read.
    pub files: Vec<ExportedFile>,
}

/// A file of a workflow.
#[derive(Debug, Serialize)]
pub struct ExportedFile {
    /// From the project's root.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Of its content, 64 hexadecimal digits.
    pub sha256: String,
}

/// What marking did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Marked {
    /// The plan, from the project's root.
    pub path: String,
    /// Whether it was changed; else it said so already.
    pub changed: bool,
    /// Whether the gates see it otherwise, in a sentence without its full stop.
    pub contradicted: Option<String>,
}

/// A run as the folders tell of it.
#[derive(Debug)]
struct IndexedRun {
    workflow_id: Option<String>,
    /// Seconds since 1970.
    changed_s: i64,
}

impl Workflows {
    /// Opens the workflows of the project in this folder, which need not have any.
    ///
    /// Errors: the folder cannot be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { tree: Tree::open(root)? })
    }

    /// Lists the `limit` newest workflows.
    #[must_use]
    pub fn list(&self, limit: usize, now: Now) -> List {
        let runs = self.runs();
        let mut found = self.ids(&runs);
        found.sort_by(|(one, one_s), (other, other_s)| other_s.cmp(one_s).then_with(|| one.cmp(other)));
        let left_out = found.len().saturating_sub(limit);
        found.truncate(limit);
        let summary = |(id, changed_s): (String, i64)| {
            let (keys, warnings) = self.keys(&id, &runs);
            let state = self.judged(&id, &keys, warnings, now)?.0;
            Some(Summary {
                workflow_id: state.workflow_id,
                run_id: state.run_id.filter(|run| *run != id),
                name: state.name,
                last_completed_step: state.last_completed_step,
                next_step: state.next_step,
                state: state.next.state,
                agent: state.next.agent,
                interrupted: state.run.as_ref().is_some_and(|run| run.interrupted),
                run_status: state.run.and_then(|run| run.status),
                damaged: state.damaged_files.len(),
                changed: Some(changed_s).filter(|changed| *changed > 0).map(times::rfc3339_utc_s),
                id,
            })
        };
        List { schema: LIST_SCHEMA, workflows: found.into_iter().filter_map(summary).collect(), left_out }
    }

    /// Reconstructs a workflow by its id, or the id of one of its runs.
    ///
    /// Errors: it is no id, or there are no files of it.
    pub fn read(&self, id: &str, now: Now) -> Result<State, WorkflowError> {
        Ok(self.found(id, now)?.0)
    }

    /// Returns a workflow with the files it was reconstructed from.
    ///
    /// Errors: as [`Workflows::read`].
    pub fn export(&self, id: &str, now: Now) -> Result<Export, WorkflowError> {
        let (state, material, _) = self.found(id, now)?;
        let present = state.artifacts.iter().filter(|artifact| artifact.presence == Presence::Present);
        let mut paths: BTreeSet<String> = present.filter_map(|artifact| artifact.path.clone()).collect();
        paths.extend(material.files);
        let file = |path: String| {
            let tree::Located::File(dir, name, stat) = self.tree.locate(&path) else { return None };
            let mut hash = Sha256::new();
            io::copy(&mut dir.open_file(&name).ok()?, &mut HashWriter(&mut hash)).ok()?;
            let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            Some(ExportedFile { path, size: stat.size, sha256 })
        };
        let files = paths.into_iter().filter_map(file).collect();
        Ok(Export { schema: EXPORT_SCHEMA, exported_at: times::rfc3339_utc(now), state, files })
    }

    /// Writes the recovery state document of a workflow, and, if asked to, a note into its reasoning folder.
    ///
    /// Errors: as [`Workflows::read`]; the place of the document is taken; the system refused. Nothing is left half
    /// written.
    pub fn resume(&self, id: &str, log: bool, now: Now) -> Result<Resumed, WorkflowError> {
        let (state, _, keys) = self.found(id, now)?;
        let logged = if log { Some(recovery_log::write(&self.tree, &keys, &state, now)?) } else { None };
        recovery_state::write(&self.tree, state, logged, now)
    }

    /// Sets the status of a step in the plan; every byte of it but the status and the time of the last change stays.
    ///
    /// Errors: there is no plan, it is damaged, it has no such step or several, another program is at it.
    pub fn mark(&self, id: &str, step: Step, status: StepStatus, now: Now) -> Result<Marked, WorkflowError> {
        let (state, material, _) = self.found(id, now)?;
        let path = match (&material.plan, material.damaged_plan) {
            (Some(file), _) => file.path.clone(),
            (None, Some(damaged)) => damaged,
            (None, None) => return Err(WorkflowError::NoPlan { id: id.to_owned() }),
        };
        let changed = self.mark_plan(&path, step, status, now)?;
        let gate = state.steps.iter().find(|known| known.step == step).and_then(|known| known.gate);
        let contradicted = match (status, gate) {
            (StepStatus::Completed, Some(Outcome::Passed)) => None,
            (StepStatus::Completed, Some(outcome)) => {
                Some(format!("the gate of step {step} says {}: gates count", outcome.word()))
            }
            (StepStatus::Completed, None) => Some(format!("step {step} has no gate: gates count")),
            (_, Some(Outcome::Passed)) => Some(format!("the gate of step {step} passed: gates count")),
            _ => None,
        };
        Ok(Marked { path, changed, contradicted })
    }

    fn mark_plan(&self, path: &str, step: Step, status: StepStatus, now: Now) -> Result<bool, WorkflowError> {
        let failed = |operation: &'static str| {
            let path = path.to_owned();
            move |source: io::Error| match source.kind() {
                io::ErrorKind::TimedOut => WorkflowError::Busy { path },
                _ => WorkflowError::Io { operation, path, source },
            }
        };
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let taken = |why| WorkflowError::Taken { path: path.to_owned(), why };
        let dir = self.tree.folder(folder).map_err(taken)?.ok_or_else(|| taken("is gone".to_owned()))?;
        let (_lock, judged) = lock::FileLock::take(&dir, name).map_err(failed("read"))?;
        let bytes = dir.read(name, STATE_LIMIT).map_err(failed("read"))?;
        let cannot = |why| WorkflowError::CannotMark { path: path.to_owned(), why };
        let Some(new) = plan::marked(&bytes, step, status, now).map_err(cannot)? else { return Ok(false) };
        let unchanged = || dir.stat(name) == Some(judged);
        if dir.replace_if(name, &new, unchanged).map_err(failed("write"))? {
            Ok(true)
        } else {
            Err(WorkflowError::Busy { path: path.to_owned() })
        }
    }

    fn found(&self, id: &str, now: Now) -> Result<(State, Material, Keys), WorkflowError> {
        if !places::is_id(id) {
            return Err(WorkflowError::NotAnId(id.to_owned()));
        }
        let runs = self.runs();
        let (keys, warnings) = self.keys(id, &runs);
        match self.judged(id, &keys, warnings, now) {
            Some((state, material)) => Ok((state, material, keys)),
            None => {
                let mut known = self.ids(&runs);
                known.sort_by_key(|(_, changed_s)| std::cmp::Reverse(*changed_s));
                let known = known.into_iter().map(|(id, _)| id).collect();
                Err(WorkflowError::Unknown { id: id.to_owned(), known })
            }
        }
    }

    /// None: there is nothing of it.
    fn judged(&self, id: &str, keys: &Keys, warnings: Vec<Warning>, now: Now) -> Option<(State, Material)> {
        let mut material = Material::read(&self.tree, keys);
        if !material.found {
            return None;
        }
        material.warnings.extend(warnings);
        Some((judge::judge(id, keys, &material, now), material))
    }

    /// All runs there are.
    fn runs(&self) -> BTreeMap<String, IndexedRun> {
        let mut found = BTreeMap::new();
        for base in places::RUNS {
            // What cannot be opened here is told when it is asked for by name.
            let Ok(Some(dir)) = self.tree.folder(base) else { continue };
            for name in dir.names(MAX_NAMES).into_iter().filter(|name| places::is_id(name)) {
                let is_link = || dir.stat(&name).is_some_and(|stat| stat.kind == FileKind::Link);
                let folder = match dir.folder(&name) {
                    Ok(folder) => Some(folder),
                    // Not followed, but named.
                    Err(_) if is_link() => None,
                    Err(_) => continue,
                };
                // A damaged record leaves the registry to tell the workflow.
                let parsed = |file: &str| {
                    let bytes = bounded::read(folder.as_ref()?, file, STATE_LIMIT).ok()??;
                    Some(run::parse(&json::object(&bytes).ok()?))
                };
                let run = parsed(places::RUN).or_else(|| parsed(places::RUN_REGISTRY)).unwrap_or_default();
                let changed_s =
                    run.last_sign_s.or_else(|| dir.stat(&name).map(|stat| stat.mtime_s)).unwrap_or(0);
                let workflow_id = run.workflow_id.filter(|id| places::is_id(id));
                found.entry(name).or_insert(IndexedRun { workflow_id, changed_s });
            }
        }
        found
    }

    /// Ids to list, with the time of their last change: workflows, and the runs that are not the only one of a listed
    /// workflow.
    fn ids(&self, runs: &BTreeMap<String, IndexedRun>) -> Vec<(String, i64)> {
        let mut found: BTreeMap<String, i64> = BTreeMap::new();
        let mut add = |id: &str, changed_s: i64| {
            let newest = found.entry(id.to_owned()).or_insert(changed_s);
            *newest = changed_s.max(*newest);
        };
        for base in [places::GATES, places::REASONING, places::REGISTRIES] {
            let Ok(Some(dir)) = self.tree.folder(base) else { continue };
            for name in dir.names(MAX_NAMES).into_iter().filter(|name| places::is_id(name)) {
                match dir.stat(&name) {
                    Some(stat) if matches!(stat.kind, FileKind::Folder | FileKind::Link) => {
                        add(&name, stat.mtime_s);
                    }
                    _ => {}
                }
            }
        }
        for folder in places::ARTIFACTS {
            let Ok(Some(dir)) = self.tree.folder(folder) else { continue };
            for name in dir.names(MAX_NAMES) {
                if let Some(id) = places::id_of_artifact(&name).filter(|id| places::is_id(id)) {
                    add(id, dir.stat(&name).map_or(0, |stat| stat.mtime_s));
                }
            }
        }
        // Counted once: asking for each run which others belong to its workflow takes the square of their number.
        let mut runs_of: BTreeMap<&str, usize> = BTreeMap::new();
        for workflow in runs.values().filter_map(|run| run.workflow_id.as_deref()) {
            *runs_of.entry(workflow).or_default() += 1;
        }
        for (name, run) in runs {
            let workflow = run.workflow_id.as_ref().filter(|workflow| found.contains_key(*workflow));
            match workflow {
                Some(workflow) if runs_of.get(workflow.as_str()) == Some(&1) => {
                    let changed_s = found.get(workflow).copied().unwrap_or(0).max(run.changed_s);
                    found.insert(workflow.clone(), changed_s);
                }
                _ => {
                    found.insert(name.clone(), run.changed_s);
                }
            }
        }
        found.into_iter().collect()
    }

    fn runs_of<'r>(&self, workflow: &str, runs: &'r BTreeMap<String, IndexedRun>) -> Vec<&'r String> {
        let of = runs.iter().filter(|(_, run)| run.workflow_id.as_deref() == Some(workflow));
        let mut of: Vec<(&String, &IndexedRun)> = of.collect();
        of.sort_by_key(|(_, run)| std::cmp::Reverse(run.changed_s));
        of.into_iter().map(|(name, _)| name).collect()
    }

    /// Where the files of an id lie. A workflow with one run is that run; of several runs none is guessed where the
    /// workflow has files of its own.
    fn keys(&self, id: &str, runs: &BTreeMap<String, IndexedRun>) -> (Keys, Vec<Warning>) {
        let mut keys = Keys { ids: vec![id.to_owned()], plan_ids: vec![id.to_owned()], run: None };
        let mut warnings = Vec::new();
        if let Some(run) = runs.get(id) {
            keys.run = Some(id.to_owned());
            if let Some(workflow) = run.workflow_id.clone().filter(|workflow| workflow != id) {
                if self.runs_of(&workflow, runs).len() == 1 {
                    keys.ids.push(workflow.clone());
                }
                keys.plan_ids.push(workflow);
            }
            return (keys, warnings);
        }
        let of = self.runs_of(id, runs);
        let newest = of.first().map(|run| (*run).clone());
        let has_own = || {
            let plain = Keys { run: None, ..keys.clone() };
            let folders = plain.gates().iter().any(|folder| !matches!(self.tree.folder(folder), Ok(None)));
            folders
                || plain
                    .registries()
                    .iter()
                    .any(|(folder, name)| !matches!(self.tree.read(&format!("{folder}/{name}")), Ok(None)))
        };
        let run = match of.len() {
            0 => None,
            1 => newest,
            count => {
                let own = has_own();
                let text = if own {
                    format!("{count} runs belong to this workflow: ask for one of them by its id")
                } else {
                    format!("{count} runs belong to this workflow: this is the newest")
                };
                warnings.push(Warning { kind: "several_runs", step: None, text });
                newest.filter(|_| !own)
            }
        };
        if let Some(run) = run {
            keys.ids.push(run.clone());
            keys.plan_ids.push(run.clone());
            keys.run = Some(run);
        }
        (keys, warnings)
    }
}

/// Hashes what is written to it.
struct HashWriter<'h>(&'h mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
