//! Fail-open: whatever happens, exit status 0 and nothing but a valid answer on standard output.

use std::process::ExitCode;

use crate::intake::Intake;

/// A hook program.
pub trait Hook {
    /// Answers one event. Writes to standard output only through a [`crate::Mouth`].
    fn answer(intake: Intake);

    /// Notes a panic; called at most once, right before the process leaves with status 0.
    fn note_panic(message: &str);

    /// Called instead when arguments were given, which the wiring never does.
    fn arguments(arguments: &[String]);
}

/// Runs a hook program: with arguments it explains itself, without it answers one event.
#[must_use]
pub fn run<H: Hook>() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        H::note_panic(&panic.to_string());
        std::process::exit(0);
    }));
    if std::env::args_os().len() > 1 {
        H::arguments(
            &std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>(),
        );
    } else {
        H::answer(Intake::stdin());
    }
    ExitCode::SUCCESS
}
