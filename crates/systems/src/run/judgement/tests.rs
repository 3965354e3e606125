//! Every row, each with what is next to it.

use proptest::prelude::*;

use super::*;
use crate::run::{branch::FAR, claim::Claim, progress, record};

/// A run that has everything a strong case needs; a test changes what it is about.
struct Given {
    fields: Vec<(&'static str, &'static str)>,
    stage: Stage,
    mismatch: Option<&'static str>,
    claimed: Claimed,
    process: RunProcess,
    window: WindowState,
    events: Option<&'static [u8]>,
    workflow: WorkflowFile,
    branch: Option<Branch>,
    repair: Option<RepairState>,
    told_blocked: bool,
    far: u64,
}

const BUILD_RUNNING: &[u8] =
    br#"{"type":"job","status":"running","job":"build","at":"2026-03-02T09:00:00Z"}"#;
const BUILD_DONE: &[u8] = br#"{"type":"job","status":"completed","job":"build","at":"2026-03-02T09:00:00Z"}"#;
const OTHER: &[u8] = br#"{"type":"job","status":"failed","job":"other","reason":"connection reset","at":"2026-03-02T09:00:00Z"}"#;
const HERE: WorkflowFile = WorkflowFile::Present { has_job: Some(true) };
const AWAY: WorkflowFile = WorkflowFile::NotKnown { why: "it is not on this machine" };

fn process(state: Life) -> RunProcess {
    RunProcess { pid: Some(77), started_at_s: None, state, number_reused: false }
}

impl Given {
    fn interrupted() -> Self {
        Self {
            fields: vec![
                ("outcome", r#""interrupted""#),
                ("failedJob", r#""build""#),
                ("env", r#"{"AGIFLOW_JOB_ID":"j"}"#),
            ],
            stage: Stage::Error,
            mismatch: None,
            claimed: Claimed::No,
            process: process(Life::Gone),
            window: WindowState::Absent,
            events: Some(BUILD_RUNNING),
            workflow: HERE,
            branch: Some(Branch::Counted { base: "main".into(), behind: 0, ahead: 2 }),
            repair: None,
            told_blocked: false,
            far: FAR,
        }
    }

    fn failed(error: &'static str) -> Self {
        Self::interrupted().with("outcome", r#""failed""#).with("errorMessage", error)
    }

    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.fields.retain(|(known, _)| *known != name);
        self.fields.push((name, value));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(known, _)| *known != name);
        self
    }

    /// Judges it both ways, which differ in nothing but the evidence.
    fn judge(&self) -> Judgement {
        let full = self.look(judge);
        let briefly = Judgement { evidence: Vec::new(), not_known: Vec::new(), ..full.clone() };
        assert_eq!(self.look(judge_briefly), briefly);
        assert!(!full.evidence.is_empty());
        full
    }

    fn look<T>(&self, at: impl FnOnce(&Case<'_>) -> T) -> T {
        let fields: String = self.fields.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
        let text = format!(
            r#"{{"runKey":"k-1","workspace":"w","workflowPath":"/r/a.yml","startedAt":"2026-03-02T09:00:00Z","stage":"{}"{fields}}}"#,
            self.stage.word()
        );
        let record = record::parse(text.as_bytes()).unwrap();
        let window = Window {
            kind: Some("tmux".into()),
            place: Some("s".into()),
            state: self.window,
            detail: Some("node".into()),
        };
        let progress = self.events.map(progress::parse);
        at(&Case {
            key: "k-1",
            workspace: "w",
            stage: self.stage,
            record: Ok(&record),
            mismatch: self.mismatch,
            claimed: &self.claimed,
            process: &self.process,
            window: &window,
            events: progress.as_ref().map_or(Events::Missing, Events::Read),
            workflow: &self.workflow,
            branch: self.branch.as_ref(),
            repair: self.repair,
            told_blocked: self.told_blocked,
            far: self.far,
        })
    }

    fn gives(&self, outcome: Outcome, row: Row) {
        let judgement = self.judge();
        assert_eq!((judgement.outcome, judgement.row), (outcome, row), "{}", judgement.reason);
        assert_eq!(judgement.prerequisite.is_some(), outcome == Outcome::Defer, "{judgement:?}");
        assert_eq!(judgement.command.is_some(), outcome.is_launch(), "{judgement:?}");
    }
}

fn claim() -> Claim {
    Claim {
        schema_version: 1,
        claim_id: "c".into(),
        claimed_at: "2026-03-02T09:00:00Z".into(),
        owner_session_id: Some("s-1".into()),
        owner_process: None,
        run_id: None,
        progress_bytes: 0,
    }
}

#[test]
fn interrupted_with_a_valid_failed_job_is_the_strong_case() {
    let given = Given::interrupted();
    given.gives(Outcome::Recover, Row::Interrupted);
    assert!(given.judge().strong);
    for fine in [
        Given { events: None, ..Given::interrupted() },
        Given { workflow: AWAY, ..Given::interrupted() },
        Given { branch: Some(Branch::NotRecorded), ..Given::interrupted() },
        Given { branch: Some(Branch::NotKnown { why: "x".into() }), ..Given::interrupted() },
        Given { repair: Some(RepairState::Present), ..Given::interrupted() }.with("activeRepairId", r#""r""#),
        Given { process: process(Life::NotRecorded), ..Given::interrupted() },
        Given { window: WindowState::Present, ..Given::interrupted() },
        Given { window: WindowState::NotKnown, ..Given::interrupted() },
    ] {
        fine.gives(Outcome::Recover, Row::Interrupted);
    }
}

#[test]
fn failed_with_a_valid_failed_job_depends_on_the_cause() {
    Given::failed(r#""connection reset""#).gives(Outcome::Recover, Row::Transient);
    assert!(!Given::failed(r#""connection reset""#).judge().strong);
    Given::failed(r#""expected 3, got 4""#).gives(Outcome::Defer, Row::NotTransient);
    Given::failed(r#""""#).gives(Outcome::Defer, Row::Incomplete);
    Given::failed(r#""job build failed""#)
        .with("failureReason", r#""ETIMEDOUT""#)
        .gives(Outcome::Recover, Row::Transient);
    let told_by_events = Given { events: Some(OTHER), workflow: HERE, ..Given::failed(r#""job failed""#) };
    told_by_events.gives(Outcome::Recover, Row::Transient);
}

#[test]
fn an_empty_failed_job_is_launched_fresh_when_ready() {
    for empty in [r#""""#, "null", r#""  ""#] {
        let given = Given::interrupted().with("failedJob", empty);
        given.gives(Outcome::LaunchFresh, Row::NoFailedJob);
        for not_ready in [WorkflowFile::Missing, AWAY] {
            Given { workflow: not_ready, ..Given::interrupted().with("failedJob", empty) }
                .gives(Outcome::Defer, Row::NoFailedJob);
        }
    }
}

#[test]
fn a_target_that_is_not_there_is_never_made_up() {
    Given::interrupted().with("failedJob", "7").gives(Outcome::LaunchFresh, Row::InvalidTarget);
    let gone = WorkflowFile::Present { has_job: Some(false) };
    Given { events: None, workflow: gone.clone(), ..Given::interrupted() }
        .gives(Outcome::LaunchFresh, Row::InvalidTarget);
    Given { workflow: gone, ..Given::interrupted() }.gives(Outcome::Recover, Row::Interrupted);
    Given { branch: Some(Branch::Missing), ..Given::interrupted() }
        .gives(Outcome::LaunchFresh, Row::InvalidTarget);
    let command = Given::interrupted().judge().command.unwrap();
    assert!(!command.contains("build"), "the engine takes the recorded job: {command}");
}

#[test]
fn a_repair_triage_run_is_never_recovered() {
    for (name, value) in [
        ("workflowId", r#""repair-triage""#),
        ("workflowName", r#""Repair Triage""#),
        ("displayName", r#""k: repair_triage of x""#),
        ("failedJob", r#""repairTriage""#),
    ] {
        let given = || Given::interrupted().with(name, value);
        given().gives(Outcome::LaunchFresh, Row::RepairTriage);
        Given { workflow: AWAY, ..given() }.gives(Outcome::Defer, Row::RepairTriage);
    }
    Given::interrupted()
        .with("workflowName", r#""repair the triager""#)
        .gives(Outcome::Recover, Row::Interrupted);
}

#[test]
fn a_branch_that_has_diverged_far_is_launched_fresh() {
    for (behind, outcome, row) in [
        (FAR - 1, Outcome::Recover, Row::Interrupted),
        (FAR, Outcome::LaunchFresh, Row::StaleBranch),
        (FAR + 1, Outcome::LaunchFresh, Row::StaleBranch),
    ] {
        let branch = Some(Branch::Counted { base: "main".into(), behind, ahead: 1 });
        Given { branch, ..Given::interrupted() }.gives(outcome, row);
    }
    let unrelated = || Some(Branch::Unrelated { base: "main".into() });
    Given { branch: unrelated(), ..Given::interrupted() }.gives(Outcome::LaunchFresh, Row::StaleBranch);
    Given { branch: unrelated(), ..Given::failed(r#""x""#) }.gives(Outcome::LaunchFresh, Row::StaleBranch);
    let nearer = Some(Branch::Counted { base: "main".into(), behind: 3, ahead: 1 });
    Given { branch: nearer, far: 3, ..Given::interrupted() }.gives(Outcome::LaunchFresh, Row::StaleBranch);
}

#[test]
fn without_a_job_id_it_is_only_reported() {
    Given::interrupted().without("env").gives(Outcome::ReportOnly, Row::NoJobId);
    Given::interrupted().with("env", r#"{"AGIFLOW_JOB_ID":""}"#).gives(Outcome::ReportOnly, Row::NoJobId);
    Given::interrupted().with("dryRun", "true").gives(Outcome::ReportOnly, Row::DryRun);
}

#[test]
fn a_blocked_job_waits_for_a_person() {
    Given { told_blocked: true, ..Given::interrupted() }.gives(Outcome::Defer, Row::Blocked);
    Given::interrupted().with("jobColumn", r#""blocked""#).gives(Outcome::Defer, Row::Blocked);
    let unknown = Given::interrupted().judge().not_known;
    assert!(unknown.iter().any(|text| text.contains("blocked column")), "{unknown:?}");
}

#[test]
fn what_is_alive_has_not_ended() {
    Given { process: process(Life::Alive), ..Given::interrupted() }.gives(Outcome::Defer, Row::Alive);
    Given { process: process(Life::NotKnown), ..Given::interrupted() }.gives(Outcome::Defer, Row::Alive);
    Given { window: WindowState::Busy, ..Given::interrupted() }.gives(Outcome::Defer, Row::Alive);
    let by_hand = Given { process: process(Life::Alive), ..Given::interrupted().without("env") };
    by_hand.gives(Outcome::Defer, Row::Alive);
}

#[test]
fn incomplete_or_contradicting_evidence_waits() {
    Given::interrupted().without("outcome").gives(Outcome::Defer, Row::Incomplete);
    for odd in [r#""exploded""#, r#""success""#, r#""skipped""#] {
        Given::interrupted().with("outcome", odd).gives(Outcome::Defer, Row::Incomplete);
    }
    Given { mismatch: Some("says otherwise"), ..Given::interrupted() }.gives(Outcome::Defer, Row::Incomplete);
    Given::interrupted().with("schemaVersion", "2").gives(Outcome::Defer, Row::Incomplete);
    Given::interrupted().with("schemaVersion", "1").gives(Outcome::Recover, Row::Interrupted);
    Given { workflow: WorkflowFile::Missing, ..Given::interrupted() }.gives(Outcome::Defer, Row::Incomplete);
    Given { events: Some(b"\0\0\0 no event"), ..Given::interrupted() }.gives(Outcome::Defer, Row::Incomplete);
    Given { events: Some(b""), ..Given::interrupted() }.gives(Outcome::Recover, Row::Interrupted);
    Given { events: Some(BUILD_DONE), ..Given::interrupted() }.gives(Outcome::Defer, Row::Incomplete);
    Given { events: Some(OTHER), workflow: AWAY, ..Given::interrupted() }
        .gives(Outcome::Defer, Row::Incomplete);
    Given { events: Some(OTHER), ..Given::interrupted() }.gives(Outcome::Recover, Row::Interrupted);
    for (repair, row) in [
        (RepairState::Missing, Row::Incomplete),
        (RepairState::Escapes, Row::Incomplete),
        (RepairState::NotKnown, Row::Interrupted),
    ] {
        let given = Given { repair: Some(repair), ..Given::interrupted() }.with("activeRepairId", r#""r""#);
        assert_eq!(given.judge().row, row, "{repair:?}");
    }
}

#[test]
fn a_claimed_run_is_only_reported() {
    for claimed in [
        Claimed::Ours(claim()),
        Claimed::Unreadable("it is damaged".into()),
        Claimed::Recorded { id: "c".into(), owner: None },
    ] {
        Given { claimed, ..Given::interrupted() }.gives(Outcome::ReportOnly, Row::AlreadyClaimed);
    }
    Given::failed(r#""JOB_ALREADY_CLAIMED: timeout""#).gives(Outcome::ReportOnly, Row::AlreadyClaimed);
}

#[test]
fn only_stage_error_is_judged() {
    for stage in [Stage::Queued, Stage::Running, Stage::Completed] {
        let given = Given { stage, ..Given::interrupted() };
        given.gives(Outcome::ReportOnly, Row::NotRecoverable);
        assert!(given.judge().reason.starts_with(&format!("not recoverable: {}", stage.word())));
    }
}

#[test]
fn what_the_engine_says_of_a_stale_run_is_shown() {
    let given = Given { stage: Stage::Running, ..Given::interrupted() }
        .with("stale", "true")
        .with("staleReason", r#""no beat\u001b[1m since 9:00""#);
    let fact =
        Fact { name: "stale", value: "the engine found nobody behind it: \"no beat since 9:00\"".into() };
    assert!(given.judge().evidence.contains(&fact), "{:?}", given.judge());
    given.gives(Outcome::ReportOnly, Row::NotRecoverable);
}

#[test]
fn a_folder_without_a_record_is_only_reported() {
    let error = NoRecord::Damaged;
    let (claimed, process) = (Claimed::No, process(Life::NotRecorded));
    let window = Window { kind: None, place: None, state: WindowState::NotRecorded, detail: None };
    let judgement = judge(&Case {
        key: "k",
        workspace: "w",
        stage: Stage::Error,
        record: Err(&error),
        mismatch: None,
        claimed: &claimed,
        process: &process,
        window: &window,
        events: Events::Missing,
        workflow: &AWAY,
        branch: None,
        repair: None,
        told_blocked: false,
        far: FAR,
    });
    assert_eq!((judgement.outcome, judgement.row), (Outcome::ReportOnly, Row::NoRecord));
}

#[test]
fn recover_and_fresh_share_one_budget() {
    let all = || {
        vec![
            Given::failed(r#""connection reset""#).judge(),
            Given::interrupted().with("failedJob", "null").judge(),
            Given::interrupted().without("env").judge(),
            Given::interrupted().judge(),
        ]
    };
    use Outcome::{Defer, LaunchFresh, Recover, ReportOnly};
    for (budget, spent, outcomes) in [
        (None, 3, [Recover, LaunchFresh, ReportOnly, Recover]),
        (Some(4), 3, [Recover, LaunchFresh, ReportOnly, Recover]),
        (Some(3), 3, [Recover, LaunchFresh, ReportOnly, Recover]),
        (Some(2), 2, [Recover, Defer, ReportOnly, Recover]),
        (Some(1), 1, [Defer, Defer, ReportOnly, Recover]),
        (Some(0), 0, [Defer, Defer, ReportOnly, Defer]),
    ] {
        let mut judgements = all();
        assert_eq!(share_budget(&mut judgements, budget), spent, "{budget:?}");
        assert_eq!(
            judgements.iter().map(|judgement| judgement.outcome).collect::<Vec<_>>(),
            outcomes,
            "{budget:?}"
        );
        for judgement in judgements.iter().filter(|judgement| judgement.row == Row::BudgetSpent) {
            assert!(judgement.command.is_none() && judgement.prerequisite.is_some(), "{judgement:?}");
        }
    }
}

#[test]
fn git_is_asked_only_where_its_answer_decides() {
    let asked = |given: Given| Given { branch: None, ..given }.look(needs_branch);
    assert!(
        asked(Given::interrupted()) && asked(Given::failed(r#""x""#)) && asked(Given::failed(r#""timeout""#))
    );
    assert!(
        !asked(Given::interrupted().without("env")) && !asked(Given::interrupted().with("failedJob", "null"))
    );
    assert!(!asked(Given { process: process(Life::Alive), ..Given::interrupted() }));
}

#[test]
fn a_word_of_a_shell_is_one_word() {
    for (word, quoted) in [
        ("shop-1", "shop-1"),
        ("a b", "'a b'"),
        ("it's", r"'it'\''s'"),
        ("", "''"),
        ("-x", "'-x'"),
        ("$(x)", "'$(x)'"),
    ] {
        assert_eq!(shell_word(word), quoted);
    }
}

proptest! {
    #[test]
    fn no_command_is_a_dry_run_or_names_a_secret(
        dry in any::<bool>(),
        outcome in "failed|interrupted|success",
        job in prop_oneof![Just("null".to_owned()), Just("\"build\"".into()), Just("\"--dry-run\"".into())],
        error in "timeout|x|",
    ) {
        let dry = if dry { "true" } else { "false" };
        // The builder takes what lives for good; a test may leak a few bytes.
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let given = Given { events: None, ..Given::interrupted() }
            .with("dryRun", dry)
            .with("outcome", leak(format!("\"{outcome}\"")))
            .with("failedJob", leak(job))
            .with("errorMessage", leak(format!("\"{error}\"")))
            .with("prompt", "\"sesame-opens\"")
            .with("inputs", r#"{"a":"sesame-opens"}"#)
            .with("secretFile", "\"/sesame-opens\"");
        let judgement = given.judge();
        for text in judgement.command.iter().chain(&judgement.before).chain(&judgement.after) {
            prop_assert!(!text.contains("dry"), "{}", text);
        }
        let all = format!("{judgement:?}");
        prop_assert!(!all.contains("sesame"));
        prop_assert!(dry != "true" || judgement.command.is_none());
    }
}
