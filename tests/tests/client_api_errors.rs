//! Real client: turns that end on API errors.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use end_to_end::{
    fake_api::{LimitClaim, overloaded, text, usage_limit},
    sandbox::{Login, Sandbox},
    stories,
};

/// 2031-05-04 10:20 UTC: far enough out to be told with its date, whenever the test runs.
const RESETS_AT: u64 = 1_935_656_400;

stories! {
    Default, Separate:
    three_overloads_in_one_session,
    three_overloads_in_resumed_runs,
    two_overloads_are_no_streak,
    a_usage_limit,
}

fn three_overloads_in_one_session(sandbox: &Sandbox) {
    sandbox.api.script([overloaded(), overloaded(), overloaded(), text("Back again."), text("Still here.")]);
    let mut session = sandbox.session(&[]);
    for turn in 1..=3 {
        assert_eq!(session.prompt("Go on")["is_error"], true);
        sandbox.wait_for_hooks("StopFailure", turn);
    }
    session.prompt("And now?");
    session.prompt("And then?");
    session.end();

    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 5);
    for request in &requests[..3] {
        assert!(request.contexts().is_empty(), "too early: {:?}", request.contexts());
    }
    let told = requests[3].new_advice("MODEL");
    assert_eq!(told.len(), 1, "{:?}", requests[3].contexts());
    assert!(told[0].contains("529") || told[0].contains("overload"), "{told:?}");
    assert!(requests[4].new_contexts().is_empty(), "{:?}", requests[4].new_contexts());
    assert_eq!(requests[4].advice("MODEL").len(), 1);
    assert!(requests[4].advice("LIMIT").is_empty());
}

/// A `-p` client does not wait for what it starts at the end of a failed turn: the hook has to be quick.
fn three_overloads_in_resumed_runs(sandbox: &Sandbox) {
    sandbox.api.script([overloaded(), overloaded(), overloaded(), text("Back again.")]);
    let first = sandbox.run_print("Go on", &[]);
    assert_eq!(first.code, Some(1), "{first:?}");
    let session = first.session_id();
    for _ in 0..2 {
        assert_eq!(sandbox.run_print("Go on", &["--resume", session]).session_id(), session);
    }
    let _ = sandbox.run_print("And now?", &["--resume", session]);

    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[2].advice("MODEL").is_empty(), "too early: {:?}", requests[2].contexts());
    assert_eq!(requests[3].advice("MODEL").len(), 1, "{:?}", requests[3].contexts());
}

fn two_overloads_are_no_streak(sandbox: &Sandbox) {
    sandbox.api.script([overloaded(), overloaded(), text("Back again."), overloaded(), text("Back again.")]);
    let mut session = sandbox.session(&[]);
    for failures in [1, 2, 2, 3, 3] {
        session.prompt("Go on");
        sandbox.wait_for_hooks("StopFailure", failures);
    }
    session.end();
    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 5);
    assert!(requests[4].contexts().is_empty(), "a good turn ends the streak: {:?}", requests[4].contexts());
}

fn a_usage_limit(sandbox: &Sandbox) {
    sandbox.log_in(Login::Subscription);
    sandbox.api.script([
        usage_limit(LimitClaim::FiveHour, RESETS_AT),
        text("Back again."),
        text("Still here."),
    ]);
    let mut session = sandbox.session(&[]);
    let limited = session.prompt("Go on");
    assert!(limited["result"].as_str().unwrap().contains("5-hour limit"), "{limited}");
    sandbox.wait_for_hooks("StopFailure", 1);
    session.prompt("And now?");
    session.prompt("And then?");
    let id = session.id();
    session.end();

    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 3);
    let told = requests[1].new_advice("LIMIT");
    assert_eq!(told.len(), 1, "{:?}", requests[1].contexts());
    assert!(requests[2].new_contexts().is_empty(), "{:?}", requests[2].new_contexts());
    assert!(requests[2].advice("MODEL").is_empty(), "another model has the same limit");
    // The reset is the person's to act on, so it may stand in the line that only they see.
    let notes = sandbox.transcript(&id).notes_to_the_person();
    assert!(notes.len() <= 1, "{notes:?}");
    let both = [told, notes].concat().join("\n");
    assert!(both.contains("10:20"), "no reset in: {both}");
}
