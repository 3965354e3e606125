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
        .filter(|name| sessions.folder(name).is_ok_and(|dir| is_expired(sessions, name, &dir, now)))
        .take(MAX_AT_ONCE)
        .filter(|name| remove(sessions, name))
        .count()
}

fn is_expired(sessions: &Dir, name: &str, dir: &Dir, now: Now) -> bool {
    let days = match status::read(dir) {
        Some(status::Status::Ended | status::Status::Superseded) => ENDED_DAYS,
        Some(status::Status::Scavenged) => TOLD_DAYS,
        // Whoever tells of a session that was cut off takes its mark away; until then it is wanted.
        Some(status::Status::Running) | None
            if dir.has(layout::SESSION) && !Session::is_marked_open(sessions, name) =>
        {
            TOLD_DAYS
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Status;

    const DAY_MS: i64 = 86_400_000;

    struct Old {
        _top: tempfile::TempDir,
        sessions: Dir,
    }

    /// A session whose last beat was at day 0.
    fn old(status: Option<Status>, marked: bool) -> Old {
        let top = tempfile::tempdir().unwrap();
        let project = crate::Project { root: top.path().to_owned(), state: top.path().to_owned() };
        let session = Session::make(&project, "s").unwrap();
        heartbeat::beat(&session.dir, Now(0)).unwrap();
        session.dir.replace(layout::SESSION, b"{\"v\":1}", false).unwrap();
        if let Some(status) = status {
            status::write(&session.dir, status).unwrap();
            let file = std::fs::File::open(session.dir.path().join(layout::STATUS)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        if !marked {
            assert!(Session::unmark_open(&session.sessions, "s"));
        }
        Old { sessions: project.sessions().unwrap(), _top: top }
    }

    impl Old {
        fn is_swept(&self, day: i64, milliseconds: i64) -> bool {
            sweep(&self.sessions, "other", Now(day * DAY_MS + milliseconds)) == 1
        }
    }

    #[test]
    fn each_kind_has_its_days() {
        for (status, marked, days) in [
            (Some(Status::Ended), false, ENDED_DAYS),
            (Some(Status::Superseded), false, ENDED_DAYS),
            (Some(Status::Scavenged), true, TOLD_DAYS),
            (Some(Status::Running), false, TOLD_DAYS),
            (None, false, TOLD_DAYS),
        ] {
            let old = old(status, marked);
            assert!(!old.is_swept(days, 0), "{status:?}: exactly {days} days");
            assert!(old.is_swept(days, 1_000), "{status:?}: a second more");
        }
        for status in [Some(Status::Running), None] {
            assert!(!old(status, true).is_swept(1_000, 0), "nobody was told of it");
        }
    }

    #[test]
    fn what_was_saved_goes_with_its_session_and_a_foreign_hand_over_keeps_it() {
        let old = old(Some(Status::Scavenged), true);
        let handoffs = old.sessions.path().join("s").join(layout::HANDOFFS);
        std::fs::create_dir(&handoffs).unwrap();
        std::fs::write(handoffs.join(layout::SCAVENGED), crate::handoff::TITLE).unwrap();
        std::fs::write(handoffs.join("stage-1.md"), "x").unwrap();
        assert!(!old.is_swept(1_000, 0));
        std::fs::remove_file(handoffs.join("stage-1.md")).unwrap();
        assert!(old.is_swept(1_000, 0));
        assert!(!handoffs.exists());
    }

    #[test]
    fn a_folder_without_our_session_file_may_be_another_programs() {
        let old = old(None, false);
        std::fs::remove_file(old.sessions.path().join("s").join(layout::SESSION)).unwrap();
        assert!(!old.is_swept(1_000, 0));
    }
}
