//! What a session wrote down for the next one.

use session_state::{Dir, FileKind, layout};

const MAX_NAMES: usize = 256;

/// The hand-off to point to: what was saved of a dead session, else the newest it wrote itself.
pub(crate) fn newest(session: &Dir, shown: &str) -> Option<String> {
    let folder = session.folder(layout::HANDOFFS).ok()?;
    let mut names = folder.names(MAX_NAMES);
    names.retain(|name| {
        name.ends_with(".md") && folder.stat(name).is_some_and(|stat| stat.kind == FileKind::File)
    });
    let newest = names.iter().max_by_key(|name| {
        (
            name.as_str() == layout::SCAVENGED,
            folder.stat(name).map_or(0, |stat| stat.mtime_s),
            (*name).clone(),
        )
    })?;
    Some(format!("{shown}/{}/{newest}", layout::HANDOFFS))
}
