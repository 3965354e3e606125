//! Changes of Comet Classic, as far as a bounded look has to know them (FORMATS 8).

use crate::words::Words;

/// By these a person says that a request has nothing to do with a change.
const OPT_OUT: [&str; 9] = [
    "do not resume",
    "don't resume",
    "without comet",
    "skip comet",
    "不要恢复",
    "不走 comet",
    "不要走 comet",
    "直接解释",
    "只回答",
];

/// Returns whether a person wants to hear nothing of changes.
#[must_use]
pub fn opts_out(request: &Words) -> bool {
    request.has_any(&OPT_OUT)
}

/// Whether a name is one of a change: `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`.
#[must_use]
pub fn is_change_name(name: &str) -> bool {
    name.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
        && name.len() <= 200
        && name.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}
