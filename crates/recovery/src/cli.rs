//! The command line.

use clap::{Parser, Subcommand};

use crate::{
    change::ChangeArguments, explain::ExplainArguments, install::InstallArguments, reset::ResetArguments,
    resume::ResumeArguments, resume_probe::ResumeProbeArguments, run::RunArguments,
    uninstall::UninstallArguments, watch::WatchArguments, workflow::WorkflowArguments,
};

/// Hooks that tell Claude Code what a crash interrupted and which tool is down.
#[derive(Debug, Parser)]
#[command(name = "recovery", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Three commands to begin with:
  recovery install --dry-run      show what would be written, and where
  recovery install                wire the hooks for the project around the current folder
  recovery uninstall              take everything out again

`recovery VERB --help` shows examples of each verb.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Install(InstallArguments),
    Uninstall(UninstallArguments),
    Resume(ResumeArguments),
    Watch(WatchArguments),
    Workflow(WorkflowArguments),
    Run(RunArguments),
    Change(ChangeArguments),
    ResumeProbe(ResumeProbeArguments),
    Explain(ExplainArguments),
    Reset(ResetArguments),
}
