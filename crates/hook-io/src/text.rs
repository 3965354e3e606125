//! Text as it really comes: byte-order marks, broken UTF-8, halves of surrogate pairs.

use std::borrow::Cow;

/// Returns the bytes as text without a byte-order mark; what is no UTF-8 becomes U+FFFD.
pub(crate) fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// Decodes one JSON string literal, quotes included. None when it is none.
///
/// The client sends halves of surrogate pairs, which strict decoders refuse: after a failure they are replaced.
pub(crate) fn decode(literal: &str) -> Option<Cow<'_, str>> {
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(literal)
        .or_else(|_| serde_json::from_str(&without_lone_surrogates(literal)))
        .ok()
        .map(Cow::Owned)
}

/// Replaces every `\u` escape that is half of a surrogate pair by `\ufffd`.
fn without_lone_surrogates(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (taken, text) = match unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(escape.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => {
                (12, &escape[..12])
            }
            Some(0xD800..=0xDFFF) => (6, "\\ufffd"),
            Some(_) => (6, &escape[..6]),
            None => {
                let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
                (end, &escape[..end])
            }
        };
        out.push_str(text);
        rest = &escape[taken..];
    }
    out + rest
}

/// The code unit of an escape `\uXXXX` at the start of the text.
fn unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced_and_whole_pairs_kept() {
        for (literal, text) in [
            (r#""plain""#, "plain"),
            (r#""a\ud83db""#, "a\u{fffd}b"),
            (r#""\udc00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\\ud83d \n""#, "\\ud83d \n"),
        ] {
            assert_eq!(decode(literal).as_deref(), Some(text), "{literal}");
        }
        for broken in ["", "\"", "5", r#""\ud8""#, r#""\x""#, "null"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_us() {
        assert_eq!(utf8(b"\xef\xbb\xbf{}"), "{}");
        assert_eq!(utf8(b"a\xff"), "a\u{fffd}");
    }
}
