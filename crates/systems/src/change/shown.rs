//! Texts from files as they may be shown.

pub use rules::text::safe_line as clean;

/// Longest name from a file in an error, in characters.
const NAME_CHARS: usize = 80;

/// Returns the names that are not among the known ones, as they may be shown.
pub(crate) fn unknown_names<'n>(names: impl Iterator<Item = &'n String>, known: &[&str]) -> Vec<String> {
    names.filter(|name| !known.contains(&name.as_str())).map(|name| clean(name, NAME_CHARS)).collect()
}
