//! One pane over hours: what is remembered, what is done once, what begins anew.

use chrono::{DateTime, TimeDelta, Utc};
use screens::{
    Answer, Keys, Kind, Limit, Look, Memory, Options, Pane, Reset, State, Wordings, backoff_s, look,
};

use super::shown::{BANNER, RESET, after_prompt, claude, failed, idle, instant, limited, look_with, screen};

/// A daemon that watches one pane.
struct Watch {
    pane: Pane,
    options: Options,
    now: DateTime<Utc>,
    memory: Option<Memory>,
    sent: Vec<(String, Keys)>,
}

impl Watch {
    fn from(now: &str) -> Self {
        Self {
            pane: claude(),
            options: Options::for_a_screen(),
            now: instant(now),
            memory: None,
            sent: Vec::new(),
        }
    }

    fn look(&mut self, text: &str) -> Answer {
        let answer = look_with(text, &self.pane, self.now, self.memory.as_ref(), &self.options);
        // As stored and read again.
        let stored = serde_json::to_string(&answer.memory).unwrap();
        self.memory = Some(serde_json::from_str(&stored).unwrap());
        if answer.keys != Keys::None {
            self.sent.push((self.now.format("%H:%M").to_string(), answer.keys));
        }
        answer
    }

    /// Looks at the same screen every minute.
    fn watch(&mut self, text: &str, minutes: i64) {
        for _ in 0..minutes {
            self.look(text);
            self.now += TimeDelta::minutes(1);
        }
    }

    fn sent(&self) -> Vec<(&str, Keys)> {
        self.sent.iter().map(|(at, keys)| (at.as_str(), *keys)).collect()
    }
}

fn working() -> String {
    let text = after_prompt(&format!(
        "  ⎿ \u{a0}{BANNER}\n\n❯ continue\n\n● Loading.\n\n✻ Loading… (3s · ↓ 20 tokens)"
    ));
    screen(&text, "", "  ⏵⏵ bypass permissions on · esc to interrupt")
}

fn next_limit(text: &str) -> String {
    idle(&format!("❯ continue\n\n● Loading.\n  ⎿ \u{a0}{text}"))
}

#[test]
fn the_margin_is_kept_to_the_second() {
    for (seconds, keys) in [(179, Keys::None), (180, Keys::ResumeOnce), (181, Keys::ResumeOnce)] {
        let mut watch = Watch::from("2026-11-30T20:20:00Z");
        watch.look(&limited());
        watch.now = instant(RESET) + TimeDelta::seconds(seconds);
        assert_eq!(watch.look(&limited()).keys, keys, "{seconds}");
    }
}

#[test]
fn a_night_with_three_limits_resumes_three_times() {
    let mut watch = Watch::from("2026-11-30T20:00:00Z");
    watch.watch(&idle("● All is well."), 20);
    watch.watch(&limited(), 144);
    watch.watch(&working(), 10);
    watch.watch(&next_limit("You've hit your 5-hour limit · resets 3:20am (UTC)"), 300);
    watch.watch(&working(), 30);
    watch.watch(&next_limit("You've hit your weekly limit · resets Dec 1, 8am (UTC)"), 600);
    let at = |time: &'static str| (time, Keys::ResumeOnce);
    assert_eq!(watch.sent(), [at("22:23"), at("03:23"), at("08:03")]);
}

#[test]
fn the_same_screen_is_never_resumed_twice_not_even_a_day_later() {
    let mut watch = Watch::from("2026-11-30T20:20:00Z");
    watch.watch(&limited(), 3 * 24 * 60);
    assert_eq!(watch.sent(), [("22:23", Keys::ResumeOnce)]);
}

#[test]
fn a_limit_met_again_with_the_same_reset_is_not_resumed_again() {
    let mut watch = Watch::from("2026-11-30T20:20:00Z");
    watch.watch(&limited(), 124);
    watch.watch(&working(), 1);
    watch.watch(&next_limit(BANNER), 600);
    assert_eq!(watch.sent(), [("22:23", Keys::ResumeOnce)]);
}

#[test]
fn the_reset_is_the_one_understood_first() {
    let mut watch = Watch::from("2026-11-30T20:20:00Z");
    watch.options.resume_cancelled = false;
    let cancelled = idle(&after_prompt(&format!(
        "  ⎿ \u{a0}{BANNER}\n\n● Automatic continue cancelled · /rate-limit-options to wait again"
    )));
    watch.watch(&cancelled, 24 * 60);
    let answer = watch.look(&cancelled);
    assert_eq!((answer.reset_at, answer.state), (Some(instant(RESET)), State::Cancelled));
    assert_eq!(watch.sent(), []);
}

#[test]
fn a_dialog_in_between_does_not_end_the_limit() {
    let mut watch = Watch::from("2026-11-30T20:20:00Z");
    watch.watch(&limited(), 60);
    watch.watch("Select model\n\n ❯ 1. Default\n   2. Opus\n\n Enter to confirm · Esc to cancel", 100);
    assert_eq!(watch.look(&limited()).reset_at, Some(instant(RESET)));
    assert_eq!(watch.sent(), [("23:00", Keys::ResumeOnce)]);
}

#[test]
fn an_unreadable_reset_is_waited_for_a_fixed_time() {
    let mut watch = Watch::from("2026-11-30T20:00:00Z");
    watch.watch(&next_limit("You've hit your limit · resets 30"), 240);
    assert_eq!(watch.sent(), [("21:00", Keys::ResumeOnce)]);
}

#[test]
fn what_stood_there_before_the_first_look_may_be_over() {
    for (text, first_seen, now, reset) in [
        (BANNER, true, "2026-12-01T11:20:00Z", RESET),
        (BANNER, false, "2026-12-01T01:00:00Z", RESET),
        // The reset of the evening before: nobody waits eleven hours for the end of five.
        (BANNER, true, "2026-12-01T11:20:00Z", RESET),
        (BANNER, false, "2026-12-01T11:20:00Z", "2026-12-01T22:20:00Z"),
        (BANNER, true, "2026-12-01T16:19:59Z", RESET),
        (BANNER, true, "2026-12-01T16:20:00Z", "2026-12-01T22:20:00Z"),
        // A weekly limit may be so far away.
        (
            "You've hit your weekly limit · resets 10:20pm (UTC)",
            true,
            "2026-12-01T11:20:00Z",
            "2026-12-01T22:20:00Z",
        ),
    ] {
        let (text, pane) = (next_limit(text), claude());
        let look_at =
            Look { text: &text, pane: &pane, now: instant(now), memory: None, first_seen, known: None };
        let answer = look(&look_at, &Wordings::default(), &Options::for_a_screen());
        assert_eq!(answer.reset_at, Some(instant(reset)), "{text} {now}");
        assert_eq!(answer.keys, Keys::None, "one look is not enough");
    }
}

#[test]
fn what_the_transcript_knows_comes_before_the_text() {
    let at = instant("2026-12-01T01:30:00Z");
    let known = Limit { kind: Kind::UsageLimit, reset: Some(Reset { at, assumed_zone: false }), waits: true };
    let (text, pane, now) = (limited(), claude(), instant("2026-11-30T21:00:00Z"));
    let look_at = Look { text: &text, pane: &pane, now, memory: None, first_seen: false, known: Some(known) };
    assert_eq!(look(&look_at, &Wordings::default(), &Options::for_a_screen()).reset_at, Some(at));
}

fn overloaded(nth: usize) -> String {
    let before = "❯ continue\n\n".repeat(nth);
    idle(&format!("{before}● API Error: 529 Overloaded. This is a server-side issue, usually temporary"))
}

const OVERLOADED: &str = "API Error: 529 Overloaded. This is a server-side issue, usually temporary";

#[test]
fn an_overload_is_tried_three_times_with_growing_waits() {
    let mut watch = Watch::from("2026-11-30T20:00:00Z");
    watch.options.backoff = true;
    watch.pane.stop_failure = failed("server_error", OVERLOADED);
    let mut waits = Vec::new();
    for nth in 0..5 {
        let start = watch.now;
        for _ in 0..900 {
            let answer = watch.look(&overloaded(nth));
            watch.now += TimeDelta::seconds(1);
            if answer.keys == Keys::ResumeOnce {
                waits.push((watch.now - start).num_seconds());
                break;
            }
        }
        watch.look(&working());
    }
    assert_eq!(waits.len(), 3, "{waits:?}");
    for (wait, least) in waits.iter().zip([60, 120, 240]) {
        assert!((least..=least * 3 / 2 + 2).contains(wait), "{waits:?}");
    }
    // A turn that ends well begins the count anew.
    watch.look(&idle("● All is well."));
    watch.watch(&overloaded(0), 3);
    assert_eq!(watch.sent.len(), 4);
}

#[test]
fn an_overload_without_the_clients_word_or_the_option_is_only_told() {
    let mut watch = Watch::from("2026-11-30T20:00:00Z");
    watch.watch(&overloaded(0), 60);
    watch.options.backoff = true;
    watch.watch(&overloaded(0), 60);
    assert_eq!(watch.look(&overloaded(0)).state, State::Overloaded(Kind::Overload));
    assert_eq!(watch.sent(), []);
}

#[test]
fn back_offs_differ_from_pane_to_pane_and_stay_in_their_range() {
    let waits: Vec<i64> = (0..50).map(|pane| backoff_s(0, &format!("%{pane}"), 1_000)).collect();
    assert!(waits.iter().all(|wait| (60..=90).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait != waits[0]));
    for (tries, least) in [(0, 60), (1, 120), (2, 240), (3, 480), (u32::MAX, 480)] {
        assert!((least..=least * 3 / 2).contains(&backoff_s(tries, "%1", 7)), "{tries}");
    }
}
