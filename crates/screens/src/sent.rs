//! What became of keys that were sent.

use chrono::{DateTime, Utc};

use crate::{
    input::Content,
    limit::{Moment, Wordings},
    pane::Pane,
    state::{self, State},
};

/// What became of a text that was sent with Enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A turn runs.
    Running,
    /// The input line is empty again: it was taken.
    Taken,
    /// It still stands in the live input line, alone: the Enter was lost or made a line break. Clients before 2.1.80
    /// need one more Enter.
    Stands,
    /// None of these: something else has come between.
    Unclear,
}

/// Looks at a pane after `sent` and Enter were sent to it.
#[must_use]
pub fn outcome(screen: &str, pane: &Pane, sent: &str, now: DateTime<Utc>, wordings: &Wordings) -> Outcome {
    if pane.in_mode == Some(true) {
        return Outcome::Unclear;
    }
    let reading = state::read(screen, pane, wordings, &Moment { now, host: pane.zone() });
    match (&reading.state, &reading.input) {
        (State::NotClaude | State::Menu { .. } | State::Question | State::Picker, _) => Outcome::Unclear,
        // With colours off a text may stand there that is worded like a hint.
        (_, Some(Content::Draft(text) | Content::Hint(text))) if is_same(text, sent) => Outcome::Stands,
        (State::Working, _) => Outcome::Running,
        (_, Some(Content::Empty | Content::Hint(_))) => match pane.session_status.as_deref() {
            Some("busy") => Outcome::Running,
            _ => Outcome::Taken,
        },
        _ => Outcome::Unclear,
    }
}

/// The same letters: a line that is too long for the pane is wrapped anywhere.
fn is_same(text: &str, sent: &str) -> bool {
    let letters = |text: &'_ str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    letters(text) == letters(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(conversation: &str, input: &str, pane: &Pane) -> Outcome {
        let rule = "─".repeat(60);
        let screen = format!("{conversation}\n\n{rule}\n❯\u{a0}{input}\n{rule}\n  ? for shortcuts");
        outcome(&screen, pane, "continue", DateTime::UNIX_EPOCH, &Wordings::default())
    }

    #[test]
    fn the_line_and_the_work_tell_what_became_of_it() {
        let pane = Pane { foreground: Some("claude".to_owned()), ..Pane::default() };
        for (conversation, input, right) in [
            ("❯ continue\n\n✻ Loading… (1s)", "", Outcome::Running),
            ("❯ continue", "", Outcome::Taken),
            ("❯ continue", "Press up to edit queued messages", Outcome::Taken),
            ("● Done.", "continue", Outcome::Stands),
            ("● Done.", "continue\n", Outcome::Stands),
            ("● Done.", "my draft continue", Outcome::Unclear),
            ("● Done.", "contin", Outcome::Unclear),
        ] {
            assert_eq!(after(conversation, input, &pane), right, "{conversation} / {input}");
        }
        let busy = Pane { session_status: Some("busy".to_owned()), ..pane.clone() };
        assert_eq!(after("❯ continue", "", &busy), Outcome::Running);
        assert_eq!(after("❯ continue", "", &Pane { in_mode: Some(true), ..pane.clone() }), Outcome::Unclear);
        let shell = Pane { foreground: Some("zsh".to_owned()), ..pane.clone() };
        assert_eq!(after("❯ continue", "", &shell), Outcome::Unclear);
        let question = "Continue?\n ❯ 1. Yes\n   2. No";
        assert_eq!(
            outcome(question, &pane, "continue", DateTime::UNIX_EPOCH, &Wordings::default()),
            Outcome::Unclear
        );
    }
}
