//! The `error-tracker` hook.

use std::process::ExitCode;

use error_tracker::ErrorTracker;

const NAME: &str = "error-tracker";

fn main() -> ExitCode {
    hook_io::run(hook_io::Program {
        name: NAME,
        about: "Hook for Claude Code: tells once of MCP servers that fail, edits that keep missing and API errors.\n\
                Reads one hook event on standard input. `recovery install` wires it.",
        answer: |intake| {
            hook_flow::answer(NAME, false, intake, |call| {
                let spoken = hook_flow::track(call, &[&ErrorTracker]);
                hook_flow::say(call, &spoken.advice);
                spoken.finish(call);
            });
        },
        note_panic: hook_flow::note_panic,
    })
}
