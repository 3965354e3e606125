//! Real client: silence while all is well, whatever words the results hold.

use end_to_end::{
    fake_api::{ToolCall, bash, calls, mcp, read, text},
    mcp_server::Behaviour,
    sandbox::Sandbox,
    stories,
};

const LOG: &str = "\
ERROR connect ECONNREFUSED 127.0.0.1:5432
fatal: Connection closed by remote host
Traceback (most recent call last): TimeoutError: request timed out
API Error: 529 Overloaded. You've hit your 5-hour limit
429 Too Many Requests, 401 Unauthorized, command not found
";

stories! { Default, Separate: thirty_good_calls_full_of_error_words }

fn thirty_good_calls_full_of_error_words(sandbox: &Sandbox) {
    let log = sandbox.write("service.log", LOG);
    let docs = sandbox.mcp_server("docs");
    docs.set_all(&Behaviour::Answer(format!("How to read a log with failures in it:\n\n{LOG}")));
    let rounds: Vec<[ToolCall; 3]> = (0..10)
        .map(|round| {
            let command = match round % 5 {
                0 => "cat service.log",
                1 => "cat service.log >&2",
                2 => "grep -n unheard-of service.log",
                3 => "echo '3 failed, error: exit code 1'; true",
                _ => "diff service.log README.md",
            };
            [bash(command), mcp("docs", "lookup"), read(&log)]
        })
        .collect();
    sandbox.api.script(rounds.into_iter().map(calls));
    sandbox.api.script([text("All is well.")]);

    let run = sandbox.run_print("Look around", &[]);

    assert_eq!(run.result["result"], "All is well.", "{run:?}");
    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 11);
    let results: usize = requests.iter().map(|request| request.new_tool_results().len()).sum();
    assert_eq!(results, 30);
    for request in &requests {
        assert!(request.contexts().is_empty(), "{:?}", request.contexts());
    }
    let transcript = sandbox.transcript(run.session_id());
    assert_eq!(transcript.hook_contexts(), []);
    assert_eq!(transcript.notes_to_the_person(), Vec::<String>::new());
}
