//! The `tool-degradation` hook.

use std::process::ExitCode;

use tool_degradation::ToolDegradation;

const NAME: &str = "tool-degradation";

fn main() -> ExitCode {
    hook_io::run(hook_io::Program {
        name: NAME,
        about: "Hook for Claude Code: names the tool that does the job of one that keeps failing.\n\
                Reads one hook event on standard input. `recovery install` wires it.",
        answer: |intake| {
            hook_flow::answer(NAME, false, intake, |call| {
                let spoken = hook_flow::track(call, &[&ToolDegradation]);
                hook_flow::say(call, &spoken.advice);
                spoken.finish(call);
            });
        },
        note_panic: hook_flow::note_panic,
    })
}
