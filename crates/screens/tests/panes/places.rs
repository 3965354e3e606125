//! Wrong places, and right ones that look unusual.

use screens::{Keys, Options, Pane, State, Verdict};

use super::shown::{
    AFTER, BANNER, BEFORE, RESET, after_prompt, claude, failed, idle, instant, keys_after_reset, limited,
    look_at, look_with, screen, twice,
};

#[test]
fn an_idle_line_below_a_limit_is_resumed_after_its_reset() {
    let (before, after) = twice(&limited(), &claude());
    assert_eq!((before.verdict, before.keys), (Verdict::Limited, Keys::None));
    assert_eq!((after.verdict, after.keys), (Verdict::Limited, Keys::ResumeOnce));
}

#[test]
fn the_limit_is_found_in_conversations_of_every_look() {
    for conversation in [
        format!("❯ 続けてください\n\n● 残りのファイルを読み込みます。🚀🚀\n  ⎿ \u{a0}{BANNER}"),
        format!("❯ המשך בבקשה\n\n● אני ממשיך\u{200f} בייבוא.\n  ⎿ \u{a0}{BANNER}"),
        format!("● Part 1 is loaded.\n\n  | file | rows |\n  |------|------|\n  | a    | 41   |\n\n❯ go on\n  ⎿ \u{a0}{BANNER}"),
        format!("⏺ Bash(make all)\n  ⎿  built\n\n  ⎿  {BANNER}"),
        format!("❯ go on\n  ⎿ \u{a0}{BANNER}\n     /upgrade to increase your usage limit.\n\n✻ Baked for 2s · done 8:20 PM"),
        format!("❯ go on\n  ⎿ \u{a0}{BANNER}\n     Something new that the client puts there"),
        format!("❯ go on\n  ⎿ \u{a0}{BANNER}\n\n❯ /model\n  ⎿ \u{a0}Kept model as Sonnet"),
        format!("❯ 1. first this\n  2. then that\n  ⎿ \u{a0}{BANNER}"),
        format!(
            "❯ go on\n  ⎿ \u{a0}{BANNER}\n\n● How is Claude doing this session? (optional)\n  1: Bad    2: Fine   3: Good   0: Dismiss"
        ),
        format!("● Usage limit reset · Continuing automatically\n  ⎿ \u{a0}{BANNER}"),
        format!("❯ go on\n  ⎿ \u{a0}{BANNER}\n\n  3 tasks (1 done, 2 open)\n  ◼ first\n  ◻ second"),
        format!("❯ go on\n  ⎿ \u{a0}{BANNER}\n\n● Ran 1 stop hook\n  ⎿ \u{a0}Stop hook error: exit 3"),
        format!("❯ go on\n  ⎿ \u{a0}{BANNER}\n\n● Ran 2 stop hooks\n  ⎿ \u{a0}a note"),
        format!("❯ go on\n  ⎿ \u{a0}\u{1b}[38;5;211m{BANNER}\u{1b}[39m"),
        format!("● I go on.\n\n  Ran 1 shell command\n  ⎿ \u{a0}{BANNER}"),
        "❯ go on\n  ⎿ \u{a0}You've hit your 5-hour\n     limit · resets 10:20pm\n     (UTC)".to_owned(),
        "❯ go on\n  ⎿ \u{a0}You’ve hit your 5-hour limit · resets 10:20pm (UTC)".to_owned(),
        "╭────────────────────────────────╮\n│ ⚠ You've hit your 5-hour limit │\n│   · resets 10:20pm (UTC)       │\n╰────────────────────────────────╯".to_owned(),
    ] {
        assert_eq!(keys_after_reset(&idle(&conversation), &claude()), Keys::ResumeOnce, "{conversation}");
    }
}

#[test]
fn narrow_panes_wrap_and_cut() {
    for width in [20, 24, 30, 41, 60] {
        let rule = "─".repeat(width);
        let cut: Vec<String> = format!("  ⎿  {BANNER}")
            .chars()
            .collect::<Vec<_>>()
            .chunks(width)
            .map(|line| line.iter().collect::<String>())
            .collect();
        let text = format!("● Go.\n\n{}\n\n{rule}\n❯ \n{rule}\n  ⏵⏵ bypass…\n", cut.join("\n"));
        let pane = Pane { width: Some(width), ..claude() };
        assert_eq!(keys_after_reset(&text, &pane), Keys::ResumeOnce, "{text}");
    }
}

#[test]
fn old_boxes_hold_the_input_line() {
    for (inside, keys) in [("                  ", Keys::ResumeOnce), (" go on            ", Keys::None)] {
        let text = format!(
            "> go on\n  ⎿ \u{a0}{BANNER}\n\n╭────────────────────╮\n│ >{inside}│\n╰────────────────────╯\n  ? for shortcuts"
        );
        assert_eq!(keys_after_reset(&text, &claude()), keys, "{text}");
    }
}

#[test]
fn a_sign_without_a_frame_is_trusted_right_below_the_limit_only() {
    let text = format!("● Go.\n\n  ⎿  {BANNER}\n\n❯ ");
    assert_eq!(keys_after_reset(&text, &claude()), Keys::ResumeOnce);
    let shell = |foreground: Option<&str>| Pane { foreground: foreground.map(str::to_owned), ..claude() };
    assert_eq!(keys_after_reset(&text, &shell(Some("zsh"))), Keys::None);
    assert_eq!(keys_after_reset(&text, &shell(None)), Keys::None, "it may be the prompt of a shell");
    assert_eq!(keys_after_reset(&format!("{text}\nmake: done\n❯ "), &claude()), Keys::None);
}

#[test]
fn talk_about_limits_is_no_limit() {
    for conversation in [
        format!("● {BANNER}"),
        format!("● The log says: {BANNER}. I handled it."),
        format!("● The client prints this:\n\n  {BANNER}\n\n  and waits."),
        format!("● The client prints this:\n\n  {BANNER}"),
        format!("● The client prints\n  {BANNER}"),
        format!("● The client prints this:\n\n    ╭──────────╮\n    │ {BANNER} │\n    ╰──────────╯"),
        format!("● Bash(cat limit.txt)\n  ⎿ \u{a0}{BANNER}"),
        format!("● Bash(grep -r limit .)\n  ⎿  a.log: {BANNER}\n     b.log: {BANNER}"),
        format!("! cat limit.txt\n  ⎿ \u{a0}{BANNER}"),
        format!("❯ !cat limit.txt\n  ⎿ \u{a0}{BANNER}"),
        format!(
            "● Bash(cat recording.txt)\n  ⎿ \u{a0}❯ go on\n       ⎿ \u{a0}{BANNER}\n\n     ────────────────\n     ❯ "
        ),
        format!(
            "● Update(a.rs)\n  ⎿  Updated a.rs with 1 addition\n       12 + const TEXT: &str = \"{BANNER}\";"
        ),
        format!("● docs - search (MCP)(query: \"limits\")\n  ⎿ \u{a0}{BANNER}"),
        "● Write(x)\n  ⎿ \u{a0}[LIMIT] the last turn ended on a usage limit. resets 22:20 (UTC)".to_owned(),
        "❯ go on\n  ⎿ \u{a0}You've hit your 5-hour limit · resets 10:20pm (UTC) is what it prints".to_owned(),
        "❯ go on\n  ⎿ \u{a0}You've used 91% of your 5-hour limit · resets 10:20pm (UTC)".to_owned(),
        "● Done.\n\n                    You've used 91% of your 5-hour limit · resets 10:20pm (UTC)"
            .to_owned(),
        "● Fix\n\n  1. You've hit your 5-hour limit · resets 10:20pm (UTC)".to_owned(),
        format!("● The client prints:\n\n  ⎿  {BANNER}"),
        format!("● The client prints:\n\n    ⎿ \u{a0}{BANNER}"),
        format!("● The client prints:\n\n  First a line.\n\n  ⎿  {BANNER}"),
        format!("\u{1b}[38;5;153m▎\u{1b}[39m text\n\n❯ go on\n  ⎿ \u{a0}{BANNER}"),
        format!("> {BANNER}"),
        format!("❯ {BANNER}"),
        "● Read 3 files\n  ⎿  429 too many requests, usage limit reached, rate limit".to_owned(),
    ] {
        let (before, after) = twice(&idle(&conversation), &claude());
        assert_eq!(before.verdict, Verdict::NotLimited, "{:?}\n{conversation}", before.state);
        assert_eq!(after.keys, Keys::None, "{conversation}");
    }
}

#[test]
fn a_conversation_that_went_on_leaves_the_limit_behind() {
    for rest in [
        "❯ continue",
        "❯ continue\n\n● Part 2 is loaded.",
        "● Usage limit reset · Continuing automatically\n\n● Part 2 is loaded.\n\n✻ Baked for 1s",
        "❯ continue\n\n● Bash(make)\n  ⎿  Running…",
        "  Ran 1 shell command",
        "❯ /review\n\n● I look at the changes.",
        "● Automatic continue cancelled · /rate-limit-options to wait again\n\n● Part 2 is loaded.",
    ] {
        let text = idle(&after_prompt(&format!("  ⎿ \u{a0}{BANNER}\n\n{rest}")));
        let (before, after) = twice(&text, &claude());
        assert_eq!(before.verdict, Verdict::NotLimited, "{rest}");
        assert_eq!(after.keys, Keys::None, "{rest}");
    }
}

#[test]
fn a_line_that_is_not_free_is_left_alone() {
    let conversation = after_prompt(&format!("  ⎿ \u{a0}{BANNER}"));
    for (input, footer) in [
        ("half a thought", "  ? for shortcuts"),
        ("first\n  second", ""),
        ("/", "  /model      Set the model\n  /clear      Start anew"),
        ("/rate", "  /rate-limit-options   What to do at a limit"),
        ("@src", "  + src/main.rs\n  + src/lib.rs"),
        ("Press up to edit queued messages", "  ? for shortcuts"),
        ("", "  -- NORMAL --"),
        ("", "  ❯ 1. main\n    2. general-purpose"),
        ("", "  Do you want to exit? (y/n)"),
        ("", "  Press Enter to confirm"),
        ("", "dev@box:~/project$ "),
        ("", "\n\n\n  password:"),
        ("", "  ! for shell mode     esc esc to clear input"),
        ("", "  esc to interrupt"),
    ] {
        let text = screen(&conversation, input, footer);
        assert_eq!(keys_after_reset(&text, &claude()), Keys::None, "{text}");
    }
    let in_shell_mode = limited().replace("❯\u{a0}\n", "!\u{a0}\n");
    assert_eq!(keys_after_reset(&in_shell_mode, &claude()), Keys::None);
    for (input, footer) in [
        ("Resend your message to try again", "  ? for shortcuts"),
        ("", "  -- INSERT --"),
        ("", ""),
        ("", "my own status line · main*"),
    ] {
        let text = screen(&conversation, input, footer);
        assert_eq!(keys_after_reset(&text, &claude()), Keys::ResumeOnce, "{text}");
    }
}

#[test]
fn other_programs_get_no_key() {
    for foreground in ["bash", "zsh", "less", "vim", "htop", "tmux", "ssh", "python3", "sleep"] {
        let pane = Pane { foreground: Some(foreground.to_owned()), ..claude() };
        let (before, after) = twice(&limited(), &pane);
        assert_eq!((before.state, after.keys), (State::NotClaude, Keys::None), "{foreground}");
        assert_eq!(before.verdict, Verdict::NotLimited);
    }
    // The foreground is not known; the text shows a client inside another tmux.
    let nested = format!("{}[0] 0:claude*              \"box\" 20:20 30-Nov-26", limited());
    let pane = Pane { foreground: None, ..claude() };
    assert_eq!(keys_after_reset(&nested, &pane), Keys::None);
}

#[test]
fn facts_beside_the_text_forbid_a_key() {
    let told = failed("rate_limit", BANNER);
    for (what, pane, keys) in [
        ("nothing known", claude(), Keys::ResumeOnce),
        ("idle", Pane { session_status: Some("idle".to_owned()), ..claude() }, Keys::ResumeOnce),
        ("busy", Pane { session_status: Some("busy".to_owned()), ..claude() }, Keys::None),
        ("waiting", Pane { session_status: Some("waiting".to_owned()), ..claude() }, Keys::None),
        ("a new word", Pane { session_status: Some("napping".to_owned()), ..claude() }, Keys::None),
        (
            "idle, yet waiting",
            Pane {
                session_status: Some("idle".to_owned()),
                waiting_for: Some("permission prompt".to_owned()),
                ..claude()
            },
            Keys::None,
        ),
        ("copy mode", Pane { in_mode: Some(true), ..claude() }, Keys::None),
        ("told", Pane { stop_failure: told.clone(), ..claude() }, Keys::ResumeOnce),
        (
            "another failure",
            Pane { stop_failure: failed("authentication_failed", "x"), ..claude() },
            Keys::None,
        ),
    ] {
        assert_eq!(keys_after_reset(&limited(), &pane), keys, "{what}");
    }
}

#[test]
fn one_look_is_enough_only_with_the_clients_own_word() {
    let told = Pane { stop_failure: failed("rate_limit", BANNER), ..claude() };
    let of_subagent = Pane {
        stop_failure: failed("rate_limit", BANNER)
            .map(|failure| screens::StopFailure { agent_id: Some("a1".to_owned()), ..failure }),
        ..claude()
    };
    let other = Pane { stop_failure: failed("rate_limit", "You've hit your weekly limit"), ..claude() };
    // A minute past the reset counts as just passed, wherever the message is first seen.
    let now = "2026-11-30T22:23:00Z";
    for (pane, keys) in
        [(&told, Keys::ResumeOnce), (&claude(), Keys::None), (&of_subagent, Keys::None), (&other, Keys::None)]
    {
        assert_eq!(look_at(&limited(), pane, now, None).keys, keys);
    }
    let first = look_at(&limited(), &claude(), now, None);
    for (later, keys) in [("2026-11-30T22:23:59Z", Keys::None), ("2026-11-30T22:24:00Z", Keys::ResumeOnce)] {
        assert_eq!(look_at(&limited(), &claude(), later, Some(&first.memory)).keys, keys, "{later}");
    }
}

#[test]
fn options_forbid_what_they_name() {
    let cautious = Options::default();
    let memory = look_at(&limited(), &claude(), BEFORE, None).memory;
    let keys = |pane: &Pane, options: &Options, text: &str| {
        look_with(text, pane, instant(AFTER), Some(&memory), options).keys
    };
    let is_idle = Pane { session_status: Some("idle".to_owned()), ..claude() };
    assert_eq!(keys(&is_idle, &cautious, &limited()), Keys::ResumeOnce);
    assert_eq!(keys(&claude(), &cautious, &limited()), Keys::None, "the screen alone is not trusted");
    assert_eq!(keys(&claude(), &Options { trust_screen: true, ..cautious }, &limited()), Keys::ResumeOnce);
    let cancelled = idle(&after_prompt(&format!(
        "  ⎿ \u{a0}{BANNER}\n\n● Automatic continue cancelled · /rate-limit-options to wait again"
    )));
    assert_eq!(keys(&is_idle, &cautious, &cancelled), Keys::None);
    assert_eq!(keys(&is_idle, &Options { resume_cancelled: true, ..cautious }, &cancelled), Keys::ResumeOnce);
}

fn menu(rows: &str) -> String {
    after_prompt(&format!(
        "  ⎿ \u{a0}{BANNER}\n\n{}\n  What do you want to do?\n\n{rows}\n\n  Enter to confirm · Esc to cancel\n",
        "▔".repeat(80)
    ))
}

const WAIT_FIRST: &str = "  ❯ 1. Stop and wait for limit to reset\n    2. Upgrade your plan";

#[test]
fn the_limit_menu_gets_enter_on_the_row_that_waits_only() {
    for (rows, keys) in [
        (WAIT_FIRST, Keys::EnterOnWaitRow),
        ("    1. Upgrade your plan\n  ❯ 2. Stop and wait for limit to reset", Keys::EnterOnWaitRow),
        ("  ❯ 1. Upgrade your plan\n    2. Stop and wait for limit to reset", Keys::None),
        (
            "    1. Stop and wait for limit to reset\n  ❯ 2. Wait here, then continue automatically at 10:20pm",
            Keys::None,
        ),
        ("  ❯ 1. Stop and wait for limit to reset\n    2. Don’t continue automatically", Keys::None),
        ("  ❯ 1. Stop and wait for limit to reset\n    2. Delete all files", Keys::None),
        ("    1. Stop and wait for limit to reset\n    2. Upgrade your plan", Keys::None),
    ] {
        let (before, after) = twice(&menu(rows), &claude());
        assert_eq!((before.verdict, before.keys), (Verdict::BlockedByDialog, Keys::None), "{rows}");
        assert_eq!(after.keys, keys, "{rows}: {}", after.why);
    }
}

#[test]
fn the_limit_menu_needs_every_reason() {
    let text = menu(WAIT_FIRST);
    let status = |status: &str, waiting_for: Option<&str>| Pane {
        session_status: Some(status.to_owned()),
        waiting_for: waiting_for.map(str::to_owned),
        ..claude()
    };
    assert_eq!(keys_after_reset(&text, &status("waiting", Some("dialog open"))), Keys::EnterOnWaitRow);
    assert_eq!(keys_after_reset(&text, &status("waiting", Some("permission prompt"))), Keys::None);
    assert_eq!(keys_after_reset(&text, &status("busy", None)), Keys::None);
    assert_eq!(keys_after_reset(&text, &Pane { in_mode: Some(true), ..claude() }), Keys::None);
    assert_eq!(keys_after_reset(&text, &Pane { foreground: Some("ssh".to_owned()), ..claude() }), Keys::None);
    assert_eq!(keys_after_reset(&text.replace(BANNER, "Some other text"), &claude()), Keys::None);
    let memory = look_at(&text, &claude(), BEFORE, None).memory;
    let off = Options { menu: false, ..Options::for_a_screen() };
    assert_eq!(look_with(&text, &claude(), instant(AFTER), Some(&memory), &off).keys, Keys::None);
    // Once; then the idle line below the same limit is resumed.
    let entered = look_at(&text, &claude(), AFTER, Some(&memory));
    assert_eq!(look_at(&text, &claude(), AFTER, Some(&entered.memory)).keys, Keys::None);
    assert_eq!(look_at(&limited(), &claude(), AFTER, Some(&entered.memory)).keys, Keys::ResumeOnce);
}

#[test]
fn a_limit_of_another_model_is_not_waited_for() {
    let banner = "You've hit your Opus limit · resets 10:20pm (UTC)";
    for (header, keys) in [
        ("▝▜██████▀  Opus 5.5 · Claude API", Keys::EnterOnWaitRow),
        ("▝▜██████▀  Sonnet 5.5 · Claude API", Keys::None),
        ("", Keys::None),
    ] {
        let title = if header.is_empty() { "" } else { " ▐▛███▛█   Claude Code v2.1.332" };
        let text = format!("{title}\n{header}\n\n{}", menu(WAIT_FIRST).replace(BANNER, banner));
        assert_eq!(keys_after_reset(&text, &claude()), keys, "{header}");
    }
}

#[test]
fn dialogs_of_every_kind_block() {
    let banner = after_prompt(&format!("  ⎿ \u{a0}{BANNER}"));
    let rule = "─".repeat(80);
    for dialog in [
        format!(
            "{rule}\n Bash command\n\n   rm -rf build\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
        ),
        format!(
            "{rule}\n Do you trust the files in this folder?\n\n ❯ 1. Yes, proceed\n   2. No, exit\n\n Enter to confirm · Esc to exit"
        ),
        format!("{rule}\n❯ 1. Yes\n  2. No\n{rule}"),
        "Select login method:\n\n ❯ 1. Claude account\n   2. Console account".to_owned(),
        "Paste code here if prompted >".to_owned(),
        "A new version is available. Would you like to update now? [Y/n]".to_owned(),
        "Are you sure you want to continue connecting (yes/no/[fingerprint])?".to_owned(),
        "Enter passphrase for key '/home/dev/.ssh/id':".to_owned(),
        "続行しますか?\n❯ 1. はい\n  2. いいえ".to_owned(),
        "╭────────────────╮\n│ Proceed?       │\n│ ❯ 1. Yes       │\n│   2. No        │\n╰────────────────╯"
            .to_owned(),
        "  Rewind\n\n  ❯ go on with the import\n    (current)\n\n  Enter to continue · Esc to exit"
            .to_owned(),
        " ☐ Database\n\nWhich one?\n\n❯ 1. PostgreSQL\n  2. SQLite\n\nEnter to select · ↑/↓ to navigate"
            .to_owned(),
    ] {
        let (before, after) = twice(&format!("{banner}\n\n{dialog}\n"), &claude());
        assert_eq!(before.verdict, Verdict::BlockedByDialog, "{dialog}");
        assert_eq!(after.keys, Keys::None, "{dialog}");
    }
    // A list between the limit and a line that looks like the input line.
    let text = idle(&format!("{banner}\n\n  ❯ 1. Yes\n    2. No"));
    let (before, after) = twice(&text, &claude());
    assert_eq!((before.verdict, after.keys), (Verdict::BlockedByDialog, Keys::None));
}

#[test]
fn a_background_agent_keeps_the_session_busy() {
    let text =
        idle(&after_prompt(&format!("  ⎿ \u{a0}{BANNER}\n\n✻ Waiting for 1 background agent to finish")));
    let (before, after) = twice(&text, &claude());
    assert_eq!((before.verdict, before.has_background), (Verdict::Limited, true));
    assert_eq!(after.keys, Keys::None);
}

#[test]
fn an_armed_client_is_left_alone_and_reported_ten_minutes_late() {
    let conversation = after_prompt(&format!("  ⎿ \u{a0}{BANNER}"));
    for footer in [
        "  ⚠ Usage limit reached · limit resets 10:20pm\n    Continuing automatically at 10:20pm · Esc to cancel",
        "  ⚠ Usage limit reached · continuing automatically at 10:…",
        "  ⚠ Usage limit rea…",
        "  ⚠ Usage limit\n  reached · contin\n  uing automatica\n  lly at 10:20pm\n  · esc to cancel",
    ] {
        let (before, after) = twice(&screen(&conversation, "", footer), &claude());
        assert_eq!((before.state, before.is_overdue), (State::Armed, false), "{footer}");
        assert_eq!((after.state, after.keys, after.is_overdue), (State::Armed, Keys::None, true), "{footer}");
    }
    let shortly = screen(&conversation, "", "    Continuing shortly · Esc to cancel");
    let memory = look_at(&shortly, &claude(), RESET, None).memory;
    for (now, is_overdue) in [("2026-11-30T22:29:59Z", false), ("2026-11-30T22:30:00Z", true)] {
        assert_eq!(look_at(&shortly, &claude(), now, Some(&memory)).is_overdue, is_overdue);
    }
}

#[test]
fn a_stale_client_gets_one_enter_on_an_empty_line() {
    let conversation =
        after_prompt(&format!("  ⎿ \u{a0}{BANNER}\n\n● Usage limit has reset · Press enter to continue"));
    let footer = "  ⚠ Your usage limit has reset\n    Press enter to continue\n  ⏵⏵ bypass permissions on";
    let told = Pane { stop_failure: failed("rate_limit", BANNER), ..claude() };
    let now = "2026-11-30T23:41:00Z";
    let answer = look_at(&screen(&conversation, "", footer), &told, now, None);
    assert_eq!((&answer.state, answer.keys), (&State::Stale, Keys::EnterOnce));
    assert_eq!(answer.reset_at, Some(instant("2026-11-30T22:20:00Z")), "it is past, the client says so");
    let again = look_at(&screen(&conversation, "", footer), &told, now, Some(&answer.memory));
    assert_eq!(again.keys, Keys::None);
    for input in ["a draft", "Resend your message to try again"] {
        assert_eq!(look_at(&screen(&conversation, input, footer), &told, now, None).keys, Keys::None);
    }
}

#[test]
fn errors_that_waiting_does_not_mend_are_only_told() {
    for (text, kind) in [
        ("● Please run /login · API Error: 401 OAuth token has expired.", screens::Kind::Auth),
        ("  ⎿ \u{a0}Credit balance too low · Add funds: https://a.example/billing", screens::Kind::Billing),
        ("  ⎿ \u{a0}Your seat type doesn't include usage credits", screens::Kind::Billing),
    ] {
        let (before, after) = twice(&idle(&after_prompt(text)), &claude());
        assert_eq!((before.state, after.keys), (State::Failed(kind), Keys::None), "{text}");
    }
}

#[test]
fn interfaces_of_other_times_are_understood_as_far_as_they_go() {
    for (text, verdict, keys) in [
        (
            "● Running tests…\n  ⎿  12 passed\n\n Rate limited. Press Enter to retry\n",
            Verdict::Limited,
            Keys::None,
        ),
        (
            "● Reading files…\n\n  You've hit your session limit · resets 10:20pm\n\n>",
            Verdict::Limited,
            Keys::ResumeOnce,
        ),
        (
            "● Go.\n\n  Claude usage limit reached. Your limit will reset at 10:20pm.\n\n╭─────────╮\n│ >       │\n╰─────────╯",
            Verdict::Limited,
            Keys::ResumeOnce,
        ),
        (
            "  429 Too Many Requests\n\n● Bash(rm -rf build)\n  Delete all files? [y/N]",
            Verdict::BlockedByDialog,
            Keys::None,
        ),
        ("$ cat status.ts\nexport const TOO_MANY = 429;\n$", Verdict::NotLimited, Keys::None),
    ] {
        let (before, after) = twice(text, &claude());
        assert_eq!((before.verdict, after.keys), (verdict, keys), "{text}");
    }
}

#[test]
fn lists_of_completions_hide_no_limit_and_get_no_key() {
    let conversation = after_prompt(&format!("  ⎿ \u{a0}{BANNER}"));
    let long = "/command        Does a thing\n                that takes two lines\n".repeat(10);
    for (input, below) in [
        ("/", "/model          Set the model\n/clear          Start anew"),
        ("/", long.as_str()),
        ("", "  ! for shell mode     esc esc to clear input\n  / for commands"),
        ("", "  -- NORMAL --"),
    ] {
        let (before, after) = twice(&screen(&conversation, input, below), &claude());
        assert_eq!((before.verdict, after.keys), (Verdict::Limited, Keys::None), "{below}");
        let (before, _) = twice(&screen("● Done.", input, below), &claude());
        assert_eq!(before.state, State::Idle, "{below}");
    }
}

#[test]
fn a_dialog_of_no_known_shape_is_told_by_the_client() {
    let text = "  Something that nobody has seen\n\n  yes   no   maybe";
    for (waiting_for, state) in
        [(Some("dialog open"), State::Picker), (Some("input needed"), State::Question)]
    {
        let pane = Pane {
            session_status: Some("waiting".to_owned()),
            waiting_for: waiting_for.map(str::to_owned),
            ..claude()
        };
        let (before, after) = twice(text, &pane);
        assert_eq!((before.state, before.verdict), (state, Verdict::BlockedByDialog));
        assert_eq!(after.keys, Keys::None);
    }
}

#[test]
fn in_a_low_pane_the_footer_alone_tells() {
    for (footer, state) in [
        (
            "  ⚠ Usage limit reached · limit resets 10:20pm\n    Continuing shortly · Esc to cancel",
            State::Armed,
        ),
        ("  ⚠ Your usage limit has reset\n    Press enter to continue", State::Stale),
        ("  ? for shortcuts", State::Idle),
    ] {
        let (before, after) = twice(&screen("", "", footer), &claude());
        assert_eq!((before.state, after.keys), (state, Keys::None), "{footer}");
    }
}
