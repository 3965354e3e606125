//! What to do about one run: exactly one of four outcomes, with the row that decided and the evidence for it.
//!
//! Pure: everything that was looked at is in the [`Case`]. The rows are those of FORMATS 7, the first that applies
//! decides. A target is never made up: what the record does not name is not recovered.

use std::cell::LazyCell;

use rules::text;
use serde::Serialize;

use super::branch::Branch;
use super::cause::{self, Cause};
use super::claim::Claimed;
use super::evidence::RepairState;
use super::process::{Life, RunProcess, Window, WindowState};
use super::progress::{Progress, Status};
use super::record::{Ending, FailedJob, NoRecord, Record, Stage};
use super::shown;
use super::withheld;
use super::workflow_file::WorkflowFile;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Go on with the run from its failed job.
    Recover,
    /// Start the work anew, as another run.
    LaunchFresh,
    /// Something has to be settled first.
    Defer,
    /// Say what is there, do nothing.
    ReportOnly,
}

impl Outcome {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Recover => "recover",
            Self::LaunchFresh => "launch fresh",
            Self::Defer => "defer",
            Self::ReportOnly => "report only",
        }
    }

    /// Whether it costs a launch of the budget.
    #[must_use]
    pub const fn is_launch(self) -> bool {
        matches!(self, Self::Recover | Self::LaunchFresh)
    }
}

/// The row that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// There is no readable record.
    NoRecord,
    /// Queued, running or completed.
    NotRecoverable,
    /// Somebody else recovers it.
    AlreadyClaimed,
    /// Something of it still lives.
    Alive,
    /// Nothing was carried out.
    DryRun,
    /// It was started by hand.
    NoJobId,
    /// Its job is blocked.
    Blocked,
    /// It was itself about a repair.
    RepairTriage,
    /// What is known does not suffice, or contradicts itself.
    Incomplete,
    /// No failed job is recorded.
    NoFailedJob,
    /// The recorded target is not there.
    InvalidTarget,
    /// Branch and base have grown apart.
    StaleBranch,
    /// Interrupted, with a valid failed job.
    Interrupted,
    /// Failed by something that passes, with a valid failed job.
    Transient,
    /// Failed by something that does not pass by itself.
    NotTransient,
    /// The budget of the pass is spent.
    BudgetSpent,
}

/// The events of a run, as far as they could be read.
#[derive(Clone, Copy, Debug)]
pub enum Events<'p> {
    /// There is no file.
    Missing,
    /// There is one, and it cannot be read.
    Unreadable,
    /// They were read.
    Read(&'p Progress),
}

/// All that is known of a run.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// Folder of the run.
    pub key: &'c str,
    /// Folder of the workspace.
    pub workspace: &'c str,
    /// Folder of the stage.
    pub stage: Stage,
    /// The record.
    pub record: Result<&'c Record, &'c NoRecord>,
    /// What does not fit between the record and its folders.
    pub mismatch: Option<&'c str>,
    /// Who recovers it.
    pub claimed: &'c Claimed,
    /// Its process.
    pub process: &'c RunProcess,
    /// Its window.
    pub window: &'c Window,
    /// Its events.
    pub events: Events<'c>,
    /// The file of its workflow.
    pub workflow: &'c WorkflowFile,
    /// Its branch; none: not asked for yet.
    pub branch: Option<&'c Branch>,
    /// Where its active repair is; none: it has none.
    pub repair: Option<RepairState>,
    /// A person says that its job is blocked.
    pub told_blocked: bool,
    /// Commits from which a branch has diverged far.
    pub far: u64,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What it is about.
    pub name: &'static str,
    /// What was found.
    pub value: String,
}

/// The judgement on one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// Key of the run.
    pub run_key: String,
    /// Its workspace.
    pub workspace: String,
    /// Its stage.
    pub stage: Stage,
    /// How it ended.
    pub ending: Option<Ending>,
    /// The job to go on with.
    pub failed_job: Option<String>,
    /// What to do.
    pub outcome: Outcome,
    /// The row that decided.
    pub row: Row,
    /// The case for recovering is a strong one.
    pub strong: bool,
    /// Why, in one sentence.
    pub reason: String,
    /// What has to be settled first.
    pub prerequisite: Option<String>,
    /// What was found.
    pub evidence: Vec<Fact>,
    /// What cannot be known from here.
    pub not_known: Vec<String>,
    /// The one command that does it: a call of the system's own tool.
    pub command: Option<String>,
    /// The commands of ours before it, in order.
    pub before: Vec<String>,
    /// The commands of ours after it, in order.
    pub after: Vec<String>,
}

/// What a row says.
struct Verdict {
    outcome: Outcome,
    row: Row,
    reason: String,
    prerequisite: Option<String>,
}

impl Verdict {
    fn new(outcome: Outcome, row: Row, reason: impl Into<String>) -> Self {
        Self { outcome, row, reason: reason.into(), prerequisite: None }
    }

    fn defer(row: Row, reason: impl Into<String>, prerequisite: impl Into<String>) -> Self {
        Self { outcome: Outcome::Defer, row, reason: reason.into(), prerequisite: Some(prerequisite.into()) }
    }
}

/// Judges a run.
#[must_use]
pub fn judge(case: &Case<'_>) -> Judgement {
    Judgement { evidence: evidence(case), not_known: not_known(case), ..judge_briefly(case) }
}

/// The same without the evidence, for an overview that does not show it.
#[must_use]
pub fn judge_briefly(case: &Case<'_>) -> Judgement {
    let verdict = verdict(case);
    let record = case.record.ok();
    let mut judgement = Judgement {
        run_key: shown::line(case.key, 255),
        workspace: shown::line(case.workspace, 255),
        stage: record.map_or(case.stage, |record| record.stage),
        ending: record.and_then(|record| record.ending),
        failed_job: record.and_then(failed_job).map(|job| shown::line(job, 200)),
        outcome: verdict.outcome,
        row: verdict.row,
        strong: verdict.row == Row::Interrupted,
        reason: verdict.reason,
        prerequisite: verdict.prerequisite,
        evidence: Vec::new(),
        not_known: Vec::new(),
        command: None,
        before: Vec::new(),
        after: Vec::new(),
    };
    set_commands(&mut judgement, case);
    judgement
}

/// Whether the branch would decide: git is asked for no other run.
#[must_use]
pub fn needs_branch(case: &Case<'_>) -> bool {
    case.branch.is_none()
        && matches!(verdict(case).row, Row::Interrupted | Row::Transient | Row::NotTransient)
}

/// Lets the launches of one pass share a budget: strong cases first, then in the order of the list. Returns how many
/// were spent. What is over it is deferred.
pub fn share_budget(judgements: &mut [Judgement], budget: Option<u64>) -> u64 {
    let mut spent = 0;
    for strong in [true, false] {
        for judgement in judgements.iter_mut().filter(|judgement| {
            judgement.outcome.is_launch() && judgement.strong == strong && judgement.row != Row::BudgetSpent
        }) {
            match budget {
                Some(budget) if spent >= budget => {
                    judgement.reason = format!(
                        "the budget of this pass ({budget}) is spent; else it would be {}: {}",
                        judgement.outcome.words(),
                        judgement.reason
                    );
                    judgement.prerequisite = Some("a pass with budget left".to_owned());
                    judgement.outcome = Outcome::Defer;
                    judgement.row = Row::BudgetSpent;
                    judgement.command = None;
                    judgement.before.truncate(1);
                    judgement.after.clear();
                }
                _ => spent += 1,
            }
        }
    }
    spent
}

fn failed_job(record: &Record) -> Option<&str> {
    match &record.failed_job {
        FailedJob::Named(job) => Some(job),
        FailedJob::None | FailedJob::Unusable => None,
    }
}

/// The first row that applies.
fn verdict(case: &Case<'_>) -> Verdict {
    let record = match case.record {
        Ok(record) => record,
        Err(error) => {
            return Verdict::new(Outcome::ReportOnly, Row::NoRecord, format!("run.json {error}: left alone"));
        }
    };
    if case.stage != Stage::Error && record.stage != Stage::Error {
        let more = match (record.stage, case.process.state) {
            (Stage::Running, Life::Gone) => {
                "; its process is gone, so the engine has to move it to error first"
            }
            _ => "",
        };
        return Verdict::new(
            Outcome::ReportOnly,
            Row::NotRecoverable,
            format!("not recoverable: {}{more}", record.stage.word()),
        );
    }
    claimed(case, record)
        .or_else(|| alive(case))
        .or_else(|| outside_dispatch(case, record))
        .or_else(|| contradiction(case, record))
        .or_else(|| without_target(case, record))
        .or_else(|| doubtful_target(case, record))
        .or_else(|| stale_branch(case))
        .unwrap_or_else(|| by_ending(case, record))
}

fn claimed(case: &Case<'_>, record: &Record) -> Option<Verdict> {
    let report = |reason: String| Some(Verdict::new(Outcome::ReportOnly, Row::AlreadyClaimed, reason));
    match case.claimed {
        Claimed::No => {}
        Claimed::Ours(claim) => {
            return report(format!("somebody recovers it already: {}", claim_words(claim)));
        }
        Claimed::Unreadable(why) => {
            return report(format!("a claim lies beside it that cannot be read ({why})"));
        }
        Claimed::Recorded { id, .. } => return report(format!("its record says it is claimed ({id})")),
    }
    let texts = [record.error.as_deref(), record.failure_reason.as_deref(), last_reason(case)];
    texts.into_iter().flatten().any(|text| text.contains(cause::ALREADY_CLAIMED)).then(|| {
        let reason = format!(
            "its job belongs to another worker ({}): not to be worked around",
            cause::ALREADY_CLAIMED
        );
        Verdict::new(Outcome::ReportOnly, Row::AlreadyClaimed, reason)
    })
}

/// A claim, for people.
#[must_use]
pub fn claim_words(claim: &super::claim::Claim) -> String {
    let owner = claim.owner_session_id.as_ref().map_or_else(
        || {
            claim
                .owner_process
                .as_ref()
                .map_or_else(String::new, |process| format!(", process {}", process.pid))
        },
        |session| format!(", session {}", shown::line(session, 80)),
    );
    let gone = if claim.owner_is_gone() { ", which is gone" } else { "" };
    format!(
        "claim {} of {}{owner}{gone}",
        shown::line(&claim.claim_id, 80),
        shown::line(&claim.claimed_at, 40)
    )
}

fn alive(case: &Case<'_>) -> Option<Verdict> {
    let pid = case.process.pid.unwrap_or_default();
    if case.process.state == Life::Alive {
        let reason = format!("its process {pid} is still alive: not yet ended");
        return Some(Verdict::defer(Row::Alive, reason, format!("process {pid} ends")));
    }
    if case.window.state == WindowState::Busy {
        let program = case.window.detail.as_deref().unwrap_or("something");
        let reason = format!("{program} still runs in its window: not yet ended");
        return Some(Verdict::defer(Row::Alive, reason, "its window comes to rest"));
    }
    (case.process.state == Life::NotKnown).then(|| {
        let reason = format!("whether its process {pid} lives cannot be told from here");
        Verdict::defer(Row::Alive, reason, "a look from the machine it ran on")
    })
}

fn outside_dispatch(case: &Case<'_>, record: &Record) -> Option<Verdict> {
    if record.dry_run {
        return Some(Verdict::new(Outcome::ReportOnly, Row::DryRun, "a dry run: nothing was carried out"));
    }
    if !record.has_job_id {
        let reason = "no job id is recorded: started by hand, outside dispatch";
        return Some(Verdict::new(Outcome::ReportOnly, Row::NoJobId, reason));
    }
    let blocked = if case.told_blocked { Some("as told") } else { record.blocked_by };
    if let Some(by) = blocked {
        let reason = format!("its job is blocked ({by}): neither recovered nor launched");
        return Some(Verdict::defer(Row::Blocked, reason, "a person resolves the blocker"));
    }
    is_repair_triage(record).then(|| {
        let reason = "a repair-triage run: never recovered";
        fresh_if_ready(case, Row::RepairTriage, reason)
    })
}

/// How such a run is marked is not public; its names say so.
fn is_repair_triage(record: &Record) -> bool {
    let file = record.workflow_path.rsplit(['/', '\\']).next();
    let names = [
        record.workflow_id.as_deref(),
        record.workflow_name.as_deref(),
        record.display_name.as_deref(),
        Some(record.key.as_str()),
        failed_job(record),
        file,
    ];
    let mentions = |name: &&str| name.as_bytes().windows(6).any(|part| part.eq_ignore_ascii_case(b"triage"));
    names.into_iter().flatten().filter(mentions).any(|name| {
        let lower = name.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        words.windows(2).any(|pair| pair == ["repair", "triage"]) || words.contains(&"repairtriage")
    })
}

fn fresh_if_ready(case: &Case<'_>, row: Row, reason: &str) -> Verdict {
    match case.workflow {
        WorkflowFile::Present { .. } => {
            Verdict::new(Outcome::LaunchFresh, row, format!("{reason}; its workflow file is there"))
        }
        WorkflowFile::Missing => {
            Verdict::defer(row, format!("{reason}; its workflow file is gone"), "the workflow file")
        }
        WorkflowFile::NotKnown { why } => {
            let reason = format!("{reason}; whether the work is ready is not known (workflow file: {why})");
            Verdict::defer(row, reason, "the workflow file, readable from here")
        }
    }
}

/// What is written down does not fit together.
fn contradiction(case: &Case<'_>, record: &Record) -> Option<Verdict> {
    let incomplete = |reason: String, prerequisite: &str| {
        Some(Verdict::defer(Row::Incomplete, format!("evidence incomplete: {reason}"), prerequisite))
    };
    if let Some(mismatch) = case.mismatch {
        return incomplete(mismatch.to_owned(), "the engine finishes moving the run");
    }
    if let Some(version) = record.newer {
        return incomplete(format!("its record has the newer version {version}"), "a reader that knows it");
    }
    match record.ending {
        None if record.unknown_ending => {
            incomplete("its outcome is no word that is known".into(), "a known outcome")
        }
        None => incomplete("no outcome is recorded".into(), "an outcome in the record"),
        Some(ending @ (Ending::Success | Ending::Skipped)) => incomplete(
            format!("stage error, but outcome {}", ending.word()),
            "a record that agrees with itself",
        ),
        Some(Ending::Failed | Ending::Interrupted) => None,
    }
}

fn without_target(case: &Case<'_>, record: &Record) -> Option<Verdict> {
    match &record.failed_job {
        FailedJob::None => {
            Some(fresh_if_ready(case, Row::NoFailedJob, "no failed job is recorded: nothing to go on with"))
        }
        FailedJob::Unusable => {
            Some(fresh_if_ready(case, Row::InvalidTarget, "the recorded failed job is no name of a job"))
        }
        FailedJob::Named(job) => match case.workflow {
            WorkflowFile::Missing => {
                let reason = "evidence incomplete: its workflow file is gone";
                Some(Verdict::defer(Row::Incomplete, reason, "the workflow file"))
            }
            // The events know better than a look into the file.
            WorkflowFile::Present { has_job: Some(false) } if status_of(case, job).is_none() => {
                Some(Verdict::new(
                    Outcome::LaunchFresh,
                    Row::InvalidTarget,
                    format!("its workflow has no job {}", text::quoted(job, 80)),
                ))
            }
            _ => None,
        },
    }
}

/// A target is recorded; what else was written must not speak against it.
fn doubtful_target(case: &Case<'_>, record: &Record) -> Option<Verdict> {
    let incomplete = |reason: String, prerequisite: &str| {
        Some(Verdict::defer(Row::Incomplete, format!("evidence incomplete: {reason}"), prerequisite))
    };
    let job = failed_job(record)?;
    let quoted = text::quoted(job, 80);
    match case.events {
        Events::Missing => {}
        Events::Unreadable => {
            return incomplete("progress.ndjson cannot be read".into(), "a readable progress.ndjson");
        }
        Events::Read(progress) if progress.events == 0 && progress.skipped_lines > 0 => {
            return incomplete("progress.ndjson is damaged".into(), "a readable progress.ndjson");
        }
        Events::Read(progress) if progress.events == 0 => {}
        Events::Read(progress) => match progress.jobs.get(job) {
            None if case.workflow != &(WorkflowFile::Present { has_job: Some(true) }) => {
                return incomplete(
                    format!("job {quoted} never appears in progress.ndjson"),
                    "a target that is known",
                );
            }
            Some(status @ (Status::Completed | Status::Skipped)) => {
                let word = status.word();
                return incomplete(
                    format!("job {quoted} is {word} in progress.ndjson"),
                    "a target that did not end well",
                );
            }
            _ => {}
        },
    }
    match case.repair {
        Some(RepairState::Escapes) => {
            incomplete("activeRepairId leads out of the run".into(), "a repair in the run")
        }
        Some(RepairState::Missing) => {
            incomplete("the active repair is not there".into(), "the active repair")
        }
        Some(RepairState::Present | RepairState::NotKnown) | None => None,
    }
}

fn stale_branch(case: &Case<'_>) -> Option<Verdict> {
    let branch = case.branch.filter(|branch| branch.is_lost(case.far))?;
    let reason = match branch {
        Branch::Missing => "the recorded branch is gone".to_owned(),
        Branch::Unrelated { base } => format!("its branch shares no commit with {base}"),
        Branch::Counted { base, behind, ahead } => {
            format!(
                "its branch has diverged far: it lacks {behind} commits of {base} and has {ahead} of its own"
            )
        }
        Branch::NotRecorded | Branch::NotKnown { .. } => return None,
    };
    let row = if *branch == Branch::Missing { Row::InvalidTarget } else { Row::StaleBranch };
    Some(Verdict::new(Outcome::LaunchFresh, row, reason))
}

fn by_ending(case: &Case<'_>, record: &Record) -> Verdict {
    let job = text::quoted(failed_job(record).unwrap_or_default(), 80);
    if record.ending == Some(Ending::Interrupted) {
        return Verdict::new(
            Outcome::Recover,
            Row::Interrupted,
            format!("interrupted in job {job}, which is recorded"),
        );
    }
    match cause_of(case, record) {
        Cause::Transient(words) => {
            let reason = format!("job {job} failed for a cause that passes by itself ({words})");
            Verdict::new(Outcome::Recover, Row::Transient, reason)
        }
        Cause::NotTransient => Verdict::defer(
            Row::NotTransient,
            format!("job {job} failed, and nothing says that the cause passes by itself"),
            "the cause, looked at and removed",
        ),
        Cause::NotRecorded => Verdict::defer(
            Row::Incomplete,
            format!("evidence incomplete: job {job} failed, and no cause is recorded"),
            "a cause",
        ),
    }
}

fn cause_of(case: &Case<'_>, record: &Record) -> Cause {
    let texts = [record.error.as_deref(), record.failure_reason.as_deref(), last_reason(case)];
    cause::of(texts.into_iter().flatten())
}

fn last_reason<'c>(case: &Case<'c>) -> Option<&'c str> {
    match case.events {
        Events::Read(progress) => progress.last_reason.as_deref(),
        Events::Missing | Events::Unreadable => None,
    }
}

fn status_of(case: &Case<'_>, job: &str) -> Option<Status> {
    match case.events {
        Events::Read(progress) => progress.jobs.get(job).copied(),
        Events::Missing | Events::Unreadable => None,
    }
}

fn evidence(case: &Case<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut fact = |name, value: String| facts.push(Fact { name, value });
    let Ok(record) = case.record else { return facts };
    // Most records have no text that these could stand in.
    let withheld = LazyCell::new(|| withheld::Values::of(record));
    if let Some(error) = &record.error {
        fact("error", text::quoted(&withheld.out_of(error.clone()), 160));
    }
    if let Some(reason) = &record.failure_reason {
        fact("failure", text::quoted(&withheld.out_of(reason.clone()), 160));
    }
    fact("process", process_words(case.process));
    if record.stale {
        let why = record
            .stale_reason
            .as_ref()
            .map(|why| format!(": {}", text::quoted(&withheld.out_of(why.clone()), 120)));
        fact("stale", format!("the engine found nobody behind it{}", why.unwrap_or_default()));
    }
    if case.stage != Stage::Error && record.stage != Stage::Error {
        return facts;
    }
    fact("window", window_words(case.window));
    match case.events {
        Events::Missing => fact("progress", "no progress.ndjson".into()),
        Events::Unreadable => fact("progress", "progress.ndjson cannot be read".into()),
        Events::Read(progress) => {
            let jobs = progress.jobs.iter().take(12);
            let jobs = jobs.map(|(job, status)| format!("{} {}", shown::line(job, 40), status.word()));
            let jobs = jobs.collect::<Vec<_>>().join(", ");
            let torn = match progress.skipped_lines {
                0 => String::new(),
                lines => format!(", {lines} unreadable"),
            };
            let events = if progress.events == 1 { "event" } else { "events" };
            fact("progress", format!("{} {events}{torn}: {jobs}", progress.events));
        }
    }
    fact(
        "workflow",
        match case.workflow {
            WorkflowFile::Present { has_job: Some(true) } => {
                "its file is there and has the failed job".into()
            }
            WorkflowFile::Present { has_job: Some(false) } => {
                "its file is there and lacks the failed job".into()
            }
            WorkflowFile::Present { has_job: None } => "its file is there".into(),
            WorkflowFile::Missing => "its file is gone".into(),
            WorkflowFile::NotKnown { why } => format!("not known: {why}"),
        },
    );
    if let Some(branch) = case.branch {
        fact("branch", branch_words(branch));
    }
    if let (Some(id), Some(state)) = (&record.active_repair, case.repair) {
        let state = match state {
            RepairState::Present => "is there (its content is not public)",
            RepairState::Missing => "is not there",
            RepairState::NotKnown => "not known where",
            RepairState::Escapes => "leads out of the run: left alone",
        };
        fact("repair", format!("{} {state}", text::quoted(id, 60)));
    }
    facts
}

/// The process of a run, for people.
#[must_use]
pub fn process_words(process: &RunProcess) -> String {
    match (process.pid, process.state) {
        (Some(pid), Life::Alive) => format!("{pid} is alive"),
        (Some(pid), Life::Gone) if process.number_reused => {
            format!("{pid} is gone (the number belongs to a later one)")
        }
        (Some(pid), Life::Gone) => format!("{pid} is gone"),
        (Some(pid), _) => format!("{pid}: not known whether it lives"),
        (None, _) => "not recorded".to_owned(),
    }
}

/// The window of a run, for people.
#[must_use]
pub fn window_words(window: &Window) -> String {
    let place =
        [window.kind.as_deref(), window.place.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let detail = window.detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
    match window.state {
        WindowState::Busy => format!("{place}: something runs in it{detail}"),
        WindowState::Present => format!("{place}: there, at rest{detail}"),
        WindowState::Absent => format!("{place}: gone{detail}"),
        WindowState::NotKnown => format!("{place}: not known{detail}"),
        WindowState::NotRecorded => "not recorded".to_owned(),
    }
}

fn branch_words(branch: &Branch) -> String {
    match branch {
        Branch::NotRecorded => "not recorded".into(),
        Branch::NotKnown { why } => format!("not known: {why}"),
        Branch::Missing => "gone".into(),
        Branch::Unrelated { base } => format!("no common history with {base}"),
        Branch::Counted { base, behind, ahead } => format!("{behind} commits behind {base}, {ahead} ahead"),
    }
}

fn not_known(case: &Case<'_>) -> Vec<String> {
    let mut unknown = Vec::new();
    let Ok(record) = case.record else { return unknown };
    if record.stage != Stage::Error {
        return unknown;
    }
    let mut add = |text: &str| unknown.push(text.to_owned());
    if record.has_job_id && record.blocked_by.is_none() && !case.told_blocked {
        add("whether its job is in a blocked column (say so with --blocked)");
    }
    if !is_repair_triage(record) {
        add("how a repair-triage run is marked (no name of it says so)");
    }
    add("whether the engine itself holds a claim on it");
    if case.process.state == Life::NotRecorded {
        add("its process (none is recorded)");
    }
    if case.window.state == WindowState::NotKnown {
        add("its window");
    }
    if let Some(Branch::NotKnown { why }) = case.branch {
        add(&format!("how far its branch has diverged ({why})"));
    }
    unknown
}

/// The tool's own calls, as the system's documents name them. None carries the switch of a dry run, and none names a
/// job: the engine takes the recorded one.
fn set_commands(judgement: &mut Judgement, case: &Case<'_>) {
    let Ok(record) = case.record else { return };
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let ours = |verb: &str| {
        format!("recovery run {verb} {} --workspace {}", shell_word(case.key), shell_word(case.workspace))
    };
    match judgement.outcome {
        Outcome::Recover => {
            judgement.command = Some(format!(
                "workflow_run {{\"action\":\"recover\",\"runKey\":{},\"workspace\":{}}}",
                json(case.key),
                json(case.workspace)
            ));
            judgement.before = vec![ours("evidence"), ours("claim")];
            judgement.after = vec![ours("verify")];
        }
        Outcome::LaunchFresh => {
            judgement.command = Some(format!(
                "launch_workflow {{\"workflowPath\":{},\"workspace\":{}}}",
                json(&shown::line(&record.workflow_path, 1_000)),
                json(case.workspace)
            ));
            judgement.before = vec![ours("evidence"), ours("claim")];
        }
        Outcome::Defer => judgement.before = vec![ours("evidence")],
        Outcome::ReportOnly if judgement.stage == Stage::Error => judgement.before = vec![ours("evidence")],
        Outcome::ReportOnly => {}
    }
}

/// A word of a shell's line.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
