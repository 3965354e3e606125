//! `recovery run judge`.

use std::{sync::mpsc, thread};

use clap::Args;
use serde::Serialize;
use systems::run::branch;
use systems::run::judgement::{self, Judgement, Outcome, Row};
use systems::run::pass::{Pass, Told};
use systems::run::record::Stage;
use systems::run::registry::{Overview, Problem, Registry, Run};

use super::{Selection, select};
use crate::{exit_status::ExitStatus, printer::Printer};

/// Judgements for people; the JSON has all.
const MAX_SHOWN: usize = 40;
/// Runs handed on at once: waking the other thread costs more than a run. Each holds its folder open until it is judged,
/// and three batches may be on their way.
const BATCH: usize = 32;

/// Say what to do about a failed run: recover, launch fresh, defer, or report only
///
/// Exactly one outcome a run, with the row that decided and the evidence for it. Nothing is written, nothing is
/// started.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(super) struct JudgeArguments {
    /// Key of the run
    #[arg(value_name = "KEY", required_unless_present = "all", conflicts_with = "all")]
    key: Option<String>,
    /// Every failed run, in one pass
    #[arg(long)]
    all: bool,
    /// Only this workspace
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    /// Launches this pass may cost, recover and fresh together [default: no limit]
    #[arg(long, value_name = "N")]
    budget: Option<u64>,
    /// A run whose job is in a blocked column of the board; may be given again
    #[arg(long, value_name = "KEY")]
    blocked: Vec<String>,
    /// A branch that lacks this many commits of its base has diverged far
    #[arg(long, value_name = "COMMITS", default_value_t = branch::FAR)]
    far: u64,
    /// Print JSON (schemas/run-judge.v1.json, with --all schemas/run-judge-all.v1.json)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct All {
    budget: Option<u64>,
    spent: u64,
    judgements: Vec<Judgement>,
    problems: Vec<Problem>,
    more_problems: usize,
}

pub(super) fn run(
    arguments: &JudgeArguments,
    registry: &Registry,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let mut pass = Pass::new(Told { blocked: arguments.blocked.clone(), far: arguments.far });
    if let Some(key) = &arguments.key {
        let selection = Selection { key: key.clone(), workspace: arguments.workspace.clone() };
        let run = select::find(registry, &selection, &[Stage::Error, Stage::Running])?;
        let mut judgements = [pass.judge(&run)];
        judgement::share_budget(&mut judgements, arguments.budget);
        let [judgement] = judgements;
        if arguments.json {
            printer.json_of("run-judge.v1", &judgement)?;
        } else {
            print(&judgement, printer);
        }
        return Ok(match judgement.row {
            Row::AlreadyClaimed => ExitStatus::Claimed,
            _ => ExitStatus::Success,
        });
    }
    let mut judgements = Vec::new();
    let mut judged = Vec::new();
    let overview = registry.visit(arguments.workspace.as_deref(), &[Stage::Error], |run| {
        judgements.push(if arguments.json { pass.judge(&run) } else { pass.judge_briefly(&run) });
        if run.record.is_err() || run.mismatch().is_some() {
            judged.push(run.path());
        }
    });
    // What has a judgement is not listed a second time.
    let mut problems = overview.problems;
    problems.retain(|problem| {
        let rest = |path: &String| problem.path.strip_prefix(path.as_str());
        !judged.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    let spent = judgement::share_budget(&mut judgements, arguments.budget);
    let answer =
        All { budget: arguments.budget, spent, judgements, problems, more_problems: overview.more_problems };
    if arguments.json {
        printer.json_of("run-judge-all.v1", &answer)?;
    } else {
        print_all(&answer, printer);
    }
    Ok(ExitStatus::Success)
}

/// Judges every failed run, in the order of the registry. Returns the judgements, the paths of those whose own folder
/// is among the problems, and what else was found.
///
/// Reading the records takes half of the time and judging them the other half, so each has a thread.
fn judge_all(
    registry: &Registry,
    workspace: Option<&str>,
    mut pass: Pass,
) -> (Vec<Judgement>, Vec<String>, Overview) {
    let (sender, waiting) = mpsc::sync_channel::<Vec<Run>>(1);
    thread::scope(|scope| {
        let judging = scope.spawn(move || {
            let (mut judgements, mut judged) = (Vec::new(), Vec::new());
            for run in waiting.into_iter().flatten() {
                judgements.push(pass.judge(&run));
                if run.record.is_err() || run.mismatch().is_some() {
                    judged.push(run.path());
                }
            }
            (judgements, judged)
        });
        let mut batch = Vec::with_capacity(BATCH);
        let overview = registry.visit(workspace, &[Stage::Error], |run| {
            batch.push(run);
            if batch.len() == BATCH {
                // Nobody listens only after a panic, which goes on below.
                let _ = sender.send(std::mem::take(&mut batch));
            }
        });
        let _ = sender.send(batch);
        drop(sender);
        let (judgements, judged) = judging.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (judgements, judged, overview)
    })
}

fn print_all(answer: &All, printer: &Printer) {
    if answer.judgements.is_empty() {
        printer.line("no failed run");
    }
    // What is to be done comes first; within an outcome the order of the list stays.
    let order = [Outcome::Recover, Outcome::LaunchFresh, Outcome::Defer, Outcome::ReportOnly];
    let of =
        |outcome: Outcome| answer.judgements.iter().filter(move |judgement| judgement.outcome == outcome);
    for judgement in order.into_iter().flat_map(of).take(MAX_SHOWN) {
        print_outcome(judgement, printer);
        printer.line("");
    }
    if answer.judgements.len() > MAX_SHOWN {
        printer.line(format_args!("and {} more (--json has all)", answer.judgements.len() - MAX_SHOWN));
    }
    super::print_problems(printer, &answer.problems, answer.more_problems);
    if !answer.judgements.is_empty() {
        let counts = order.map(|outcome| format!("{} {}", of(outcome).count(), outcome.words())).join(", ");
        printer.line(counts);
        let budget = answer.budget.map_or_else(String::new, |budget| format!(" of {budget}"));
        printer.line(format_args!("launches of this pass: {}{budget}", answer.spent));
        printer.line("what each rests on: recovery run judge KEY");
    }
}

fn print(judgement: &Judgement, printer: &Printer) {
    print_outcome(judgement, printer);
    for step in &judgement.before {
        printer.fact(if judgement.command.is_some() { "before it" } else { "more" }, step);
    }
    for step in &judgement.after {
        printer.fact("after it", step);
    }
    printer.line("");
    for fact in &judgement.evidence {
        printer.fact(fact.name, &fact.value);
    }
    for unknown in &judgement.not_known {
        printer.fact("not known", unknown);
    }
}

/// What is to be done, and why, before anything else.
fn print_outcome(judgement: &Judgement, printer: &Printer) {
    let strong =
        if judgement.strong && judgement.outcome == Outcome::Recover { " (strong case)" } else { "" };
    printer.line(format_args!(
        "{} in {}: {}{strong}",
        judgement.run_key,
        judgement.workspace,
        judgement.outcome.words().to_uppercase()
    ));
    printer.fact("why", &judgement.reason);
    if let Some(prerequisite) = &judgement.prerequisite {
        printer.fact("waits for", prerequisite);
    }
    if let Some(command) = &judgement.command {
        printer.fact("command", format_args!("{command}  (the system's own tool)"));
        if judgement.outcome == Outcome::LaunchFresh {
            printer.fact("", "with its environment, prompt and inputs, which are not shown here");
        }
    }
}
