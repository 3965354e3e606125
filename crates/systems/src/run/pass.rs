//! One pass: looks at runs, asks git and tmux as little as possible, lets [`judgement`] decide.

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use super::branch::{self, Branch};
use super::claim::{self, Claimed};
use super::evidence::{self, RepairState};
use super::judgement::{self, Case, Events, Judgement};
use super::process::{self, Panes, RunProcess, Window};
use super::record::{FailedJob, Record, Stage};
use super::registry::Run;
use super::workflow_file::{self, WorkflowFile};

/// Time for git in all of a pass.
const GIT_TIME: Duration = Duration::from_secs(10);

/// What a person says beforehand.
#[derive(Clone, Debug)]
pub struct Told {
    /// Keys of runs whose job is blocked.
    pub blocked: Vec<String>,
    /// Commits from which a branch has diverged far.
    pub far: u64,
}

/// The looks of one pass.
#[derive(Debug)]
pub struct Pass {
    told: Told,
    panes: Option<Panes>,
    /// Whether a repository is on this machine: many runs share one.
    repositories: HashMap<String, bool>,
    deadline: Instant,
}

impl Pass {
    /// Begins a pass; nothing is asked yet.
    #[must_use]
    pub fn new(told: Told) -> Self {
        Self { told, panes: None, repositories: HashMap::new(), deadline: Instant::now() + GIT_TIME }
    }

    /// The window of a run. tmux is asked once a pass, and only if a run was started in it.
    pub fn window(&mut self, record: &Record) -> Window {
        let launcher = record.launcher.as_ref();
        let asks = launcher.is_some_and(|launcher| launcher.kind == "tmux");
        if asks && self.panes.is_none() {
            self.panes = Some(Panes::ask());
        }
        process::window(launcher, self.panes.as_ref().unwrap_or(&Panes::NoServer))
    }

    fn repository_is_here(&mut self, record: &Record) -> bool {
        let Some(repository) = &record.repository else { return false };
        if let Some(known) = self.repositories.get(repository) {
            return *known;
        }
        let path = Path::new(repository);
        let here = path.is_absolute() && path.is_dir();
        self.repositories.insert(repository.clone(), here);
        here
    }

    /// Judges one run.
    pub fn judge(&mut self, run: &Run) -> Judgement {
        self.judge_as(run, judgement::judge)
    }

    /// Judges one run without gathering the evidence: among ten thousand that costs more than to decide.
    pub fn judge_briefly(&mut self, run: &Run) -> Judgement {
        self.judge_as(run, judgement::judge_briefly)
    }

    fn judge_as(&mut self, run: &Run, judge: fn(&Case<'_>) -> Judgement) -> Judgement {
        let claimed = claim::of(run);
        let mismatch = run.mismatch();
        let Ok(record) = &run.record else {
            return judge(&Case { mismatch: mismatch.as_deref(), ..bare(run, &claimed) });
        };
        let process = process::of(record, run.written_s());
        // Only a run that failed is worth a look at anything around it.
        let failed = run.stage == Stage::Error || record.stage == Stage::Error;
        let window = if failed { self.window(record) } else { NO_WINDOW };
        let progress = if failed { run.progress() } else { Ok(None) };
        let events = match &progress {
            Ok(Some((progress, _))) => Events::Read(progress),
            Ok(None) => Events::Missing,
            Err(_) => Events::Unreadable,
        };
        let job = match &record.failed_job {
            FailedJob::Named(job) => Some(job.as_str()),
            FailedJob::None | FailedJob::Unusable => None,
        };
        let here = failed && self.repository_is_here(record);
        let workflow = if failed { workflow_file::of(record, job, here) } else { NOT_LOOKED };
        let repair: Option<RepairState> =
            record.active_repair.as_ref().filter(|_| failed).map(|id| evidence::repair_state(run, id));
        let case = Case {
            mismatch: mismatch.as_deref(),
            process: &process,
            window: &window,
            events,
            workflow: &workflow,
            repair,
            told_blocked: self.told.blocked.contains(&run.key),
            far: self.told.far,
            ..bare(run, &claimed)
        };
        if !judgement::needs_branch(&case) {
            return judge(&case);
        }
        let branch: Branch = branch::of(record, here, self.deadline);
        judge(&Case { branch: Some(&branch), ..case })
    }
}

const NO_WINDOW: Window =
    Window { kind: None, place: None, state: process::WindowState::NotRecorded, detail: None };
const NO_PROCESS: RunProcess =
    RunProcess { pid: None, started_at_s: None, state: process::Life::NotRecorded, number_reused: false };
const NOT_LOOKED: WorkflowFile = WorkflowFile::NotKnown { why: "not looked at" };

fn bare<'c>(run: &'c Run, claimed: &'c Claimed) -> Case<'c> {
    Case {
        key: &run.key,
        workspace: &run.workspace,
        stage: run.stage,
        record: run.record.as_ref(),
        mismatch: None,
        claimed,
        process: &NO_PROCESS,
        window: &NO_WINDOW,
        events: Events::Missing,
        workflow: &NOT_LOOKED,
        branch: None,
        repair: None,
        told_blocked: false,
        far: branch::FAR,
    }
}
