//! The `crash-recovery-check` hook.

use std::process::ExitCode;

use hook_flow::Call;

const NAME: &str = "crash-recovery-check";

fn main() -> ExitCode {
    hook_io::run(hook_io::Program {
        name: NAME,
        about: "Hook for Claude Code: tells a new session what an earlier one left, and mends what is safe to mend.\n\
                Reads one hook event on standard input. `recovery install` wires it.",
        answer: |intake| hook_flow::answer(NAME, false, intake, answer),
        note_panic: hook_flow::note_panic,
    })
}

fn answer(call: &Call<'_>) {
    let left = crash_recovery_check::check(call.event, call.env, call.project, call.now);
    hook_flow::say(call, left.as_slice());
}
