//! Real client: MCP servers that fail.

use end_to_end::{
    fake_api::{ApiRequest, call, calls, mcp, text},
    mcp_server::Behaviour,
    sandbox::Sandbox,
    stories,
};

/// The project's own row for the failing tool.
const FALLBACK_TABLE: &str = "\
# Fallback tools

| tool | fallback | difference |
| --- | --- | --- |
| mcp__docs__lookup | WebFetch | static pages only |
";

const REFUSED: &str = "connect ECONNREFUSED 127.0.0.1:8931";

stories! {
    Default, Separate:
    a_tool_that_fails_twice,
    a_server_that_crashes_twice,
    a_tool_that_fails_six_times,
    a_server_that_does_not_come_back,
    five_parallel_failures,
}

/// Runs one prompt in which the failing tool is called so many times, one after the other, and returns the requests:
/// the one at index `n` is the first to tell of failure `n`.
fn call_in_a_row(sandbox: &Sandbox, times: usize) -> Vec<ApiRequest> {
    sandbox.write(".working-state/fallback-tools.md", FALLBACK_TABLE);
    sandbox.api.script((0..times).map(|_| call(mcp("docs", "lookup"))));
    sandbox.api.script([text("That is all.")]);
    let run = sandbox.run_print("Look it up", &[]);
    assert_eq!(run.result["result"], "That is all.", "{run:?}");
    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), times + 1);
    requests
}

/// The failures' numbers are told one by one, and the replacement at the second.
fn assert_told_of_two(requests: &[ApiRequest]) {
    for (failure, number) in [(1, "1 of 5"), (2, "2 of 5")] {
        let told = requests[failure].new_advice("MCP");
        assert_eq!(told.len(), 1, "failure {failure}: {told:?}");
        assert!(told[0].contains("docs") && told[0].contains(number), "failure {failure}: {told:?}");
    }
    assert!(requests[1].advice("DEGRADATION").is_empty(), "one failure is no streak");
    let degraded = requests[2].advice("DEGRADATION");
    assert_eq!(degraded.len(), 1, "{degraded:?}");
    for part in ["mcp__docs__lookup", "2 times", "WebFetch", "static pages only"] {
        assert!(degraded[0].contains(part), "{part} is missing: {degraded:?}");
    }
}

fn a_tool_that_fails_twice(sandbox: &Sandbox) {
    let docs = sandbox.mcp_server("docs");
    docs.set("lookup", Behaviour::ErrorResult(REFUSED.into()));
    let requests = call_in_a_row(sandbox, 2);
    assert_told_of_two(&requests);
    assert!(requests[2].advice("MCP FALLBACK").is_empty());
}

fn a_server_that_crashes_twice(sandbox: &Sandbox) {
    let docs = sandbox.mcp_server("docs");
    docs.set("lookup", Behaviour::Exit);
    let requests = call_in_a_row(sandbox, 2);
    assert_eq!(requests[2].new_tool_results(), ["Connection closed"]);
    assert_told_of_two(&requests);
}

fn a_tool_that_fails_six_times(sandbox: &Sandbox) {
    let docs = sandbox.mcp_server("docs");
    docs.set("lookup", Behaviour::ErrorResult(REFUSED.into()));
    let requests = call_in_a_row(sandbox, 6);
    assert_told_of_two(&requests);
    for (failure, request) in requests.iter().enumerate().take(5).skip(1) {
        let told = request.new_advice("MCP");
        assert_eq!(told.len(), 1, "failure {failure}: {told:?}");
        assert!(told[0].contains(&format!("{failure} of 5")), "failure {failure}: {told:?}");
        assert!(request.advice("MCP FALLBACK").is_empty(), "failure {failure}");
    }
    let fallback = requests[5].new_advice("MCP FALLBACK");
    assert_eq!(fallback.len(), 1, "{fallback:?}");
    assert!(fallback[0].contains("docs") && fallback[0].contains("WebFetch"), "{fallback:?}");
    assert!(
        requests[6].new_contexts().is_empty(),
        "the sixth failure is news no more: {:?}",
        requests[6].new_contexts()
    );
    assert_eq!(requests[6].advice("MCP FALLBACK").len(), 1);
    assert_eq!(requests[6].advice("DEGRADATION").len(), 1);
}

/// Waiting is useless where the restart failed, so the alternative is told at once.
fn a_server_that_does_not_come_back(sandbox: &Sandbox) {
    let docs = sandbox.mcp_server("docs");
    docs.set("lookup", Behaviour::ExitForGood);
    let requests = call_in_a_row(sandbox, 2);
    assert!(requests[2].new_tool_results()[0].contains("is not connected"), "{}", requests[2].new_text());
    assert!(requests[1].advice("MCP FALLBACK").is_empty());
    let fallback = requests[2].new_advice("MCP FALLBACK");
    assert_eq!(fallback.len(), 1, "{:?}", requests[2].new_contexts());
    assert!(fallback[0].contains("docs") && fallback[0].contains("WebFetch"), "{fallback:?}");
}

fn five_parallel_failures(sandbox: &Sandbox) {
    let docs = sandbox.mcp_server("docs");
    docs.set("lookup", Behaviour::ErrorResult(REFUSED.into()));
    sandbox.write(".working-state/fallback-tools.md", FALLBACK_TABLE);
    sandbox.api.script([calls((0..5).map(|_| mcp("docs", "lookup"))), text("That is all.")]);
    let _ = sandbox.run_print("Look it up", &[]);
    let requests = sandbox.api.requests();
    assert_eq!(requests[1].new_tool_results().len(), 5);
    let about_the_server = [requests[1].advice("MCP"), requests[1].advice("MCP FALLBACK")].concat();
    assert_eq!(about_the_server.len(), 1, "{about_the_server:?}");
    let degraded = requests[1].advice("DEGRADATION");
    assert_eq!(degraded.len(), 1, "{degraded:?}");
}
