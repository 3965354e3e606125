//! One safe, short line out of any text: what came from outside is cleaned, redacted, cut and quoted here.

use std::borrow::Cow;

use crate::scan;

/// What stands in place of a secret.
const REDACTED: &str = "[redacted]";

/// Returns `text` as one line of at most `max_chars` characters.
///
/// Terminal escapes, control, bidirectional, zero-width and other invisible characters are dropped, white space is
/// folded into single blanks, and a cut is marked with `…` (which counts). Doing it twice changes nothing.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut gap = false;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            _ if c.is_whitespace() => gap = !line.is_empty(),
            _ if is_invisible(c) => {}
            _ => {
                if gap {
                    line.push(' ');
                    gap = false;
                }
                line.push(c);
            }
        }
    }
    cut(&mut line, max_chars);
    line
}

/// Cuts at a character boundary, with the mark inside the limit.
fn cut(line: &mut String, max_chars: usize) {
    if line.chars().nth(max_chars).is_none() {
        return;
    }
    let keep = line.char_indices().nth(max_chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    line.truncate(keep);
    line.truncate(line.trim_end().len());
    if max_chars > 0 {
        line.push('…');
    }
}

/// Skips what follows an escape character: a control sequence, a string such as a title, or one character.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_control_sequence(rest);
        }
        // Operating system command and its kin: up to BEL or ST, but never past the line, or a stray
        // introducer would hide all that follows.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = ahead;
            let mut ahead = rest.clone();
            while let Some(c) = ahead.next() {
                match c {
                    '\n' => return,
                    '\u{7}' | '\u{9c}' => {
                        *rest = ahead;
                        return;
                    }
                    '\u{1b}' => {
                        if ahead.as_str().starts_with('\\') {
                            ahead.next();
                            *rest = ahead;
                        }
                        return;
                    }
                    _ => *rest = ahead.clone(),
                }
            }
        }
        // Intermediate bytes (character set selection), then one final byte.
        Some(' '..='/') => {
            while ahead.as_str().starts_with(|c| matches!(c, ' '..='/')) {
                ahead.next();
            }
            if ahead.as_str().starts_with(|c: char| c.is_ascii_graphic()) {
                ahead.next();
            }
            *rest = ahead;
        }
        Some(c) if c.is_ascii_graphic() => *rest = ahead,
        _ => {}
    }
}

/// Skips parameters and the final byte of a control sequence.
fn skip_control_sequence(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        match c {
            ' '..='?' => *rest = ahead.clone(),
            '@'..='~' => {
                *rest = ahead;
                return;
            }
            _ => return,
        }
    }
}

/// Whether a character shows nothing of its own, or changes how others are shown.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns `text`, redacted, as one line in double quotes: at most `max_chars` characters, the quotes included.
///
/// Quotes and back quotes inside become single quotes, so that nothing inside can end the quotation.
pub fn quoted(text: &str, max_chars: usize) -> String {
    let mut inner = safe_line(text, max_chars.saturating_sub(2));
    if inner.contains(['"', '`', '“', '”', '„', '‟']) {
        inner = inner.replace(['"', '`', '“', '”', '„', '‟'], "'");
    }
    if max_chars < 2 { String::new() } else { format!("\"{inner}\"") }
}

/// Returns `text`, redacted, as one line of at most `max_chars` characters.
pub fn safe_line(text: &str, max_chars: usize) -> String {
    // Escapes go first (one may stand inside a secret), the cut comes last (half a secret is not recognised).
    let clean = one_line(text, usize::MAX);
    match redact(&clean) {
        // Nothing was taken out and nothing is to be cut: it is as it should be.
        Cow::Borrowed(_) if clean.len() <= max_chars => clean,
        redacted => one_line(&redacted, max_chars),
    }
}

/// Returns how many UTF-16 units `text` has: what the client counts.
pub fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Returns an age in words: `40 s`, `20 min`, `3h`, `5 days`. Rounded down; the future is `0 s`.
pub fn age(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..=59 => format!("{s} s"),
        s @ 60..=3_599 => format!("{} min", s / 60),
        s @ 3_600..=172_799 => format!("{}h", s / 3_600),
        s => format!("{} days", s / 86_400),
    }
}

/// Returns `text` with everything that looks like a secret replaced by `[redacted]`.
///
/// Known key shapes, bearer tokens, private key blocks, the user part of a URL, and values beside names such as
/// `password`. Paths, commit hashes and UUIDs on their own stay.
pub fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        // Secrets begin where a word begins; looking there only keeps this one cheap pass.
        let word_start = is_word(bytes[at]) && (at == 0 || !is_word(bytes[at - 1]));
        let secret = if word_start {
            secret_at(text, at)
        } else if bytes[at] == b'-' && text[at..].starts_with("-----BEGIN ") {
            private_key_block(text, at)
        } else if bytes[at] == b':' && text[at..].starts_with("://") {
            url_user(text, at + 3)
        } else if bytes[at] == b'-' && text[at..].starts_with("-u ") && (at == 0 || bytes[at - 1] == b' ') {
            user_option(text, at + 3)
        } else {
            None
        };
        match secret {
            Some((start, end)) => {
                out.push_str(&text[copied..start]);
                out.push_str(REDACTED);
                (at, copied) = (end, end);
            }
            None => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Looks for a secret that a word beginning at `at` is or announces; returns its range.
fn secret_at(text: &str, at: usize) -> Option<(usize, usize)> {
    known_shape(text, at).map(|end| (at, end)).or_else(|| named_value(text, at))
}

/// Key prefixes with the least number of characters that must follow, all of `[A-Za-z0-9_-]` (`.` where marked).
const KEY_SHAPES: [(&str, usize); 31] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("whsec_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxc-", 10),
    ("xoxd-", 10),
    ("xoxe-", 10),
    ("xoxo-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 20),
    ("lin_api_", 16),
];

/// Returns the end of a key of a well-known shape that begins at `at`.
fn known_shape(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with("eyJ") {
        let end = token_end(rest, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'='));
        let parts: Vec<&str> = rest[..end].split('.').collect();
        return (parts.len() >= 3 && parts[0].len() >= 10 && parts[1].len() >= 4).then_some(at + end);
    }
    // One byte rules out nearly all of them, at every word of a text.
    let first = rest.as_bytes().first();
    let mut shapes = KEY_SHAPES.into_iter().filter(|(prefix, _)| prefix.as_bytes().first() == first);
    let (prefix, least) = shapes.find(|(prefix, _)| rest.starts_with(prefix))?;
    let end = token_end(rest, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    let end = rest[..end].trim_end_matches(['.', '-']).len();
    let body = &rest[prefix.len().min(end)..end];
    // A name made of words with dashes (`sk-learn-...`) has no digits and no capitals.
    (body.len() >= least && body.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase()))
        .then_some(at + end)
}

fn token_end(text: &str, keep: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|&b| keep(b)).count()
}

/// How a name announces a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announces {
    /// Whatever follows is a secret: `password`, `client_secret`.
    Always,
    /// What follows is a secret if it looks like one: `token`, `key`.
    IfRandom,
}

/// Looks for `NAME=value`, `NAME: value`, `"NAME":"value"`, `--NAME value`, `Bearer value`.
fn named_value(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let name_end = at + token_end(rest, |b| is_word(b) || b == b'-');
    let name = &text[at..name_end];
    let kind = announces(name, &text[..at])?;
    let after = &text[name_end..];

    if name.eq_ignore_ascii_case("bearer") {
        let value = name_end + blanks(after);
        let end = value_end(text, value);
        return (value > name_end && looks_random(&text[value..end], 8) && !starts_redacted(text, value))
            .then_some((value, end));
    }

    let mut value = name_end;
    // A closing quote of the name, as in JSON.
    value += token_end(&text[value..], |b| matches!(b, b'"' | b'\'' | b'\\'));
    let mut sure;
    let spaced = blanks(&text[value..]);
    let next = text.as_bytes().get(value + spaced).copied();
    match next {
        Some(sign @ (b'=' | b':')) => {
            value += spaced + 1;
            // `:=`, `=>`, `==`
            value += token_end(&text[value..], |b| matches!(b, b'=' | b'>'));
            let gap = blanks(&text[value..]);
            sure = sign == b'=' || kind == Announces::Always || (gap == 0 && text[value..].starts_with('"'));
            value += gap;
        }
        Some(_) if spaced > 0 => {
            value += spaced;
            let option = at >= 2 && text[..at].ends_with("--");
            sure = option && !text[value..].starts_with('-');
            if let Some(tail) = scan::strip_prefix(&text[value..], "is ") {
                value = text.len() - tail.len();
            }
        }
        _ => return None,
    }
    value += token_end(&text[value..], |b| matches!(b, b'"' | b'\'' | b'\\'));
    // `Authorization: Basic abc`, `Authorization: Bearer abc`: the scheme is no secret.
    for scheme in ["bearer ", "basic ", "token ", "digest "] {
        if let Some(tail) = scan::strip_prefix(&text[value..], scheme) {
            value = text.len() - tail.len() + blanks(tail);
            sure |= kind == Announces::Always;
        }
    }
    let end = value_end(text, value);
    let body = &text[value..end];
    if body.is_empty() || starts_redacted(text, value) {
        return None;
    }
    // Paths, variables and placeholders are no secrets.
    if body.starts_with(['/', '~', '$', '<', '{', '*', '%']) || body.starts_with("./") {
        return None;
    }
    (sure || looks_random(body, 16)).then_some((value, end))
}

fn announces(name: &str, before: &str) -> Option<Announces> {
    const ALWAYS: [&str; 14] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "api_key",
        "apikey",
        "api-key",
        "access_key",
        "access-key",
        "accesskey",
        "private_key",
        "private-key",
        "secret_key",
        "authorization",
    ];
    const IF_RANDOM: [&str; 9] =
        ["token", "bearer", "credential", "credentials", "auth", "key", "signature", "sig", "cookie"];
    let ends = |word: &&str| scan::ends_with(name, word);
    if ALWAYS.iter().any(ends) {
        return Some(Announces::Always);
    }
    let kind = IF_RANDOM.iter().find(|word| ends(word))?;
    // `monkey=`, `design=` and the like only end in the same letters.
    let stem = &name[..name.len() - kind.len()];
    let joined = stem.is_empty()
        || stem.ends_with(['_', '-'])
        || name[stem.len()..].starts_with(|c: char| c.is_ascii_uppercase());
    if !joined {
        return None;
    }
    let words_before = before.trim_end();
    let spaced_key = *kind == "key"
        && stem.is_empty()
        && ["api", "secret", "access", "private"].iter().any(|word| scan::ends_with(words_before, word));
    Some(if spaced_key { Announces::Always } else { Announces::IfRandom })
}

fn blanks(text: &str) -> usize {
    token_end(text, |b| matches!(b, b' ' | b'\t'))
}

fn starts_redacted(text: &str, at: usize) -> bool {
    text[at..].starts_with(REDACTED)
}

/// The end of a value: a blank, a quote, a separator. Never inside a character, since all of these are ASCII.
fn value_end(text: &str, at: usize) -> usize {
    at + token_end(&text[at..], |b| {
        !(b.is_ascii_whitespace()
            || b.is_ascii_control()
            || matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b')' | b']' | b'}' | b'\\' | b'|'))
    })
}

/// Whether a value looks like a key and not like a word: long enough, digits among letters (or very long).
fn looks_random(value: &str, least: usize) -> bool {
    if value.len() < least
        || !value.bytes().all(|b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b':' | b'%')
        })
    {
        return false;
    }
    let digits = value.bytes().any(|b| b.is_ascii_digit());
    let letters = value.bytes().any(|b| b.is_ascii_alphabetic());
    let cased = value.bytes().skip(1).any(|b| b.is_ascii_uppercase())
        && value.bytes().any(|b| b.is_ascii_lowercase());
    (digits && letters)
        || (value.len() >= 16 && !value.contains(['/', '.', ':']))
        || (cased && value.len() >= 12)
}

/// A block from `-----BEGIN ... KEY-----` to its end line, or to the end of the text.
fn private_key_block(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let label_end = rest["-----BEGIN ".len()..].find("-----")? + "-----BEGIN ".len();
    let label = &rest["-----BEGIN ".len()..label_end];
    if !(label.contains("KEY") && label.len() < 60) {
        return None;
    }
    let end = rest.find("-----END ").map_or(rest.len(), |end| {
        let tail = end + "-----END ".len();
        rest[tail..].find("-----").map_or(rest.len(), |close| tail + close + 5)
    });
    Some((at, at + end))
}

/// The `user:password` of a URL; a bare user only when it is long enough to be a token.
fn url_user(text: &str, at: usize) -> Option<(usize, usize)> {
    let end = at
        + token_end(&text[at..], |b| {
            !(b.is_ascii_whitespace() || matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`'))
        });
    let user_end = at + text[at..end].rfind('@')?;
    let user = &text[at..user_end];
    let secret = user.contains(':') || user.len() >= 20;
    (secret && !user.is_empty() && !starts_redacted(text, at)).then_some((at, user_end))
}

/// The password of `-u user:password`.
fn user_option(text: &str, at: usize) -> Option<(usize, usize)> {
    let start = at + token_end(&text[at..], |b| matches!(b, b'"' | b'\'' | b' '));
    let end = value_end(text, start);
    let colon = start + text[start..end].find(':')?;
    (colon + 1 < end && !starts_redacted(text, colon + 1)).then_some((colon + 1, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_clean_and_short() {
        for (text, max, expected) in [
            ("plain", 10, "plain"),
            ("  two \r\n\t lines ", 20, "two lines"),
            ("\u{1b}[31mred\u{1b}[0m", 20, "red"),
            ("\u{1b}]0;title\u{7}after", 20, "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", 20, "link"),
            ("\u{1b}]never closed\nnext line", 20, "next line"),
            ("\u{1b}(Bset", 20, "set"),
            ("\u{9b}1mbold", 20, "bold"),
            ("ab\u{202e}cd\u{200b}e\u{feff}\u{7}", 20, "abcde"),
            ("tag\u{e0041}s", 20, "tags"),
            ("abcdef", 6, "abcdef"),
            ("abcdefg", 6, "abcde…"),
            ("abcd efgh", 6, "abcd…"),
            ("日本語テキスト", 4, "日本語…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("a\u{2028}b\u{85}c", 9, "a b c"),
            ("\u{1b}", 9, ""),
        ] {
            assert_eq!(one_line(text, max), expected, "{text:?}");
        }
    }

    #[test]
    fn secrets_are_replaced() {
        for (text, expected) in [
            ("key sk-ant-api03-AbC123dEf456GhI789 used", "key [redacted] used"),
            ("ghp_0123456789abcdefABCDEF0123456789abcd.", "[redacted]."),
            ("gho_0123456789abcdefABCDEF", "[redacted]"),
            ("github_pat_11ABCDEFG0123456789_abcdefghij", "[redacted]"),
            ("slack xoxb-123456789012-abcdefghij", "slack [redacted]"),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
            ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted]"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl end", "jwt [redacted] end"),
            ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [redacted]"),
            ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
            ("-H 'Bearer 9f8e7d6c5b'", "-H 'Bearer [redacted]'"),
            ("password=hunter2&user=x", "password=[redacted]&user=x"),
            ("DB_PASSWORD=p", "DB_PASSWORD=[redacted]"),
            ("password: hunter2", "password: [redacted]"),
            (r#"{"client_secret":"abc def"}"#, r#"{"client_secret":"[redacted] def"}"#),
            (r#"{"token":"abcd"}"#, r#"{"token":"[redacted]"}"#),
            ("token: 0a1b2c3d4e5f6a7b8c9d", "token: [redacted]"),
            ("--token abc123 --name x", "--token [redacted] --name x"),
            ("?token=abc&x=1", "?token=[redacted]&x=1"),
            ("API key: 9f86d081884c7d65", "API key: [redacted]"),
            ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[redacted]"),
            ("postgres://app:s3cret@db:5432/x", "postgres://[redacted]@db:5432/x"),
            ("https://ghxtokenghxtokenghxtoken@host/r.git", "https://[redacted]@host/r.git"),
            ("curl -u bob:pw1 http://x", "curl -u bob:[redacted] http://x"),
            ("a -----BEGIN RSA PRIVATE KEY----- MIIE -----END RSA PRIVATE KEY----- b", "a [redacted] b"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "[redacted]"),
            ("the token is 0a1b2c3d4e5f6a7b8c9d0e1f", "the token is [redacted]"),
        ] {
            assert_eq!(redact(text), expected, "{text:?}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "commit 460bc06f1e2d3c4b5a69788796a5b4c3d2e1f00f",
            "session 3f2a9c1e-0d4b-4c5a-9e8f-7a6b5c4d3e2f",
            "/home/dev/project/src/secret/token.rs:12:3",
            "SyntaxError: Unexpected token: }",
            "unexpected token `;`",
            "Bearer token expired",
            "Bearer authentication failed",
            "ssh://git@github.com/o/r.git",
            "https://example.com/a@b",
            "sk-learn-contrib-helpers-package",
            "monkey=banana",
            "KEY=$HOME/key",
            "token: /etc/token",
            "keyboard: qwerty",
            "https://host:8080/path",
            "see -u for users",
            "the password is wrong",
            "",
        ] {
            assert!(
                matches!(redact(text), Cow::Borrowed(same) if same == text),
                "{text:?} -> {}",
                redact(text)
            );
        }
    }

    #[test]
    fn a_quotation_cannot_be_left() {
        assert_eq!(quoted("say \"hi\" `rm` “x”", 80), "\"say 'hi' 'rm' 'x'\"");
        assert_eq!(quoted("abcdef", 6), "\"abc…\"");
        assert_eq!(quoted("abcd", 6), "\"abcd\"");
        assert_eq!(quoted("x", 1), "");
        assert_eq!(quoted("pass\u{200b}word=hunter2", 40), "\"password=[redacted]\"");
    }

    #[test]
    fn ages_in_words() {
        for (seconds, expected) in [
            (-5, "0 s"),
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (1_200, "20 min"),
            (3_599, "59 min"),
            (3_600, "1h"),
            (10_799, "2h"),
            (10_800, "3h"),
            (10_860, "3h"),
            (172_799, "47h"),
            (172_800, "2 days"),
            (i64::MAX, "106751991167300 days"),
            (i64::MIN, "0 s"),
        ] {
            assert_eq!(age(seconds), expected);
        }
    }

    #[test]
    fn utf16_units_are_counted() {
        assert_eq!(utf16_len("aé日😀"), 5);
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_short_clean_line(text in any_text(), max in 0_usize..40) {
            let line = one_line(&text, max);
            prop_assert!(line.chars().count() <= max);
            prop_assert!(!line.chars().any(|c| c.is_control() || is_invisible(c)));
            prop_assert_eq!(line.trim(), line.as_str());
            prop_assert_eq!(&one_line(&line, max), &line);
        }

        #[test]
        fn any_text_is_quoted_within_the_limit(text in any_text(), max in 0_usize..60) {
            let line = quoted(&text, max);
            prop_assert!(line.chars().count() <= max);
            prop_assert!(line.matches('"').count() == 0 || line.matches('"').count() == 2);
            prop_assert!(!line.chars().any(|c| c.is_control() || is_invisible(c)));
        }

        #[test]
        fn redacting_twice_changes_nothing(text in any_text()) {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once).into_owned(), once);
        }

        #[test]
        fn a_key_never_survives(before in "[ -~]{0,20}", key in "[a-z0-9]{20}A1") {
            let text = format!("{before} sk-ant-{key} password={key}");
            prop_assert!(!redact(&text).contains(&key), "{}", redact(&text));
        }
    }

    /// Texts with many escapes, invisible characters and secret-like pieces.
    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<String>(),
            "[ -~\n\t]{0,12}",
            prop::sample::select(vec![
                "\u{1b}[",
                "\u{1b}]",
                "\u{1b}",
                "\u{9b}",
                "31m",
                "\u{7}",
                "\u{202e}",
                "\u{200b}",
                "…",
                "\"",
                "`",
                "password=",
                "token: ",
                "Bearer ",
                "sk-ant-A1b2C3d4E5f6G7h8",
                "://u:p@",
                "-----BEGIN A KEY-----",
                "[redacted]",
                "=",
                ":",
                "日本",
                "-u a:b",
                "secret",
                "key",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }
}
