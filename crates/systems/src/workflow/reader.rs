//! Gathers all files of a workflow. Nothing is decided here but what each file is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use session_state::Dir;

use super::artifact::{self, Looked};
use super::gate::{self, Gate, NoGate};
use super::json::{self, Fields as _, Object};
use super::phase_plan::{self, PhasePlan};
use super::places::{self, Keys};
use super::plan::{self, Plan};
use super::reasoning::{self, Reasoning};
use super::registry::{self, Entry};
use super::run::{self, Run};
use super::state::{DamagedFile, Warning};
use super::step::Step;
use super::tree::{Located, STATE_LIMIT, Tree};
use crate::bounded;

/// Names looked at in one folder.
const MAX_NAMES: usize = 20_000;
/// Foreign files that are named.
const MAX_IGNORED: usize = 100;

/// All that was read of a workflow.
#[derive(Debug, Default)]
pub(crate) struct Material {
    pub(crate) gates: Vec<GateFile>,
    /// Steps with a gate that could not be read, by the names of the files.
    pub(crate) unread_gates: BTreeSet<Step>,
    pub(crate) reasoning: Vec<Reasoning>,
    pub(crate) entries: Vec<Listed>,
    pub(crate) plan: Option<PlanFile>,
    /// A plan that could not be read.
    pub(crate) damaged_plan: Option<String>,
    pub(crate) phases: Vec<(String, PhasePlan)>,
    pub(crate) run: Option<(String, Run)>,
    pub(crate) checkpoint: Option<Step>,
    pub(crate) damaged: Vec<DamagedFile>,
    pub(crate) ignored: Vec<String>,
    pub(crate) warnings: Vec<Warning>,
    /// Whether there was anything at all.
    pub(crate) found: bool,
    /// Every state file that was looked at, from the project's root.
    pub(crate) files: Vec<String>,
}

/// A gate and where it lies.
#[derive(Debug)]
pub(crate) struct GateFile {
    pub(crate) path: String,
    pub(crate) gate: Gate,
    /// What the gate tells, else the last change of the file; seconds since 1970.
    pub(crate) time_s: i64,
}

/// An entry of a registry, with what was found of it.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) entry: Entry,
    pub(crate) looked: Looked,
}

/// A plan and where it lies.
#[derive(Debug)]
pub(crate) struct PlanFile {
    pub(crate) path: String,
    pub(crate) plan: Plan,
}

impl Material {
    /// Reads everything that lies under these keys.
    pub(crate) fn read(tree: &Tree, keys: &Keys) -> Self {
        // A run without files is a run that has just begun.
        let mut material = Self { found: keys.run.is_some(), ..Self::default() };
        // The run first: it tells which ids belong to it.
        material.read_run(tree, keys);
        let owners = material.owners(keys);
        for folder in keys.gates() {
            material.read_gates(tree, &folder, &owners);
        }
        for folder in keys.reasoning() {
            material.read_reasoning(tree, &folder, &owners);
        }
        material.read_registries(tree, keys, &owners);
        material.read_plan(tree, keys, &owners);
        material.read_phases(tree, keys);
        material
    }

    fn damage(&mut self, path: &str, what: &'static str, why: impl Into<String>) {
        self.found = true;
        if !self.damaged.iter().any(|known| known.path == path) {
            self.damaged.push(DamagedFile { path: path.to_owned(), what, why: why.into() });
        }
    }

    fn ignore(&mut self, path: String) {
        if self.ignored.len() < MAX_IGNORED {
            self.ignored.push(path);
        }
    }

    /// Reads a file that is to be an object; None: there is none, or it is damaged, which is noted.
    fn object(&mut self, tree: &Tree, path: &str, what: &'static str) -> Option<Object> {
        let bytes = match tree.read(path) {
            Ok(bytes) => bytes?,
            Err(why) => {
                self.damage(path, what, why);
                return None;
            }
        };
        self.found = true;
        self.files.push(path.to_owned());
        json::object(&bytes).map_err(|why| self.damage(path, what, why.to_string())).ok()
    }

    fn read_run(&mut self, tree: &Tree, keys: &Keys) {
        for folder in keys.run_folders() {
            let path = format!("{folder}/{}", places::RUN);
            if let Some(object) = self.object(tree, &path, "run")
                && self.run.is_none()
            {
                self.run = Some((path, run::parse(&object)));
            }
            let path = format!("{folder}/{}", places::CHECKPOINT);
            if let Some(object) = self.object(tree, &path, "checkpoint") {
                self.checkpoint = self.checkpoint.max(run::checkpoint(&object));
            }
        }
    }

    /// Ids that a file of this workflow may carry.
    fn owners(&self, keys: &Keys) -> Owners {
        let mut ids: BTreeSet<String> = keys.ids.iter().chain(&keys.plan_ids).cloned().collect();
        if let Some((_, run)) = &self.run {
            ids.extend(run.workflow_id.clone());
            ids.extend(run.run_id.clone());
        }
        ids.extend(keys.run.clone());
        Owners { ids, run_folders: keys.run_folders() }
    }

    /// Calls `each` with every JSON file of a folder.
    fn each_file(
        &mut self,
        tree: &Tree,
        folder: &str,
        what: &'static str,
        mut each: impl FnMut(&mut Self, &Dir, &str, String, Object),
    ) {
        let dir = match tree.folder(folder) {
            Ok(Some(dir)) => dir,
            Ok(None) => return,
            Err(why) => return self.damage(folder, "folder", why),
        };
        self.found = true;
        let mut names = dir.names(MAX_NAMES + 1);
        if names.len() > MAX_NAMES {
            names.truncate(MAX_NAMES);
            let text = format!("{folder} holds more than {MAX_NAMES} files: not all of them were read");
            self.warnings.push(Warning { kind: "too_many_files", step: None, text });
        }
        // An order of its own, so that two looks at the same files say the same.
        names.sort_unstable();
        for name in names {
            let path = format!("{folder}/{name}");
            if bounded::is_residue(&name) {
                continue;
            }
            if !name.ends_with(".json") {
                self.ignore(path);
                continue;
            }
            let bytes = match bounded::read(&dir, &name, STATE_LIMIT) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => continue,
                Err(why) => {
                    self.damage_named(&path, &name, what, why);
                    continue;
                }
            };
            match json::object(&bytes) {
                Ok(object) => {
                    self.files.push(path.clone());
                    each(self, &dir, &name, path, object);
                }
                Err(why) => self.damage_named(&path, &name, what, why.to_string()),
            }
        }
    }

    fn damage_named(&mut self, path: &str, name: &str, what: &'static str, why: String) {
        if what == "gate" {
            self.unread_gates.extend(Step::of_file_name(name).map(|(step, _)| step));
        }
        self.damage(path, what, why);
    }

    fn read_gates(&mut self, tree: &Tree, folder: &str, owners: &Owners) {
        self.each_file(tree, folder, "gate", |material, dir, name, path, object| {
            if owners.is_foreign(&object, &path) {
                material.ignore(path);
                return;
            }
            match gate::parse(name, &object) {
                Ok(gate) => {
                    let changed = || dir.stat(name).map_or(i64::MIN, |stat| stat.mtime_s);
                    let time_s = gate.time_s.unwrap_or_else(changed);
                    material.gates.push(GateFile { path, gate, time_s });
                }
                Err(NoGate::Foreign) => material.ignore(path),
                Err(why) => material.damage_named(&path, name, "gate", why.to_string()),
            }
        });
    }

    fn read_reasoning(&mut self, tree: &Tree, folder: &str, owners: &Owners) {
        self.each_file(tree, folder, "reasoning", |material, _, name, path, object| {
            // Our own notes of a recovery are no reasoning of a step.
            if name.starts_with(super::recovery_log::PREFIX) {
                return;
            }
            match reasoning::parse(name, &object) {
                Some(reasoning) if !owners.is_foreign(&object, &path) => material.reasoning.push(reasoning),
                _ => material.ignore(path),
            }
        });
    }

    fn read_registries(&mut self, tree: &Tree, keys: &Keys, owners: &Owners) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (folder, name) in keys.registries() {
            let path = format!("{folder}/{name}");
            let Some(object) = self.object(tree, &path, "registry") else { continue };
            if owners.is_foreign(&object, &path) {
                self.ignore(path);
                continue;
            }
            let registry = registry::parse(&object);
            if registry.unusable > 0 {
                let text = format!("{} entries of {path} are no artifacts", registry.unusable);
                self.warnings.push(Warning { kind: "registry_entry", step: None, text });
            }
            for entry in registry.entries {
                let known = places.get(&entry.name).copied();
                // Of two registries the newer word counts.
                if known.is_some_and(|known| entry.time_s < self.entries[known].entry.time_s) {
                    continue;
                }
                let looked = artifact::look(tree, &entry, &folder);
                if let (artifact::Presence::Corrupt, Some(path), Some(why)) =
                    (looked.presence, &looked.path, &looked.why)
                {
                    self.damage(path, "artifact", why.clone());
                }
                let listed = Listed { entry, looked };
                match known {
                    Some(known) => self.entries[known] = listed,
                    None => {
                        places.insert(listed.entry.name.clone(), self.entries.len());
                        self.entries.push(listed);
                    }
                }
            }
        }
    }

    fn read_plan(&mut self, tree: &Tree, keys: &Keys, owners: &Owners) {
        let mut places: Vec<String> =
            keys.plans().into_iter().map(|(folder, name)| format!("{folder}/{name}")).collect();
        places.extend(self.registered_plans(tree, keys));
        for path in places {
            let damaged = self.damaged.len();
            match self.object(tree, &path, "plan") {
                Some(object) if owners.is_foreign(&object, &path) => self.ignore(path),
                Some(object) => {
                    // A plan without steps gives way to one that has some.
                    let plan = plan::parse(&object);
                    let better = self.plan.as_ref().is_none_or(|known| known.plan.steps.is_empty());
                    if better && (self.plan.is_none() || !plan.steps.is_empty()) {
                        self.plan = Some(PlanFile { path, plan });
                    }
                }
                None if self.damaged.len() > damaged || self.damaged.iter().any(|file| file.path == path) => {
                    self.damaged_plan.get_or_insert(path);
                }
                None => {}
            }
            if self.plan.as_ref().is_some_and(|known| !known.plan.steps.is_empty()) {
                break;
            }
        }
    }

    /// Plans that the registry knows and that lie elsewhere.
    fn registered_plans(&self, tree: &Tree, keys: &Keys) -> Vec<String> {
        let is_plan = |entry: &Entry| {
            let name = entry.name.strip_suffix(".json").unwrap_or(&entry.name);
            name == "plan" || keys.plan_ids.iter().any(|id| name.strip_prefix("plan-") == Some(id))
        };
        let paths = self.entries.iter().filter(|listed| is_plan(&listed.entry));
        paths
            .filter_map(|listed| listed.looked.path.clone())
            .filter(|path| path.ends_with(".json") && matches!(tree.locate(path), Located::File(..)))
            .collect()
    }

    fn read_phases(&mut self, tree: &Tree, keys: &Keys) {
        let mut paths: BTreeMap<u64, String> = BTreeMap::new();
        for folder in places::ARTIFACTS {
            let Ok(Some(dir)) = tree.folder(folder) else { continue };
            let prefixes: Vec<String> = keys.plan_ids.iter().map(|id| format!("plan-{id}-phase-")).collect();
            dir.each_name(|name| {
                let number = prefixes
                    .iter()
                    .find_map(|prefix| name.strip_prefix(prefix)?.strip_suffix(".json")?.parse().ok());
                if let Some(number) = number {
                    paths.entry(number).or_insert_with(|| format!("{folder}/{name}"));
                }
                true
            });
        }
        let mut paths: Vec<String> = paths.into_values().collect();
        if let Some(file) = &self.plan {
            let named = file.plan.phases.iter().filter_map(|phase| phase.path.as_deref());
            let mut missing = Vec::new();
            for path in named {
                let inside: Vec<String> =
                    ["", places::CONTEXT].iter().filter_map(|base| tree.inside(base, path)).collect();
                let leaves = inside.is_empty();
                let found = inside.into_iter().find(|path| matches!(tree.locate(path), Located::File(..)));
                match found {
                    Some(path) if !paths.contains(&path) => paths.push(path),
                    Some(_) => {}
                    None => missing.push((rules::text::quoted(path, super::judge::NAME_CHARS), leaves)),
                }
            }
            for (path, leaves) in missing {
                let why = if leaves { "leads out of the project: not read" } else { "is not there" };
                let text = format!("the phase plan {path} {why}");
                self.warnings.push(Warning { kind: "phase_plan_missing", step: None, text });
            }
        }
        for path in paths {
            if let Some(object) = self.object(tree, &path, "phase plan") {
                self.phases.push((path, phase_plan::parse(&object)));
            }
        }
    }
}

/// Ids that files of a workflow may carry.
#[derive(Debug)]
struct Owners {
    ids: BTreeSet<String>,
    run_folders: Vec<String>,
}

impl Owners {
    /// Returns whether a file says that it belongs to another workflow or run. What lies in the folder of the run is
    /// the run's, whichever workflow it names.
    fn is_foreign(&self, object: &Object, path: &str) -> bool {
        let other = |name: &str| object.text(name).is_some_and(|id| !self.ids.contains(id));
        let is_of_run = self.run_folders.iter().any(|folder| path.starts_with(&format!("{folder}/")));
        !is_of_run && other("workflow_id") || !self.run_folders.is_empty() && other("run_id")
    }
}
