//! Fail-open: whatever happens, exit status 0 and nothing but a valid answer on standard output.

use std::process::ExitCode;

use crate::intake::Intake;

/// A hook program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence, and how it is used.
    pub about: &'static str,
    /// Answers one event. Writes to standard output only through a [`crate::Mouth`].
    pub answer: fn(Intake),
    /// Notes a panic; called at most once, right before the process leaves with status 0.
    pub note_panic: fn(&str),
}

/// Runs a hook program: without arguments it answers one event, with any (the wiring passes none) it tells what it is.
#[must_use]
pub fn run(program: Program) -> ExitCode {
    std::panic::set_hook(Box::new(move |panic| {
        (program.note_panic)(&panic.to_string());
        std::process::exit(0);
    }));
    match std::env::args_os().nth(1) {
        None => (program.answer)(Intake::stdin()),
        Some(argument) => explain(&program, argument == "--version" || argument == "-V"),
    }
    ExitCode::SUCCESS
}

/// Two lines of help need no argument parser, whose start costs more than a quiet call.
fn explain(program: &Program, version: bool) {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    let line = format!("{} {}", program.name, env!("CARGO_PKG_VERSION"));
    // Nobody is left to tell when standard output is closed.
    let _ =
        if version { writeln!(stdout, "{line}") } else { writeln!(stdout, "{line}\n\n{}", program.about) };
}
