//! The live input line: where typed characters would go, and whether anything stands there already.

use crate::{
    dialog,
    pane::Foreground,
    screen::{Line, Screen},
};

/// More lines than this between the rules are no draft but something else.
const TALLEST_DRAFT: usize = 40;
/// More lines than this below the input line are no footer.
const TALLEST_FOOTER: usize = 12;
/// The same with a list of completions or shortcuts.
const TALLEST_OVERLAY: usize = 24;
/// So many blank lines below the input line and then text: another program printed there.
const FOOTER_GAP: usize = 3;

/// What the client writes into an *empty* input line. Without colours only the words tell them from a draft.
const HINTS: [&str; 3] = ["Resend your message to try again", "Once fixed, resend your message", QUEUED];
const QUEUED: &str = "Press up to edit queued messages";

/// What stands in the input line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Empty,
    /// A hint of the client, or a prompt it suggests; the line is empty.
    Hint(String),
    /// Text that was typed and not sent.
    Draft(String),
}

/// An input line as drawn.
#[derive(Clone, Debug)]
pub(crate) struct InputLine {
    /// Lines of the screen above it.
    pub(crate) above: usize,
    /// Lines of the screen down to its end.
    pub(crate) below: usize,
    /// What stands in it.
    pub(crate) content: Content,
    /// How it is drawn.
    pub(crate) frame: Frame,
    /// `>` of the older clients, not `❯`.
    pub(crate) is_old_sign: bool,
    /// A no-break space follows the sign, as the client writes it: the capture has kept them.
    pub(crate) has_no_break_space: bool,
}

/// How an input line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Between two rules.
    Rules,
    /// In a box, as clients before 1.0.128 did.
    Box,
    /// As the last line, with nothing around it. No recorded client draws so.
    Bare,
}

/// What stands below an input line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// The client's own footer, or nothing: the line is live.
    Footer,
    /// The client's, but typed characters may mean something else.
    Overlay,
    /// Something else: the line is an old one.
    Other,
}

impl InputLine {
    /// Finds the lowest input line of the screen.
    pub(crate) fn find(screen: &Screen) -> Option<Self> {
        framed(screen).or_else(|| bare(screen))
    }

    /// Returns whether messages wait to be sent.
    pub(crate) fn is_queued(&self) -> bool {
        matches!(&self.content, Content::Hint(hint) | Content::Draft(hint) if hint == QUEUED)
    }

    /// Returns what stands below this line, which tells whether the keys go to it.
    pub(crate) fn below(&self, screen: &Screen, program: Foreground) -> Below {
        let below = &screen.lines[self.below.min(screen.lines.len())..];
        let footer: Vec<&Line> = below.iter().filter(|line| !line.is_blank()).collect();
        let mut gap = 0;
        for line in below {
            gap = if line.is_blank() { gap + 1 } else { 0 };
            if gap >= FOOTER_GAP {
                return Below::Other;
            }
        }
        let has_overlay = footer.iter().any(|line| is_overlay(line));
        let tallest = if has_overlay { TALLEST_OVERLAY } else { TALLEST_FOOTER };
        if footer.len() > tallest
            || footer.iter().any(|line| is_foreign(line))
            || footer.last().is_some_and(|line| is_shell_prompt(line))
            || dialog::stands_in(&footer)
        {
            return Below::Other;
        }
        if has_overlay {
            return Below::Overlay;
        }
        // Another program may have been started by hand below a client that ended; the client's footer is indented.
        let is_at_edge = program != Foreground::Client && footer.iter().any(|line| line.indent() == 0);
        if is_at_edge { Below::Other } else { Below::Footer }
    }
}

/// Lines that the client never puts below its live input line: another frame, the farewell of a client that ended.
fn is_foreign(line: &Line) -> bool {
    let body = line.body();
    line.is_rule()
        || line.is_panel_edge()
        || line.is_box_top()
        || line.is_box_bottom()
        || line.unboxed().is_some()
        || body.starts_with("Resume this session with")
        || body.starts_with("claude --resume")
}

/// Lines that the client puts below its input line while keys mean something else than text: completions, shortcuts,
/// the modes of an editor.
fn is_overlay(line: &Line) -> bool {
    let body = line.body();
    body.contains("! for shell mode")
        || body.contains("! for bash mode")
        || body.contains("-- NORMAL --")
        || body.contains("-- VISUAL")
        || is_completion(body)
}

/// `/model      Set the model`: a row of the list below a typed slash.
fn is_completion(body: &str) -> bool {
    body.starts_with('/') && body.split_once("   ").is_some_and(|(name, _)| !name.contains(' '))
}

fn is_shell_prompt(line: &Line) -> bool {
    let body = line.body();
    let ends = ["$", "#", "%", ">", "❯", "➜", "λ"].iter().any(|sign| body.ends_with(sign));
    line.indent() == 0 && (ends || body.starts_with("➜ "))
}

fn framed(screen: &Screen) -> Option<InputLine> {
    let lines = &screen.lines;
    for end in (0..lines.len()).rev() {
        if lines[end].is_rule() {
            let top = (end.saturating_sub(TALLEST_DRAFT)..end).rev().find(|&at| lines[at].is_rule());
            let drawn = top.and_then(|top| drawn(screen, top, end, Frame::Rules, Line::clone));
            if drawn.is_some() {
                return drawn;
            }
        } else if lines[end].is_box_bottom() {
            let top = (end.saturating_sub(TALLEST_DRAFT)..end).rev().find(|&at| lines[at].is_box_top());
            let inner = |line: &Line| without_padding(line.unboxed().unwrap_or_default());
            let drawn = top.and_then(|top| drawn(screen, top, end, Frame::Box, inner));
            if drawn.is_some() {
                return drawn;
            }
        }
    }
    None
}

/// A box has one blank between its side and the text.
fn without_padding(mut line: Line) -> Line {
    if line.text.starts_with(' ') {
        line.text.remove(0);
        line.faint.remove(0);
    }
    line
}

fn drawn(
    screen: &Screen,
    top: usize,
    end: usize,
    frame: Frame,
    inner: impl Fn(&Line) -> Line,
) -> Option<InputLine> {
    let inside: Vec<Line> = screen.lines.get(top + 1..end)?.iter().map(inner).collect();
    let (is_old_sign, content) = content(&inside, screen.is_styled)?;
    let has_no_break_space = inside[0].text.contains('\u{a0}');
    Some(InputLine { above: top, below: end + 1, content, frame, is_old_sign, has_no_break_space })
}

/// A prompt sign alone, low on a screen without any frame.
fn bare(screen: &Screen) -> Option<InputLine> {
    let at = screen.lines.iter().rposition(|line| !line.is_blank() && line.indent() == 0)?;
    let (is_old_sign, content) = content(&screen.lines[at..=at], screen.is_styled)?;
    (content == Content::Empty).then_some(InputLine {
        above: at,
        below: at + 1,
        content,
        frame: Frame::Bare,
        is_old_sign,
        has_no_break_space: screen.lines[at].text.contains('\u{a0}'),
    })
}

/// Reads the lines between the frame; None: they do not begin with a prompt sign, so they are no input line.
fn content(inside: &[Line], is_styled: bool) -> Option<(bool, Content)> {
    let first = inside.first()?;
    let sign = first.text.chars().next().filter(|sign| matches!(sign, '❯' | '>'))?;
    let after = &first.text[sign.len_utf8()..];
    if !after.is_empty() && !after.starts_with([' ', '\u{a0}']) {
        return None;
    }
    // `❯ 1. Yes` and more rows: a list that happens to stand between rules.
    let is_list = inside[1..].iter().any(|line| dialog::numbered(line.body()).is_some());
    if is_list && dialog::numbered(after.trim()).is_some() {
        return None;
    }
    let mut text = after.trim().to_owned();
    // The first character lies under the cursor and is drawn reversed, hint or not.
    let mut letters = first.text.chars().zip(&first.faint).skip(1).filter(|(c, _)| !c.is_whitespace());
    let is_cursor_faint = letters.next().is_none_or(|(_, faint)| *faint);
    let mut rest_count = 0;
    let mut is_faint = true;
    let more = inside[1..].iter().flat_map(|line| line.text.chars().zip(&line.faint));
    for (_, faint) in letters.chain(more.filter(|(c, _)| !c.is_whitespace())) {
        rest_count += 1;
        is_faint &= *faint;
    }
    for line in &inside[1..] {
        text.push(' ');
        text.push_str(line.body());
    }
    let text = text.trim().to_owned();
    let is_hint = if is_styled {
        is_faint && (rest_count > 0 || is_cursor_faint)
    } else {
        HINTS.contains(&text.as_str())
    };
    let content = match text.is_empty() {
        true => Content::Empty,
        false if is_hint => Content::Hint(text),
        false => Content::Draft(text),
    };
    Some((sign == '>', content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> String {
        "─".repeat(40)
    }

    fn found(text: &str) -> Option<(Content, bool)> {
        let screen = Screen::read(text, None);
        let line = InputLine::find(&screen)?;
        let is_live = line.below(&screen, Foreground::Client) == Below::Footer;
        Some((line.content, is_live))
    }

    fn between_rules(inside: &str, below: &str) -> Option<(Content, bool)> {
        found(&format!("● Done.\n\n{0}\n{inside}\n{0}\n{below}", rule()))
    }

    fn draft(text: &str) -> Content {
        Content::Draft(text.to_owned())
    }

    #[test]
    fn what_stands_between_the_rules() {
        for (inside, content) in [
            ("❯\u{a0}", Some(Content::Empty)),
            ("❯ ", Some(Content::Empty)),
            ("❯", Some(Content::Empty)),
            (">\u{a0}", Some(Content::Empty)),
            ("❯\u{a0}x", Some(draft("x"))),
            ("❯\u{a0}continue\n", Some(draft("continue"))),
            ("❯\u{a0}\n  second line", Some(draft("second line"))),
            ("❯\u{a0}Resend your message to try again", Some(Content::Hint(HINTS[0].to_owned()))),
            ("❯\u{a0}Resend your message to try again!", Some(draft("Resend your message to try again!"))),
            ("❯x", None),
            ("!\u{a0}ls", None),
            (" ❯ 1. Yes", None),
            ("", None),
        ] {
            assert_eq!(between_rules(inside, "").map(|(content, _)| content), content, "{inside:?}");
        }
    }

    #[test]
    fn with_colours_only_faint_text_is_a_hint() {
        let hint = Some(Content::Hint("Resend your message".to_owned()));
        let some_draft = Some(draft("Resend your message"));
        for (inside, content) in [
            ("❯\u{a0}\u{1b}[7mR\u{1b}[0;2mesend your message\u{1b}[0m", &hint),
            ("❯\u{a0}\u{1b}[2mResend your message\u{1b}[0m", &hint),
            ("❯\u{a0}\u{1b}[7mR\u{1b}[0mesend your message", &some_draft),
            ("❯\u{a0}\u{1b}[2mResend\u{1b}[0m your message", &some_draft),
        ] {
            assert_eq!(&between_rules(inside, "").map(|(content, _)| content), content, "{inside:?}");
        }
        // The words of a hint, typed by somebody.
        let typed = between_rules("\u{1b}[39m❯\u{a0}Resend your message to try again", "");
        assert_eq!(typed.map(|(content, _)| content), Some(draft("Resend your message to try again")));
        // One character under the cursor.
        assert_eq!(
            between_rules("❯\u{a0}\u{1b}[7mx\u{1b}[0m", "").map(|(content, _)| content),
            Some(draft("x"))
        );
        assert_eq!(
            between_rules("❯\u{a0}\u{1b}[7m \u{1b}[0m", "").map(|(content, _)| content),
            Some(Content::Empty)
        );
    }

    #[test]
    fn a_box_and_a_bare_sign_are_input_lines_too() {
        let boxed = "╭──────────╮\n│ >        │\n╰──────────╯\n  ? for shortcuts";
        assert_eq!(found(boxed), Some((Content::Empty, true)));
        let draft_in_box = "╭──────────╮\n│ > go on  │\n│   now    │\n╰──────────╯";
        assert_eq!(found(draft_in_box), Some((draft("go on now"), true)));
        assert_eq!(found("● Done.\n\n❯ \n  ? for shortcuts"), Some((Content::Empty, true)));
        assert_eq!(found("● Done.\n\n❯ text"), None, "an old prompt, not an input line");
        assert_eq!(found("╭────────╮\n│ Tips   │\n╰────────╯"), None);
    }

    #[test]
    fn only_the_clients_footer_may_stand_below() {
        for (below, is_live) in [
            ("", true),
            ("  ? for shortcuts", true),
            ("  ⏵⏵ bypass permissions on (shift+tab to cycle)\n  tmux focus-events off", true),
            ("  -- INSERT --", true),
            ("  -- NORMAL --", false),
            ("my status line: main*", true),
            ("  ⚠ Usage limit reached · limit resets 8:33pm\n    Continuing shortly · Esc to cancel", true),
            ("dev@box:~$ ", false),
            ("➜  project", false),
            ("\n\n\n  text", false),
            ("\n\n  text", true),
            ("/model      Set the model", false),
            ("  /model      Set the model", false),
            ("  ❯ 1. Yes\n    2. No", false),
            ("  Enter to confirm · Esc to cancel", false),
            ("Resume this session with:", false),
            ("  ! for shell mode      esc esc to clear input", false),
            ("────────────────────\n  Do you trust this folder?", false),
        ] {
            assert_eq!(between_rules("❯\u{a0}", below).map(|(_, live)| live), Some(is_live), "{below:?}");
        }
    }

    #[test]
    fn a_footer_has_at_most_so_many_lines() {
        for (count, is_live) in [(TALLEST_FOOTER, true), (TALLEST_FOOTER + 1, false)] {
            let footer = "  a line of the status\n".repeat(count);
            assert_eq!(between_rules("❯\u{a0}", &footer).map(|(_, live)| live), Some(is_live), "{count}");
        }
    }

    #[test]
    fn below_an_unknown_program_text_at_the_edge_is_not_the_clients() {
        let text = format!("{0}\n❯\u{a0}\n{0}\nmake: nothing to do", rule());
        let screen = Screen::read(&text, None);
        let line = InputLine::find(&screen).unwrap();
        assert_eq!(line.below(&screen, Foreground::Unknown), Below::Other);
        assert_eq!(line.below(&screen, Foreground::Client), Below::Footer);
    }
}
