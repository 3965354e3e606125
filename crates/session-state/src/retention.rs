//! What is removed, and when. Never a folder with a file that is not ours.

use rules::fact::What;

use crate::clock::Now;
use crate::dir::{Dir, FileKind};
use crate::session::Session;
use crate::{handoff, heartbeat, layout, session_file, status};

/// Folders removed in one go at most.
pub const MAX_AT_ONCE: usize = 32;
/// A session that ended is kept this long, in days.
pub const ENDED_DAYS: i64 = 14;
/// One whose findings were saved or told, in days.
pub const TOLD_DAYS: i64 = 30;

const DAY_S: i64 = 86_400;
/// Folders looked at in one go: expired ones are found over several starts.
const LOOKS: usize = 256;
const NAMES: usize = 256;

/// Whether nothing worth keeping happened in a session: no facts, no foreign files.
#[must_use]
pub fn is_blank(session: &Session) -> bool {
    only_ours(&session.dir) && !session.dir.has(layout::HANDOFFS) && !has_facts(&session.dir)
}

/// Removes a session's folder and its mark. False: something foreign lies in it, or it could not be removed.
pub fn remove(sessions: &Dir, name: &str) -> bool {
    let Ok(dir) = sessions.folder(name) else { return false };
    if !only_ours(&dir) {
        return false;
    }
    if !handoff::remove(&dir) {
        return false;
    }
    for file in dir.names(NAMES) {
        if dir.remove_file(&file).is_err() {
            return false;
        }
    }
    drop(dir);
    let _ = Session::unmark_open(sessions, name);
    sessions.remove_folder(name).is_ok()
}

/// Removes expired sessions, at most [`MAX_AT_ONCE`]. Returns how many.
pub fn sweep(sessions: &Dir, current: &str, now: Now) -> usize {
    let names = sessions.names(usize::MAX);
    let start = usize::try_from(now.seconds().rem_euclid(names.len().max(1) as i64)).unwrap_or(0);
    names
        .iter()
        .cycle()
        .skip(start)
        .take(names.len().min(LOOKS))
        .filter(|name| name.as_str() != current && !name.starts_with('.'))
        .filter(|name| sessions.folder(name).is_ok_and(|dir| is_expired(&dir, now)))
        .take(MAX_AT_ONCE)
        .filter(|name| remove(sessions, name))
        .count()
}

fn is_expired(dir: &Dir, now: Now) -> bool {
    let days = match status::read(dir) {
        Some(status::Status::Ended | status::Status::Superseded) => ENDED_DAYS,
        Some(status::Status::Scavenged) => TOLD_DAYS,
        // Without an end mark it may be wanted by the next start; once told it has one.
        Some(status::Status::Running) | None => return false,
    };
    let last = [
        heartbeat::last(dir),
        session_file::read(dir).map(|file| file.updated_s),
        dir.stat(layout::STATUS).map(|stat| stat.mtime_s),
    ];
    // An unreadable time is never old.
    last.into_iter().flatten().max().is_some_and(|last| now.age_s(last) > days * DAY_S)
}

fn only_ours(dir: &Dir) -> bool {
    handoff::holds_only_ours(dir)
        && dir
            .names(NAMES)
            .iter()
            .filter(|name| *name != layout::HANDOFFS)
            .all(|name| layout::is_ours(name) && dir.stat(name).is_some_and(|s| s.kind == FileKind::File))
}

/// Whether the journal holds more than the crash check's own notes.
fn has_facts(dir: &Dir) -> bool {
    match dir.read(layout::JOURNAL, 256 * 1024) {
        Ok(bytes) => bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).any(|line| {
            serde_json::from_slice::<rules::fact::Fact<'_>>(line)
                .map_or(true, |fact| fact.k != What::Said || fact.cls != "crash")
        }),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}
