//! `recovery run`: runs of workflow-mcp that failed or were interrupted, and what to do about each.

mod claiming;
mod evidence;
mod judge;
mod list;
mod select;
mod verify;

use clap::{Args, Subcommand};
use session_state::times;
use systems::run::registry::{Problem, Registry};

use crate::{environment::Environment, exit_status::ExitStatus, hint::Hinted, printer::Printer};

/// Show runs that failed, and judge whether to recover, launch fresh, defer or only report
///
/// Reads the registry of workflow-mcp (WORKFLOW_MCP_HOME, else ~/.workflow-mcp). Nothing in it is changed; `claim` and
/// `release` make and remove one file of ours beside a record.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  recovery run list                          what failed, what runs
  recovery run judge --all --budget 2        one outcome for each failed run, two launches at most
  recovery run evidence shop-101             everything the run left, without secrets
  recovery run claim shop-101                before recovering it; exit 3: somebody else has it
  recovery run verify shop-101               afterwards; exit 4: not confirmed

Exit: 0 done, 1 not possible, 2 wrong command line, 3 claimed by somebody else, 4 progress not confirmed.")]
pub(crate) struct RunArguments {
    #[command(subcommand)]
    verb: RunVerb,
}

#[derive(Debug, Subcommand)]
enum RunVerb {
    List(list::ListArguments),
    Evidence(evidence::EvidenceArguments),
    Judge(judge::JudgeArguments),
    Claim(claiming::ClaimArguments),
    Release(claiming::ReleaseArguments),
    Verify(verify::VerifyArguments),
}

/// One run, by its key.
#[derive(Debug, Args)]
struct Selection {
    /// Key of the run
    #[arg(value_name = "KEY")]
    key: String,
    /// Its workspace, where the key is in more than one
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &RunArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let home = environment.variables.workflow_mcp_home(&environment.current_dir).ok_or_else(|| {
        Hinted::attach(
            anyhow::anyhow!("there is no home folder to look in"),
            "set WORKFLOW_MCP_HOME to the registry",
        )
    })?;
    let registry = Registry::open(&home).map_err(|error| {
        Hinted::attach(
            anyhow::anyhow!("cannot open the registry in {} ({error})", home.display()),
            "set WORKFLOW_MCP_HOME to the folder that holds `workspaces`",
        )
    })?;
    match &arguments.verb {
        RunVerb::List(arguments) => list::run(arguments, &registry, printer),
        RunVerb::Evidence(arguments) => evidence::run(arguments, &registry, printer),
        RunVerb::Judge(arguments) => judge::run(arguments, &registry, printer),
        RunVerb::Claim(arguments) => claiming::claim(arguments, &registry, environment, printer),
        RunVerb::Release(arguments) => claiming::release(arguments, &registry, environment, printer),
        RunVerb::Verify(arguments) => verify::run(arguments, &registry, printer),
    }
}

/// A time as every document has it: RFC 3339 in UTC.
fn time(seconds: Option<i64>) -> Option<String> {
    seconds.map(times::rfc3339_utc_s).filter(|text| !text.is_empty())
}

/// Prints what was left alone.
fn print_problems(printer: &Printer, problems: &[Problem], more: usize) {
    if problems.is_empty() {
        return;
    }
    printer.line("left alone");
    for problem in problems {
        printer.line(format_args!("  {} {}", problem.path, problem.problem));
    }
    if more > 0 {
        printer.line(format_args!("  and {more} more"));
    }
    printer.line("");
}
