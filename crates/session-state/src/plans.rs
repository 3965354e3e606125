//! `.working-state/current-plan.md`: the plan in work, and to whom it was told. The plan itself is only read.

use std::io;

use crate::dir::{Dir, FileKind};
use crate::names::hash_name;
use crate::{layout, session::Session, told};

/// A plan is told to this many sessions as long as it does not change.
pub const MAX_SESSIONS: usize = 3;

const LIMIT: usize = 1024 * 1024;

/// A plan as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Boxes not ticked.
    pub open: usize,
    /// Boxes ticked.
    pub done: usize,
    /// Last change, seconds since 1970.
    pub mtime_s: i64,
    fingerprint: String,
}

/// Where the plan lies, below the project's root.
#[must_use]
pub fn path() -> String {
    format!("{}/{}", layout::WORKING_STATE, layout::CURRENT_PLAN)
}

/// Reads the plan. None: there is none.
#[must_use]
pub fn read(root: &Dir) -> Option<Plan> {
    let folder = root.folder(layout::WORKING_STATE).ok()?;
    let stat =
        folder.stat(layout::CURRENT_PLAN).filter(|stat| stat.kind == FileKind::File && stat.size > 0)?;
    let bytes = folder.read(layout::CURRENT_PLAN, LIMIT).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let boxes = || text.lines().filter_map(tick);
    Some(Plan {
        open: boxes().filter(|ticked| !ticked).count(),
        done: boxes().filter(|ticked| *ticked).count(),
        mtime_s: stat.mtime_s,
        fingerprint: hash_name(&format!("{} {} {}", stat.mtime_s, stat.mtime_ns, stat.size)),
    })
}

/// What stands behind the open boxes of the plan, at most `limit` of them. Empty: no plan, or nothing open in it.
#[must_use]
pub fn open_boxes(root: &Dir, limit: usize) -> Vec<String> {
    let Ok(bytes) =
        root.folder(layout::WORKING_STATE).and_then(|folder| folder.read(layout::CURRENT_PLAN, LIMIT))
    else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&bytes);
    let open = text.lines().filter(|line| tick(line) == Some(false));
    open.filter_map(|line| Some(line.split_once("[ ]")?.1.trim().to_owned())).take(limit).collect()
}

/// `- [ ]` is an open box, `- [x]` a ticked one.
fn tick(line: &str) -> Option<bool> {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = if rest.len() < line.len() {
        rest.strip_prefix(". ")
    } else {
        ["- ", "* ", "+ "].iter().find_map(|m| line.strip_prefix(m))
    }?;
    match item.trim_start().get(..3)? {
        "[ ]" => Some(false),
        "[x]" | "[X]" => Some(true),
        _ => None,
    }
}

/// Notes that a plan is told to a session. Returns whether it may be: not told to this session before, and not to
/// [`MAX_SESSIONS`] others as it stands.
pub fn tell(plan: &Plan, session: &Session) -> io::Result<bool> {
    told::take(session, &plan.fingerprint, MAX_SESSIONS, |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_boxes_are_read_and_a_link_is_not() {
        let top = tempfile::tempdir().unwrap();
        let root = Dir::open(top.path()).unwrap();
        assert!(open_boxes(&root, 9).is_empty());
        std::fs::create_dir(top.path().join(layout::WORKING_STATE)).unwrap();
        let plan = top.path().join(path());
        std::fs::write(&plan, "# Plan\n- [x] a\n- [ ] b [ ] c\n  1. [ ]  d \n- [ ] e\n").unwrap();
        assert_eq!(open_boxes(&root, 2), ["b [ ] c", "d"]);
        assert_eq!(open_boxes(&root, 9).len(), 3);
        std::fs::rename(&plan, top.path().join("plan.md")).unwrap();
        std::os::unix::fs::symlink(top.path().join("plan.md"), &plan).unwrap();
        assert!(open_boxes(&root, 9).is_empty());
    }

    #[test]
    fn boxes() {
        for (line, ticked) in [
            ("- [ ] a", Some(false)),
            ("  * [x] b", Some(true)),
            ("3. [X] c", Some(true)),
            ("- [-] d", None),
            ("[ ] e", None),
            ("- f", None),
            ("2026 [ ] g", None),
        ] {
            assert_eq!(tick(line), ticked, "{line}");
        }
    }
}
