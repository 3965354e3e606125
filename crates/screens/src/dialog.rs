//! Selectors and questions: what waits for a person.

use crate::{
    history::Native,
    screen::{Line, Screen},
};

/// So many of the lowest lines are searched; a dialog stands at the bottom.
const DEEPEST: usize = 34;
/// Of these the last may hold a question without a list.
const LOWEST: usize = 6;

/// The row of the limit menu that only closes it.
pub(crate) const WAIT_ROW: &str = "Stop and wait for limit to reset";
const MENU_TITLE: &str = "What do you want to do?";
const MENU_KEYS: &str = "Enter to confirm · Esc to cancel";
/// How other rows of the limit menu begin. `Don't continue automatically` is none of them: then the client is armed.
const OTHER_ROWS: [&str; 8] =
    ["Upgrade", "Wait here", "Switch to", "Add funds", "Buy", "Request", "Use ", "Turn on"];

/// What a dialog is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dialog {
    /// The menu of a limit.
    LimitMenu {
        /// Line of the screen on which its title stands; what it is about stands above.
        title_at: usize,
        /// Text of the row under the marker.
        row: String,
        /// All rows are known ones, and it ends in `Enter to confirm`.
        is_known: bool,
        /// A row offers to end the client's own continuation.
        is_armed: bool,
    },
    /// A question: permission, trust, an option to choose, y/N.
    Question,
    /// A list to pick from.
    Picker,
}

/// A row of a list.
#[derive(Clone, Debug)]
struct Row {
    at: usize,
    is_marked: bool,
    text: String,
}

/// Finds the dialog at the bottom of a screen without a live input line.
pub(crate) fn find(screen: &Screen) -> Option<Dialog> {
    let lines = opened(screen);
    let lowest = lines.iter().enumerate().filter(|(_, line)| !line.is_blank()).map(|(at, _)| at).rev();
    let region: Vec<(usize, &Line)> = {
        let mut region: Vec<_> = lowest.take(DEEPEST).map(|at| (at, &lines[at])).collect();
        region.reverse();
        region
    };
    let rows = rows(&region);
    if let Some(menu) = limit_menu(&region, &rows) {
        return Some(menu);
    }
    let has_marker = rows.iter().any(|row| row.is_marked);
    let lowest: Vec<&Line> =
        region.iter().skip(region.len().saturating_sub(LOWEST)).map(|(_, line)| *line).collect();
    let has_keys = names_keys(&together(&lowest));
    let asks = asks_in_words(&together(&lowest)) || lowest.iter().any(|line| asks_for_a_secret(line.body()));
    if !has_marker && !has_keys && !asks {
        return None;
    }
    let is_question = asks || region.iter().any(|(_, line)| line.body().ends_with(['?', '？']));
    Some(if is_question { Dialog::Question } else { Dialog::Picker })
}

/// Returns whether a selector or a question stands among these lines of a footer.
pub(crate) fn stands_in(lines: &[&Line]) -> bool {
    let text = together(lines);
    lines.iter().any(|line| numbered(line.body()).is_some_and(|(is_marked, _)| is_marked))
        || lines.iter().any(|line| asks_for_a_secret(line.body()))
        || asks_in_words(&text)
        // The client's own continuation names Esc there.
        || (names_keys(&text) && native_of(lines).is_none())
}

/// Returns what the footer says of the client's own continuation. Narrow panes wrap and cut it, so blanks do not count
/// and its beginning is enough.
pub(crate) fn native_of(footer: &[&Line]) -> Option<Native> {
    let text = squeezed(&together(footer)).to_lowercase();
    if text.contains("pressentertocontinue") {
        Some(Native::Stale)
    } else if text.contains("continuingshortly") {
        Some(Native::Shortly)
    } else if ["continuingauto", "⚠usagelimit", "⚠yourusagelimit"].iter().any(|words| text.contains(words))
    {
        Some(Native::Armed)
    } else {
        None
    }
}

/// The lines as one text.
fn together(lines: &[&Line]) -> String {
    lines.iter().map(|line| line.body()).collect::<Vec<_>>().join(" ")
}

/// The text without blanks: what is left when the place of a wrap does not matter.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn opened(screen: &Screen) -> Vec<Line> {
    screen.lines.iter().map(|line| line.unboxed().unwrap_or_else(|| line.clone())).collect()
}

/// `❯ 1. Yes`, `2) No`: whether the marker stands on the row, and its text.
pub(crate) fn numbered(body: &str) -> Option<(bool, &str)> {
    let unmarked = body.trim_start_matches(['❯', '›', '▶', '▸', '→', '➤', '>', '»', '*', '●', '◉']);
    let is_marked = unmarked.len() < body.len();
    let row = unmarked.trim_start();
    let digits = row.bytes().take_while(u8::is_ascii_digit).count();
    let text = row.get(digits..)?.strip_prefix(['.', ')', ':'])?;
    ((1..=2).contains(&digits) && (text.is_empty() || text.starts_with(char::is_whitespace)))
        .then(|| (is_marked, text.trim()))
}

/// Rows of the list, with lines that only continue a row joined to it.
fn rows(region: &[(usize, &Line)]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, line) in region {
        if let Some((is_marked, text)) = numbered(line.body()) {
            rows.push(Row { at: *at, is_marked, text: text.to_owned() });
        } else if let Some(row) = rows.last_mut().filter(|row| row.at + 1 == *at) {
            row.at = *at;
            row.text.push(' ');
            row.text.push_str(line.body());
        }
    }
    rows
}

fn limit_menu(region: &[(usize, &Line)], rows: &[Row]) -> Option<Dialog> {
    // A narrow pane wraps the title.
    let (title, title_lines) = (0..region.len()).rev().find_map(|at| {
        (1..=3)
            .find(|&count| {
                let lines = region.get(at..at + count).unwrap_or_default();
                squeezed(&together(&lines.iter().map(|(_, line)| *line).collect::<Vec<_>>()))
                    == squeezed(MENU_TITLE)
            })
            .map(|count| (at, count))
    })?;
    let title_at = region[title].0;
    let rows: Vec<&Row> = rows.iter().filter(|row| row.at > title_at).collect();
    if !rows.iter().any(|row| is_wait_row(&row.text)) {
        return None;
    }
    let mut marked = rows.iter().filter(|row| row.is_marked);
    let row = &marked.next()?.text;
    let row = if is_wait_row(row) { WAIT_ROW.to_owned() } else { row.clone() };
    let is_armed = rows.iter().any(|row| begins(&row.text.replace('’', "'"), "Don't continue"));
    let is_row = |text: &str| is_wait_row(text) || OTHER_ROWS.iter().any(|known| begins(text, known));
    // Nothing but the keys may stand below the rows, and nothing but blanks between title and rows.
    let last_row = rows.iter().map(|row| row.at).max().unwrap_or_default();
    let below: Vec<&Line> = region.iter().filter(|(at, _)| *at > last_row).map(|(_, line)| *line).collect();
    let is_ended = squeezed(&together(&below)) == squeezed(MENU_KEYS);
    let is_whole = region.get(title + title_lines).is_some_and(|(_, line)| numbered(line.body()).is_some());
    let is_known =
        marked.next().is_none() && is_ended && is_whole && rows.iter().all(|row| is_row(&row.text));
    Some(Dialog::LimitMenu { title_at, row, is_known, is_armed })
}

fn is_wait_row(text: &str) -> bool {
    squeezed(text) == squeezed(WAIT_ROW)
}

fn begins(text: &str, start: &str) -> bool {
    squeezed(text).starts_with(&squeezed(start))
}

/// `Enter to confirm · Esc to cancel`, `↑/↓ to navigate`: only dialogs explain their keys so.
fn names_keys(body: &str) -> bool {
    const KEYS: [&str; 14] = [
        "enter to ",
        "esc to cancel",
        "esc to close",
        "esc to exit",
        "esc to go back",
        "esc to reject",
        "escape to ",
        "to navigate",
        "tab to amend",
        "space to ",
        "↑↓ to",
        "↑/↓ to",
        "press any key",
        "press return",
    ];
    let lower = body.to_lowercase();
    KEYS.iter().any(|keys| lower.contains(keys))
}

/// `[y/N]`, `Are you sure`.
fn asks_in_words(body: &str) -> bool {
    const WORDS: [&str; 12] = [
        "[y/n]",
        "(y/n)",
        "y/n?",
        "[yes/no]",
        "(yes/no",
        "are you sure",
        "do you want to ",
        "do you trust ",
        "would you like to ",
        "press enter to confirm",
        "paste code here",
        "(y)es",
    ];
    let lower = body.to_lowercase();
    WORDS.iter().any(|words| lower.contains(words))
}

/// `Password:`, `Enter passphrase for key:`.
fn asks_for_a_secret(body: &str) -> bool {
    let lower = body.to_lowercase();
    lower.ends_with(':')
        && ["password", "passphrase", "token", "passcode"].iter().any(|it| lower.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Dialog> {
        find(&Screen::read(text, None))
    }

    #[test]
    fn dialogs_are_known_by_their_shape_in_any_language() {
        for (text, dialog) in [
            ("続行しますか?\n❯ 1. はい\n  2. いいえ (esc)", Some(Dialog::Question)),
            ("Select model\n\n ❯ 1. Default\n   2. Opus", Some(Dialog::Picker)),
            (
                "Resume session\n\n  ❯ hello\n    15 seconds ago\n\n  Enter to resume · Esc to close",
                Some(Dialog::Picker),
            ),
            (
                "│ Do you want to proceed?  │\n│ ❯ 1. Yes                 │\n│   2. No                  │",
                Some(Dialog::Question),
            ),
            ("$ ./x.sh\nOverwrite 3 files. Continue? [y/N] ", Some(Dialog::Question)),
            ("Enter passphrase for key '/k':", Some(Dialog::Question)),
            ("Login successful. Press Enter to continue…", Some(Dialog::Picker)),
            ("› 1) red\n  2) blue", Some(Dialog::Picker)),
            ("dev@box:~$ ", None),
            ("● All is done.\n\n  1. one\n  2. two", None),
            ("", None),
        ] {
            assert_eq!(found(text), dialog, "{text:?}");
        }
    }

    #[test]
    fn an_old_question_far_above_is_none() {
        let text = |lines: usize| format!("Continue? [y/N]\n{}", "text\n".repeat(lines));
        assert_eq!(found(&text(LOWEST - 1)), Some(Dialog::Question));
        assert_eq!(found(&text(LOWEST)), None);
    }

    fn menu(rows: &str) -> Option<Dialog> {
        found(&format!("  {MENU_TITLE}\n\n{rows}\n\n  Enter to confirm · Esc to cancel"))
    }

    fn known(row: &str) -> Option<Dialog> {
        Some(Dialog::LimitMenu { title_at: 0, row: row.to_owned(), is_known: true, is_armed: false })
    }

    #[test]
    fn the_limit_menu_is_read_by_the_text_of_its_rows() {
        assert_eq!(
            menu("  ❯ 1. Stop and wait for limit to reset\n    2. Upgrade your plan"),
            known(WAIT_ROW)
        );
        assert_eq!(
            menu("  ❯ 1. Upgrade your plan\n    2. Stop and wait for limit to reset"),
            known("Upgrade your plan")
        );
        assert_eq!(
            menu(
                "  ❯ 1. Stop and wait for\n       limit to reset\n    2. Wait here, then continue\n       automatically at 10pm"
            ),
            known(WAIT_ROW),
            "wrapped in a narrow pane"
        );
        let armed = menu("  ❯ 1. Stop and wait for limit to reset\n    2. Don’t continue automatically");
        assert_eq!(
            armed,
            Some(Dialog::LimitMenu {
                title_at: 0,
                row: WAIT_ROW.to_owned(),
                is_known: false,
                is_armed: true
            })
        );
    }

    #[test]
    fn a_menu_with_anything_unknown_is_not_the_known_one() {
        let unknown = |text: Option<Dialog>| !matches!(text, Some(Dialog::LimitMenu { is_known: true, .. }));
        assert!(unknown(menu("  ❯ 1. Stop and wait for limit to reset\n    2. Delete everything")));
        assert!(unknown(menu("  ❯ 1. Stop and wait for limit to reset\n  ❯ 2. Upgrade your plan")));
        assert!(unknown(menu(
            "  Really?\n  ❯ 1. Stop and wait for limit to reset\n    2. Upgrade your plan"
        )));
        assert!(unknown(menu("    1. Stop and wait for limit to reset\n    2. Upgrade your plan")));
        assert!(unknown(found("  What do you want to do?\n  ❯ 1. Stop and wait for limit to reset")));
        assert!(unknown(found(
            "  What to do?\n  ❯ 1. Stop and wait for limit to reset\n\n  Enter to confirm · Esc to cancel"
        )));
    }

    #[test]
    fn the_footer_of_an_armed_client_is_no_dialog() {
        let lines = ["  ⚠ Usage limit reached", "    Continuing automatically at 8pm · Esc to cancel"];
        let screen = Screen::read(&lines.join("\n"), None);
        assert!(!stands_in(&screen.lines.iter().collect::<Vec<_>>()));
        let screen = Screen::read("  Esc to cancel", None);
        assert!(stands_in(&screen.lines.iter().collect::<Vec<_>>()));
    }
}
