//! Real client in real tmux: usage limits, and `recovery watch` beside it.
//!
//! What the fake API was sent tells of every key that became a prompt; the watcher's own log of every key it sent. The
//! watcher acts three to five minutes after a reset, so the limits of these tests were over before they were hit: the
//! client believes that, too.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use end_to_end::{
    fake_api::{
        LimitClaim, Turn, bash, call, overloaded, status, text, too_many_requests, usage_limit,
        usage_limit_with, with_usage,
    },
    sandbox::{Login, Sandbox},
    shifted_clock::ShiftedClock,
    stories,
    story::{tell_with, version_or_skip},
    tmux::Tmux,
    wait::{try_wait_for, wait_until},
    wiring::Wiring,
};
use serde_json::json;

/// Far more than the client takes for one step.
const SOON: Duration = Duration::from_secs(60);
/// The client continues by itself some 30 s after a limit whose reset is past.
const CONTINUES_WITHIN: Duration = Duration::from_secs(150);
/// The latest moment after a reset at which a session is due: the margin of 180 s and the spread of 120 s.
const SURELY_DUE_S: u64 = 310;
const HOUR_S: u64 = 3_600;
/// The client refuses a lone `sleep`.
const LONG_COMMAND: &str = "echo begun; sleep 300; true";
/// What is typed.
const RESUME_TEXT: &str = "continue";
/// Begins what the client types when it continues by itself.
const OWN_TEXT: &str = "Your claude.ai usage limit has reset.";

stories! {
    Default:
    nothing_is_typed_while_no_limit_holds,
    an_armed_client_continues_by_itself,
    with_the_continuation_switched_off_the_session_is_resumed_once,
    a_menu_is_left_alone_unless_it_is_allowed,
    a_limit_of_days_opens_a_menu_that_is_left_alone,
    a_continuation_cancelled_by_a_person_stays_so,
    a_cancelled_continuation_is_resumed_if_that_is_wanted,
    a_clock_that_jumped_over_the_reset_is_answered_by_one_enter,
    every_limit_is_told_by_its_name,
    what_is_no_usage_limit_is_not_taken_for_one,
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A limit that was over long ago.
fn past_limit() -> Turn {
    usage_limit(LimitClaim::FiveHour, now_s() - SURELY_DUE_S)
}

/// Starts a client with a login and lets it run into a limit.
fn limited(sandbox: &Sandbox, limit: Turn, then: &[Turn]) -> Tmux {
    sandbox.log_in(Login::Subscription);
    sandbox.api.script([limit]);
    sandbox.api.script(then.iter().cloned());
    let terminal = sandbox.terminal(&[]);
    terminal.submit("Begin");
    terminal.wait_for_text("limit");
    sandbox.wait_for_hooks("StopFailure", 1);
    terminal
}

fn wait_for_status(sandbox: &Sandbox, status: &str) {
    wait_until(SOON, &format!("the client to be {status}"), || {
        sandbox.live_sessions().first().is_some_and(|session| session["status"] == status)
    });
}

/// What was sent to the model as a prompt so far, by a person, by the client itself or by the watcher.
fn prompts_like(sandbox: &Sandbox, wanted: impl Fn(&str) -> bool) -> usize {
    let in_one = |texts: Vec<String>| texts.iter().filter(|text| wanted(text.trim())).count();
    // Each request holds the whole conversation so far.
    sandbox.api.requests().iter().map(|request| in_one(request.user_texts())).max().unwrap_or_default()
}

fn resumes(sandbox: &Sandbox) -> usize {
    prompts_like(sandbox, |text| text == RESUME_TEXT)
}

/// The watcher has sent no key and typed no text.
#[track_caller]
fn assert_nothing_was_sent(sandbox: &Sandbox) {
    let log = sandbox.watch().log();
    assert!(log.iter().all(|line| !line.contains(" resume ") && !line.contains(" enter ")), "{log:#?}");
    assert_eq!(resumes(sandbox), 0);
}

fn menu_is_open(screen: &str) -> bool {
    screen.contains("❯ 1. Stop and wait for limit to reset")
}

fn nothing_is_typed_while_no_limit_holds(sandbox: &Sandbox) {
    sandbox.api.script([text("The usage limit is a table in the database."), call(bash(LONG_COMMAND))]);
    let terminal = sandbox.terminal(&[]);
    terminal.submit("What is limited?");
    wait_for_status(sandbox, "idle");
    let watching = sandbox.watch().start();
    terminal.wait_for_text("a table in the database");
    watching.wait_for_looks(2);
    terminal.submit("Go on");
    wait_for_status(sandbox, "busy");
    watching.wait_for_looks(2);
    assert_eq!(sandbox.watch().status()["last_tick"]["panes"], json!([]));
    assert_eq!(sandbox.live_sessions()[0]["status"], "busy", "it worked all the time");
    drop(terminal);

    sandbox.api.script([call(bash("touch asked-for"))]);
    let terminal = sandbox.terminal(&["--permission-mode", "default"]);
    terminal.submit("Touch it");
    terminal.wait_for_text("Do you want to proceed?");
    // The call above the question blinks.
    let question = || terminal.screen().split_once("Do you want").map(|(_, question)| question.to_owned());
    let before = question();
    watching.wait_for_looks(2);
    assert_eq!(question(), before);
    assert!(!sandbox.project().join("asked-for").exists());
    let status = sandbox.watch().status();
    assert_eq!(status["last_tick"]["panes"][0]["state"], "question", "{status}");
    watching.stop();
    assert_nothing_was_sent(sandbox);
    let asked =
        ["What is limited?", "Go on", "Touch it"].map(|own| prompts_like(sandbox, |text| text == own));
    assert_eq!(asked, [1, 1, 1]);
}

fn an_armed_client_continues_by_itself(sandbox: &Sandbox) {
    let terminal = limited(sandbox, past_limit(), &[text("All done.")]);
    terminal.wait_for_text("Continuing shortly");
    let said = sandbox.watch().dry_run();
    assert!(said.contains(": armed (usage_limit)"), "{said}");
    let watching = sandbox.watch().start();
    wait_until(CONTINUES_WITHIN, "the client to continue", || sandbox.api.requests().len() == 2);
    terminal.wait_for_text("All done.");
    watching.wait_for_looks(2);
    watching.stop();
    assert_eq!(prompts_like(sandbox, |text| text.starts_with(OWN_TEXT)), 1);
    assert_nothing_was_sent(sandbox);
    assert_eq!(sandbox.watch().log(), Vec::<String>::new());
}

fn with_the_continuation_switched_off_the_session_is_resumed_once(sandbox: &Sandbox) {
    sandbox.set_client_setting("autoContinueAtUsageLimit", json!(false));
    sandbox.watch().configure(&json!({ "menu": true }));
    let terminal = limited(sandbox, past_limit(), &[text("All done.")]);
    terminal.wait_for_screen("the menu", menu_is_open);
    wait_for_status(sandbox, "waiting");
    let watching = sandbox.watch().start();
    wait_until(SOON, "the resume", || sandbox.api.requests().len() == 2);
    terminal.wait_for_text("All done.");
    watching.wait_for_looks(2);
    let status = sandbox.watch().status();
    watching.stop();

    assert_eq!(sandbox.api.requests().len(), 2);
    assert_eq!(resumes(sandbox), 1);
    sandbox.wait_for_hooks("UserPromptSubmit", 2);
    let log = sandbox.watch().log();
    assert_eq!(log.len(), 2, "{log:#?}");
    assert!(log[0].contains("usage_limit") && log[0].contains("enter"), "{log:#?}");
    assert!(log[1].contains("usage_limit") && log[1].contains("resume"), "{log:#?}");
    assert_eq!(status["last_tick"]["panes"], json!([]), "the session is idle again");
}

fn a_menu_is_left_alone_unless_it_is_allowed(sandbox: &Sandbox) {
    sandbox.set_client_setting("autoContinueAtUsageLimit", json!(false));
    let terminal = limited(sandbox, past_limit(), &[text("All done.")]);
    terminal.wait_for_screen("the menu", menu_is_open);
    wait_for_status(sandbox, "waiting");
    for _ in 0..2 {
        let said = sandbox.watch().once();
        assert!(said.contains(": menu (usage_limit)") && said.contains("menus are left alone"), "{said}");
        assert!(menu_is_open(&terminal.screen()));
    }
    assert_nothing_was_sent(sandbox);

    // A person closes it: what stands there now is a limit that is over, and nothing is going to continue.
    terminal.press("Escape");
    wait_for_status(sandbox, "idle");
    let would = sandbox.watch().dry_run();
    assert!(would.contains("would type \"continue\""), "{would}");
    assert_nothing_was_sent(sandbox);
    let said = sandbox.watch().once();
    assert!(said.contains("resume: resumed"), "{said}");
    terminal.wait_for_text("All done.");
    let again = sandbox.watch().once();
    assert!(again.contains("nothing was due"), "{again}");
    assert_eq!((sandbox.api.requests().len(), resumes(sandbox)), (2, 1));
}

fn a_limit_of_days_opens_a_menu_that_is_left_alone(sandbox: &Sandbox) {
    sandbox.watch().configure(&json!({ "menu": true }));
    let terminal = limited(sandbox, usage_limit(LimitClaim::SevenDay, now_s() + 49 * HOUR_S), &[]);
    terminal.wait_for_screen("the menu", menu_is_open);
    wait_for_status(sandbox, "waiting");
    let said = sandbox.watch().once();
    assert!(said.contains(": menu (usage_limit), resets ") && said.contains("the limit holds"), "{said}");
    assert!(menu_is_open(&terminal.screen()));
    terminal.press("Escape");
    wait_for_status(sandbox, "idle");
    let said = sandbox.watch().once();
    assert!(said.contains(": limited (usage_limit), resets ") && said.contains("the limit holds"), "{said}");
    assert_nothing_was_sent(sandbox);
}

/// Armed, and cancelled by Esc.
fn cancelled(sandbox: &Sandbox) -> Tmux {
    let terminal = limited(sandbox, past_limit(), &[text("All done.")]);
    terminal.wait_for_text("Continuing shortly");
    terminal.press("Escape");
    terminal.wait_for_text("Automatic continue cancelled");
    terminal
}

fn a_continuation_cancelled_by_a_person_stays_so(sandbox: &Sandbox) {
    let _terminal = cancelled(sandbox);
    for _ in 0..3 {
        let said = sandbox.watch().once();
        assert!(said.contains(": cancelled (usage_limit)"), "{said}");
    }
    let log = sandbox.watch().log();
    assert_eq!(log.len(), 1, "said once: {log:#?}");
    assert!(log[0].contains("the continuation was cancelled"), "{log:#?}");
    assert_nothing_was_sent(sandbox);
    assert_eq!(sandbox.api.requests().len(), 1);
}

fn a_cancelled_continuation_is_resumed_if_that_is_wanted(sandbox: &Sandbox) {
    sandbox.watch().configure(&json!({ "resume_cancelled": true, "resume_text": "please go on" }));
    let terminal = cancelled(sandbox);
    let said = sandbox.watch().once();
    assert!(said.contains("resume: resumed"), "{said}");
    terminal.wait_for_text("All done.");
    assert_eq!(prompts_like(sandbox, |text| text == "please go on"), 1);
    assert!(sandbox.watch().once().contains("nothing was due"));
    assert_eq!(sandbox.api.requests().len(), 2);
}

fn a_clock_that_jumped_over_the_reset_is_answered_by_one_enter(sandbox: &Sandbox) {
    let Some(clock) = ShiftedClock::build(&sandbox.scratch()) else { return };
    // To the client it is an hour earlier, and the limit holds for most of that hour.
    clock.shift(-3_600);
    for (name, value) in clock.variables() {
        sandbox.set_variable(name, &value);
    }
    let terminal = limited(sandbox, past_limit(), &[text("All done.")]);
    terminal.wait_for_text("Continuing automatically");
    clock.shift(0);
    terminal.wait_for_text("Press enter to continue");
    wait_for_status(sandbox, "idle");
    let would = sandbox.watch().dry_run();
    assert!(would.contains("would press Enter once"), "{would}");
    assert_eq!(sandbox.api.requests().len(), 1);

    let said = sandbox.watch().once();
    assert!(said.contains("enter: done"), "{said}");
    terminal.wait_for_text("All done.");
    assert!(sandbox.watch().once().contains("nothing was due"));
    assert_eq!(prompts_like(sandbox, |text| text.starts_with(OWN_TEXT)), 1);
    assert_eq!((sandbox.api.requests().len(), resumes(sandbox)), (2, 0));
}

/// What the watcher says of the one pane.
#[track_caller]
fn would_do(sandbox: &Sandbox) -> String {
    let said = sandbox.watch().dry_run();
    let line = said.lines().find(|line| line.starts_with("pane "));
    line.and_then(|line| line.split_once(": ")).map(|(_, what)| what.to_owned()).unwrap_or_default()
}

/// Header lines of a limit, without the beginning they share.
type Headers<'h> = &'h [(&'h str, &'h str)];

fn every_limit_is_told_by_its_name(sandbox: &Sandbox) {
    sandbox.log_in(Login::Subscription);
    let terminal = sandbox.terminal(&[]);
    let [soon, days] = [3, 49].map(|hours| (now_s() + hours * HOUR_S).to_string());
    let (over, reset) = (("overage-status", "rejected"), ("reset", &*soon));
    let claim = |name: &'static str| ("representative-claim", name);
    let why = |reason: &'static str| ("overage-disabled-reason", reason);
    let usage = "armed (usage_limit), resets ";
    let model = "armed (model_limit), resets ";
    // The window's reset ends none of these.
    let others = "armed (billing): the client continues by itself";
    let cases: [(Headers<'_>, &str, &str); 18] = [
        (&[claim("five_hour"), reset], "hit your 5-hour limit · resets", usage),
        (&[claim("seven_day"), reset], "hit your weekly limit · resets", usage),
        (&[claim("seven_day_opus"), reset], "hit your Opus limit · resets", model),
        (&[claim("seven_day_sonnet"), reset], "hit your Sonnet limit · resets", model),
        (&[claim("seven_day_overage_included"), reset], "hit your Fable limit · resets", model),
        (&[over, reset], "hit your limit · resets", usage),
        (&[claim("five_years"), over, reset], "Try 6", usage),
        (&[claim("overage"), over, why("out_of_credits"), reset], "out of usage credits · resets", usage),
        (&[over, why("org_level_disabled_until"), reset], "hit your org's monthly spend limit", others),
        (&[claim("five_hour"), over, why("org_spend_cap_reached"), reset], "your 5-hour limit resets", usage),
        (&[over, why("org_spend_cap_reached"), reset], "hit your individual spend limit", others),
        (&[over, ("overage-scope", "group_pool"), ("overage-reset", &*days), reset], "group budget", others),
        (&[over, why("seat_tier_level_disabled"), reset], "Your seat type", others),
        (&[over, why("member_zero_credit_limit"), reset], "Your usage allocation", others),
        (&[over, why("group_zero_credit_limit"), reset], "limit is set to $0", others),
        (&[over, why("org_service_level_disabled"), reset], "This service is disabled", others),
        (
            &[over, ("overage-daily-cap-paused", "true"), reset],
            "Usage is paused",
            "failed (billing): waiting does not mend this",
        ),
        (&[claim("five_hour")], "/upgrade to increase", "limited (usage_limit): no reset is known; waiting"),
    ];
    for (number, (headers, words, wanted)) in cases.iter().enumerate() {
        sandbox.api.script([usage_limit_with(headers)]);
        terminal.submit(&format!("Try {number}"));
        sandbox.wait_for_hooks("StopFailure", number + 1);
        terminal.wait_for_text(words);
        let mut said = String::new();
        let is_right = try_wait_for(SOON, || {
            said = would_do(sandbox);
            said.starts_with(wanted).then_some(())
        });
        assert!(is_right.is_some(), "{words}: {said:?} instead of {wanted:?}\n{}", terminal.screen());
    }
    assert_nothing_was_sent(sandbox);
}

fn what_is_no_usage_limit_is_not_taken_for_one(sandbox: &Sandbox) {
    sandbox.log_in(Login::Subscription);
    let terminal = sandbox.terminal(&[]);
    let soon = (now_s() + HOUR_S).to_string();
    let warning = [
        ("status", "allowed_warning"),
        ("representative-claim", "five_hour"),
        ("reset", &*soon),
        ("5h-utilization", "0.91"),
        ("5h-reset", &*soon),
        ("5h-surpassed-threshold", "0.9"),
    ];
    let credits = [
        ("status", "rejected"),
        ("representative-claim", "five_hour"),
        ("reset", &*soon),
        ("overage-status", "allowed"),
        ("overage-in-use", "true"),
    ];
    let cases = [
        (with_usage(text("One."), &warning), "used 91% of your 5-hour limit", ""),
        (with_usage(text("Two."), &credits), "now using usage credits", ""),
        (too_many_requests(), "not your usage limit", "overloaded (overload): trying again is switched off"),
        (overloaded(), "529", "overloaded (overload): trying again is switched off"),
        (
            status(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the Anthropic API.",
            ),
            "redit balance",
            "failed (billing): waiting does not mend this",
        ),
    ];
    for (answer, words, wanted) in cases {
        sandbox.api.script([answer]);
        terminal.submit("Go on");
        terminal.wait_for_text(words);
        wait_for_status(sandbox, "idle");
        let mut said = String::new();
        let is_right = try_wait_for(SOON, || {
            said = would_do(sandbox);
            (said.is_empty() == wanted.is_empty() && said.starts_with(wanted)).then_some(())
        });
        assert!(is_right.is_some(), "{words}: {said:?} instead of {wanted:?}\n{}", terminal.screen());
    }
    assert_nothing_was_sent(sandbox);
}

/// Its limits always open the menu, and its transcript names no exact reset.
#[test]
fn an_older_client_is_resumed() {
    let Some(client) = version_or_skip("2.1.150") else { return };
    tell_with(client, Wiring::Default, |sandbox| {
        sandbox.watch().configure(&json!({ "menu": true }));
        let terminal = limited(sandbox, past_limit(), &[text("All done.")]);
        terminal.wait_for_screen("the menu", menu_is_open);
        wait_for_status(sandbox, "waiting");
        assert_menu_then_text(sandbox, &terminal);
    });
}

/// It writes down neither its state nor its pane.
#[test]
fn a_client_that_does_not_say_what_it_does_needs_trust() {
    let Some(client) = version_or_skip("2.1.80") else { return };
    tell_with(client, Wiring::Default, |sandbox| {
        sandbox.watch().configure(&json!({ "menu": true }));
        let terminal = limited(sandbox, past_limit(), &[text("All done.")]);
        terminal.wait_for_screen("the menu", menu_is_open);
        let said = sandbox.watch().once();
        assert!(said.contains("the client does not say what it does"), "{said}");
        assert_nothing_was_sent(sandbox);
        sandbox.watch().configure(&json!({ "menu": true, "trust_screen": true }));
        assert_menu_then_text(sandbox, &terminal);
    });
}

#[track_caller]
fn assert_menu_then_text(sandbox: &Sandbox, terminal: &Tmux) {
    let said = sandbox.watch().once();
    assert!(said.contains("enter: done: limited"), "{said}");
    assert_eq!(resumes(sandbox), 0, "the menu closes and no more");
    let said = sandbox.watch().once();
    assert!(said.contains("resume: resumed"), "{said}");
    terminal.wait_for_text("All done.");
    wait_until(SOON, "the hooks of the end of the turn", || {
        sandbox.watch().once().contains("nothing was due")
    });
    assert_eq!(resumes(sandbox), 1);
    assert_eq!(sandbox.watch().log().len(), 2);
}
