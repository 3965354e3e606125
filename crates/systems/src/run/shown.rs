//! Text of others as it may be shown: without secrets, escapes and control characters.

use rules::text;
pub(crate) use rules::text::safe_line as line;

/// Blanks kept at the beginning of a line.
const MAX_INDENT: usize = 40;
/// Characters of one line of a file.
const MAX_LINE: usize = 4_000;

/// Several lines, their indentation kept.
pub(crate) fn block(outside: &str) -> String {
    let mut clean = String::with_capacity(outside.len());
    for line in outside.lines() {
        let indent = line.chars().take_while(|c| matches!(c, ' ' | '\t')).count();
        clean.extend(std::iter::repeat_n(' ', indent.min(MAX_INDENT)));
        clean.push_str(&text::one_line(line, MAX_LINE));
        clean.truncate(clean.trim_end_matches(' ').len());
        clean.push('\n');
    }
    text::redact(without_key_tail(&clean)).into_owned()
}

/// The end of a private key whose beginning was cut off is no longer recognised as one: all up to it goes.
fn without_key_tail(text: &str) -> &str {
    let Some(end) = text.find("-----END ") else { return text };
    if text[..end].contains("-----BEGIN ") {
        return text;
    }
    text[end..].find('\n').map_or("", |newline| &text[end + newline + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_lines_and_lose_what_is_not_text() {
        for (outside, expected) in [
            ("a\r\n  b\u{1b}[31m c\u{1b}[0m\n", "a\n  b c\n"),
            ("\u{202e}x\u{7}", "x\n"),
            ("token: sk-ant-api03-AbC123dEf456GhI789\nnext", "token: [redacted]\nnext\n"),
            ("AAAABBBB\nCCCC\n-----END RSA PRIVATE KEY-----\nafter", "after\n"),
            (
                "x\n-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\ny",
                "x\n[redacted]\ny\n",
            ),
            ("", ""),
            ("   \n\nx", "\n\nx\n"),
        ] {
            assert_eq!(block(outside), expected, "{outside:?}");
        }
        assert_eq!(line("a\n\u{1b}[1mpassword=hunter2", 80), "a password=[redacted]");
        assert_eq!(line("abcdef", 4), "abc…");
    }
}
