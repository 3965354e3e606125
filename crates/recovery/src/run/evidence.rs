//! `recovery run evidence`.

use clap::Args;
use rules::text;
use serde::Serialize;
use systems::run::evidence::{self, Evidence, RepairState, Shown};
use systems::run::judgement::{self, shell_word};
use systems::run::pass::{Pass, Told};
use systems::run::process::{self, RunProcess, Window};
use systems::run::record::{Record, Stage};
use systems::run::registry::{Registry, Run};
use systems::run::{branch, progress};

use super::{Selection, select};
use crate::{exit_status::ExitStatus, printer::Printer};

/// Printed when nothing but the record is there, as the system's own command does.
const NOTHING: &str = "No durable recovery evidence files are recorded for this run.";

/// Show everything a run that ended left behind
///
/// The record without environment, prompt, inputs and secrets; changelog, context, progress, every log, the last 64 KiB
/// of each; what became of its process and window; only the repair that is active.
#[derive(Debug, Args)]
pub(super) struct EvidenceArguments {
    #[command(flatten)]
    selection: Selection,
    /// Print JSON (schemas/run-evidence.v1.json)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    run_key: String,
    workspace: String,
    stage: Stage,
    label: String,
    process: RunProcess,
    window: Window,
    progress: Option<Events>,
    #[serde(flatten)]
    evidence: Evidence,
    not_known: Vec<&'static str>,
}

#[derive(Serialize)]
struct Events {
    events: usize,
    skipped_lines: usize,
    job_status: std::collections::BTreeMap<String, progress::Status>,
    last_event_at: Option<String>,
}

pub(super) fn run(
    arguments: &EvidenceArguments,
    registry: &Registry,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let ended = [Stage::Error, Stage::Completed];
    let run = select::find(registry, &arguments.selection, &ended)?;
    select::ended(&run, &ended)?;
    let record = select::record(&run)?;
    let answer = gather(&run, record);
    if arguments.json {
        printer.json_of("run-evidence.v1", &answer)?;
    } else {
        print(&answer, printer);
    }
    Ok(ExitStatus::Success)
}

fn gather(run: &Run, record: &Record) -> Answer {
    let window = Pass::new(Told { blocked: Vec::new(), far: branch::FAR }).window(record);
    let progress = run.progress().ok().flatten().map(|(progress, _)| Events {
        events: progress.events,
        skipped_lines: progress.skipped_lines,
        job_status: progress.jobs.iter().map(|(job, status)| (text::safe_line(job, 200), *status)).collect(),
        last_event_at: super::time(progress.last_at_s),
    });
    let evidence = evidence::of(run, record);
    let mut not_known = vec!["whether the engine itself holds a claim on it"];
    if record.pid.is_some() {
        not_known.push("the start of the original process (the record has its number only)");
    }
    if evidence.repair.is_some() {
        not_known.push("what the fields of a repair mean (shown as they are)");
    }
    Answer {
        run_key: text::safe_line(&run.key, 255),
        workspace: text::safe_line(&run.workspace, 255),
        stage: run.stage,
        label: text::safe_line(record.display_name.as_deref().unwrap_or(&record.key), 120),
        process: process::of(record, run.written_s()),
        window,
        progress,
        evidence,
        not_known,
    }
}

fn print(answer: &Answer, printer: &Printer) {
    printer.line(format_args!("Workflow: {} ({})", answer.label, answer.run_key));
    printer.fact("stage", answer.stage.word());
    printer.fact("process", judgement::process_words(&answer.process));
    printer.fact("window", judgement::window_words(&answer.window));
    if let Some(progress) = &answer.progress {
        let jobs =
            progress.job_status.iter().take(12).map(|(job, status)| format!("{job} {}", status.word()));
        let jobs = jobs.collect::<Vec<_>>().join(", ");
        let events = if progress.events == 1 { "event" } else { "events" };
        printer.fact("progress", format_args!("{} {events}: {jobs}", progress.events));
    }
    if !answer.evidence.withheld.is_empty() {
        printer.fact("not shown", answer.evidence.withheld.join(", "));
    }
    for unknown in &answer.not_known {
        printer.fact("not known", unknown);
    }
    for left in &answer.evidence.left_alone {
        printer.fact("left alone", format_args!("{}: {}", left.name, left.why));
    }
    for file in &answer.evidence.files {
        print_file(file, printer);
    }
    if let Some(repair) = &answer.evidence.repair {
        let state = match repair.state {
            RepairState::Present => "the active repair",
            RepairState::Missing => "the active repair is not there",
            RepairState::NotKnown => "the active repair: not known where",
            RepairState::Escapes => "the active repair leads out of the run: left alone",
        };
        printer.line(format_args!("\n{state}: {}", text::quoted(&repair.id, 60)));
        for file in &repair.files {
            print_file(file, printer);
        }
    }
    if answer.evidence.is_bare() {
        printer.line(format_args!("\n{NOTHING}"));
    }
    if answer.stage == Stage::Error {
        printer.line(format_args!(
            "\nnext: recovery run judge {} --workspace {}",
            shell_word(&answer.run_key),
            shell_word(&answer.workspace)
        ));
    }
}

fn print_file(file: &Shown, printer: &Printer) {
    printer.line(format_args!("\n--- {} ---", file.name));
    if file.truncated {
        printer.line(format_args!("(the last {} KiB of {} bytes)", evidence::TAIL / 1024, file.bytes));
    }
    printer.text(&file.text);
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        printer.line("");
    }
}
