//! Files of Comet in JSON whose form allows no other field: of a later version or with an unknown field they are not read.

use serde_json::{Map, Value};

use rules::text::safe_line;

/// The version of all of them.
pub(crate) const VERSION: u64 = 1;
/// Longest text, in UTF-16 units.
const MAX_TEXT: usize = 4096;
/// The largest whole number that is exact in JavaScript.
pub(crate) const MAX_SAFE: u64 = (1 << 53) - 1;
/// Longest name from a file in an error, in characters.
const NAME_CHARS: usize = 80;

/// Why bytes have not the form of the file; the texts go after its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrictError {
    /// No JSON object.
    #[error("is no JSON object ({0})")]
    NoObject(String),
    /// A later version wrote it.
    #[error("has schemaVersion {0}, which is newer than {VERSION}")]
    Newer(u64),
    /// Fields that the format does not have.
    #[error("has unknown fields: {}", .0.join(", "))]
    Unknown(Vec<String>),
    /// A value is not allowed.
    #[error("{field} must be {allowed}")]
    Invalid {
        /// Name.
        field: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
}

/// Reads an object that has no fields but these.
pub(crate) fn object(bytes: &[u8], names: &[&str]) -> Result<Map<String, Value>, StrictError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let value = serde_json::from_slice(bytes).map_err(|error| StrictError::NoObject(error.to_string()))?;
    let Value::Object(fields) = value else {
        return Err(StrictError::NoObject("another kind of value".to_owned()));
    };
    match fields.get("schemaVersion").and_then(whole) {
        Some(VERSION) => {}
        Some(newer) if newer > VERSION => return Err(StrictError::Newer(newer)),
        _ => return Err(StrictError::Invalid { field: "schemaVersion", allowed: "1" }),
    }
    let unknown = unknown_names(fields.keys(), names);
    if unknown.is_empty() { Ok(fields) } else { Err(StrictError::Unknown(unknown)) }
}

/// Returns the names that are not among the known ones, as they may be shown.
pub(crate) fn unknown_names<'n>(names: impl Iterator<Item = &'n String>, known: &[&str]) -> Vec<String> {
    names.filter(|name| !known.contains(&name.as_str())).map(|name| safe_line(name, NAME_CHARS)).collect()
}

/// A whole number that is exact for the system that owns the file; `1.0` is one.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    let number = match value.as_u64() {
        Some(number) => number,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "only whole numbers in the range of exact ones come here"
        )]
        None => value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=MAX_SAFE as f64).contains(n))? as u64,
    };
    (number <= MAX_SAFE).then_some(number)
}

/// A text that is not blank, not too long and without control characters.
pub(crate) fn clean_text(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let clean = !text.trim_matches(rules::task_list::is_space).is_empty()
        && text.encode_utf16().count() <= MAX_TEXT
        && !text.chars().any(|c| c < ' ' || c == '\u{7f}');
    clean.then(|| text.to_owned())
}
