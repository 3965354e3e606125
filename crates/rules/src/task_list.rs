//! Lists of tasks in Markdown, as Comet Classic writes them (FORMATS 8.3): one line with a box is a task.
//!
//! What stands in a fence is an example. The patterns are those of the system that writes the file, whose white space is
//! JavaScript's: a byte order mark is part of it.

/// What announces an id.
pub const ID_OPEN: &str = "<!-- comet-task:";
/// What ends it.
pub const ID_CLOSE: &str = " -->";
/// Longest id, in characters.
const MAX_ID: usize = 80;

/// A line with a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxed<'a> {
    /// Line, from 1.
    pub line: usize,
    /// Where the character in the box stands in the text, in bytes; it is one byte long.
    pub box_at: usize,
    /// Where the line ends, before its line break, in bytes.
    pub end: usize,
    /// Whether the box is ticked.
    pub ticked: bool,
    /// What stands behind the box.
    pub rest: &'a str,
}

/// Returns the lines of a text that have a box and stand in no fence.
pub fn boxes(source: &str) -> impl Iterator<Item = Boxed<'_>> {
    let mut fence: Option<(char, usize)> = None;
    let mut start = 0;
    source.split('\n').enumerate().filter_map(move |(index, piece)| {
        let at = start;
        start += piece.len() + 1;
        // The last piece has no line break, so that a carriage return at its end is part of it.
        let line = if start <= source.len() { piece.strip_suffix('\r').unwrap_or(piece) } else { piece };
        if let Some((mark, length, rest)) = fence_mark(line) {
            match fence {
                None => fence = Some((mark, length)),
                Some((open, least)) if mark == open && length >= least && rest.chars().all(is_space) => {
                    fence = None;
                }
                Some(_) => {}
            }
            return None;
        }
        if fence.is_some() {
            return None;
        }
        let (box_in_line, ticked, rest) = task_line(line)?;
        Some(Boxed { line: index + 1, box_at: at + box_in_line, end: at + line.len(), ticked, rest })
    })
}

/// Whether a text is a lasting name of a task: `[a-zA-Z0-9][a-zA-Z0-9_-]{0,79}`.
#[must_use]
pub fn is_id(text: &str) -> bool {
    text.len() <= MAX_ID
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// White space as JavaScript's `\s` and `trim` see it.
#[must_use]
pub fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

/// What JavaScript's `.` does not match.
fn is_terminator(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// `^ {0,3}(`{3,}|~{3,})(.*)$`: the mark, its length, what follows.
fn fence_mark(line: &str) -> Option<(char, usize, &str)> {
    let body = line.trim_start_matches(' ');
    if line.len() - body.len() > 3 {
        return None;
    }
    let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = body.trim_start_matches(mark);
    let length = body.len() - rest.len();
    (length >= 3 && !rest.contains(is_terminator)).then_some((mark, length, rest))
}

/// `^(\s*[-*]\s+\[)([ xX])(\]\s+)(.*)$`: where the box is in the line, whether it is ticked, the rest.
fn task_line(line: &str) -> Option<(usize, bool, &str)> {
    let item = line.trim_start_matches(is_space).strip_prefix(['-', '*'])?;
    let body = item.trim_start_matches(is_space);
    let boxed = body.strip_prefix('[').filter(|_| body.len() < item.len())?;
    let box_at = line.len() - boxed.len();
    let ticked = match boxed.chars().next()? {
        ' ' => false,
        'x' | 'X' => true,
        _ => return None,
    };
    let after = boxed[1..].strip_prefix(']')?;
    let rest = after.trim_start_matches(is_space);
    (rest.len() < after.len() && !rest.contains(is_terminator)).then_some((box_at, ticked, rest))
}

/// Splits the id off the end of a task; None when what announces an id is not one.
#[must_use]
pub fn split_id(rest: &str) -> Option<(Option<&str>, &str)> {
    let Some(at) = rest.rfind(ID_OPEN) else { return Some((None, rest.trim_matches(is_space))) };
    let id = rest[at + ID_OPEN.len()..].trim_end_matches(is_space).strip_suffix(ID_CLOSE)?;
    let text = &rest[..at];
    (is_id(id) && !text.contains(ID_OPEN)).then(|| (Some(id), text.trim_matches(is_space)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_outside_fences() {
        let text =
            "\u{feff}- [ ] a\n```\n- [x] example\n````\n* [X] b <!-- comet-task:b-1 -->\r\n~~~ open\n- [ ] c";
        let found: Vec<_> = boxes(text).map(|item| (item.line, item.ticked, split_id(item.rest))).collect();
        assert_eq!(found, [(1, false, Some((None, "a"))), (5, true, Some((Some("b-1"), "b")))],);
        for item in boxes(text) {
            assert_eq!(&text[item.box_at - 1..=item.box_at + 1], if item.ticked { "[X]" } else { "[ ]" });
        }
    }
}
