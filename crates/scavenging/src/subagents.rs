//! The transcripts of a session's subagents: `<folder>/<session id>/subagents/agent-<id>.jsonl` beside its own
//! (CONTRACT 8).

use std::path::{Path, PathBuf};

use session_state::transcript::{Conversation, Knowledge, Source};
use session_state::{Dir, FileKind};

const FOLDER: &str = "subagents";
const PREFIX: &str = "agent-";
const SUFFIX: &str = ".jsonl";
/// Names looked at: of more subagents some are left out.
const NAMES: usize = 4_096;

/// What a subagent knew.
#[derive(Clone, Debug)]
pub(crate) struct Subagent {
    /// Its id.
    pub(crate) id: String,
    /// Its transcript.
    pub(crate) path: PathBuf,
    /// What its transcript tells; the first prompt is what the main conversation asked of it.
    pub(crate) knowledge: Knowledge,
    /// Bytes read for it.
    pub(crate) read: u64,
}

/// Reads the `most` latest ones, the latest first.
pub(crate) fn read(transcript: &Path, most: usize, window: u64) -> Vec<Subagent> {
    let folder = transcript.with_extension("").join(FOLDER);
    let Some(dir) = open(transcript) else { return Vec::new() };
    let mut found: Vec<(i64, u32, String)> = dir
        .names(NAMES)
        .into_iter()
        .filter(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
        .filter_map(|name| {
            let stat = dir.stat(&name).filter(|stat| stat.kind == FileKind::File)?;
            Some((stat.mtime_s, stat.mtime_ns, name))
        })
        .collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found
        .into_iter()
        .take(most)
        .filter_map(|(.., name)| {
            let path = folder.join(&name);
            let source = Source::open(&path)?;
            let knowledge = source.knowledge(window, window, Conversation::Subagent);
            let id = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.to_owned();
            Some(Subagent { id, path, knowledge, read: source.bytes_read() })
        })
        .collect()
}

/// Folder by folder, so that no link leads elsewhere.
fn open(transcript: &Path) -> Option<Dir> {
    let own = transcript.file_stem()?.to_str()?;
    Dir::open(transcript.parent()?).ok()?.folder(own).ok()?.folder(FOLDER).ok()
}
