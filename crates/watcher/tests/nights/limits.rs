//! Limits: when a key is sent, and all the times when none is.

use crate::client::View;
use crate::night::Night;

pub(crate) const BANNER: &str = "You've hit your 5-hour limit · resets 10:20pm (UTC)";

/// A session whose turn ended on a limit at 20:00.
fn limited() -> Night {
    let night = Night::new();
    night.hooked("%1");
    limit(&night, "%1", BANNER, View::Line);
    night
}

pub(crate) fn limit(night: &Night, id: &str, text: &str, view: View) {
    let now = night.now();
    night.stage().client(id).fail(now, "usage_limit", text, view);
}

#[test]
fn a_limit_its_hooks_tell_of_is_resumed_once_after_the_margin() {
    let mut night = limited();
    let told = night.until(22, 23);
    assert_eq!(night.sent(), [""; 0], "{told:?}");
    let told = night.until(22, 30);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"], "{told:?}");
    assert_eq!(night.stage().client("%1").prompts, ["continue"]);
    assert!(told[0].contains("resume: resumed"), "{told:?}");
    assert_eq!(night.until(23, 59).len(), 0);
    assert_eq!(night.keys().len(), 2);
}

#[test]
fn a_limit_is_past_at_the_first_look() {
    // The watcher begins after the reset: a time of day that would read as tomorrow's is today's.
    for hours in [3, 9] {
        let mut night = limited();
        night.stage().pass(hours * 3_600_000);
        let told = night.minutes(10);
        assert_eq!(night.keys(), ["%1 text continue", "%1 enter"], "{hours}: {told:?}");
    }
}

#[test]
fn the_transcript_has_the_exact_reset() {
    // Half an hour later than the text says.
    let mut night = limited();
    night.stage().client("%1").write_quota(1_772_481_600 + 2 * 3_600 + 50 * 60, BANNER);
    night.until(22, 52);
    assert_eq!(night.keys(), [""; 0]);
    night.until(22, 57);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"]);
}

#[test]
fn hooks_that_know_of_no_limit_make_it_history() {
    let mut night = limited();
    let now = night.now();
    let client_is_idle = |night: &Night| {
        let mut stage = night.stage();
        let client = stage.client("%1");
        client.done(now);
        // What was said stays on the screen as the last words.
        client.history.truncate(client.history.len() - 3);
    };
    client_is_idle(&night);
    night.until(23, 30);
    assert_eq!(night.keys(), [""; 0]);
    // A new failure of the same text is not history.
    limit(&night, "%1", BANNER, View::Line);
}

#[test]
fn without_hooks_the_banner_is_looked_at_twice() {
    let mut night = Night::new();
    night.bare("%1");
    limit(&night, "%1", BANNER, View::Line);
    night.stage().pass(3 * 3_600_000);
    night.minutes(1);
    assert_eq!(night.keys(), [""; 0], "seen once");
    night.minutes(8);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"]);
    night.minutes(600);
    assert_eq!(night.keys().len(), 2);
}

#[test]
fn an_old_client_that_does_not_say_what_it_does_needs_trust() {
    for trust in [false, true] {
        let mut night = Night::new();
        night.settings.trust_screen = trust;
        night.bare("%1");
        night.stage().client("%1").tells_status = false;
        night.stage().client("%1").version = "2.1.80".into();
        night.stage().client("%1").deaf_enters = 1;
        limit(&night, "%1", "You've hit your session limit · resets 10:20pm (UTC)", View::Line);
        let told = night.until(22, 40);
        let wanted: &[&str] = if trust { &["%1 text continue", "%1 enter", "%1 enter"] } else { &[] };
        assert_eq!(night.keys(), wanted, "{told:?}");
        if !trust {
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].contains("does not say what it does"), "{told:?}");
        }
    }
}

#[test]
fn a_busy_or_waiting_client_and_a_draft_are_left_alone_and_told_of_once() {
    type Prepare = fn(&mut crate::client::Client);
    let rows: [(&str, Prepare, &str); 2] = [
        ("draft", |client| client.draft = "what about".into(), "a draft"),
        ("question", |client| client.view = View::Question, ""),
    ];
    for (name, prepare, reason) in rows {
        let mut night = limited();
        prepare(night.stage().client("%1"));
        let told = night.until(23, 59);
        assert_eq!(night.keys(), [""; 0], "{name}");
        let wanted = usize::from(!reason.is_empty());
        assert_eq!(told.iter().filter(|line| line.contains(reason)).count(), told.len(), "{name} {told:?}");
        assert_eq!(told.len(), wanted, "{name} {told:?}");
    }
}

/// Lets the watcher come to the second look of the due key, and something happen right before it.
fn at_second_look(what: impl Fn(&mut crate::stage::Stage) + Clone + 'static) -> (Night, Vec<String>) {
    let mut night = limited();
    night.until(22, 23);
    // At the next tick the spread is over: there are two looks in it.
    night.stage().pass(2 * 60_000);
    night.stage().before_look(2, what);
    let told = night.minutes(1);
    (night, told)
}

#[test]
fn what_changes_between_two_looks_stops_the_key() {
    use crate::stage::{Inside, Stage};
    type Change = fn(&mut Stage);
    let rows: [(&str, Change); 8] = [
        ("draft", |stage| stage.client("%1").draft = "wait".into()),
        ("work", |stage| stage.client("%1").view = View::Working),
        ("menu", |stage| stage.client("%1").view = View::Menu(0)),
        ("question", |stage| stage.client("%1").view = View::Question),
        ("armed", |stage| stage.client("%1").view = View::Armed("Continuing shortly".into())),
        ("gone", |stage| stage.close("%1")),
        ("shell", |stage| stage.kill("%1")),
        ("other banner", |stage| {
            let now = stage.now();
            stage.client("%1").fail(
                now,
                "usage_limit",
                "You've hit your weekly limit · resets Mar 6, 8:20pm (UTC)",
                View::Line,
            );
        }),
    ];
    for (name, change) in rows {
        let (mut night, told) = at_second_look(change);
        assert_eq!(night.keys(), [""; 0], "{name}: {told:?}");
        assert_eq!(told.len(), 1, "{name}: {told:?}");
        assert!(told[0].contains("not sent"), "{name}: {told:?}");
        if name == "shell" {
            let told = night.minutes(60);
            assert_eq!(night.keys(), [""; 0], "{told:?}");
            assert!(matches!(&night.stage().place("%1").inside, Inside::Other { ran, .. } if ran.is_empty()));
        }
    }
    // What was looked at twice and stayed gets its key.
    let (night, _) = at_second_look(|_| {});
    assert_eq!(night.keys().len(), 2);
}

#[test]
fn what_changes_between_text_and_enter_stops_the_enter() {
    use crate::stage::Stage;
    type Change = fn(&mut Stage);
    let rows: [(&str, Change); 4] = [
        ("menu", |stage| stage.client("%1").view = View::Menu(2)),
        ("shell", |stage| stage.kill("%1")),
        ("more", |stage| stage.client("%1").draft.push_str(" with the other one")),
        ("copy mode", |stage| stage.place("%1").in_mode = true),
    ];
    for (name, change) in rows {
        let mut night = limited();
        night.until(22, 23);
        night.stage().pass(2 * 60_000);
        night.stage().before_look(3, change);
        let told = night.minutes(1);
        assert_eq!(night.keys(), ["%1 text continue"], "{name}: {told:?}");
        night.minutes(120);
        assert_eq!(night.keys(), ["%1 text continue"], "{name}: never a second text");
    }
}

#[test]
fn another_client_in_the_same_pane_is_not_the_limited_one() {
    let mut night = limited();
    night.minutes(30);
    {
        // It ended without a word; somebody began a new one there and reads an old conversation.
        let mut stage = night.stage();
        stage.kill("%1");
        let (pid, start) = stage.process();
        let mut client = crate::client::Client::new(pid, start, "another");
        client.history.push(format!("  ⎿\u{a0} {BANNER}"));
        client.draft.clear();
        stage.place("%1").inside = crate::stage::Inside::Client(client);
        stage.hidden.insert(102);
    }
    let told = night.until(22, 21);
    assert_eq!(night.keys(), [""; 0], "{told:?}");
}

#[test]
fn copy_mode_is_waited_for() {
    let mut night = limited();
    night.stage().place("%1").in_mode = true;
    night.until(22, 40);
    assert_eq!(night.keys(), [""; 0]);
    night.stage().place("%1").in_mode = false;
    night.minutes(2);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"]);
}

#[test]
fn an_armed_client_continues_by_itself_and_is_told_of_when_overdue() {
    let mut night = Night::new();
    night.hooked("%1");
    limit(&night, "%1", BANNER, View::Armed("Continuing automatically at 10:20pm".into()));
    assert_eq!(night.until(22, 20).len(), 0);
    night.stage().client("%1").view = View::Armed("Continuing shortly".into());
    assert_eq!(night.until(22, 29).len(), 0);
    let told = night.until(23, 59);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("ten minutes after the reset"), "{told:?}");
    assert_eq!(night.keys(), [""; 0]);
    assert_eq!(night.stage().heard.len(), 1);
}

#[test]
fn a_stale_client_gets_one_enter() {
    let mut night = Night::new();
    night.hooked("%1");
    limit(&night, "%1", BANNER, View::Stale);
    night.stage().pass(4 * 3_600_000);
    night.minutes(90);
    assert_eq!(night.keys(), ["%1 enter"]);
    assert_eq!(night.stage().client("%1").prompts.len(), 1);
    // It does not react: never a second one.
    let mut night = Night::new();
    night.hooked("%1");
    limit(&night, "%1", BANNER, View::Stale);
    night.stage().client("%1").deaf_enters = 9;
    night.stage().pass(4 * 3_600_000);
    night.minutes(90);
    assert_eq!(night.keys(), ["%1 enter"]);
}

#[test]
fn a_menu_is_left_alone_unless_it_is_allowed() {
    for (allowed, row) in [(false, 0), (true, 0), (true, 1), (true, 2)] {
        let mut night = Night::new();
        night.settings.menu = allowed;
        night.hooked("%1");
        limit(&night, "%1", BANNER, View::Menu(row));
        let told = night.until(22, 22);
        assert_eq!(night.keys(), [""; 0], "before the reset");
        night.minutes(60);
        let keys = night.keys();
        if allowed && row == 0 {
            assert_eq!(keys, ["%1 enter", "%1 text continue", "%1 enter"], "{told:?}");
        } else {
            assert_eq!(keys, [""; 0], "{allowed} {row}");
        }
    }
}

#[test]
fn a_persons_esc_and_a_client_that_gave_up() {
    let cancelled = "● Automatic continue cancelled · /rate-limit-options to wait again";
    for allowed in [false, true] {
        let mut night = limited();
        night.settings.resume_cancelled = allowed;
        night.stage().client("%1").history.push(cancelled.into());
        let told = night.until(23, 59);
        assert_eq!(night.keys().len(), if allowed { 2 } else { 0 }, "{told:?}");
        assert_eq!(told.len(), 1, "{told:?}");
    }
    let mut night = limited();
    night.stage().client("%1").history.push(
        "     Automatic continue stopped after repeated usage-limit hits · /rate-limit-options to try again"
            .into(),
    );
    let told = night.until(23, 59);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"], "{told:?}");
}

const OVERLOAD: &str = "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a \
                        moment. If it persists, check your status page.";

fn overloaded(front: bool) -> Night {
    let mut night = Night::new();
    night.settings.back_off = true;
    night.hooked("%1");
    night.stage().place("%1").in_front = front;
    let now = night.now();
    let again =
        || crate::client::Ending::Failed { class: "overload", text: OVERLOAD.into(), view: View::Line };
    let mut stage = night.stage();
    let client = stage.client("%1");
    client.fail(now, "overload", OVERLOAD, View::Line);
    // Long enough for a tick to see it work.
    client.turns = (0..9).map(|_| (90, again())).collect();
    drop(stage);
    night.watcher();
    night
}

#[test]
fn an_overload_is_tried_again_three_times_and_only_in_front() {
    let mut night = overloaded(true);
    let told = night.minutes(120);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"].repeat(3), "{told:?}");
    let mut night = overloaded(false);
    night.minutes(120);
    assert_eq!(night.keys(), [""; 0]);
    // Somebody takes it to the front.
    night.stage().place("%1").in_front = true;
    let told = night.minutes(120);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"].repeat(3), "{told:?}");
}

#[test]
fn what_waiting_does_not_mend_is_told_once() {
    for (class, text) in [
        ("billing", "Credit balance too low · Add funds: https://platform.claude.com/settings/billing"),
        ("auth", "Please run /login · API Error: 401 OAuth token has expired."),
    ] {
        let mut night = Night::new();
        night.hooked("%1");
        let now = night.now();
        night.stage().client("%1").fail(now, class, text, View::Line);
        let told = night.minutes(300);
        assert_eq!(night.keys(), [""; 0], "{class}");
        assert_eq!(told.len(), 1, "{class}: {told:?}");
        assert_eq!(night.stage().heard.len(), 1);
    }
}

#[test]
fn a_day_has_so_many_keys() {
    let mut night = Night::new();
    night.settings.acts_a_day = 3;
    night.hooked("%1");
    // A limit every half an hour.
    for hour in 20..24 {
        for half in ["15", "45"] {
            let text = format!("You've hit your 5-hour limit · resets {}:{half}pm (UTC)", hour - 12);
            limit(&night, "%1", &text, View::Line);
            night.minutes(30);
        }
    }
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"].repeat(3));
    let said =
        night.stage().heard.iter().filter(|act| act["result"].as_str().unwrap().contains("a day")).count();
    assert!(said >= 1);
}

#[test]
fn a_dry_run_sends_and_writes_nothing() {
    let mut night = limited();
    night.is_dry = true;
    let list = |night: &Night| {
        let mut all = Vec::new();
        let mut open = vec![night.top.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let meta = entry.metadata().unwrap();
                if meta.is_dir() {
                    open.push(entry.path());
                }
                all.push((entry.path(), meta.len(), meta.modified().unwrap()));
            }
        }
        all.sort();
        all
    };
    let before = list(&night);
    let told = night.until(23, 59);
    assert_eq!(night.keys(), [""; 0]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("would type \"continue\" and press Enter"), "{told:?}");
    assert_eq!(night.stage().heard.len(), 0);
    assert_eq!(list(&night), before);
}

#[test]
fn after_a_sleep_one_interval_is_let_pass() {
    let mut night = limited();
    night.until(22, 10);
    night.stage().sleep(3_600);
    let woken = night.tick();
    assert_eq!(woken.snapshot.skipped.as_deref(), Some("gap"));
    assert_eq!(night.keys(), [""; 0]);
    night.stage().pass(60_000);
    night.minutes(1);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"]);
    // The clock is set within an interval.
    let mut night = limited();
    night.minutes(3);
    night.stage().now_ms += 100_000;
    assert_eq!(night.tick().snapshot.skipped.as_deref(), Some("clock-jump"));
}

#[test]
fn ten_panes_come_back_spread_and_those_in_front_first() {
    let mut night = Night::new();
    for number in 0..10 {
        let id = format!("%{number}");
        night.hooked(&id);
        limit(&night, &id, BANNER, View::Line);
        night.stage().place(&id).in_front = number >= 8;
    }
    night.until(22, 40);
    let sent = night.sent();
    let texts: Vec<&String> = sent.iter().filter(|sent| sent.contains("text")).collect();
    assert_eq!(texts.len(), 10, "{sent:?}");
    let seconds = |text: &str| -> i64 {
        let parts: Vec<i64> = text[..8].split(':').map(|part| part.parse().unwrap()).collect();
        parts[0] * 3_600 + parts[1] * 60 + parts[2]
    };
    for pair in texts.windows(2) {
        assert!(seconds(pair[1]) - seconds(pair[0]) >= 3, "{pair:?}");
    }
    assert!(seconds(texts[9]) - seconds(texts[0]) >= 60, "{texts:?}");
    let place = |id: &str| texts.iter().position(|text| text.contains(&format!(" {id} "))).unwrap();
    assert!(place("%8") < 5 && place("%9") < 5, "{texts:?}");
    assert!(texts.iter().all(|text| seconds(text) >= 22 * 3_600 + 23 * 60), "{texts:?}");
}

#[test]
fn a_stop_between_text_and_enter_leaves_the_text() {
    let mut night = limited();
    night.until(22, 23);
    night.stage().pass(2 * 60_000);
    night.stage().stops_in = Some(1);
    let told = night.tick().lines;
    assert_eq!(night.keys(), ["%1 text continue"]);
    assert!(told[0].contains("stopped between text and Enter"), "{told:?}");
    // The next watcher finds a draft, and an event that was answered.
    night.stage().stops_in = None;
    night.restart();
    night.minutes(60);
    assert_eq!(night.keys(), ["%1 text continue"]);
}

#[test]
fn attempts_survive_the_watcher() {
    // It is killed between the count and the key.
    let mut night = limited();
    night.until(22, 23);
    night.stage().pass(2 * 60_000);
    night.stage().dies_at_key = true;
    let tick = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| night.tick()));
    assert!(tick.is_err());
    night.stage().dies_at_key = false;
    night.restart();
    night.minutes(240);
    assert_eq!(night.keys(), [""; 0], "it is not known whether the key was sent");
    // It is replaced after the key, and the pane still shows the limit.
    let mut night = limited();
    night.stage().client("%1").deaf_enters = 2;
    night.until(22, 30);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter", "%1 enter"]);
    night.stage().client("%1").draft.clear();
    night.restart();
    night.minutes(240);
    assert_eq!(night.keys().len(), 3);
}

#[test]
fn an_attempt_that_cannot_be_written_down_is_none() {
    // The memory's place is taken by a folder: nobody can replace it.
    let mut night = limited();
    night.until(22, 21);
    std::fs::remove_file(night.folder().join("panes.json")).unwrap();
    std::fs::create_dir_all(night.folder().join("panes.json/taken")).unwrap();
    let told = night.minutes(30);
    assert_eq!(night.keys(), [""; 0], "{told:?}");
    assert!(told.iter().any(|line| line.contains("cannot be written down")), "{told:?}");
    // Nor does a watcher that cannot read what was counted send one.
    night.restart();
    night.minutes(30);
    assert_eq!(night.keys(), [""; 0]);
    // Nor one without its folder.
    let mut night = limited();
    std::fs::remove_dir(night.folder()).unwrap();
    std::fs::write(night.folder(), "").unwrap();
    night.until(22, 40);
    assert_eq!(night.keys(), [""; 0]);
}

#[test]
fn a_damaged_memory_does_not_make_an_event_new() {
    let mut night = limited();
    night.stage().client("%1").deaf_enters = 2;
    night.until(22, 30);
    assert_eq!(night.keys().len(), 3);
    night.stage().client("%1").draft.clear();
    std::fs::write(night.folder().join("panes.json"), "{\"v\":1,\"pan").unwrap();
    night.restart();
    night.minutes(240);
    assert_eq!(night.keys().len(), 3);
    // The next limit is another one.
    limit(&night, "%1", "You've hit your 5-hour limit · resets 4:10am (UTC)", View::Line);
    night.until(4, 30);
    assert_eq!(night.keys().len(), 5);
}

#[test]
fn a_server_that_does_not_answer_is_unknown() {
    use watcher::world::TerminalError;
    let mut night = limited();
    night.until(22, 21);
    night.stage().troubles.insert(crate::stage::OWN.into(), TerminalError::Failed("timed out".into()));
    let told = night.minutes(30);
    assert_eq!(told, [""; 0]);
    assert_eq!(night.keys(), [""; 0]);
    assert!(!night.tick().snapshot.troubles.is_empty());
    night.stage().troubles.clear();
    night.minutes(2);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"]);
}

#[test]
fn what_was_done_before_a_long_sleep_is_still_known() {
    let mut night = limited();
    night.stage().client("%1").deaf_enters = 2;
    night.until(22, 30);
    assert_eq!(night.keys().len(), 3);
    night.stage().client("%1").draft.clear();
    night.stage().sleep(3 * 86_400);
    night.minutes(240);
    assert_eq!(night.keys().len(), 3);
}

#[test]
fn panes_found_after_a_damaged_memory_are_new() {
    let mut night = Night::new();
    std::fs::write(night.folder().join("panes.json"), "{").unwrap();
    night.hooked("%1");
    night.minutes(2);
    night.hooked("%2");
    limit(&night, "%2", BANNER, View::Line);
    night.until(22, 40);
    assert_eq!(night.keys(), ["%2 text continue", "%2 enter"]);
}

#[test]
fn a_busy_client_is_left_alone_whatever_its_screen_shows() {
    // A background agent works on; the main turn is limited.
    let mut night = limited();
    let screen = night.stage().client("%1").draw();
    night.stage().client("%1").screen = Some(screen);
    night.stage().client("%1").view = View::Working;
    let told = night.until(23, 30);
    assert_eq!(night.keys(), [""; 0]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("not idle"), "{told:?}");
    night.stage().client("%1").screen = None;
    night.stage().client("%1").view = View::Line;
    night.minutes(3);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"]);
}

#[test]
fn tries_are_counted_over_errors_of_changing_words() {
    let mut night = overloaded(true);
    let again = |number: usize| crate::client::Ending::Failed {
        class: "overload",
        text: format!("API Error: 529 Overloaded · request req_{number:04}"),
        view: View::Line,
    };
    night.stage().client("%1").turns = (0..9).map(|number| (90, again(number))).collect();
    let told = night.minutes(240);
    let texts = night.keys().iter().filter(|key| key.contains("text")).count();
    assert_eq!(texts, 3, "{told:?}");
}

#[test]
fn a_good_turn_makes_the_next_overload_a_new_one() {
    let mut night = overloaded(true);
    let failing = night.stage().client("%1").turns[0].1.clone();
    night.stage().client("%1").turns = [(90, failing.clone()), (90, crate::client::Ending::Done)].into();
    night.minutes(60);
    assert_eq!(night.keys().len(), 4);
    let now = night.now();
    // The next prompt, by a person, fails again.
    {
        let mut stage = night.stage();
        let client = stage.client("%1");
        client.history.clear();
        client.turns = (0..9).map(|_| (90, failing.clone())).collect();
        client.fail(now, "overload", OVERLOAD, View::Line);
    }
    night.minutes(120);
    assert_eq!(night.keys().len(), 10);
}

#[test]
fn the_same_words_a_day_later_are_another_limit() {
    let mut night = limited();
    night.until(22, 30);
    assert_eq!(night.keys().len(), 2);
    night.until(18, 0);
    limit(&night, "%1", BANNER, View::Line);
    night.until(22, 30);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"].repeat(2));
}

#[test]
fn a_person_who_clears_the_conversation_is_in_another_session() {
    let mut night = limited();
    night.minutes(30);
    {
        let mut stage = night.stage();
        let client = stage.client("%1");
        client.session = "fresh".into();
        client.history.clear();
    }
    assert_eq!(night.until(23, 59), [""; 0]);
    assert_eq!(night.keys(), [""; 0]);
}
