//! The reconstructed state of a workflow: what `recovery workflow show ID --json` prints.
//!
//! Every text in it that came from outside is one short line, redacted and free of control characters.

use std::fmt;

use serde::Serialize;

use super::artifact::Presence;
use super::gate::Outcome;
use super::registry::Validation;
use super::step::Step;

/// The name and version of the form of [`State`]; fields are only ever added.
pub const SCHEMA: &str = "recovery.workflow.v1";

/// Everything that is known of a workflow.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The id that was asked for.
    pub id: String,
    /// The id of the workflow, where a run tells another one than `id`.
    pub workflow_id: Option<String>,
    /// The run whose folder was read.
    pub run_id: Option<String>,
    /// The title in the plan.
    pub name: Option<String>,
    /// The highest step that passed; null is not step 0.
    pub last_completed_step: Option<Step>,
    /// What says so.
    pub last_completed_source: Option<Source>,
    /// The last step that passed with no gap and no failure before it.
    pub last_contiguous_step: Option<Step>,
    /// The step to go on with; null: there is none, or none is known.
    pub next_step: Option<Step>,
    /// The same with all that is needed for it.
    pub next: Next,
    /// Every step that is known, in the order of the numbers.
    pub steps: Vec<StepState>,
    /// The plan.
    pub plan: PlanState,
    /// The phase in work.
    pub phase: Option<PhaseState>,
    /// The record of the run.
    pub run: Option<RunState>,
    /// What the checkpoint calls the last completed step.
    pub checkpoint_step: Option<Step>,
    /// The registry, each entry looked at.
    pub artifacts: Vec<ArtifactState>,
    /// Names of artifacts that the registry calls good and that are not there.
    pub missing_artifacts: Vec<String>,
    /// Names of files that could not be read as what they should be.
    pub damaged: Vec<String>,
    /// The same with place and reason.
    pub damaged_files: Vec<DamagedFile>,
    /// What is missing below the last completed step.
    pub gaps: Vec<Gap>,
    /// What does not fit together.
    pub warnings: Vec<Warning>,
    /// Decisions of the reasoning files, in the order of the steps.
    pub decisions: Vec<Decision>,
    /// Questions that reasoning files leave open.
    pub open_questions: Vec<Question>,
    /// Files that belong to something else: left alone.
    pub ignored: Vec<String>,
}

/// Where the last completed step is known from. Without any gate the records of others are believed, and a warning
/// says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Gates.
    Gates,
    /// The checkpoint of the run.
    Checkpoint,
    /// The queue of the run.
    Run,
    /// The plan.
    Plan,
}

/// Whether the next step can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// All it needs is there.
    Ready,
    /// Something is missing.
    Blocked,
    /// Every step passed.
    Complete,
}

/// The next step.
#[derive(Clone, Debug, Serialize)]
pub struct Next {
    /// Its number.
    pub step: Option<Step>,
    /// Whether it can begin.
    pub state: Readiness,
    /// Its title.
    pub name: Option<String>,
    /// Who does it.
    pub agent: Option<String>,
    /// What it has to do.
    pub tasks: Vec<String>,
    /// When it is done.
    pub success_criteria: Vec<String>,
    /// What has to be done before it.
    pub dependencies: Vec<Dependency>,
    /// Artifacts it works with.
    pub inputs: Vec<Input>,
    /// What is in its way.
    pub missing: Vec<Missing>,
    /// Why its gate failed, if it was tried.
    pub failed_with: Vec<String>,
}

/// Something that has to be done before a step.
#[derive(Clone, Debug, Serialize)]
pub struct Dependency {
    /// As the plan or the queue names it.
    pub name: String,
    /// Its step, where it is one.
    pub step: Option<Step>,
    /// Whether it is done.
    pub done: bool,
}

/// An artifact a step works with.
#[derive(Clone, Debug, Serialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// From the project's root.
    pub path: Option<String>,
    /// Whether it can be used.
    pub available: bool,
}

/// What is in the way of a step.
#[derive(Clone, Debug, Serialize)]
pub struct Missing {
    /// `plan` `approval` `step` `artifact` `status`.
    pub kind: &'static str,
    /// What it is.
    pub name: String,
    /// Who has to do something about it.
    pub agent: Option<String>,
    /// What, in a sentence without its full stop.
    pub remedy: String,
}

/// A step.
#[derive(Clone, Debug, Serialize)]
pub struct StepState {
    /// Its number.
    pub step: Step,
    /// Its title in the plan.
    pub name: Option<String>,
    /// Who does it.
    pub agent: Option<String>,
    /// What its gates say together; null: there is none that could be read.
    pub gate: Option<Outcome>,
    /// The gate that counts, from the project's root.
    pub gate_path: Option<String>,
    /// When it was written, RFC 3339.
    pub gate_time: Option<String>,
    /// Why it did not pass.
    pub errors: Vec<String>,
    /// What the plan says.
    pub plan_status: Option<String>,
    /// Whether there is a reasoning file.
    pub has_reasoning: bool,
}

/// Whether there is a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPresence {
    /// With steps.
    Present,
    /// It lists no steps.
    WithoutSteps,
    /// It could not be read.
    Damaged,
    /// There is none.
    Missing,
}

/// The plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanState {
    /// Whether there is one.
    pub state: PlanPresence,
    /// From the project's root.
    pub path: Option<String>,
    /// Whether it was approved, in its words.
    pub approval: Option<String>,
    /// Its own status.
    pub status: Option<String>,
    /// What to do about a plan that cannot be used.
    pub remedy: Option<String>,
}

/// The phase in work.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseState {
    /// Its id.
    pub id: Option<String>,
    /// Its title.
    pub name: Option<String>,
    /// Its status.
    pub status: Option<String>,
    /// Its plan, from the project's root.
    pub path: String,
    /// What the phase plan says about going on.
    pub can_resume: Option<bool>,
    /// The task to resume at.
    pub resume_point: Option<String>,
    /// What that task is about.
    pub description: Option<String>,
    /// Who does it.
    pub agent: Option<String>,
    /// Files it touches.
    pub files: Vec<String>,
    /// What was done, in a line.
    pub summary: Option<String>,
    /// Tasks that are done.
    pub completed: Vec<String>,
    /// Tasks that are not.
    pub pending: Vec<String>,
    /// What was tried without success.
    pub avoid: Vec<Avoid>,
}

/// An approach that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Avoid {
    /// The task it was tried for.
    pub task: Option<String>,
    /// The approach.
    pub approach: Option<String>,
    /// Why it failed.
    pub reason: Option<String>,
    /// How often it was tried.
    pub attempts: Option<u64>,
}

/// The record of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunState {
    /// From the project's root.
    pub path: String,
    /// In its words.
    pub status: Option<String>,
    /// The step it was at.
    pub current_step: Option<Step>,
    /// Its newest sign of life, RFC 3339.
    pub last_sign: Option<String>,
    /// The age of it in seconds.
    pub age_s: Option<i64>,
    /// Whether it says that it goes on, but has been silent for too long.
    pub interrupted: bool,
}

/// An entry of the registry.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactState {
    /// Its name.
    pub name: String,
    /// The step that made it.
    pub step: Option<Step>,
    /// Who made it, and makes it again.
    pub agent: Option<String>,
    /// From the project's root.
    pub path: Option<String>,
    /// What the registry says.
    pub validation: Validation,
    /// What was found.
    pub presence: Presence,
    /// Why it cannot be used, in words that stand after the name.
    pub why: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    /// Bytes, as the registry says.
    pub recorded_size: Option<u64>,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// A file that could not be read as what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DamagedFile {
    /// From the project's root.
    pub path: String,
    /// `gate` `reasoning` `registry` `plan` `phase plan` `run` `checkpoint` `artifact` `folder`.
    pub what: &'static str,
    /// In words that stand after the name.
    pub why: String,
}

/// What is missing below the last completed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// `gate` or `reasoning`.
    pub kind: &'static str,
    /// The first step without.
    pub from: Step,
    /// The last one; every whole step between is without, too.
    pub to: Step,
}

impl fmt::Display for Gap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            write!(formatter, "{}", self.from)
        } else {
            write!(formatter, "{}-{}", self.from, self.to)
        }
    }
}

/// Something that does not fit together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A word for programs.
    pub kind: &'static str,
    /// The step it is about.
    pub step: Option<Step>,
    /// The sentence, without its full stop.
    pub text: String,
}

/// A decision.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    /// The step it was made in.
    pub step: Step,
    /// Who made it.
    pub agent: Option<String>,
    /// What was decided.
    pub decision: String,
    /// Why.
    pub rationale: Option<String>,
}

/// A question that was left open.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// The step it came up in.
    pub step: Step,
    /// The question.
    pub question: String,
}

impl State {
    /// Returns the steps that passed, in their order.
    #[must_use]
    pub fn passed(&self) -> Vec<Step> {
        let passed = |step: &&StepState| step.gate == Some(Outcome::Passed);
        self.steps.iter().filter(passed).map(|step| step.step).collect()
    }

    /// Returns the artifacts that are called good but cannot be used.
    pub fn broken_artifacts(&self) -> impl Iterator<Item = &ArtifactState> {
        self.artifacts
            .iter()
            .filter(|artifact| !matches!(artifact.presence, Presence::Present | Presence::NotChecked))
    }

    /// Returns whether the run was cut off.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.interrupted)
    }
}
