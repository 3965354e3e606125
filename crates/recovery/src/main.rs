//! The `recovery` command: install, remove and explain the recovery hooks.

mod backup;
mod binaries;
mod change;
mod cli;
mod client_version;
mod environment;
mod exit_status;
mod explain;
mod hint;
mod install;
mod platform;
mod printer;
mod programs;
mod project;
mod purge;
mod reset;
mod resume;
mod resume_probe;
mod run;
mod scope;
mod settings;
mod uninstall;
mod watch;
mod wiring;
mod workflow;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

use crate::{
    cli::{Cli, Verb},
    environment::Environment,
    exit_status::ExitStatus,
    printer::Printer,
};

fn main() -> ExitCode {
    let printer = Printer;
    // Help, version and wrong arguments end here, with clap's own text and exit code (0 or 2).
    let cli = Cli::parse();
    let status = run(cli, &printer).unwrap_or_else(|error| {
        printer.error(&error);
        ExitStatus::Failure
    });
    status.into()
}

fn run(cli: Cli, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let environment = || Environment::read().context("cannot tell the current folder");
    match cli.verb {
        Verb::Install(arguments) => install::run(&arguments, &environment()?, printer),
        Verb::Uninstall(arguments) => uninstall::run(&arguments, &environment()?, printer),
        Verb::Explain(arguments) => explain::run(&arguments, printer),
        Verb::Resume(arguments) => resume::run(&arguments, &environment()?, printer),
        Verb::Watch(arguments) => watch::run(&arguments, &environment()?, printer),
        Verb::Reset(arguments) => reset::run(&arguments, &environment()?, printer),
        Verb::Workflow(arguments) => workflow::run(&arguments, &environment()?, printer),
        Verb::Change(arguments) => change::run(&arguments, &environment()?, printer),
        Verb::ResumeProbe(arguments) => resume_probe::run(&arguments, &environment()?, printer),
        Verb::Run(arguments) => run::run(&arguments, &environment()?, printer),
    }
}
