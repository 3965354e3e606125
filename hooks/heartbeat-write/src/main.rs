//! The `heartbeat-write` hook.

use std::process::ExitCode;

const NAME: &str = "heartbeat-write";

fn main() -> ExitCode {
    hook_io::run(hook_io::Program {
        name: NAME,
        about: "Hook for Claude Code: writes a session's sign of life. Never prints anything.\n\
                Reads one hook event on standard input. `recovery install` wires it.",
        answer: |intake| hook_flow::answer(NAME, true, intake, heartbeat_write::note),
        note_panic: hook_flow::note_panic,
    })
}
