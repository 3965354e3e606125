//! Texts from files as they may be shown.

use rules::text;

/// Longest name from a file in an error, in characters.
const NAME_CHARS: usize = 80;

/// Returns a text from outside as one line of at most `max_chars` characters, without control characters and secrets.
#[must_use]
pub fn clean(outside: &str, max_chars: usize) -> String {
    // Escapes go first (one may stand inside a secret), the cut comes last (half a secret is not recognised).
    text::one_line(&text::redact(&text::one_line(outside, usize::MAX)), max_chars)
}

/// Returns the names that are not among the known ones, as they may be shown.
pub(crate) fn unknown_names<'n>(names: impl Iterator<Item = &'n String>, known: &[&str]) -> Vec<String> {
    names.filter(|name| !known.contains(&name.as_str())).map(|name| clean(name, NAME_CHARS)).collect()
}
