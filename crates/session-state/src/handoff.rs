//! `handoffs/scavenged.md`: what a dead session knew. Made once, in one step, never over another file.

use std::io;

use crate::clock::Now;
use crate::dir::{Dir, FileKind};
use crate::layout;

/// Most bytes of a hand-off.
pub const MAX_BYTES: usize = 8 * 1024;

/// How every hand-off of ours begins; the session's id follows.
pub const TITLE: &str = "# Scavenged: session ";

/// A replacement in the making that is older than this was left by a killed process, in seconds.
const LEFT_OVER_S: i64 = 3_600;
const NAMES: usize = 256;

/// What stands in the place of the hand-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    /// Nothing.
    Nothing,
    /// One of ours, with its last change in seconds since 1970.
    Ours(i64),
    /// Another program's, or no ordinary file.
    Foreign,
}

/// Tells what stands there.
#[must_use]
pub fn present(session: &Dir) -> Present {
    let folder = match session.folder(layout::HANDOFFS) {
        Ok(folder) => folder,
        // A link or a file in the folder's place: nothing is written through it.
        Err(_) if session.has(layout::HANDOFFS) => return Present::Foreign,
        Err(_) => return Present::Nothing,
    };
    let Some(stat) = folder.stat(layout::SCAVENGED) else { return Present::Nothing };
    if stat.kind != FileKind::File {
        return Present::Foreign;
    }
    let is_ours =
        folder.read(layout::SCAVENGED, MAX_BYTES).is_ok_and(|bytes| bytes.starts_with(TITLE.as_bytes()));
    if is_ours { Present::Ours(stat.mtime_s) } else { Present::Foreign }
}

/// Makes the hand-off (mode 0600), if `unchanged` still says so right before. Returns whether it was done.
///
/// Error `AlreadyExists`: one is there; of several processes one makes it.
pub fn save(session: &Dir, text: &str, now: Now, unchanged: impl FnOnce() -> bool) -> io::Result<bool> {
    let (folder, _) = session.make_folder(layout::HANDOFFS)?;
    for name in folder.names(NAMES) {
        let is_left_over = layout::original(&name) == Some(layout::SCAVENGED)
            && folder.stat(&name).is_some_and(|stat| now.age_s(stat.mtime_s) > LEFT_OVER_S);
        if is_left_over {
            // Harmless where it is.
            let _ = folder.remove_file(&name);
        }
    }
    folder.put_new(layout::SCAVENGED, text.as_bytes(), unchanged)
}

/// Gives the hand-off of an earlier death of the same session another name, `scavenged-<epoch>.md`: the session went on
/// since, and is to be saved again.
pub fn set_aside(session: &Dir, made_s: i64) -> io::Result<()> {
    let stem = layout::SCAVENGED.trim_end_matches(".md");
    session.folder(layout::HANDOFFS)?.rename_new(layout::SCAVENGED, &format!("{stem}-{made_s}.md"))
}

/// Whether the folder of hand-offs holds ours alone, so that it may be removed with the session; true without one.
#[must_use]
pub fn holds_only_ours(session: &Dir) -> bool {
    match session.folder(layout::HANDOFFS) {
        Ok(folder) => folder.names(NAMES).iter().all(|name| is_ours(&folder, name)),
        Err(_) => !session.has(layout::HANDOFFS),
    }
}

/// Removes the folder with our hand-offs. False: another program's lies in it, or it could not be removed.
#[must_use]
pub fn remove(session: &Dir) -> bool {
    let Ok(folder) = session.folder(layout::HANDOFFS) else { return !session.has(layout::HANDOFFS) };
    let names = folder.names(NAMES);
    names.iter().all(|name| is_ours(&folder, name))
        && names.iter().all(|name| folder.remove_file(name).is_ok())
        && session.remove_folder(layout::HANDOFFS).is_ok()
}

/// By name and by its first line: other programs write hand-offs under the same name.
fn is_ours(folder: &Dir, name: &str) -> bool {
    let stem = layout::SCAVENGED.trim_end_matches(".md");
    let is_named_so = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(".md")).is_some_and(|rest| {
        rest.is_empty()
            || rest.strip_prefix('-').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
    });
    layout::original(name) == Some(layout::SCAVENGED)
        || is_named_so && folder.read(name, MAX_BYTES).is_ok_and(|bytes| bytes.starts_with(TITLE.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;
    use crate::retention;

    const OURS: &str = "# Scavenged: session s-1\n";

    fn session() -> (tempfile::TempDir, Dir) {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open(top.path()).unwrap();
        (top, dir)
    }

    fn save_now(dir: &Dir) -> io::Result<bool> {
        save(dir, OURS, Now::read(), || true)
    }

    #[test]
    fn it_is_made_once_for_its_owner_alone() {
        let (top, dir) = session();
        assert_eq!(present(&dir), Present::Nothing);
        assert!(save_now(&dir).unwrap());
        let path = top.path().join("handoffs/scavenged.md");
        assert_eq!(fs::read_to_string(&path).unwrap(), OURS);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::metadata(top.path().join("handoffs")).unwrap().mode() & 0o7777, 0o700);
        assert!(matches!(present(&dir), Present::Ours(_)));
        assert_eq!(save_now(&dir).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            fs::read_dir(top.path().join("handoffs")).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn nothing_is_made_when_something_changed() {
        let (top, dir) = session();
        assert!(!save(&dir, OURS, Now::read(), || false).unwrap());
        assert_eq!(fs::read_dir(top.path().join("handoffs")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_ours_stays() {
        for text in ["# Scavenged\n\n- earlier finding\n", ""] {
            let (top, dir) = session();
            fs::create_dir(top.path().join("handoffs")).unwrap();
            fs::write(top.path().join("handoffs/scavenged.md"), text).unwrap();
            assert_eq!(present(&dir), Present::Foreign);
            assert_eq!(save_now(&dir).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(top.path().join("handoffs/scavenged.md")).unwrap(), text);
        }
    }

    #[test]
    fn no_link_is_followed() {
        let (top, dir) = session();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), top.path().join("handoffs")).unwrap();
        assert_eq!(present(&dir), Present::Foreign);
        assert!(save_now(&dir).is_err());
        fs::remove_file(top.path().join("handoffs")).unwrap();
        fs::create_dir(top.path().join("handoffs")).unwrap();
        symlink(elsewhere.path().join("x.md"), top.path().join("handoffs/scavenged.md")).unwrap();
        assert_eq!(present(&dir), Present::Foreign);
        assert!(save_now(&dir).is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn of_many_one_makes_it() {
        let (_top, dir) = session();
        let made = std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..8).map(|_| scope.spawn(|| save_now(&dir).is_ok_and(|made| made))).collect();
            workers.into_iter().map(|w| w.join().unwrap()).filter(|made| *made).count()
        });
        assert_eq!(made, 1);
    }

    #[test]
    fn a_killed_writer_leaves_no_half_file_and_its_rest_goes_one_day() {
        let (top, dir) = session();
        dir.make_folder("handoffs").unwrap();
        let left = top.path().join("handoffs").join(layout::temporary(layout::SCAVENGED, 7));
        fs::write(&left, "# Scav").unwrap();
        assert_eq!(present(&dir), Present::Nothing);
        let mtime =
            dir.folder("handoffs").unwrap().stat(&layout::temporary(layout::SCAVENGED, 7)).unwrap().mtime_s;
        save(&dir, OURS, Now((mtime + LEFT_OVER_S) * 1000), || false).unwrap();
        assert!(left.exists());
        save(&dir, OURS, Now((mtime + LEFT_OVER_S + 1) * 1000), || true).unwrap();
        assert!(!left.exists());
    }

    #[test]
    fn an_earlier_one_is_kept_under_another_name() {
        let (top, dir) = session();
        save_now(&dir).unwrap();
        set_aside(&dir, 1_760_000_000).unwrap();
        assert!(save_now(&dir).unwrap());
        assert_eq!(fs::read_to_string(top.path().join("handoffs/scavenged-1760000000.md")).unwrap(), OURS);
    }

    #[test]
    fn ours_alone_goes_with_its_session() {
        let (top, dir) = session();
        assert!(holds_only_ours(&dir) && remove(&dir));
        save_now(&dir).unwrap();
        set_aside(&dir, 7).unwrap();
        save_now(&dir).unwrap();
        fs::write(top.path().join("handoffs").join(layout::temporary(layout::SCAVENGED, 7)), "# S").unwrap();
        for foreign in ["stage-1.md", "scavenged-x.md", "notes.txt"] {
            let path = top.path().join("handoffs").join(foreign);
            fs::write(&path, OURS).unwrap();
            assert!(!holds_only_ours(&dir) && !remove(&dir), "{foreign}");
            assert_eq!(fs::read_dir(top.path().join("handoffs")).unwrap().count(), 4, "all of it stays");
            fs::remove_file(path).unwrap();
        }
        assert!(holds_only_ours(&dir) && remove(&dir));
        assert!(!top.path().join("handoffs").exists());
        fs::create_dir(top.path().join("handoffs")).unwrap();
        fs::write(top.path().join("handoffs/scavenged.md"), "# Scavenged\n").unwrap();
        assert!(!holds_only_ours(&dir) && !remove(&dir), "another program's");
    }

    #[test]
    fn an_expired_session_goes_with_what_was_saved_of_it() {
        for foreign in [false, true] {
            let (top, sessions) = session();
            let (dir, _) = sessions.make_folder("s-1").unwrap();
            save_now(&dir).unwrap();
            fs::write(top.path().join("s-1/status"), "scavenged\n").unwrap();
            if foreign {
                fs::write(top.path().join("s-1/handoffs/stage-1.md"), "x").unwrap();
            }
            let days = |days: i64| Now(Now::read().0 + days * 86_400_000 + 60_000);
            assert_eq!(retention::sweep(&sessions, "me", days(retention::TOLD_DAYS - 1)), 0);
            let swept = retention::sweep(&sessions, "me", days(retention::TOLD_DAYS + 1));
            assert_eq!((swept, top.path().join("s-1").exists()), (usize::from(!foreign), foreign));
        }
    }
}
