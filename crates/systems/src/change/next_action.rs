//! What comes next in a change: the rows of FORMATS 8.5, in their order.

use serde::Serialize;

use super::coordination::{Checkpoint, Stage};
use super::state::{ConfigurationReadiness, Phase, State, Workflow};
use super::tasks::Task;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The design's head is wrong.
    RepairDesign,
    /// There is no design yet.
    Design,
    /// The design is there.
    CompleteDesign,
    /// No workspace was chosen.
    Workspace,
    /// Settings are missing or contradict.
    Configure,
    /// There is no plan where it must be.
    Plan,
    /// The plan has boxes of no task.
    ReconcilePlan,
    /// The person wanted a pause.
    Paused,
    /// A task, or the list of them, has to be held against the work.
    ReconcileTask,
    /// A task is under review.
    Review,
    /// A task is done and not ticked.
    Checkoff,
    /// Something stands in the way.
    Blocked,
    /// All tasks are ticked.
    Check,
    /// Verification passed.
    Transition,
    /// Verification is open or failed.
    Verify,
    /// Archived; the delivery is left.
    Delivery,
    /// Archiving is confirmed.
    Archive,
    /// Archiving is not confirmed.
    ConfirmArchive,
    /// The phase has no row of its own.
    ContinuePhase,
}

impl Kind {
    /// The word in the output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RepairDesign => "repair-design",
            Self::Design => "design",
            Self::CompleteDesign => "complete-design",
            Self::Workspace => "workspace",
            Self::Configure => "configure",
            Self::Plan => "plan",
            Self::ReconcilePlan => "reconcile-plan",
            Self::Paused => "paused",
            Self::ReconcileTask => "reconcile-task",
            Self::Review => "review",
            Self::Checkoff => "checkoff",
            Self::Blocked => "blocked",
            Self::Check => "check",
            Self::Transition => "transition",
            Self::Verify => "verify",
            Self::Delivery => "delivery",
            Self::Archive => "archive",
            Self::ConfirmArchive => "confirm-archive",
            Self::ContinuePhase => "continue-phase",
        }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextAction {
    /// What to do.
    pub kind: Kind,
    /// Why, and what to mind.
    pub reason: String,
    /// The task it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

impl NextAction {
    fn new(kind: Kind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), task_id: None }
    }
}

/// Whether the design is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Design {
    /// None is registered.
    Missing,
    /// It is registered but wrong or unreadable; what is wrong, with its path.
    Wrong(String),
    /// All is well.
    Ready,
}

/// Whether the plan is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanReadiness {
    /// None is registered.
    Missing,
    /// It is registered but not usable; why, with its path.
    Broken(String),
    /// All is well.
    Ready,
}

/// All that decides what comes next.
#[derive(Debug)]
pub struct Situation<'a> {
    /// The state.
    pub state: &'a State,
    /// The design; looked at in the phase of designing only.
    pub design: &'a Design,
    /// The settings.
    pub configuration: &'a ConfigurationReadiness,
    /// The plan.
    pub plan: &'a PlanReadiness,
    /// Boxes of the plan that belong to no task.
    pub unmapped: usize,
    /// Why the plan's boxes cannot be read, if so.
    pub plan_fault: Option<&'a str>,
    /// The tasks; none when they cannot be read.
    pub tasks: &'a [Task],
    /// The checkpoint, unless it is stale.
    pub checkpoint: Option<&'a Checkpoint>,
}

/// Returns every step that is left in the phase, the next one first.
#[must_use]
pub fn steps(situation: &Situation<'_>) -> Vec<NextAction> {
    let state = situation.state;
    match state.phase {
        Phase::Design => vec![design_step(situation.design)],
        Phase::Build => build_steps(situation),
        Phase::Verify if state.verify_result == "pass" => vec![NextAction::new(
            Kind::Transition,
            "Verification passed; the change can go to the archive phase.",
        )],
        Phase::Verify => vec![NextAction::new(Kind::Verify, verify_reason(state))],
        Phase::Archive if state.archived => vec![NextAction::new(
            Kind::Delivery,
            "It is archived already. Compare what was authorised with what git shows before anything is delivered.",
        )],
        Phase::Archive if state.archive_confirmed => vec![NextAction::new(
            Kind::Archive,
            "Archiving is confirmed and not done. A delivery needs an authorisation of its own.",
        )],
        Phase::Archive => vec![NextAction::new(
            Kind::ConfirmArchive,
            "Archiving and delivery each need the person's word; branch_status does not stand for it.",
        )],
        Phase::Open => vec![NextAction::new(
            Kind::ContinuePhase,
            "The phase goes on with the artefacts that are confirmed.",
        )],
    }
}

fn verify_reason(state: &State) -> String {
    match (state.verify_result.as_str(), state.verify_failures) {
        ("fail", Some(count)) if count >= 3 => {
            format!("Verification failed {count} times; from the third on the person decides how it goes on.")
        }
        ("fail", Some(count)) if count > 0 => {
            format!(
                "Verification failed (failure {count}); the findings go back to building, valid evidence stays."
            )
        }
        ("fail", _) => {
            "Verification failed; the findings go back to building, valid evidence stays.".to_owned()
        }
        _ => "Checks or the review are still open; evidence that is still valid stays.".to_owned(),
    }
}

fn design_step(design: &Design) -> NextAction {
    match design {
        Design::Wrong(what) => NextAction::new(
            Kind::RepairDesign,
            format!("{what}. Only that needs repair; what is confirmed stays."),
        ),
        Design::Missing => NextAction::new(
            Kind::Design,
            "No design is registered; one is registered after the person confirmed it.",
        ),
        Design::Ready => NextAction::new(
            Kind::CompleteDesign,
            "The design is there and names this change; only the last steps of the phase are left.",
        ),
    }
}

fn build_steps(situation: &Situation<'_>) -> Vec<NextAction> {
    let state = situation.state;
    let full = state.workflow == Workflow::Full;
    let mut steps = Vec::new();
    if full && state.isolation.is_none() {
        steps.push(NextAction::new(
            Kind::Workspace,
            "isolation is not set: where to work (branch, worktree or current) was never decided.",
        ));
    }
    if full && !situation.configuration.is_ready() {
        steps.push(NextAction::new(Kind::Configure, configuration_reason(situation.configuration)));
    }
    if full {
        match situation.plan {
            PlanReadiness::Ready => {}
            PlanReadiness::Missing => {
                steps.push(NextAction::new(Kind::Plan, "No plan is registered for this change."));
            }
            PlanReadiness::Broken(why) => {
                steps.push(NextAction::new(Kind::Plan, format!("{why}. What is done already stays done.")));
            }
        }
    }
    if let Some(fault) = situation.plan_fault {
        steps.push(NextAction::new(
            Kind::ReconcilePlan,
            format!("The boxes of the plan cannot be read: {fault}."),
        ));
    } else if situation.unmapped > 0 {
        let boxes = match situation.unmapped {
            1 => "1 box of the plan belongs".to_owned(),
            count => format!("{count} boxes of the plan belong"),
        };
        steps.push(NextAction::new(
            Kind::ReconcilePlan,
            format!(
                "{boxes} to no task: give each the id of its task, or add it to tasks.md. \
                 A tick there proves nothing."
            ),
        ));
    }
    if state.build_pause {
        steps.push(NextAction::new(
            Kind::Paused,
            "The plan is ready and the person wanted to stop there; only their word ends the pause.",
        ));
    }
    if situation.tasks.is_empty() {
        steps.push(NextAction::new(
            Kind::ReconcileTask,
            "tasks.md has no task that can be read: restore it and hold it against the work that is there.",
        ));
    } else {
        steps.extend(task_steps(situation));
        steps.push(NextAction::new(
            Kind::Check,
            "With every task ticked, the checks of the build decide; earlier evidence counts if it is still valid.",
        ));
    }
    steps
}

fn configuration_reason(readiness: &ConfigurationReadiness) -> String {
    let mut parts = Vec::new();
    if !readiness.missing_fields.is_empty() {
        parts.push(format!("missing: {}", readiness.missing_fields.join(", ")));
    }
    if !readiness.invalid_fields.is_empty() {
        let fields: Vec<String> =
            readiness.invalid_fields.iter().map(|f| format!("{} ({})", f.field, f.reason)).collect();
        parts.push(format!("invalid: {}", fields.join("; ")));
    }
    format!("Settings for building are open, {}. The others and a valid plan stay.", parts.join("; "))
}

/// One step for each open task; the one of a fresh checkpoint comes first.
fn task_steps(situation: &Situation<'_>) -> Vec<NextAction> {
    let open: Vec<&Task> = situation.tasks.iter().filter(|task| !task.completed).collect();
    let at_checkpoint = situation.checkpoint.and_then(|checkpoint| {
        let task = open.iter().find(|task| {
            task.id.as_deref().is_some_and(|id| checkpoint.task_ids.iter().any(|known| known == id))
        })?;
        Some((*task, checkpoint_step(checkpoint, task)))
    });
    let mut steps = Vec::new();
    let first = at_checkpoint.map(|(task, step)| {
        steps.push(step);
        task.line
    });
    for task in open.into_iter().filter(|task| Some(task.line) != first) {
        let mut step = NextAction::new(
            Kind::ReconcileTask,
            "Its box is open, which does not mean that nothing is done: hold it against code, checks and reviews, \
             then tick it or finish what is missing.",
        );
        step.task_id.clone_from(&task.id);
        steps.push(step);
    }
    steps
}

fn checkpoint_step(checkpoint: &Checkpoint, task: &Task) -> NextAction {
    let left = checkpoint.unresolved.len();
    let points =
        if left == 1 { "1 unresolved point".to_owned() } else { format!("{left} unresolved points") };
    let (kind, reason) = match checkpoint.stage {
        Stage::TaskReview => (Kind::Review, "The work is done and its review was going on.".to_owned()),
        Stage::Checkoff | Stage::Done if left > 0 => (
            Kind::Blocked,
            format!("It stands at {}, with {points}.", checkpoint.stage.name()),
        ),
        Stage::Checkoff | Stage::Done => (
            Kind::Checkoff,
            format!("It stands at {} and nothing is unresolved: what is accepted can be ticked.", checkpoint.stage.name()),
        ),
        Stage::Blocked => (
            Kind::Blocked,
            match left {
                0 => "It was recorded as blocked, without a reason.".to_owned(),
                _ => format!("It was recorded as blocked, with {points}."),
            },
        ),
        Stage::Implementing => (
            Kind::ReconcileTask,
            "It was being implemented: hold the recorded package against code and evidence and finish what is missing."
                .to_owned(),
        ),
    };
    NextAction {
        task_id: task.id.clone(),
        ..NextAction::new(
            kind,
            format!(
                "{reason} {} of review used.",
                match checkpoint.review_rounds {
                    1 => "1 round".to_owned(),
                    rounds => format!("{rounds} rounds"),
                }
            ),
        )
    }
}

/// Returns the command of the phase.
#[must_use]
pub const fn phase_command(phase: Phase, workflow: Workflow) -> &'static str {
    match (phase, workflow) {
        (Phase::Open, _) => "/comet-open",
        (Phase::Design, _) => "/comet-design",
        (Phase::Build, Workflow::Full) => "/comet-build",
        (Phase::Build, Workflow::Hotfix) => "/comet-hotfix",
        (Phase::Build, Workflow::Tweak) => "/comet-tweak",
        (Phase::Verify, _) => "/comet-verify",
        (Phase::Archive, _) => "/comet-archive",
    }
}

/// Returns the command that carries out the next step: mostly that of the phase.
#[must_use]
pub fn command(state: &State, next: Kind) -> &'static str {
    match next {
        Kind::Workspace => "/comet-open",
        // The protocol sends a recorded failure back to building.
        Kind::Verify if state.verify_result == "fail" => phase_command(Phase::Build, state.workflow),
        _ => phase_command(state.phase, state.workflow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::coordination::tests::checkpoint;
    use crate::change::state::configuration_readiness;
    use crate::change::state::tests::least;
    use crate::change::tasks;

    const SET: &str = "build_mode: executing-plans\ntdd_mode: tdd\nreview_mode: off\nisolation: branch\n";

    struct Case<'a> {
        state: &'a str,
        design: Design,
        plan: PlanReadiness,
        unmapped: usize,
        tasks: &'a str,
        checkpoint: Option<Checkpoint>,
    }

    impl Default for Case<'_> {
        fn default() -> Self {
            Self {
                state: "",
                design: Design::Ready,
                plan: PlanReadiness::Ready,
                unmapped: 0,
                tasks: "- [x] a <!-- comet-task:a -->\n- [ ] b <!-- comet-task:b -->\n- [ ] c <!-- comet-task:c -->",
                checkpoint: None,
            }
        }
    }

    impl Case<'_> {
        fn steps(&self) -> Vec<NextAction> {
            let state = least(self.state).unwrap();
            steps(&Situation {
                state: &state,
                design: &self.design,
                configuration: &configuration_readiness(&state),
                plan: &self.plan,
                unmapped: self.unmapped,
                plan_fault: None,
                tasks: &tasks::parse(self.tasks).unwrap(),
                checkpoint: self.checkpoint.as_ref(),
            })
        }

        fn next(&self) -> (&'static str, Option<String>) {
            let steps = self.steps();
            (steps[0].kind.name(), steps[0].task_id.clone())
        }

        fn kinds(&self) -> Vec<&'static str> {
            self.steps().iter().map(|step| step.kind.name()).collect()
        }
    }

    fn none(kind: &'static str) -> (&'static str, Option<String>) {
        (kind, None)
    }

    #[test]
    fn design() {
        for (design, kind) in [
            (Design::Wrong("x".into()), "repair-design"),
            (Design::Missing, "design"),
            (Design::Ready, "complete-design"),
        ] {
            assert_eq!(Case { state: "phase: design", design, ..Case::default() }.next(), none(kind));
        }
    }

    #[test]
    fn each_row_of_build_hides_those_below() {
        let paused = format!("{SET}build_pause: plan-ready\n");
        let missing = || PlanReadiness::Missing;
        let all = Case { plan: missing(), unmapped: 1, tasks: "", ..Case::default() };
        assert_eq!(all.kinds(), ["workspace", "configure", "plan", "reconcile-plan", "reconcile-task"]);
        let case = Case { state: "isolation: current", plan: missing(), unmapped: 1, ..Case::default() };
        assert_eq!(case.next(), none("configure"));
        let case = Case { state: &paused, plan: missing(), unmapped: 1, ..Case::default() };
        assert_eq!(case.next(), none("plan"));
        let case = Case { state: &paused, plan: PlanReadiness::Broken("x".into()), ..Case::default() };
        assert_eq!(case.next(), none("plan"));
        assert_eq!(Case { state: &paused, unmapped: 2, ..Case::default() }.next(), none("reconcile-plan"));
        assert_eq!(Case { state: &paused, ..Case::default() }.next(), none("paused"));
        assert_eq!(Case { state: &paused, tasks: "", ..Case::default() }.next(), none("paused"));
        assert_eq!(Case { state: SET, tasks: "", ..Case::default() }.next(), none("reconcile-task"));
        let open = Case { state: SET, ..Case::default() };
        assert_eq!(open.next(), ("reconcile-task", Some("b".into())));
        assert_eq!(open.kinds(), ["reconcile-task", "reconcile-task", "check"]);
        assert_eq!(Case { state: SET, tasks: "- [x] a", ..Case::default() }.next(), none("check"));
    }

    #[test]
    fn small_workflows_need_neither_workspace_nor_settings_nor_plan() {
        for workflow in ["hotfix", "tweak"] {
            let state = format!("workflow: {workflow}\n");
            let case = Case { state: &state, plan: PlanReadiness::Missing, ..Case::default() };
            assert_eq!(case.next(), ("reconcile-task", Some("b".into())));
            assert_eq!(Case { state: &state, unmapped: 1, ..Case::default() }.next(), none("reconcile-plan"));
        }
    }

    #[test]
    fn a_fresh_checkpoint_on_an_open_task() {
        for (stage, unresolved, kind) in [
            ("implementing", &[][..], "reconcile-task"),
            ("task-review", &[], "review"),
            ("task-review", &["x"], "review"),
            ("checkoff", &[], "checkoff"),
            ("checkoff", &["x"], "blocked"),
            ("done", &[], "checkoff"),
            ("done", &["x"], "blocked"),
            ("blocked", &[], "blocked"),
        ] {
            let checkpoint = Some(checkpoint(stage, &["a", "c"], unresolved));
            let case = Case { state: SET, checkpoint, ..Case::default() };
            assert_eq!(case.next(), (kind, Some("c".into())), "{stage} {unresolved:?}");
            assert_eq!(case.steps().len(), 3, "each task once, then the check");
        }
        let done = Case { state: SET, checkpoint: Some(checkpoint("done", &["a"], &[])), ..Case::default() };
        assert_eq!(done.next(), ("reconcile-task", Some("b".into())), "its task is ticked");
        let paused = format!("{SET}build_pause: plan-ready\n");
        let paused =
            Case { state: &paused, checkpoint: Some(checkpoint("done", &["b"], &[])), ..Case::default() };
        assert_eq!(paused.next(), none("paused"));
    }

    #[test]
    fn the_other_phases() {
        for (state, kind) in [
            ("phase: verify\nverify_result: pass", "transition"),
            ("phase: verify", "verify"),
            ("phase: verify\nverify_result: fail", "verify"),
            ("phase: archive\narchived: true\narchive_confirmation: confirmed", "delivery"),
            ("phase: archive\narchive_confirmation: confirmed", "archive"),
            ("phase: archive\narchive_confirmation: pending", "confirm-archive"),
            ("phase: archive", "confirm-archive"),
            ("phase: open", "continue-phase"),
        ] {
            assert_eq!(Case { state, ..Case::default() }.next(), none(kind), "{state}");
        }
    }

    #[test]
    fn the_third_failure_asks_the_person() {
        for (count, asks) in [(2, false), (3, true), (4, true)] {
            let state = format!("phase: verify\nverify_result: fail\nverify_failures: {count}");
            let reason = Case { state: &state, ..Case::default() }.steps()[0].reason.clone();
            assert_eq!(reason.contains("the person decides"), asks, "{reason}");
        }
    }

    #[test]
    fn commands() {
        let of = |more: &str, kind| command(&least(more).unwrap(), kind);
        assert_eq!(of("", Kind::ReconcileTask), "/comet-build");
        assert_eq!(of("", Kind::Workspace), "/comet-open");
        assert_eq!(of("workflow: hotfix", Kind::ReconcileTask), "/comet-hotfix");
        assert_eq!(of("workflow: tweak\nphase: verify", Kind::Verify), "/comet-verify");
        assert_eq!(of("phase: verify\nverify_result: fail", Kind::Verify), "/comet-build");
        assert_eq!(of("phase: verify\nverify_result: pass", Kind::Transition), "/comet-verify");
        assert_eq!(of("phase: open", Kind::ContinuePhase), "/comet-open");
        assert_eq!(of("phase: design", Kind::Design), "/comet-design");
        assert_eq!(of("phase: archive", Kind::Archive), "/comet-archive");
    }
}
