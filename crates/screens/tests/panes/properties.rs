//! What holds for any screen.

use chrono::{DateTime, TimeDelta, Utc};
use proptest::{prelude::*, sample::select};
use screens::{Content, Keys, Options, Pane, State, Verdict};

use super::{
    recorded::Recorded,
    shown::{AFTER, BANNER, BEFORE, after_prompt, claude, instant, look_at, look_with},
};

const WAIT_ROW: &str = "Stop and wait for limit to reset";

/// Texts of rows, among them those of the limit menu.
fn row() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Za-zはい続' ]{1,40}",
        1 => Just(WAIT_ROW.to_owned()),
        1 => Just("Upgrade your plan".to_owned()),
        1 => Just("Yes".to_owned()),
        1 => Just(format!("{WAIT_ROW} and delete everything")),
    ]
}

prop_compose! {
    /// A dialog of any kind but the limit menu: another title, or another line of keys, or a row that is not known.
    fn dialog()(
        title in prop_oneof![Just("Do you want to proceed?".to_owned()), "[A-Z][a-z ]{3,30}[?:]?"],
        rows in prop::collection::vec(row(), 1..8),
        marked in any::<prop::sample::Index>(),
        marker in select(vec!["❯", "›", "▶", ">"]),
        keys in select(vec!["", "Enter to confirm · Esc to cancel", "Esc to cancel · Tab to amend", "Enter to select"]),
        edge in select(vec!["─", "▔", ""]),
        indent in 0_usize..4,
        is_boxed in any::<bool>(),
        gap in 0_usize..3,
    ) -> String {
        let marked = marked.index(rows.len());
        let mut lines = vec![title, String::new()];
        for (at, row) in rows.iter().enumerate() {
            let mark = if at == marked { marker } else { " " };
            lines.push(format!("{mark} {}. {row}", at + 1));
        }
        lines.push(String::new());
        lines.push(keys.to_owned());
        let body: Vec<String> = lines
            .into_iter()
            .map(|line| if is_boxed { format!("│ {line} │") } else { format!("{}{line}", " ".repeat(indent)) })
            .collect();
        format!("{}{}\n{}\n", "\n".repeat(gap), edge.repeat(80), body.join("\n"))
    }
}

/// Pieces that screens are made of.
fn piece() -> impl Strategy<Value = String> {
    let rule = "─".repeat(80);
    select(vec![
        rule.clone(),
        rule,
        "❯\u{a0}".to_owned(),
        "❯ ".to_owned(),
        "> ".to_owned(),
        "❯\u{a0}a draft".to_owned(),
        "❯ continue".to_owned(),
        format!("  ⎿ \u{a0}{BANNER}"),
        format!("● {BANNER}"),
        format!("  {BANNER}"),
        "● Part 2 is loaded.".to_owned(),
        "● Bash(make)".to_owned(),
        "✻ Loading… (3s)".to_owned(),
        "✻ Baked for 2s".to_owned(),
        "  ? for shortcuts".to_owned(),
        "  ⚠ Usage limit reached · limit resets 10:20pm".to_owned(),
        "    Continuing automatically at 10:20pm · Esc to cancel".to_owned(),
        "    Press enter to continue".to_owned(),
        "  What do you want to do?".to_owned(),
        format!("  ❯ 1. {WAIT_ROW}"),
        "    2. Upgrade your plan".to_owned(),
        "  ❯ 2. No".to_owned(),
        "  Enter to confirm · Esc to cancel".to_owned(),
        "dev@box:~$ ".to_owned(),
        "Continue? [y/N] ".to_owned(),
        "╭──────────╮".to_owned(),
        "│ >        │".to_owned(),
        "╰──────────╯".to_owned(),
        String::new(),
    ])
}

fn any_pane() -> impl Strategy<Value = Pane> {
    (
        select(vec![None, Some("claude"), Some("node"), Some("zsh")]),
        select(vec![None, Some("idle"), Some("busy"), Some("waiting")]),
        prop::option::of(0_usize..200),
    )
        .prop_map(|(foreground, status, width)| Pane {
            foreground: foreground.map(str::to_owned),
            session_status: status.map(str::to_owned),
            width,
            ..claude()
        })
}

/// All that can be right is allowed.
fn everything() -> Options {
    Options { backoff: true, ..Options::for_a_screen() }
}

fn late() -> DateTime<Utc> {
    instant(AFTER) + TimeDelta::hours(3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn no_key_is_sent_to_a_dialog(dialog in dialog()) {
        let text = format!("{}\n{dialog}", after_prompt(&format!("  ⎿ \u{a0}{BANNER}")));
        let before = look_at(&text, &claude(), BEFORE, None);
        let after = look_with(&text, &claude(), late(), Some(&before.memory), &everything());
        prop_assert_eq!(after.keys, Keys::None, "{}\n{}", after.why, text);
        prop_assert_eq!(after.verdict, Verdict::BlockedByDialog, "{}", text);
    }

    #[test]
    fn a_key_needs_its_place(pieces in prop::collection::vec(piece(), 1..24), pane in any_pane()) {
        let text = pieces.join("\n");
        let before = look_at(&text, &pane, BEFORE, None);
        prop_assert_eq!(before.keys, Keys::None, "before the reset\n{}", text);
        let after = look_with(&text, &pane, late(), Some(&before.memory), &everything());
        let input = after.essence.input.as_ref();
        match after.keys {
            Keys::None => {}
            Keys::ResumeOnce => prop_assert!(matches!(input, Some(Content::Empty | Content::Hint(_))), "{}", text),
            Keys::EnterOnce => prop_assert!(input == Some(&Content::Empty) && after.state == State::Stale, "{}", text),
            Keys::EnterOnWaitRow => {
                prop_assert_eq!(after.state, State::Menu { row: WAIT_ROW.to_owned() });
                prop_assert!(input.is_none());
            }
        }
        if after.keys != Keys::None {
            prop_assert_ne!(pane.foreground.as_deref(), Some("zsh"));
            prop_assert_ne!(pane.session_status.as_deref(), Some("busy"));
            let again = look_with(&text, &pane, late(), Some(&after.memory), &everything());
            prop_assert_eq!(again.keys, Keys::None, "twice\n{}", text);
        }
    }

    #[test]
    fn any_text_is_looked_at(text in any::<String>(), pane in any_pane()) {
        let before = look_at(&text, &pane, BEFORE, None);
        let after = look_with(&text, &pane, late(), Some(&before.memory), &everything());
        prop_assert_eq!(after.keys, Keys::None);
    }

    #[test]
    fn any_bytes_with_escapes_are_looked_at(
        parts in prop::collection::vec(
            prop_oneof![
                any::<String>(),
                "\u{1b}[\\[\\]()PX_^]?[0-9;:]{0,8}[a-zA-Z\u{7}]?",
                piece(),
                Just("\n".to_owned()),
            ],
            0..40,
        ),
        pane in any_pane(),
    ) {
        let text = parts.concat();
        let before = look_at(&text, &pane, BEFORE, None);
        look_with(&text, &pane, late(), Some(&before.memory), &everything());
    }

    #[test]
    fn foreign_memory_never_breaks_a_look(memory in "[{}\\[\\]\":,a-z0-9_ ]{0,60}", v in 0_u32..3) {
        let texts = [memory, format!(r#"{{"v": {v}, "event": null, "done": [], "more": [1]}}"#)];
        for text in texts {
            let memory = serde_json::from_str(&text).ok();
            look_at(BANNER, &claude(), AFTER, memory.as_ref());
        }
    }
}

/// A hint as it comes and goes above the input line.
const HINTS: [&str; 4] = [
    "                                                            ◐ medium · /effort",
    "  tmux focus-events off · add 'set -g focus-events on' to ~/.tmux.conf and reatta…",
    "                                      You've used 91% of your 5-hour limit · resets 10:20pm",
    "",
];

#[test]
fn hints_and_blank_lines_change_nothing_that_is_compared() {
    let mut count = 0;
    for row in Recorded::all() {
        let text = row.text();
        let lines: Vec<&str> = text.split('\n').collect();
        // Above a live input line of a tall pane there is room: blank lines, perhaps a hint, then the rule.
        let Some(input) = lines.iter().rposition(|line| line.starts_with("❯\u{a0}")) else { continue };
        let Some(rule) = input.checked_sub(1).filter(|&at| lines[at].starts_with('─')) else { continue };
        if rule < 3 || !lines[rule - 2].is_empty() || !lines[rule - 3].is_empty() {
            continue;
        }
        count += 1;
        let pane = row.pane();
        let now = instant(&row.now);
        let right = look_with(&text, &pane, now, None, &Options::for_a_screen());
        for hint in HINTS {
            for blanks in [0, 1, 7] {
                let mut changed: Vec<&str> = lines[..rule - 1].to_vec();
                changed.extend(std::iter::repeat_n("", blanks));
                changed.push(hint);
                changed.extend(&lines[rule..]);
                let answer = look_with(&changed.join("\n"), &pane, now, None, &Options::for_a_screen());
                assert_eq!(answer, right, "{} with {hint:?}", row.name);
            }
        }
    }
    assert!(count >= 30, "{count}");
}
