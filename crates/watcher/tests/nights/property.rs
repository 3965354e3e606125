//! Whatever is on screen and whatever comes in between: never a key into a dialog, never a second text for one event.

use proptest::prelude::*;

use crate::client::View;
use crate::limits::{BANNER, limit};
use crate::night::Night;
use crate::stage::Inside;

/// A screen that is no limited client with a free line: dialogs, pickers, other programs, talk about limits.
fn screen() -> impl Strategy<Value = String> {
    let rule = "─".repeat(100);
    let words = "[a-z ]{0,40}";
    let line = prop_oneof![
        4 => words.prop_map(|words| format!("● {words}")),
        2 => words.prop_map(|words| format!("  ⎿\u{a0} {words}")),
        2 => Just(format!("  ⎿\u{a0} {BANNER}")),
        1 => Just(format!("● The log says: {BANNER}")),
        1 => Just(format!("+  // {BANNER}")),
        1 => Just("  ⎿\u{a0} You've used 91% of your 5-hour limit · resets 10:34pm (UTC)".to_owned()),
        1 => Just(String::new()),
    ];
    let row = "[A-Z][a-z ]{2,30}";
    let sign = prop_oneof![Just("❯"), Just(">"), Just("›")];
    let rows = (prop::collection::vec(row, 2..6), any::<prop::sample::Index>(), sign, any::<bool>())
        .prop_map(|(rows, at, sign, numbered)| {
            let at = at.index(rows.len());
            let row = |(index, text): (usize, &String)| {
                let mark = if index == at { sign } else { " " };
                let number = if numbered { format!("{}. ", index + 1) } else { String::new() };
                format!("  {mark} {number}{text}")
            };
            rows.iter().enumerate().map(row).collect::<Vec<_>>().join("\n")
        });
    let title = prop_oneof![
        Just(" Do you want to proceed?"),
        Just(" What do you want to do?"),
        Just(" Select model"),
        Just(" Resume session"),
        Just(" Bash command"),
    ];
    let end = prop_oneof![
        Just("  Enter to confirm · Esc to cancel"),
        Just(" Esc to cancel · Tab to amend"),
        Just("  ↑/↓ to select"),
    ];
    let top = prop_oneof![Just(rule), Just("▔".repeat(100)), Just("╭".to_owned() + &"─".repeat(98) + "╮")];
    (prop::collection::vec(line, 0..20), top, title, rows, end).prop_map(|(above, top, title, rows, end)| {
        format!("{}\n{top}\n{title}\n\n{rows}\n\n{end}\n", above.join("\n"))
    })
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_dialog_never_gets_a_key(screen in screen(), has_hooks in any::<bool>(), tells in any::<bool>()) {
        let mut night = Night::new();
        night.settings.menu = true;
        night.settings.resume_cancelled = true;
        night.settings.trust_screen = true;
        night.settings.back_off = true;
        if has_hooks { night.hooked("%1") } else { night.bare("%1") }
        limit(&night, "%1", BANNER, View::Line);
        night.stage().client("%1").tells_status = tells;
        night.minutes(1);
        // The client is the same and says it is idle; only its screen is another one.
        let text = screen.clone();
        night.stage().client("%1").screen = Some(text);
        night.stage().pass(3 * 3_600_000);
        night.minutes(4);
        prop_assert_eq!(night.keys(), Vec::<String>::new(), "{}", screen);
    }
}

/// What a person, the client or the machine does between two ticks, or between two looks.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Tick,
    Tenth,
    Draft,
    Clear,
    Copy,
    Work,
    Line,
    Menu,
    Question,
    Restart,
    Sleep,
    Deaf,
    Silent,
    Busy(usize),
    Covered(usize),
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        12 => Just(Turn::Tick),
        2 => Just(Turn::Tenth),
        1 => Just(Turn::Draft),
        2 => Just(Turn::Clear),
        1 => Just(Turn::Copy),
        1 => Just(Turn::Work),
        3 => Just(Turn::Line),
        1 => Just(Turn::Menu),
        1 => Just(Turn::Question),
        2 => Just(Turn::Restart),
        1 => Just(Turn::Sleep),
        1 => Just(Turn::Deaf),
        1 => Just(Turn::Silent),
        1 => (1..6_usize).prop_map(Turn::Busy),
        1 => (1..6_usize).prop_map(Turn::Covered),
    ]
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn one_event_gets_one_text(turns in prop::collection::vec(turn(), 10..60), has_hooks in any::<bool>(), menu in any::<bool>()) {
        let mut night = Night::new();
        night.settings.menu = menu;
        if has_hooks { night.hooked("%1") } else { night.bare("%1") }
        limit(&night, "%1", BANNER, View::Line);
        night.minutes(1);
        night.stage().pass(141 * 60_000);
        night.minutes(1);
        for turn in turns {
            let mut stage = night.stage();
            if !matches!(stage.place("%1").inside, Inside::Client(_)) {
                break;
            }
            match turn {
                Turn::Tick => { drop(stage); night.tick(); night.stage().pass(60_000); }
                Turn::Tenth => stage.pass(6_000),
                Turn::Draft => stage.client("%1").draft.push_str("hm"),
                Turn::Clear => { stage.client("%1").draft.clear(); stage.place("%1").in_mode = false; }
                Turn::Copy => stage.place("%1").in_mode = true,
                Turn::Work => stage.client("%1").view = View::Working,
                // The same words again, as if nothing had been done.
                Turn::Line => {
                    let client = stage.client("%1");
                    client.view = View::Line;
                    client.turns = (0..9).map(|_| (30, crate::client::Ending::Failed {
                        class: "usage_limit", text: BANNER.into(), view: View::Line,
                    })).collect();
                }
                Turn::Menu => stage.client("%1").view = View::Menu(0),
                Turn::Question => stage.client("%1").view = View::Question,
                Turn::Restart => { drop(stage); night.restart(); }
                Turn::Sleep => stage.sleep(7_200),
                Turn::Deaf => stage.client("%1").deaf_enters = 3,
                Turn::Silent => stage.client("%1").tells_status ^= true,
                Turn::Busy(look) => stage.before_look(look, |stage| stage.client("%1").view = View::Working),
                Turn::Covered(look) => stage.before_look(look, |stage| stage.client("%1").view = View::Menu(1)),
            }
        }
        let texts = night.keys().iter().filter(|key| key.contains("text")).count();
        prop_assert!(texts <= 1, "{:?}", night.sent());
    }
}
