//! A bounded look into the folders of other systems: nothing is followed out of them, nothing large is read.

use std::path::Path;

use serde_json::{Map, Value};
use session_state::Dir;

/// No record is larger than this, in bytes.
const RECORD_LIMIT: usize = 64 * 1024;

/// Whether a path leads to something: one system call, for the many projects in which there is nothing to find.
pub(crate) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Opens a folder below another, step by step; a link on the way is no way.
pub(crate) fn folder(root: &Dir, path: &str) -> Option<Dir> {
    let mut parts = path.split('/');
    let first = root.folder(parts.next()?).ok()?;
    parts.try_fold(first, |here, part| here.folder(part).ok())
}

/// Names in a folder that pass, the greatest `most` of them, the greatest first; of at most `limit` names.
pub(crate) fn greatest_names(
    dir: &Dir,
    limit: usize,
    most: usize,
    passes: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut names = dir.names(limit);
    names.retain(|name| passes(name));
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.truncate(most);
    names
}

/// Reads a JSON object. None: there is none, or it is damaged or too large to be one.
pub(crate) fn record(dir: &Dir, name: &str) -> Option<Map<String, Value>> {
    let bytes = dir.read(name, RECORD_LIMIT).ok()?;
    match serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

/// A text of an object that is not blank.
pub(crate) fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// Whether a name from outside can be shown and asked for as it is.
pub(crate) fn is_plain(name: &str) -> bool {
    session_state::file_name(name) == name
}
