//! ASCII case-insensitive scanning without allocation. Needles are written in lower case.

/// Returns whether `text` begins with `needle`.
pub(crate) fn starts_with(text: &str, needle: &str) -> bool {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    text.len() >= needle.len() && text[..needle.len()].eq_ignore_ascii_case(needle)
}

/// Returns whether `text` ends with `needle`.
pub(crate) fn ends_with(text: &str, needle: &str) -> bool {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    text.len() >= needle.len() && text[text.len() - needle.len()..].eq_ignore_ascii_case(needle)
}

/// Returns what follows `needle` at the start of `text`.
pub(crate) fn strip_prefix<'a>(text: &'a str, needle: &str) -> Option<&'a str> {
    if starts_with(text, needle) { text.get(needle.len()..) } else { None }
}

/// Returns the byte offset of the first `needle` in `text`.
pub(crate) fn find(text: &str, needle: &str) -> Option<usize> {
    let (hay, needle) = (text.as_bytes(), needle.as_bytes());
    let Some(&first) = needle.first() else { return Some(0) };
    let last_start = hay.len().checked_sub(needle.len())?;
    let (low, high) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    (0..=last_start).find(|&at| {
        (hay[at] == low || hay[at] == high) && hay[at..at + needle.len()].eq_ignore_ascii_case(needle)
    })
}

/// Returns whether `needle` occurs in `text`.
pub(crate) fn contains(text: &str, needle: &str) -> bool {
    find(text, needle).is_some()
}

/// Returns whether one of `needles` occurs in `text`.
pub(crate) fn contains_any(text: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| contains(text, needle))
}

/// Returns the end of the first occurrence of `word` that stands between two non-alphanumeric bytes.
pub(crate) fn find_word(text: &str, word: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| find(rest, word)) {
        let (start, end) = (from + found, from + found + word.len());
        let free_before = start == 0 || !bytes[start - 1].is_ascii_alphanumeric();
        let free_after = end == bytes.len() || !bytes[end].is_ascii_alphanumeric();
        if free_before && free_after {
            return Some(end);
        }
        // Needles are ASCII, so the byte after a match's first one is a character boundary.
        from = start + 1;
    }
    None
}

/// Reads a decimal number at the start of `text` and returns it with the rest.
pub(crate) fn leading_number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// Returns the first line of `text` that is not blank, trimmed.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}
