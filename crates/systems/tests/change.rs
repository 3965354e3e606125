//! Changes in real folders: what is read, what is left alone, what is written.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use systems::change::active::gather;
use systems::change::lock::LockState;
use systems::change::probe::Standing;
use systems::change::project::{ChangeError, ChangeFolder, CometProject, LayoutStatus, find_root};
use systems::change::state::Phase;
use systems::change::summary::{self, Summary, Wanted};
use systems::change::tasks;
use systems::change::writing::{self, PlanSync};

const DOCS: &str = "schema: comet.project.v1\nworkflows: [classic]\nclassic:\n  artifact_layout: docs\n";
const LEGACY: &str = "schema: comet.project.v1\nworkflows: [classic]\n";
const TASKS: &str = "# Labels\r\n- [x] Read them <!-- comet-task:read -->\r\n- [ ] Sort them <!-- comet-task:sort -->\r\n\
    ~~~\r\n- [ ] an example\r\n~~~\r\n* [ ] Print them <!-- comet-task:print -->";
const PLAN: &str = "docs/superpowers/plans/labels.md";
const CHANGE: &str = "docs/openspec/changes/sort-labels";

fn state(more: &[(&str, &str)]) -> String {
    let mut fields = BTreeMap::from([
        ("workflow", "full"),
        ("phase", "build"),
        ("build_mode", "executing-plans"),
        ("tdd_mode", "direct"),
        ("review_mode", "off"),
        ("isolation", "current"),
        ("verify_mode", "null"),
        ("verify_result", "pending"),
        ("verified_at", "null"),
        ("archived", "false"),
        ("design_doc", "null"),
        ("plan", PLAN),
        ("created_at", "2025-11-03"),
        ("base_ref", "abcdef0"),
    ]);
    fields.extend(more.iter().copied());
    fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

fn canonical_plan() -> String {
    format!(
        "# Labels\n<!-- comet-task-authority: {CHANGE}/tasks.md -->\n\
         1 <!-- comet-task-ref:read -->\n2 <!-- comet-task-ref:sort -->\n3 <!-- comet-task-ref:print -->\n"
    )
}

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A project with one sound change.
    fn new() -> Self {
        let world = Self::empty();
        world.write(".comet/config.yaml", DOCS);
        world.write(&format!("{CHANGE}/.comet.yaml"), &state(&[]));
        world.write(&format!("{CHANGE}/tasks.md"), TASKS);
        world.write(&format!("{CHANGE}/proposal.md"), "## Why\nLabels are printed in any order.\n");
        world.write(PLAN, &canonical_plan());
        world
    }

    fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    fn project(&self) -> CometProject {
        CometProject::open(self.dir.path()).unwrap()
    }

    fn change(&self) -> (CometProject, ChangeFolder) {
        let project = self.project();
        let change = project.change("sort-labels").unwrap();
        (project, change)
    }

    fn summary(&self, wanted: Wanted) -> Summary {
        let before = self.snapshot();
        let (project, change) = self.change();
        let summary = summary::read(&project, &change, wanted);
        assert_eq!(self.snapshot(), before, "reading writes nothing");
        summary
    }

    fn next(&self) -> (String, Option<String>) {
        let next = self.summary(Wanted::default()).next_action.unwrap();
        (next.kind.name().to_owned(), next.task_id)
    }

    fn revision(&self) -> String {
        tasks::revision(&self.read(&format!("{CHANGE}/tasks.md"))).unwrap()
    }

    fn checkpoint(&self, stage: &str, ids: &[&str], rounds: u64) -> String {
        serde_json::json!({"schemaVersion": 1, "taskIds": ids, "revision": self.revision(), "stage": stage,
            "sessionId": "worker-1", "evidence": [], "unresolved": [], "reviewRounds": rounds})
        .to_string()
    }

    fn snapshot(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.dir.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                if meta.is_dir() {
                    folders.push(path.clone());
                }
                let bytes = if meta.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
                found.insert(path, (meta.permissions().mode(), bytes));
            }
        }
        found
    }
}

#[test]
fn layouts() {
    let cases: [(&str, Option<&str>, &[&str], LayoutStatus); 15] = [
        ("docs", Some(DOCS), &["docs/openspec/changes"], LayoutStatus::Ready),
        ("legacy by default", Some(LEGACY), &["openspec/changes"], LayoutStatus::Ready),
        (
            "both, docs configured",
            Some(DOCS),
            &["docs/openspec/changes", "openspec/changes"],
            LayoutStatus::Conflict,
        ),
        (
            "both, legacy configured",
            Some(LEGACY),
            &["docs/openspec/changes", "openspec/changes"],
            LayoutStatus::Conflict,
        ),
        (
            "both, one without changes",
            Some(DOCS),
            &["docs/openspec/changes", "openspec"],
            LayoutStatus::Conflict,
        ),
        ("the other one", Some(DOCS), &["openspec/changes"], LayoutStatus::Missing),
        ("none", Some(DOCS), &[], LayoutStatus::Missing),
        ("no folder of changes", Some(DOCS), &["docs/openspec"], LayoutStatus::Missing),
        ("newer", Some("schema: comet.project.v9\n"), &["openspec/changes"], LayoutStatus::Unavailable),
        ("foreign", Some("schema: other\n"), &["openspec/changes"], LayoutStatus::Unavailable),
        ("damaged", Some("schema: [\n"), &["openspec/changes"], LayoutStatus::Unavailable),
        (
            "not enabled",
            Some("schema: comet.project.v1\nworkflows: [native]\n"),
            &["openspec/changes"],
            LayoutStatus::Unavailable,
        ),
        ("no configuration, legacy", None, &["openspec/changes"], LayoutStatus::Ready),
        ("no configuration, docs", None, &["docs/openspec/changes"], LayoutStatus::Unavailable),
        ("nothing", None, &[], LayoutStatus::Absent),
    ];
    for (what, config, folders, status) in cases {
        let world = World::empty();
        if let Some(config) = config {
            world.write(".comet/config.yaml", config);
        }
        for folder in folders {
            fs::create_dir_all(world.path(folder)).unwrap();
        }
        let project = world.project();
        assert_eq!(project.layout.status, status, "{what}");
        assert_eq!(project.layout.problem.is_some(), status != LayoutStatus::Ready, "{what}");
        assert_eq!(project.layout.hint.is_some(), status != LayoutStatus::Ready, "{what}");
        assert_eq!(project.note.is_some(), what == "no configuration, legacy");
        let refused = matches!(project.only_change(), Err(ChangeError::Layout(_)));
        assert_eq!(refused, status != LayoutStatus::Ready, "{what}: an unreadable place is not an empty one");
    }
}

#[test]
fn links_lead_nowhere() {
    let outside = World::new();
    let world = World::empty();
    world.write(".comet/config.yaml", DOCS);
    fs::create_dir(world.path("docs")).unwrap();
    symlink(outside.path("docs/openspec"), world.path("docs/openspec")).unwrap();
    assert_eq!(world.project().layout.status, LayoutStatus::Escaping);

    let world = World::new();
    symlink(outside.path(CHANGE), world.path("docs/openspec/changes/linked")).unwrap();
    assert!(matches!(world.project().change("linked"), Err(ChangeError::Escaping(_))));
    let said = gather(&world.project(), "x", &mut |_, _, _| true);
    assert!(said.changes.iter().any(|c| c.name == "linked" && matches!(c.standing, Standing::Invalid(_))));

    for file in [".comet.yaml", "tasks.md"] {
        let world = World::new();
        fs::remove_file(world.path(&format!("{CHANGE}/{file}"))).unwrap();
        symlink(outside.path(&format!("{CHANGE}/{file}")), world.path(&format!("{CHANGE}/{file}"))).unwrap();
        let summary = world.summary(Wanted::default());
        assert!(summary.problems.iter().any(|p| p.file.ends_with(file) && p.what.contains("link")), "{file}");
        assert!(!summary.is_sound());
        let (project, change) = world.change();
        assert_eq!(file != "tasks.md", writing::read_tasks(&change).is_ok());
        if file == "tasks.md" {
            let before = outside.snapshot();
            writing::assign_ids(&project, &change).unwrap_err();
            writing::complete(&project, &change, "sort", &outside.revision()).unwrap_err();
            assert_eq!(outside.snapshot(), before);
        }
    }

    let world = World::new();
    fs::remove_file(world.path(PLAN)).unwrap();
    symlink(outside.path(PLAN), world.path(PLAN)).unwrap();
    assert_eq!(world.next(), ("plan".to_owned(), None));
}

#[test]
fn a_sound_change() {
    let world = World::new();
    let summary = world.summary(Wanted { recover: true, details: true, phase: Some(Phase::Build) });
    assert!(summary.is_sound() && summary.problems.is_empty(), "{:?}", summary.problems);
    assert_eq!((summary.phase, summary.workflow), (Some("build"), Some("full")));
    let tasks = &summary.task_state;
    assert_eq!((tasks.total, tasks.completed, tasks.needs_ids, tasks.exists), (3, 1, false, true));
    assert_eq!(tasks.revision.as_deref(), Some(&*world.revision()));
    let next = tasks.next.as_ref().unwrap();
    assert_eq!((next.id.as_deref(), next.line, next.text.as_str()), (Some("sort"), 3, "Sort them"));
    assert_eq!(tasks.tasks.as_ref().unwrap().len(), 3);
    assert_eq!(summary.lock, LockState::Free);
    let left: Vec<(&str, Option<&str>)> = summary
        .recovery
        .as_ref()
        .unwrap()
        .unfinished
        .iter()
        .map(|step| (step.kind.name(), step.task_id.as_deref()))
        .collect();
    assert_eq!(left, [("reconcile-task", Some("sort")), ("reconcile-task", Some("print")), ("check", None)]);
    assert_eq!(summary.next_command, Some("/comet-build"));

    let least = world.summary(Wanted::default());
    assert!(least.recovery.is_none() && least.task_state.tasks.is_none());
    let other = world.summary(Wanted { phase: Some(Phase::Verify), ..Wanted::default() });
    assert!(!other.is_sound() && other.problems[0].what.contains("says build, not verify"));
    assert_eq!(other.next_action, least.next_action, "the real phase decides");
}

#[test]
fn a_state_that_is_not_valid_is_told_and_nothing_is_made_up() {
    for (text, part) in [
        (None, "does not exist"),
        (Some("phase: ["), "no YAML"),
        (Some("\u{0}\u{1}"), ""),
        (Some(""), "empty"),
        (Some("phase: build\n"), "lacks workflow"),
        (Some(&*state(&[("shipping", "yes")])), "unknown fields: shipping"),
        (Some(&*state(&[("phase", "shipping")])), "phase must be one of"),
        (Some(&*state(&[("plan", "../outside.md")])), "plan must be a path inside the project"),
    ] {
        let world = World::new();
        let file = format!("{CHANGE}/.comet.yaml");
        match text {
            Some(text) => world.write(&file, text),
            None => fs::remove_file(world.path(&file)).unwrap(),
        }
        let summary = world.summary(Wanted::default());
        assert!(!summary.is_sound());
        assert!(summary.problems[0].what.contains(part), "{:?}", summary.problems);
        assert!(summary.next_action.is_none() && summary.next_command.is_none() && summary.phase.is_none());
        assert!(summary.configuration.is_none() && summary.configuration_readiness.is_none());
        assert_eq!(summary.task_state.total, 3, "what is known is still told");
    }
    let world = World::new();
    fs::write(world.path(&format!("{CHANGE}/.comet.yaml")), b"phase: \xff\n").unwrap();
    assert!(world.summary(Wanted::default()).problems[0].what.contains("UTF-8"));
    fs::write(world.path(&format!("{CHANGE}/.comet.yaml")), vec![b'#'; 2 * 1024 * 1024]).unwrap();
    assert!(world.summary(Wanted::default()).problems[0].what.contains("larger"));
}

#[test]
fn what_comes_next() {
    let world = World::new();
    let set = |more: &[(&str, &str)]| world.write(&format!("{CHANGE}/.comet.yaml"), &state(more));
    let none = |kind: &str| (kind.to_owned(), None);
    for (more, kind) in [
        (&[("isolation", "null"), ("tdd_mode", "null")][..], "workspace"),
        (&[("tdd_mode", "null"), ("plan", "null")], "configure"),
        (&[("plan", "null"), ("build_pause", "plan-ready")], "plan"),
        (&[("plan", "docs/superpowers/plans/gone.md")], "plan"),
        (&[("plan", "docs/openspec/changes/sort-labels/tasks.md")], "plan"),
        (&[("build_pause", "plan-ready")], "paused"),
        (&[("phase", "verify")], "verify"),
        (&[("phase", "verify"), ("verify_result", "pass")], "transition"),
        (&[("phase", "archive")], "confirm-archive"),
        (&[("phase", "archive"), ("archive_confirmation", "confirmed")], "archive"),
        (&[("phase", "archive"), ("archived", "true")], "delivery"),
        (&[("phase", "open")], "continue-phase"),
        (&[("phase", "design")], "design"),
        (&[("phase", "design"), ("design_doc", "docs/superpowers/specs/none.md")], "repair-design"),
    ] {
        set(more);
        assert_eq!(world.next(), none(kind), "{more:?}");
    }
    let design = "docs/superpowers/specs/labels.md";
    set(&[("phase", "design"), ("design_doc", design)]);
    let head = "---\ncomet_change: sort-labels\nrole: technical-design\ncanonical_spec: openspec\n---\n";
    world.write(design, &head.replace("sort-labels", "other"));
    assert_eq!(world.next(), none("repair-design"));
    world.write(design, head);
    assert_eq!(world.next(), none("complete-design"));

    set(&[]);
    world.write(PLAN, "- [ ] Sort them\n- [x] Read them <!-- comet-task:read -->\n");
    let summary = world.summary(Wanted { details: true, ..Wanted::default() });
    assert_eq!(summary.plan_mapping.unmapped_count, 1);
    assert_eq!(world.next(), none("reconcile-plan"));
    world.write(PLAN, "- [ ]  \n");
    assert_eq!(world.next(), none("reconcile-plan"), "boxes that cannot be read are no boxes of tasks");
    world.write(PLAN, &canonical_plan());

    world.write(&format!("{CHANGE}/tasks.md"), "nothing here\n");
    assert_eq!(world.next(), none("reconcile-task"));
    world.write(&format!("{CHANGE}/tasks.md"), "- [ ] a <!-- comet-task:? -->\n");
    let summary = world.summary(Wanted::default());
    assert_eq!(summary.task_state.error.as_deref(), Some("Malformed Classic task ID at line 1"));
    assert_eq!((summary.task_state.total, summary.task_state.revision.clone()), (0, None));
    assert_eq!(world.next(), none("reconcile-task"));
    world.write(&format!("{CHANGE}/tasks.md"), &TASKS.replace("[ ]", "[x]"));
    assert_eq!(world.next(), none("check"));
}

#[test]
fn checkpoints_that_are_read() {
    let world = World::new();
    let file = format!("{CHANGE}/.comet/coordination.json");
    world.write(&file, &world.checkpoint("task-review", &["print"], 1));
    assert_eq!(world.next(), ("review".to_owned(), Some("print".to_owned())));
    let details = world.summary(Wanted { details: true, ..Wanted::default() });
    assert!(!details.coordination.stale);
    assert_eq!(details.coordination.review_rounds_allowed, Some(0));

    world.write(&format!("{CHANGE}/tasks.md"), &TASKS.replace("Print", "Show"));
    let summary = world.summary(Wanted::default());
    assert!(summary.coordination.stale && summary.is_sound());
    assert_eq!(world.next(), ("reconcile-task".to_owned(), Some("sort".to_owned())));
    world.write(&format!("{CHANGE}/tasks.md"), TASKS);

    for (text, part) in [
        ("{", "no JSON object"),
        (
            &*world
                .checkpoint("task-review", &["print"], 1)
                .replace("\"schemaVersion\":1", "\"schemaVersion\":2"),
            "newer",
        ),
        (&*world.checkpoint("resting", &["print"], 1), "stage must be"),
        (&*" ".repeat(70_000), "larger than 64 KiB"),
    ] {
        world.write(&file, text);
        let summary = world.summary(Wanted::default());
        assert!(!summary.is_sound());
        assert!(summary.problems[0].what.contains(part), "{:?}", summary.problems);
        assert_eq!(summary.coordination.path.as_deref(), Some(&*file));
        let (project, change) = world.change();
        writing::write_checkpoint(&project, &change, world.checkpoint("done", &["sort"], 1).as_bytes())
            .unwrap_err();
        assert_eq!(world.read(&file), text, "a damaged file is left alone");
    }
}

#[test]
fn checkpoints_that_are_written() {
    let world = World::new();
    world.write(&format!("{CHANGE}/.comet/checkpoint.json"), "the Engine's\n");
    let engine =
        fs::metadata(world.path(&format!("{CHANGE}/.comet/checkpoint.json"))).unwrap().modified().unwrap();
    let (project, change) = world.change();
    assert!(writing::read_checkpoint(&change).unwrap().is_none());
    let write =
        |text: &str| writing::write_checkpoint(&project, &change, text.as_bytes()).map_err(|e| e.to_string());
    write(&world.checkpoint("implementing", &["sort", "print"], 2)).unwrap();
    let json = world.read(&format!("{CHANGE}/.comet/coordination.json"));
    assert!(
        json.starts_with(
            "{\n  \"schemaVersion\": 1,\n  \"taskIds\": [\n    \"sort\",\n    \"print\"\n  ],\n"
        ) && json.ends_with("}\n")
    );
    assert!(world.read(&format!("{CHANGE}/.comet/subagent-progress.md")).contains("\nTasks: sort, print\n"));
    let before = world.snapshot();
    assert!(
        write(&world.checkpoint("implementing", &["print", "sort"], 1))
            .unwrap_err()
            .contains("cannot go back from 2 to 1")
    );
    assert!(write(&world.checkpoint("implementing", &["paint"], 2)).unwrap_err().contains("no task paint"));
    assert!(write(&world.checkpoint("implementing", &[], 2)).unwrap_err().contains("taskIds must be"));
    let stale = world.checkpoint("done", &["sort"], 2).replace(&world.revision(), &"0".repeat(64));
    assert!(write(&stale).unwrap_err().contains("stale"));
    assert_eq!(world.snapshot(), before, "a refused one writes nothing");
    write(&world.checkpoint("done", &["sort", "print"], 3)).unwrap();
    let (checkpoint, stale) = writing::read_checkpoint(&change).unwrap().unwrap();
    assert_eq!((checkpoint.review_rounds, stale), (3, false));
    let now = fs::metadata(world.path(&format!("{CHANGE}/.comet/checkpoint.json"))).unwrap();
    assert_eq!(now.modified().unwrap(), engine, "the Engine's file is never touched");
}

#[test]
fn ticks_and_ids() {
    let world = World::new();
    let (project, change) = world.change();
    let file = format!("{CHANGE}/tasks.md");
    fs::set_permissions(world.path(&file), fs::Permissions::from_mode(0o640)).unwrap();
    let revision = world.revision();
    let done = writing::complete(&project, &change, "print", &revision).unwrap();
    assert!(done.newly && done.plan == PlanSync::Canonical);
    assert_eq!(world.read(&file), TASKS.replace("* [ ] Print", "* [x] Print"));
    assert_eq!(fs::metadata(world.path(&file)).unwrap().permissions().mode() & 0o777, 0o640);
    let before = world.snapshot();
    assert!(!writing::complete(&project, &change, "print", &revision).unwrap().newly);
    for (id, expected) in [("print", "0".repeat(64)), ("none", revision.clone())] {
        writing::complete(&project, &change, id, &expected).unwrap_err();
    }
    assert_eq!(world.snapshot(), before);

    let bare = "\u{feff}- [ ] One\r\n- [x] Two\r\n";
    world.write(&file, bare);
    let fault = writing::complete(&project, &change, "one", &tasks::revision(bare).unwrap()).unwrap_err();
    assert!(fault.to_string().contains("--assign-ids"));
    assert_eq!(world.read(&file), bare);
    let (given, list) = writing::assign_ids(&project, &change).unwrap();
    assert_eq!(given, 2);
    let named = world.read(&file);
    assert!(named.starts_with("\u{feff}- [ ] One <!-- comet-task:") && named.ends_with(" -->\r\n"));
    assert_eq!(writing::assign_ids(&project, &change).unwrap().0, 0);
    assert_eq!(world.read(&file), named);
    let id = list.tasks[0].id.clone().unwrap();
    writing::complete(&project, &change, &id, &list.revision).unwrap();
    assert_eq!(world.read(&file), named.replace("- [ ] One", "- [x] One"));
}

#[test]
fn plans_follow_and_never_lead() {
    let world = World::new();
    let (project, change) = world.change();
    let plan =
        "# P\r\n- [x] later words <!-- comet-task:print -->\r\n- [ ] first <!-- comet-task:read -->\r\n";
    world.write(PLAN, plan);
    let (sync, changed) = writing::sync_plan(&project, &change).unwrap();
    assert_eq!((sync, changed), (PlanSync::Synced, true));
    assert_eq!(world.read(PLAN), plan.replace("[x] later", "[ ] later").replace("[ ] first", "[x] first"));
    assert_eq!(world.read(&format!("{CHANGE}/tasks.md")), TASKS);
    assert_eq!(writing::sync_plan(&project, &change).unwrap(), (PlanSync::Synced, false));
    let done = writing::complete(&project, &change, "print", &world.revision()).unwrap();
    assert_eq!(done.plan, PlanSync::Synced);
    assert!(world.read(PLAN).contains("[x] later"));

    world.write(PLAN, "- [ ] no id\n");
    let fault = writing::sync_plan(&project, &change).unwrap_err().to_string();
    assert!(fault.contains("mapping-required"), "{fault}");
    let done = writing::complete(&project, &change, "sort", &world.revision()).unwrap();
    assert_eq!(done.plan, PlanSync::MappingRequired);
    assert_eq!(world.read(PLAN), "- [ ] no id\n");
    fs::remove_file(world.path(PLAN)).unwrap();
    assert_eq!(writing::sync_plan(&project, &change).unwrap(), (PlanSync::None, false));
}

#[test]
fn nothing_is_written_where_somebody_else_is_at_work() {
    let locks =
        [format!("{CHANGE}/.comet-state-transaction.json"), ".comet/classic-root-move.json".to_owned()];
    for file in locks {
        let world = World::new();
        world.write(&file, "{}");
        let before = world.snapshot();
        let (project, change) = world.change();
        writing::complete(&project, &change, "sort", &world.revision()).unwrap_err();
        writing::assign_ids(&project, &change).unwrap_err();
        writing::sync_plan(&project, &change).unwrap_err();
        writing::write_checkpoint(&project, &change, world.checkpoint("done", &["sort"], 1).as_bytes())
            .unwrap_err();
        assert_eq!(world.snapshot(), before, "{file}");
    }
    let world = World::new();
    world.write(&format!("{CHANGE}/.comet-state-transaction.json"), "{}");
    assert!(!world.summary(Wanted::default()).is_sound());
    world.write(&format!("{CHANGE}/.comet-state.lock"), "{");
    assert_eq!(world.summary(Wanted::default()).lock, LockState::Unreadable);
}

fn archive(world: &World, folder: &str, delivery: Option<&str>) {
    let path = format!("docs/openspec/changes/archive/{folder}");
    world.write(&format!("{path}/.comet.yaml"), &state(&[("phase", "archive"), ("archived", "true")]));
    world.write(&format!("{path}/tasks.md"), "- [x] a <!-- comet-task:a -->\n");
    if let Some(delivery) = delivery {
        world.write(&format!("{path}/.comet/delivery.json"), delivery);
    }
}

fn delivery(name: &str) -> String {
    let state = systems::change::state::parse(&state(&[("phase", "archive"), ("archived", "true")])).unwrap();
    serde_json::json!({"schemaVersion": 1, "changeIdentity": systems::change::delivery::identity(&state, name).unwrap(),
        "action": "local", "targetBranch": "main", "authorizationId": "given-1"})
    .to_string()
}

#[test]
fn archived_changes_and_their_delivery() {
    let world = World::new();
    archive(&world, "2025-11-09-old-one", Some(&delivery("old-one")));
    let project = world.project();
    let read = |name: &str| summary::read(&project, &project.change(name).unwrap(), Wanted::default());
    for name in ["old-one", "2025-11-09-old-one"] {
        let summary = read(name);
        assert_eq!(summary.archived_as.as_deref(), Some("2025-11-09-old-one"));
        assert_eq!(summary.next_action.as_ref().unwrap().kind.name(), "delivery");
        let status = serde_json::to_value(summary.delivery.unwrap().status).unwrap();
        assert_eq!(status, "needsVerification");
    }
    let change = project.change("old-one").unwrap();
    assert!(matches!(writing::assign_ids(&project, &change), Err(writing::WriteFault::Archived)));

    let identity =
        serde_json::from_str::<serde_json::Value>(&delivery("old-one")).unwrap()["changeIdentity"].clone();
    let receipt = format!(
        ".comet/classic-deliveries/{}",
        systems::change::delivery::receipt_name(identity.as_str().unwrap())
    );
    let write_receipt = |id: &str, invalidated: bool| {
        let text = serde_json::json!({"schemaVersion": 1, "changeIdentity": identity, "authorizationId": id,
            "invalidated": invalidated, "commit": "a".repeat(40)});
        world.write(&receipt, &text.to_string());
    };
    write_receipt("given-1", false);
    assert_eq!(read("old-one").delivery.unwrap().commit, Some("a".repeat(40)));
    write_receipt("another", true);
    let unrelated = read("old-one").delivery.unwrap();
    assert!(!unrelated.invalidated && unrelated.commit.is_none());
    write_receipt("given-1", true);
    let taken_back = read("old-one").delivery.unwrap();
    assert_eq!(serde_json::to_value(taken_back.status).unwrap(), "needsAuthorization");
    fs::remove_file(world.path(&receipt)).unwrap();

    let open = |answer: bool| gather(&world.project(), "x", &mut |_, _, _| answer).changes;
    assert_eq!(open(true).len(), 2);
    assert_eq!(open(false).len(), 1);
    for (text, part) in [
        ("{", "no JSON object"),
        (&*delivery("other"), "another change"),
        (&*delivery("old-one").replace("\"schemaVersion\":1", "\"schemaVersion\":3"), "newer"),
    ] {
        archive(&world, "2025-11-09-old-one", Some(text));
        let summary = read("old-one");
        assert!(!summary.is_sound() && summary.problems[0].what.contains(part), "{:?}", summary.problems);
        assert!(summary.delivery.unwrap().status.is_none());
        assert!(matches!(open(false)[1].standing, Standing::DeliveryUnknown(..)));
    }
    archive(&world, "2025-11-10-old-one", None);
    assert!(matches!(project.change("old-one"), Err(ChangeError::Ambiguous { .. })));
    archive(&world, "2025-11-10-quiet-one", None);
    let quiet = project.change("quiet-one").unwrap();
    let summary = summary::read(&project, &quiet, Wanted::default());
    assert_eq!(serde_json::to_value(summary.delivery.unwrap().status).unwrap(), "needsAuthorization");
    assert!(!open(true).iter().any(|change| change.name == "quiet-one"), "nobody authorised anything");
}

#[test]
fn names_that_are_none() {
    let world = World::new();
    for folder in ["archive", "Not-A-Name", "notes", ".git", "a_b"] {
        fs::create_dir_all(world.path(&format!("docs/openspec/changes/{folder}"))).unwrap();
    }
    fs::write(world.path("docs/openspec/changes/file"), "x").unwrap();
    let project = world.project();
    let names: Vec<String> = project.candidates().into_iter().map(|candidate| candidate.name).collect();
    assert_eq!(names, ["sort-labels"]);
    for name in ["../sort-labels", "archive", "", "Sort", "/etc", "a/b", "sort-labels/", "file"] {
        assert!(project.change(name).is_err(), "{name}");
    }
    assert!(matches!(project.change("gone"), Err(ChangeError::NotFound { .. })));
}

#[test]
fn secrets_and_control_characters_stay_inside() {
    let world = World::new();
    let secret = &format!("sk-{}-{}", "ant", "q7".repeat(20));
    world.write(
        &format!("{CHANGE}/tasks.md"),
        &format!("- [ ] use {secret} \u{1b}[31mnow\u{202e} <!-- comet-task:a -->\n"),
    );
    let mut checkpoint: serde_json::Value =
        serde_json::from_str(&world.checkpoint("blocked", &["a"], 0)).unwrap();
    checkpoint["unresolved"] = serde_json::json!([format!("password={secret}\u{9b}31m")]);
    checkpoint["evidence"] = serde_json::json!([format!("token {secret}")]);
    world.write(&format!("{CHANGE}/.comet/coordination.json"), &checkpoint.to_string());
    let summary = world.summary(Wanted { details: true, recover: true, phase: None });
    let text = serde_json::to_string(&summary).unwrap();
    assert!(!text.contains(secret), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']) && !text.contains("\\u00"), "{text}");

    // Names in files that are refused are told too, and errors go to the terminal as they are.
    let name = format!("\\u001b[31mred\\u0007-{secret}");
    let (project, change) = world.change();
    let refused = checkpoint.to_string().replace("\"evidence\"", &format!("\"{name}\""));
    let mut said = vec![
        writing::write_checkpoint(&project, &change, refused.as_bytes()).unwrap_err().to_string(),
        systems::change::delivery::parse(format!("{{\"schemaVersion\": 1, \"{name}\": 1}}").as_bytes())
            .unwrap_err()
            .to_string(),
    ];
    world.write(&format!("{CHANGE}/.comet.yaml"), &state(&[(&format!("\"{name}\""), "1")]));
    said.push(writing::sync_plan(&project, &change).unwrap_err().to_string());
    world.write(&format!("{CHANGE}/.comet.yaml"), &format!("\"{name}\": 1\n\"{name}\": 2\n"));
    said.push(writing::sync_plan(&project, &change).unwrap_err().to_string());
    world.write(".comet/config.yaml", &format!("\"{name}\": 1\n\"{name}\": 2\n"));
    said.push(world.project().layout.problem.unwrap());
    for text in said {
        assert!(!text.contains(&**secret) && !text.contains(char::is_control), "{text:?}");
        assert!(text.contains("red"), "{text:?}");
    }
}

#[test]
fn the_project_around_a_folder() {
    let world = World::new();
    let root = world.dir.path();
    for inner in ["", CHANGE, "docs"] {
        assert_eq!(find_root(&world.path(inner), None).as_deref(), Some(root));
    }
    assert_eq!(find_root(root, Some(root)), None, "settings for all projects are no project");
    let inner = world.path("sub/repository");
    fs::create_dir_all(inner.join(".git")).unwrap();
    assert_eq!(find_root(&inner, None), Some(inner.clone()));
    let legacy = World::empty();
    fs::create_dir_all(legacy.path("docs/openspec/changes/a")).unwrap();
    assert_eq!(find_root(&legacy.path("docs/openspec/changes/a"), None).as_deref(), Some(legacy.dir.path()));
    assert_eq!(find_root(Path::new("/"), None), None);
}

#[test]
fn many_changes_are_counted_and_the_named_one_is_found() {
    let world = World::new();
    for number in 0..60 {
        world.write(&format!("docs/openspec/changes/c{number}/.comet.yaml"), &state(&[]));
    }
    let said = gather(&world.project(), "please go on with c47", &mut |_, _, _| true);
    assert!(said.changes.iter().any(|change| change.name == "c47"));
    assert_eq!(said.changes.len() + said.others, 61);
    assert!(said.changes.len() < 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands in one of the files: nothing panics, and nothing is written that was not there before.
    #[test]
    fn any_bytes_in_any_file(which in 0usize..7, bytes in proptest::collection::vec(any::<u8>(), 0..200), torn in any::<bool>()) {
        let world = World::new();
        world.write(&format!("{CHANGE}/.comet/coordination.json"), &world.checkpoint("done", &["sort"], 1));
        archive(&world, "2025-11-09-old-one", Some(&delivery("old-one")));
        let revision = world.revision();
        let given = world.checkpoint("done", &["sort"], 0);
        let file = [
            ".comet/config.yaml".to_owned(),
            format!("{CHANGE}/.comet.yaml"),
            format!("{CHANGE}/tasks.md"),
            PLAN.to_owned(),
            format!("{CHANGE}/.comet/coordination.json"),
            "docs/openspec/changes/archive/2025-11-09-old-one/.comet/delivery.json".to_owned(),
            format!("{CHANGE}/.comet-state.lock"),
        ][which].clone();
        let mut content = fs::read(world.path(&file)).unwrap_or_default();
        if torn && !content.is_empty() {
            content.truncate(bytes.len() * content.len() / 200);
        } else {
            content = bytes;
        }
        fs::write(world.path(&file), &content).unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
        fs::File::options().write(true).open(world.path(&file)).unwrap().set_modified(long_ago).unwrap();
        let before = world.snapshot();
        let project = world.project();
        let _ = gather(&project, "continue", &mut |_, _, _| true);
        for name in ["sort-labels", "old-one"] {
            let Ok(change) = project.change(name) else { continue };
            let wanted = Wanted { recover: true, details: true, phase: Some(Phase::Build) };
            let _ = serde_json::to_string(&summary::read(&project, &change, wanted)).unwrap();
            let _ = writing::read_checkpoint(&change);
            // Refused in any case: another revision, no such task, fewer rounds than recorded.
            let _ = writing::complete(&project, &change, "sort", &"0".repeat(64)).unwrap_err();
            let _ = writing::complete(&project, &change, "none", &revision).unwrap_err();
            if which != 4 {
                let _ = writing::write_checkpoint(&project, &change, given.as_bytes()).unwrap_err();
            }
            let _ = writing::sync_plan(&project, &change);
            let _ = writing::assign_ids(&project, &change);
        }
        let mut after = world.snapshot();
        if which == 2 {
            // What is left may well be a task without an id.
            after.insert(world.path(&file), before[&world.path(&file)].clone());
        }
        prop_assert_eq!(after, before);
    }
}
