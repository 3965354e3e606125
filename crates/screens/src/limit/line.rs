//! One message as one plain line: what the interface and its typography add is taken off.

/// Messages are a line or two, with a quoted answer of the service at most; more is not looked at.
const MOST_CHARS: usize = 4096;

/// Returns `text` as one line: every kind of white space is one blank, apostrophes are straight, invisible characters
/// are gone. Newer runtimes put U+202F before `pm`, and the client U+00A0 after its markers.
pub(super) fn plain(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MOST_CHARS));
    for c in text.chars().take(MOST_CHARS) {
        match c {
            '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => {}
            '\u{2018}' | '\u{2019}' | '\u{2bc}' | '\u{ff07}' => line.push('\''),
            c if c.is_whitespace() || c.is_control() => {
                if !line.is_empty() && !line.ends_with(' ') {
                    line.push(' ');
                }
            }
            c => line.push(c),
        }
    }
    line.truncate(line.trim_end().len());
    line
}
