//! Screens for tests, and looks at them.

use chrono::{DateTime, Utc};
use screens::{Answer, Keys, Look, Memory, Options, Pane, StopFailure, Wordings, look};

/// The message most tests use; its reset is [`RESET`].
pub(crate) const BANNER: &str = "You've hit your 5-hour limit · resets 10:20pm (UTC)";
/// Before the reset of [`BANNER`].
pub(crate) const BEFORE: &str = "2026-11-30T20:20:00Z";
pub(crate) const RESET: &str = "2026-11-30T22:20:00Z";
/// Ten minutes after it.
pub(crate) const AFTER: &str = "2026-11-30T22:30:00Z";

pub(crate) fn instant(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap().with_timezone(&Utc)
}

/// A pane with the client in the foreground, of which nothing else is known.
pub(crate) fn claude() -> Pane {
    Pane {
        pane_id: "%7".to_owned(),
        in_mode: Some(false),
        foreground: Some("claude".to_owned()),
        width: Some(80),
        host_tz: Some("UTC".to_owned()),
        ..Pane::default()
    }
}

pub(crate) fn failed(error: &str, message: &str) -> Option<StopFailure> {
    Some(StopFailure {
        error: error.to_owned(),
        last_assistant_message: Some(message.to_owned()),
        agent_id: None,
    })
}

/// A conversation above an input line between rules, with a footer.
pub(crate) fn screen(conversation: &str, input: &str, footer: &str) -> String {
    let rule = "─".repeat(80);
    format!("{conversation}\n\n{rule}\n❯\u{a0}{input}\n{rule}\n{footer}\n")
}

/// An idle client below a conversation.
pub(crate) fn idle(conversation: &str) -> String {
    screen(conversation, "", "  ⏵⏵ bypass permissions on (shift+tab to cycle)")
}

/// An idle client that has just met a limit.
pub(crate) fn limited() -> String {
    idle(&after_prompt(&format!("  ⎿ \u{a0}{BANNER}")))
}

pub(crate) fn after_prompt(lines: &str) -> String {
    format!("❯ go on with the import\n\n● I will load the rest.\n\n  Ran 1 shell command\n{lines}")
}

pub(crate) fn look_at(text: &str, pane: &Pane, now: &str, memory: Option<&Memory>) -> Answer {
    look_with(text, pane, instant(now), memory, &Options::for_a_screen())
}

pub(crate) fn look_with(
    text: &str,
    pane: &Pane,
    now: DateTime<Utc>,
    memory: Option<&Memory>,
    options: &Options,
) -> Answer {
    let look_at = Look { text, pane, now, memory, first_seen: false, known: None };
    look(&look_at, &Wordings::default(), options)
}

/// The answers before and ten minutes after the reset of [`BANNER`], the screen being the same.
pub(crate) fn twice(text: &str, pane: &Pane) -> (Answer, Answer) {
    let before = look_at(text, pane, BEFORE, None);
    let after = look_at(text, pane, AFTER, Some(&before.memory));
    (before, after)
}

/// The keys after the reset; before it there must be none.
pub(crate) fn keys_after_reset(text: &str, pane: &Pane) -> Keys {
    let (before, after) = twice(text, pane);
    assert_eq!(before.keys, Keys::None, "before the reset: {}\n{text}", before.why);
    after.keys
}
