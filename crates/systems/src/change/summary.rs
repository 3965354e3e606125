//! Where a change stands, from files alone: everything `recovery change check` says.

use serde::Serialize;

use crate::bounded;

use super::coordination::{self, Checkpoint};
use super::delivery::{self, Action, Delivery, DeliveryError, Status};
use super::design;
use super::lock::{self, LockState};
use super::next_action::{self, Design, NextAction, PlanReadiness, Situation};
use super::plan::{self, PlanReading};
use super::project::{
    COMET, COORDINATION, ChangeFolder, CometProject, DELIVERY, Found, Layout, PLANS, RECEIPTS, STATE, TASKS,
    TEXT_LIMIT, TRANSACTION, read_path, read_text,
};
pub use super::shown::clean;
use super::state::{self, ConfigurationReadiness, InvalidField, Phase, State, StateFaults};
use super::tasks::{self, Task};

/// Name and version of the summary.
pub const SCHEMA: &str = "recovery.change-check.v1";

/// Longest text of a task that is shown, in characters.
const TASK_CHARS: usize = 2_000;
/// Longest other text from outside.
const TEXT_CHARS: usize = 500;

fn cleaned(outside: &[String]) -> Vec<String> {
    outside.iter().map(|text| clean(text, TEXT_CHARS)).collect()
}

/// Something that is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// File, from the project's root.
    pub file: String,
    /// What is wrong; goes after the file.
    pub what: String,
    /// The next step.
    pub hint: String,
    /// Whether the summary can be relied on all the same.
    #[serde(skip)]
    pub is_minor: bool,
}

impl Summary {
    /// Whether everything the summary rests on could be read and agrees.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.iter().all(|problem| problem.is_minor)
    }
}

/// What of the summary is wanted beyond the least.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The steps that are left.
    pub recover: bool,
    /// Every task, the unmapped boxes and the whole checkpoint.
    pub details: bool,
    /// The phase the caller believes in.
    pub phase: Option<Phase>,
}

/// The summary.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    schema: &'static str,
    /// Name of the change.
    pub change: String,
    /// Its folder in the archive, if it lies there.
    pub archived_as: Option<String>,
    /// Its folder, from the project's root.
    pub change_dir: String,
    /// `full`, `hotfix` or `tweak`; null when the state is not valid.
    pub workflow: Option<&'static str>,
    /// Phase; null when the state is not valid.
    pub phase: Option<&'static str>,
    /// The phase the caller believed in.
    pub expected_phase: Option<&'static str>,
    /// Where changes lie.
    pub layout: Layout,
    /// `.comet.yaml`.
    pub state: StateView,
    /// Settings as they are; null when the state is not valid.
    pub configuration: Option<Configuration>,
    /// What is missing among them; null when the state is not valid.
    pub configuration_readiness: Option<ConfigurationReadiness>,
    /// What comes next; null when the state is not valid.
    pub next_action: Option<NextAction>,
    /// The client's command that does it.
    pub next_command: Option<&'static str>,
    /// `tasks.md`.
    pub task_state: TaskState,
    /// The plan.
    pub plan_mapping: PlanMapping,
    /// The checkpoint.
    pub coordination: Coordination,
    /// The delivery; in the archive phase only.
    pub delivery: Option<DeliveryView>,
    /// Whether evidence of checks may be used again.
    pub evidence: Evidence,
    /// How the lock of the change stands.
    pub lock: LockState,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is worth knowing.
    pub notes: Vec<String>,
    /// The steps that are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

/// Whether a state is there and valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StateStatus {
    /// It is.
    Valid,
    /// There is none.
    Missing,
    /// It has names or values that are not allowed, or lacks some.
    Invalid,
    /// It does not parse or cannot be read.
    Damaged,
}

/// `.comet.yaml`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateView {
    path: String,
    /// Whether it is there and valid.
    pub status: StateStatus,
    missing_fields: Vec<&'static str>,
    invalid_fields: Vec<InvalidField>,
    unknown_fields: Vec<String>,
}

/// Settings as they are.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    build_mode: Option<String>,
    build_pause: Option<&'static str>,
    subagent_dispatch: Option<&'static str>,
    tdd_mode: Option<String>,
    review_mode: Option<String>,
    isolation: Option<String>,
    verify_mode: Option<String>,
    verify_result: String,
    verify_failures: Option<u64>,
    auto_transition: Option<bool>,
    direct_override: Option<bool>,
    language: Option<String>,
    context_compression: Option<String>,
    bound_branch: Option<String>,
    design_doc: Option<String>,
    plan: Option<String>,
    verification_report: Option<String>,
}

/// A task as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct TaskView {
    /// Its lasting name.
    pub id: Option<String>,
    /// What is to be done.
    pub text: String,
    /// Whether it is ticked.
    pub completed: bool,
    /// Line, from 1.
    pub line: usize,
}

impl TaskView {
    /// Shows a task.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            text: clean(&task.text, TASK_CHARS),
            completed: task.completed,
            line: task.line,
        }
    }
}

/// `tasks.md`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskState {
    /// Its path from the project's root.
    pub authority: String,
    /// Whether it is there.
    pub exists: bool,
    /// SHA-256 with all boxes empty; null when the tasks cannot be read.
    pub revision: Option<String>,
    /// Tasks.
    pub total: usize,
    /// Tasks that are ticked.
    pub completed: usize,
    /// Whether one has no id.
    pub needs_ids: bool,
    /// The first that is open.
    pub next: Option<TaskView>,
    /// Why the tasks cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// All of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<TaskView>>,
}

/// The plan.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanMapping {
    status: &'static str,
    /// Boxes that belong to no task.
    pub unmapped_count: usize,
    /// Its path from the project's root.
    pub path: Option<String>,
    /// `ready`, `missing` or `broken`.
    pub readiness: &'static str,
    /// `canonical` or `legacy`; null when there is none.
    pub kind: Option<&'static str>,
    /// The boxes.
    #[serde(skip_serializing_if = "Option::is_none")]
    unmapped: Option<Vec<TaskView>>,
}

/// The checkpoint.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coordination {
    /// Its path from the project's root; null when there is none.
    pub path: Option<String>,
    /// Whether it speaks of another list of tasks.
    pub stale: bool,
    task_ids: Option<Vec<String>>,
    /// Step.
    pub stage: Option<&'static str>,
    /// Who works on it.
    pub session_id: Option<String>,
    /// Rounds of review used.
    pub review_rounds: Option<u64>,
    /// Rounds of review allowed.
    pub review_rounds_allowed: Option<u64>,
    /// What stands in the way.
    pub unresolved: Option<Vec<String>>,
    /// All of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<CheckpointView>,
}

/// A whole checkpoint, its texts cleaned.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointView {
    schema_version: u64,
    task_ids: Vec<String>,
    revision: String,
    stage: &'static str,
    session_id: String,
    evidence: Vec<String>,
    unresolved: Vec<String>,
    review_rounds: u64,
}

impl CheckpointView {
    /// Shows a checkpoint.
    #[must_use]
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            schema_version: 1,
            task_ids: checkpoint.task_ids.clone(),
            revision: checkpoint.revision.clone(),
            stage: checkpoint.stage.name(),
            session_id: clean(&checkpoint.session_id, TEXT_CHARS),
            evidence: cleaned(&checkpoint.evidence),
            unresolved: cleaned(&checkpoint.unresolved),
            review_rounds: checkpoint.review_rounds,
        }
    }
}

/// The delivery.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// How far it is, by the files alone; null when they cannot be read.
    pub status: Option<Status>,
    /// Its path from the project's root; null when there is none.
    pub path: Option<String>,
    /// What may be done.
    pub action: Option<Action>,
    /// Branch.
    pub target_branch: Option<String>,
    /// Remote.
    pub remote: Option<String>,
    /// Its address, without a user.
    pub authorized_remote_url: Option<String>,
    /// Commit, of the authorisation or of its receipt.
    pub commit: Option<String>,
    /// Pull request, of the authorisation or of its receipt.
    pub pr_url: Option<String>,
    /// Whether the authorisation was taken back.
    pub invalidated: bool,
}

/// Whether evidence of checks may be used again. From files alone it never may: checks are not run here.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    status: &'static str,
    reason: &'static str,
}

/// The steps that are left.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    /// In order; the first is the next action.
    pub unfinished: Vec<NextAction>,
    /// What to read before going on, from the project's root.
    required_files: Vec<String>,
}

/// Reads a change and says where it stands.
#[must_use]
pub fn read(project: &CometProject, change: &ChangeFolder, wanted: Wanted) -> Summary {
    let mut problems = Vec::new();
    let state_path = change.file(STATE);
    let (state, state_view) = read_state(change, &mut problems);

    let task_path = change.file(TASKS);
    let source = read_text(&change.dir, TASKS, TEXT_LIMIT);
    let mut error = source.fault().map(str::to_owned);
    let known = source.text().map_or(Ok(Vec::new()), tasks::parse).unwrap_or_else(|why| {
        error = Some(why.to_string());
        Vec::new()
    });
    let revision = source.text().filter(|_| error.is_none()).map(|text| tasks::revision_of(text, &known));
    if let Some(why) = &error {
        problems.push(Problem {
            file: task_path.clone(),
            what: why.clone(),
            hint: "correct that line; until then no task can be ticked".to_owned(),
            is_minor: false,
        });
    }
    let open = known.iter().find(|task| !task.completed);
    let task_state = TaskState {
        authority: task_path.clone(),
        exists: source != Found::Missing,
        revision: revision.clone(),
        total: known.len(),
        completed: known.iter().filter(|task| task.completed).count(),
        needs_ids: tasks::needs_ids(&known),
        next: open.map(TaskView::of),
        error,
        tasks: wanted.details.then(|| known.iter().map(TaskView::of).collect()),
    };

    let plan = read_plan(project, state.as_ref(), &task_path, &known, &mut problems);
    let (checkpoint, coordination_file) = read_checkpoint(change, &mut problems);
    let stale = checkpoint.as_ref().is_some_and(|checkpoint| {
        revision.as_deref().is_none_or(|now| coordination::is_stale(checkpoint, now, &known))
    });
    let delivery = state
        .as_ref()
        .filter(|state| state.phase == Phase::Archive)
        .map(|state| read_delivery(project, change, state, &mut problems));

    if change.dir.has(TRANSACTION) {
        problems.push(Problem {
            file: change.file(TRANSACTION),
            what: "is there: a write of the state was interrupted".to_owned(),
            hint: format!("`comet state check {}` ends it; it was left alone", change.name),
            is_minor: false,
        });
    }
    if let (Some(wanted), Some(state)) = (wanted.phase, &state)
        && wanted != state.phase
    {
        problems.push(Problem {
            file: state_path,
            what: format!("says {}, not {}", state.phase.name(), wanted.name()),
            hint: format!("go on with {}", next_action::phase_command(state.phase, state.workflow)),
            is_minor: false,
        });
    }
    let mut notes: Vec<String> = project.note.iter().cloned().collect();
    if project.root_move_pending() {
        notes.push(
            "a move of the artefacts is not finished (`comet doctor`); nothing can be written".to_owned(),
        );
    }

    let configuration_readiness = state.as_ref().map(state::configuration_readiness);
    let steps = match (&state, &configuration_readiness) {
        (Some(state), Some(configuration)) => next_action::steps(&Situation {
            state,
            design: &read_design(project, change, state),
            configuration,
            plan: &plan.readiness,
            unmapped: plan.reading.as_ref().map_or(0, |reading| reading.unmapped.len()),
            plan_fault: plan.fault.as_deref(),
            tasks: &known,
            checkpoint: checkpoint.as_ref().filter(|_| !stale),
        }),
        _ => Vec::new(),
    };
    let next_action = steps.first().cloned();
    let unmapped = plan.reading.as_ref().map(|reading| &reading.unmapped);
    let unmapped_count = unmapped.map_or(0, Vec::len);
    Summary {
        schema: SCHEMA,
        change: change.name.clone(),
        archived_as: change.archived_as.clone(),
        change_dir: change.path.clone(),
        workflow: state.as_ref().map(|state| state.workflow.name()),
        phase: state.as_ref().map(|state| state.phase.name()),
        expected_phase: wanted.phase.map(Phase::name),
        layout: project.layout.clone(),
        state: state_view,
        configuration: state.as_ref().map(configuration),
        configuration_readiness,
        next_command: match (&state, &next_action) {
            (Some(state), Some(next)) => Some(next_action::command(state, next.kind)),
            _ => None,
        },
        next_action,
        task_state,
        plan_mapping: PlanMapping {
            status: if unmapped_count > 0 || plan.fault.is_some() {
                "reconciliation-required"
            } else {
                "ready"
            },
            unmapped_count,
            path: state.as_ref().and_then(|state| state.plan.as_deref()).map(|path| clean(path, TEXT_CHARS)),
            readiness: match plan.readiness {
                PlanReadiness::Ready => "ready",
                PlanReadiness::Missing => "missing",
                PlanReadiness::Broken(_) => "broken",
            },
            kind: plan.reading.as_ref().map(|reading| reading.kind.name()),
            unmapped: unmapped
                .filter(|_| wanted.details)
                .map(|boxes| boxes.iter().map(TaskView::of).collect()),
        },
        coordination: Coordination {
            path: coordination_file,
            stale,
            task_ids: checkpoint.as_ref().map(|checkpoint| checkpoint.task_ids.clone()),
            stage: checkpoint.as_ref().map(|checkpoint| checkpoint.stage.name()),
            session_id: checkpoint.as_ref().map(|checkpoint| clean(&checkpoint.session_id, TEXT_CHARS)),
            review_rounds: checkpoint.as_ref().map(|checkpoint| checkpoint.review_rounds),
            review_rounds_allowed: state.as_ref().and_then(state::review_rounds_allowed),
            unresolved: checkpoint.as_ref().map(|checkpoint| cleaned(&checkpoint.unresolved)),
            checkpoint: checkpoint.as_ref().filter(|_| wanted.details).map(CheckpointView::of),
        },
        delivery,
        evidence: Evidence { status: "not-revalidated", reason: "entry" },
        lock: lock::look(&change.dir),
        problems,
        notes,
        recovery: wanted.recover.then(|| Recovery {
            unfinished: steps,
            required_files: std::iter::once(task_path)
                .chain(
                    state.as_ref().and_then(|state| state.plan.clone()).map(|path| clean(&path, TEXT_CHARS)),
                )
                .collect(),
        }),
    }
}

/// Reads a state for whoever needs no more. Ok(None): there is none. Err: it is not valid.
pub fn state_of(change: &ChangeFolder) -> Result<Option<State>, StateFaults> {
    match read_text(&change.dir, STATE, state::LIMIT) {
        Found::Missing => Ok(None),
        Found::Text(text) => state::parse(&text).map(Some),
        Found::Unusable(why) => Err(StateFaults { damaged: Some(why), ..StateFaults::default() }),
    }
}

fn read_state(change: &ChangeFolder, problems: &mut Vec<Problem>) -> (Option<State>, StateView) {
    let path = change.file(STATE);
    let view = |status, faults: StateFaults| StateView {
        path: change.file(STATE),
        status,
        missing_fields: faults.missing,
        invalid_fields: faults
            .invalid
            .into_iter()
            .map(|field| InvalidField { field: clean(&field.field, TEXT_CHARS), reason: field.reason })
            .collect(),
        unknown_fields: cleaned(&faults.unknown),
    };
    match state_of(change) {
        Ok(Some(state)) => (Some(state), view(StateStatus::Valid, StateFaults::default())),
        Ok(None) => {
            problems.push(Problem {
                file: path,
                what: "does not exist: Comet does not know this change".to_owned(),
                hint: "`/comet-open` takes it in; nothing was made up in its place".to_owned(),
                is_minor: false,
            });
            (None, view(StateStatus::Missing, StateFaults::default()))
        }
        Err(faults) => {
            let hint = if faults.has_only_unknown_names() {
                format!(
                    "a newer Comet may have written it: ask `comet state check {}`; it was not changed",
                    change.name
                )
            } else {
                "correct it from git or with `comet state`; it was not changed".to_owned()
            };
            problems.push(Problem {
                file: path,
                what: clean(&faults.in_words(), TEXT_CHARS),
                hint,
                is_minor: false,
            });
            let status = if faults.damaged.is_some() { StateStatus::Damaged } else { StateStatus::Invalid };
            (None, view(status, faults))
        }
    }
}

fn configuration(state: &State) -> Configuration {
    Configuration {
        build_mode: state.build_mode.clone(),
        build_pause: state.build_pause.then_some("plan-ready"),
        subagent_dispatch: state.subagent_dispatch.then_some("confirmed"),
        tdd_mode: state.tdd_mode.clone(),
        review_mode: state.review_mode.clone(),
        isolation: state.isolation.clone(),
        verify_mode: state.verify_mode.clone(),
        verify_result: state.verify_result.clone(),
        verify_failures: state.verify_failures,
        auto_transition: state.auto_transition,
        direct_override: state.direct_override,
        language: state.language.clone(),
        context_compression: state.context_compression.clone(),
        bound_branch: state.bound_branch.as_deref().map(|text| clean(text, TEXT_CHARS)),
        design_doc: state.design_doc.as_deref().map(|text| clean(text, TEXT_CHARS)),
        plan: state.plan.as_deref().map(|text| clean(text, TEXT_CHARS)),
        verification_report: state.verification_report.as_deref().map(|text| clean(text, TEXT_CHARS)),
    }
}

struct PlanFound {
    readiness: PlanReadiness,
    reading: Option<PlanReading>,
    /// Why its boxes cannot be read.
    fault: Option<String>,
}

fn read_plan(
    project: &CometProject,
    state: Option<&State>,
    authority: &str,
    known: &[Task],
    problems: &mut Vec<Problem>,
) -> PlanFound {
    let nothing = |readiness| PlanFound { readiness, reading: None, fault: None };
    let Some(path) = state.and_then(|state| state.plan.as_deref()) else {
        return nothing(PlanReadiness::Missing);
    };
    let shown = clean(path, TEXT_CHARS);
    let text = match read_path(&project.root, path, TEXT_LIMIT) {
        Found::Text(text) => text,
        Found::Missing => return nothing(PlanReadiness::Broken(format!("The plan {shown} does not exist"))),
        Found::Unusable(why) => {
            problems.push(Problem {
                file: shown.clone(),
                what: why.clone(),
                hint: "put the plan back; it was left alone".to_owned(),
                is_minor: false,
            });
            return nothing(PlanReadiness::Broken(format!("The plan {shown} {why}")));
        }
    };
    let readiness = if is_directly_in_plans(path) {
        PlanReadiness::Ready
    } else {
        PlanReadiness::Broken(format!("The plan {shown} is no .md directly in {PLANS}/"))
    };
    match plan::read(&text, authority, known) {
        Ok(mut reading) => {
            if state.is_some_and(|state| state.archived) {
                // The tasks have moved to the archive since; nobody corrects a plan that is done.
                reading.faults.clear();
            }
            problems.extend(reading.faults.iter().map(|fault| Problem {
                file: shown.clone(),
                what: clean(fault, TEXT_CHARS),
                hint: "correct the plan: tasks.md alone says what is done".to_owned(),
                is_minor: true,
            }));
            PlanFound { readiness, reading: Some(reading), fault: None }
        }
        Err(why) => {
            problems.push(Problem {
                file: shown,
                what: format!("has boxes that cannot be read: {why}"),
                hint: "correct that line of the plan".to_owned(),
                is_minor: false,
            });
            PlanFound { readiness, reading: None, fault: Some(why.to_string()) }
        }
    }
}

/// Whether a path names a `.md` directly in the folder of plans.
fn is_directly_in_plans(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let Some((name, folders)) = parts.split_last() else { return false };
    let is_markdown =
        name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && end.eq_ignore_ascii_case("md"));
    is_markdown && folders.join("/") == PLANS
}

fn read_design(project: &CometProject, change: &ChangeFolder, state: &State) -> Design {
    if state.phase != Phase::Design {
        return Design::Ready;
    }
    let Some(path) = &state.design_doc else { return Design::Missing };
    let fault = match read_path(&project.root, path, design::LIMIT) {
        Found::Text(text) => design::fault(&text, &change.name),
        Found::Missing => Some("does not exist".to_owned()),
        Found::Unusable(why) => Some(why),
    };
    match fault {
        None => Design::Ready,
        Some(fault) => Design::Wrong(clean(&format!("The design {path} {fault}"), TEXT_CHARS)),
    }
}

/// The checkpoint, and its path if there is a file.
fn read_checkpoint(
    change: &ChangeFolder,
    problems: &mut Vec<Problem>,
) -> (Option<Checkpoint>, Option<String>) {
    let file = change.file(&format!("{COMET}/{COORDINATION}"));
    let read = match change.comet() {
        Ok(None) => return (None, None),
        Ok(Some(dir)) => bounded::read(&dir, COORDINATION, coordination::LIMIT),
        Err(why) => Err(why),
    };
    let fault = match read {
        Ok(None) => return (None, None),
        Ok(Some(bytes)) => match coordination::parse(&bytes) {
            Ok(checkpoint) => return (Some(checkpoint), Some(file)),
            Err(why) => why.to_string(),
        },
        Err(why) => why,
    };
    problems.push(Problem {
        file: file.clone(),
        what: clean(&fault, TEXT_CHARS),
        hint: "hold the work itself against tasks.md, then set the file aside; it was left alone".to_owned(),
        is_minor: false,
    });
    (None, Some(file))
}

/// What the files say about the delivery of a change.
#[derive(Clone, Debug)]
pub struct DeliveryFiles {
    /// The authorisation with the evidence of its receipt; None: there is none.
    pub delivery: Option<Delivery>,
    /// Whether it was taken back.
    pub invalidated: bool,
}

/// Reads the authorisation of a change and its receipt in the project.
pub fn delivery_files(
    project: &CometProject,
    change: &ChangeFolder,
    state: &State,
) -> Result<DeliveryFiles, (String, String)> {
    let file = change.file(&format!("{COMET}/{DELIVERY}"));
    let fail = |why: DeliveryError| (file.clone(), why.to_string());
    let bytes = match change.comet().and_then(|dir| match dir {
        None => Ok(None),
        Some(dir) => bounded::read(&dir, DELIVERY, delivery::LIMIT),
    }) {
        Ok(None) => return Ok(DeliveryFiles { delivery: None, invalidated: false }),
        Ok(Some(bytes)) => bytes,
        Err(why) => return Err((file, why)),
    };
    let mut delivery = delivery::parse(&bytes).map_err(fail)?;
    let identity = delivery::identity(state, &change.name).map_err(fail)?;
    if delivery.change_identity != identity {
        return Err(fail(DeliveryError::Foreign));
    }
    let receipts = project.root.folder(COMET).and_then(|dir| dir.folder(RECEIPTS));
    let name = delivery::receipt_name(&identity);
    let receipt_file = format!("{COMET}/{RECEIPTS}/{name}");
    let receipt = match receipts {
        Ok(dir) => match bounded::read(&dir, &name, delivery::LIMIT) {
            Ok(None) => None,
            Ok(Some(bytes)) => {
                Some(delivery::parse_receipt(&bytes).map_err(|why| (receipt_file.clone(), why.to_string()))?)
            }
            Err(why) => return Err((receipt_file, why)),
        },
        Err(_) => None,
    };
    let mut invalidated = false;
    if let Some(receipt) =
        receipt.filter(|receipt| Some(&receipt.authorization_id) == delivery.authorization_id.as_ref())
    {
        if receipt.change_identity != identity {
            return Err((receipt_file, DeliveryError::Foreign.to_string()));
        }
        invalidated = receipt.invalidated;
        delivery.commit = receipt.commit.or(delivery.commit);
        delivery.pr_url = receipt.pr_url.or(delivery.pr_url);
    }
    Ok(DeliveryFiles { delivery: Some(delivery), invalidated })
}

/// Shows what the files say about a delivery.
#[must_use]
pub fn delivery_view(change: &ChangeFolder, files: &DeliveryFiles) -> DeliveryView {
    let shown = |text: &Option<String>| text.as_deref().map(|text| clean(text, TEXT_CHARS));
    let delivery = files.delivery.as_ref();
    DeliveryView {
        status: Some(if delivery.is_some() && !files.invalidated {
            Status::NeedsVerification
        } else {
            Status::NeedsAuthorization
        }),
        path: delivery.map(|_| change.file(&format!("{COMET}/{DELIVERY}"))),
        action: delivery.map(|delivery| delivery.action),
        target_branch: delivery.map(|delivery| clean(&delivery.target_branch, TEXT_CHARS)),
        remote: delivery.and_then(|delivery| delivery.remote.clone()),
        authorized_remote_url: delivery.and_then(|delivery| shown(&delivery.authorized_remote_url)),
        commit: delivery.and_then(|delivery| delivery.commit.clone()),
        pr_url: delivery.and_then(|delivery| shown(&delivery.pr_url)),
        invalidated: files.invalidated,
    }
}

fn read_delivery(
    project: &CometProject,
    change: &ChangeFolder,
    state: &State,
    problems: &mut Vec<Problem>,
) -> DeliveryView {
    match delivery_files(project, change, state) {
        Ok(files) => delivery_view(change, &files),
        Err((file, what)) => {
            let nothing = DeliveryFiles { delivery: None, invalidated: false };
            let view =
                DeliveryView { status: None, path: Some(file.clone()), ..delivery_view(change, &nothing) };
            problems.push(Problem {
                file,
                what: clean(&what, TEXT_CHARS),
                hint: "ask the person what may be delivered; it was left alone".to_owned(),
                is_minor: false,
            });
            view
        }
    }
}
