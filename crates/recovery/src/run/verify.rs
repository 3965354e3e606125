//! `recovery run verify`.

use clap::Args;
use rules::text;
use serde::Serialize;
use systems::run::claim::{self, Claimed};
use systems::run::judgement;
use systems::run::process::{self, RunProcess};
use systems::run::record::Stage;
use systems::run::registry::{Registry, Run};
use systems::run::verification::{self, Baseline, Signs};

use super::{Selection, select};
use crate::{exit_status::ExitStatus, printer::Printer};

/// Say whether a recovered run really goes on
///
/// Confirmed only by a living process and a new event in progress.ndjson; else exit 4. New is what was written since
/// the claim, or, without one, since the process started.
#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    #[command(flatten)]
    selection: Selection,
    /// Print JSON (schemas/run-verify.v1.json)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    run_key: String,
    workspace: String,
    stage: Stage,
    confirmed: bool,
    reason: String,
    process: RunProcess,
    baseline: Baseline,
    new_events: usize,
    last_event_at: Option<String>,
}

pub(super) fn run(
    arguments: &VerifyArguments,
    registry: &Registry,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let order = [Stage::Running, Stage::Queued, Stage::Error, Stage::Completed];
    let run = select::find(registry, &arguments.selection, &order)?;
    let answer = look(&run)?;
    if arguments.json {
        printer.json_of("run-verify.v1", &answer)?;
    } else {
        let verdict = if answer.confirmed { "confirmed" } else { "not confirmed" };
        printer.line(format_args!("{} in {}: {verdict}", answer.run_key, answer.workspace));
        printer.fact("why", &answer.reason);
        printer.fact("stage", answer.stage.word());
        printer.fact("process", judgement::process_words(&answer.process));
        let since = match answer.baseline {
            Baseline::Claim => "since the claim",
            Baseline::ProcessStart => "since its process started",
            Baseline::None => "(no claim and no living process to count from)",
        };
        let last = answer.last_event_at.as_ref().map_or_else(String::new, |at| format!(", the last at {at}"));
        printer.fact("events", format_args!("{} new {since}{last}", answer.new_events));
    }
    Ok(if answer.confirmed { ExitStatus::Success } else { ExitStatus::NotConfirmed })
}

fn look(run: &Run) -> anyhow::Result<Answer> {
    let record = select::record(run)?;
    let process = process::of(record, run.written_s());
    let claim = match claim::of(run) {
        Claimed::Ours(claim) => Some(claim),
        Claimed::No | Claimed::Unreadable(_) | Claimed::Recorded { .. } => None,
    };
    let (baseline, since) = match (&claim, process.started_at_s) {
        (Some(claim), _) => (Baseline::Claim, Since::Bytes(claim.progress_bytes)),
        (None, Some(start)) => (Baseline::ProcessStart, Since::Time(start)),
        (None, None) => (Baseline::None, Since::Never),
    };
    let (new_events, last_at_s) = new_events(run, since);
    let ended_since = claim
        .as_ref()
        .and_then(|claim| claim.claimed_s())
        .is_some_and(|claimed| record.finished_s.is_some_and(|finished| finished >= claimed));
    let signs = Signs {
        stage: record.stage,
        ending: record.ending,
        process: process.state,
        baseline,
        new_events,
        ended_since,
    };
    let (confirmed, reason) = verification::verify(&signs);
    Ok(Answer {
        run_key: text::one_line(&run.key, 255),
        workspace: text::one_line(&run.workspace, 255),
        stage: record.stage,
        confirmed,
        reason,
        process,
        baseline,
        new_events,
        last_event_at: super::time(last_at_s),
    })
}

/// From where on events count.
enum Since {
    Bytes(u64),
    Time(i64),
    Never,
}

fn new_events(run: &Run, since: Since) -> (usize, Option<i64>) {
    let Ok(Some((all, size))) = run.progress() else { return (0, None) };
    let new = match since {
        Since::Never => 0,
        Since::Time(start) => all.times_s.iter().filter(|at| **at >= start).count(),
        // A file that is shorter than it was is another one; all of it came after.
        Since::Bytes(bytes) if size < bytes => all.events,
        Since::Bytes(bytes) => match run.progress_from(bytes) {
            Ok(Some((new, _))) => new.events,
            _ => 0,
        },
    };
    (new, all.last_at_s)
}
