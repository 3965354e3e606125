//! Real client: the repository as a plugin, alone and beside the settings.

use std::collections::BTreeSet;

use end_to_end::{
    fake_api::{bash, call, calls, mcp, overloaded, text},
    mcp_server::Behaviour,
    repository,
    sandbox::Sandbox,
    stories,
    story::with_sandbox,
};

stories! { Plugin, PluginAndSettings: nothing_is_told_twice }
stories! { UnbuiltPlugin: a_fresh_clone_says_once_that_nothing_is_built }

#[test]
fn the_client_finds_no_fault_with_the_plugin() {
    with_sandbox(|sandbox| {
        let repository = repository();
        let finished = sandbox.run_client(&["plugin", "validate", &repository.to_string_lossy(), "--strict"]);
        assert!(finished.is_success(), "{}{}", finished.stdout, finished.stderr);
    });
}

fn a_fresh_clone_says_once_that_nothing_is_built(sandbox: &Sandbox) {
    sandbox.api.script((0..10).map(|_| calls([bash("echo done"), bash("exit 3")])));
    sandbox.api.script([text("Done.")]);
    let run = sandbox.run_print("Begin", &[]);
    assert_eq!(run.result["result"], "Done.", "{run:?}");
    for request in sandbox.api.requests() {
        assert!(request.contexts().is_empty(), "{:?}", request.contexts());
    }
    let notes = sandbox.transcript(run.session_id()).notes_to_the_person();
    assert_eq!(notes.len(), 1, "{notes:?}");
}

fn nothing_is_told_twice(sandbox: &Sandbox) {
    let docs = sandbox.mcp_server("docs");
    docs.set("lookup", Behaviour::ErrorResult("connect ECONNREFUSED 127.0.0.1:8931".into()));
    sandbox.api.script([call(mcp("docs", "lookup")), call(mcp("docs", "lookup")), text("Done.")]);
    sandbox.api.script([overloaded(), overloaded(), overloaded(), text("Back again.")]);
    let mut session = sandbox.session(&[]);
    session.prompt("Look it up");
    for turn in 1..=3 {
        session.prompt("Go on");
        sandbox.wait_for_hooks("StopFailure", turn);
    }
    session.prompt("And now?");
    let id = session.id();
    session.end();

    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 7);
    let last = &requests[6];
    for (tag, times) in [("MCP", 2), ("DEGRADATION", 1), ("MODEL", 1)] {
        assert_eq!(last.advice(tag).len(), times, "{tag}: {:?}", last.contexts());
    }
    let transcript = sandbox.transcript(&id);
    for texts in [
        transcript.hook_contexts().into_iter().map(|(_, text)| text).collect::<Vec<_>>(),
        transcript.notes_to_the_person(),
    ] {
        let different: BTreeSet<_> = texts.iter().collect();
        assert_eq!(different.len(), texts.len(), "{texts:?}");
    }
}
