//! `recovery run list`.

use clap::Args;
use rules::text;
use serde::Serialize;
use session_state::Now;
use systems::run::claim::{self, Claimed};
use systems::run::judgement;
use systems::run::process::{self, Life, RunProcess};
use systems::run::record::{Ending, FailedJob, Record, Stage};
use systems::run::registry::{Problem, Registry, Run};
use systems::run::withheld;

use crate::{exit_status::ExitStatus, printer::Printer};

/// Longest name of a run that keeps its column.
const KEY_WIDTH: usize = 24;
/// Lines of one stage for people; the JSON has all.
const MAX_LINES: usize = 40;

/// List the runs that failed and those at work
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Completed runs too
    #[arg(long)]
    all: bool,
    /// Only this workspace
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Print JSON (schemas/run-list.v1.json)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    home: String,
    runs: Vec<Listed>,
    not_read: usize,
    cut: bool,
    problems: Vec<Problem>,
    more_problems: usize,
    #[serde(skip)]
    counts: [usize; Stage::ALL.len()],
}

#[derive(Serialize)]
struct Listed {
    run_key: String,
    workspace: String,
    stage: Stage,
    label: String,
    ending: Option<Ending>,
    failed_job: Option<String>,
    started_at: Option<String>,
    finished_at: Option<String>,
    error: Option<String>,
    process: RunProcess,
    claimed: bool,
    #[serde(skip)]
    ended_s: Option<i64>,
}

pub(super) fn run(
    arguments: &ListArguments,
    registry: &Registry,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let mut stages = vec![Stage::Queued, Stage::Running, Stage::Error];
    if arguments.all {
        stages.push(Stage::Completed);
    }
    let mut runs = Vec::new();
    let mut counts = [0; Stage::ALL.len()];
    let overview = registry.visit(arguments.workspace.as_deref(), &stages, |run| {
        let Ok(record) = &run.record else { return };
        let count = &mut counts[run.stage as usize];
        *count += 1;
        if arguments.json || *count <= MAX_LINES {
            runs.push(listed(&run, record));
        }
    });
    let answer = Answer {
        home: registry.home().display().to_string(),
        runs,
        not_read: overview.not_read,
        cut: overview.cut,
        problems: overview.problems,
        more_problems: overview.more_problems,
        counts,
    };
    if arguments.json {
        printer.json_of("run-list.v1", &answer)?;
    } else {
        print(&answer, printer, Now::read());
    }
    Ok(ExitStatus::Success)
}

fn listed(run: &Run, record: &Record) -> Listed {
    Listed {
        run_key: text::safe_line(&run.key, 255),
        workspace: text::safe_line(&run.workspace, 255),
        stage: run.stage,
        label: text::safe_line(record.display_name.as_deref().unwrap_or(&record.key), 120),
        ending: record.ending,
        failed_job: match &record.failed_job {
            FailedJob::Named(job) => Some(text::safe_line(job, 200)),
            FailedJob::None | FailedJob::Unusable => None,
        },
        started_at: super::time(record.started_s),
        finished_at: super::time(record.finished_s),
        error: record
            .error
            .clone()
            .map(|error| text::safe_line(&withheld::Values::of(record).out_of(error), 400)),
        process: process::of(record, run.written_s()),
        claimed: claim::of(run) != Claimed::No,
        ended_s: record.finished_s.or(Some(run.written_s())).filter(|at| *at > 0),
    }
}

fn print(answer: &Answer, printer: &Printer, now: Now) {
    if answer.runs.is_empty() && answer.not_read == 0 && answer.problems.is_empty() {
        printer.line(format_args!("no runs in {}", text::one_line(&answer.home, 200)));
        return;
    }
    let at = |stage: Stage| answer.runs.iter().filter(move |run| run.stage == stage);
    for (stage, title) in [
        (Stage::Error, "failed"),
        (Stage::Running, "running"),
        (Stage::Queued, "queued"),
        (Stage::Completed, "completed"),
    ] {
        let count = answer.counts[stage as usize];
        if count == 0 {
            continue;
        }
        printer.line(format_args!("{title} ({count})"));
        for run in at(stage) {
            printer.line(format_args!(
                "  {:KEY_WIDTH$} {:12} {}",
                run.run_key,
                run.workspace,
                state(run, now)
            ));
        }
        if count > MAX_LINES {
            printer.line(format_args!("  and {} more (--json lists all)", count - MAX_LINES));
        }
    }
    if answer.not_read > 0 {
        printer.line(format_args!("{} completed (--all lists them)", answer.not_read));
    }
    if answer.cut {
        printer.line("there are more than is looked at");
    }
    printer.line("");
    super::print_problems(printer, &answer.problems, answer.more_problems);
    if at(Stage::Error).next().is_some() {
        printer.line("next: recovery run judge --all");
    }
}

fn state(run: &Listed, now: Now) -> String {
    let mut words = match run.stage {
        Stage::Queued => "waits".to_owned(),
        Stage::Completed => run.ending.map_or("ended", Ending::word).to_owned(),
        Stage::Error => match &run.failed_job {
            Some(job) => format!("{} in {job}", run.ending.map_or("ended", Ending::word)),
            None => format!("{}, no failed job recorded", run.ending.map_or("ended", Ending::word)),
        },
        Stage::Running if run.process.state == Life::Gone => {
            format!("interrupted: process {}", judgement::process_words(&run.process))
        }
        Stage::Running => format!("process {}", judgement::process_words(&run.process)),
    };
    if run.stage.is_terminal()
        && let Some(at) = run.ended_s
    {
        words.push_str(&format!(", {} ago", text::age(now.age_s(at))));
    }
    if run.claimed {
        words.push_str(", claimed");
    }
    if let Some(error) = run.error.as_deref().filter(|_| run.stage == Stage::Error) {
        words.push_str(&format!(", {}", text::quoted(error, 80)));
    }
    words
}
