//! The files of a project, read below its root alone: no link is followed out of it, nothing is read without a limit.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use session_state::{Dir, FileKind, FileStat};

use crate::bounded::{self, failure};

/// A state file larger than this is none, in bytes.
pub(crate) const STATE_LIMIT: usize = 4 * 1024 * 1024;

/// Folders kept open at once: artifacts lie together.
const MAX_OPEN: usize = 32;

/// A project's root, held open.
#[derive(Debug)]
pub(crate) struct Tree {
    root: Rc<Dir>,
    canonical: PathBuf,
    /// Folders that artifacts were looked for in.
    open: RefCell<HashMap<String, Rc<Dir>>>,
}

/// What stands at a path.
#[derive(Debug)]
pub(crate) enum Located {
    /// Nothing.
    Absent,
    /// An ordinary file: its folder, its name, what the system tells of it.
    File(Rc<Dir>, String, FileStat),
    /// A folder; whether it is empty.
    Folder { empty: bool },
    /// A pipe, a socket, a device, or something without permission.
    Unreadable(String),
    /// A link that leads out of the project.
    Outside,
}

impl Tree {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        Ok(Self {
            root: Rc::new(Dir::open(root)?),
            canonical: root.canonicalize()?,
            open: RefCell::default(),
        })
    }

    /// Opens a folder by its path from the root, `/` between its parts. `Ok(None)`: there is none. An error says, in
    /// words that stand after the path, why it was not opened.
    pub(crate) fn folder(&self, path: &str) -> Result<Option<Dir>, String> {
        let steps = path.split('/').filter(|part| !part.is_empty());
        bounded::folder(&self.root, steps).map_err(|barred| barred.why)
    }

    /// Opens a folder by its path from the root, made where it is missing.
    pub(crate) fn make_folder(&self, path: &str) -> io::Result<Dir> {
        let mut dir = Dir::open(self.root.path())?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            dir = dir.make_folder(part)?.0;
        }
        Ok(dir)
    }

    /// Reads a state file by its path from the root.
    pub(crate) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self.folder(folder)? {
            Some(dir) => bounded::read(&dir, name, STATE_LIMIT),
            None => Ok(None),
        }
    }

    /// Tells what stands at a path. Links are followed only as long as they stay in the project.
    pub(crate) fn locate(&self, path: &str) -> Located {
        match self.locate_plain(path) {
            Some(found) => found,
            None => match self.canonical.join(path).canonicalize() {
                Ok(target) => match target.strip_prefix(&self.canonical).map(Path::to_str) {
                    Ok(Some(inner)) => self.locate_plain(inner).unwrap_or(Located::Outside),
                    Ok(None) => Located::Unreadable("has a name that is no text".to_owned()),
                    Err(_) => Located::Outside,
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => Located::Absent,
                Err(error) => Located::Unreadable(failure(&error)),
            },
        }
    }

    /// None: there is a link on the way.
    fn locate_plain(&self, path: &str) -> Option<Located> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = match self.plain_folder(folder) {
            Ok(dir) => dir,
            Err(found) => return found,
        };
        let Some(stat) = dir.stat(name) else { return Some(Located::Absent) };
        match stat.kind {
            FileKind::Link => None,
            FileKind::File => Some(Located::File(dir, name.to_owned(), stat)),
            FileKind::Special => Some(Located::Unreadable("is no ordinary file".to_owned())),
            FileKind::Folder => Some(match dir.folder(name) {
                Ok(inner) => Located::Folder { empty: inner.names(1).is_empty() },
                Err(error) => Located::Unreadable(failure(&error)),
            }),
        }
    }

    /// Opens a folder without a link on the way to it; an error is the answer of [`Tree::locate_plain`].
    fn plain_folder(&self, path: &str) -> Result<Rc<Dir>, Option<Located>> {
        if let Some(known) = self.open.borrow().get(path) {
            return Ok(Rc::clone(known));
        }
        let mut dir = Rc::clone(&self.root);
        for part in path.split('/').filter(|part| !part.is_empty()) {
            dir = match dir.folder(part) {
                Ok(inner) => Rc::new(inner),
                Err(error) => {
                    return Err(match dir.stat(part).map(|stat| stat.kind) {
                        Some(FileKind::Link) => None,
                        Some(FileKind::Folder) => Some(Located::Unreadable(failure(&error))),
                        _ => Some(Located::Absent),
                    });
                }
            };
        }
        let mut open = self.open.borrow_mut();
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        open.insert(path.to_owned(), Rc::clone(&dir));
        Ok(dir)
    }

    /// Turns a path as a state file holds it into one from the root, seen from a folder in the project. None: it leads
    /// out of the project, or is no path of a file.
    pub(crate) fn inside(&self, base: &str, path: &str) -> Option<String> {
        let path = path.trim();
        let is_drive = path.get(1..2) == Some(":");
        if path.is_empty() || path.contains('\0') || path.contains("://") || is_drive || path.starts_with('~')
        {
            return None;
        }
        let path = path.replace('\\', "/");
        if path.starts_with('/') {
            let absolute = Path::new(&path);
            let inner = [self.root.path(), &self.canonical]
                .into_iter()
                .find_map(|root| absolute.strip_prefix(root).ok())?;
            return joined("", inner);
        }
        joined(base, Path::new(&path))
    }
}

/// Joins by the letters alone; a path that climbs out is none.
fn joined(base: &str, path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn paths_that_leave_the_project_are_none() {
        let top = tempfile::tempdir().unwrap();
        let tree = Tree::open(top.path()).unwrap();
        let inside = |base: &str, path: &str| tree.inside(base, path);
        for (base, path, is) in [
            ("", "a/b.json", Some("a/b.json")),
            ("", "./a/../b.json", Some("b.json")),
            (".claude/context", "artifacts/x", Some(".claude/context/artifacts/x")),
            (".claude/context", "../x", Some(".claude/x")),
            ("", "a\\b", Some("a/b")),
            ("", "../x", None),
            ("a", "../../x", None),
            ("", "a/../../x", None),
            ("", "/etc/passwd", None),
            ("", "C:\\x", None),
            ("", "~/x", None),
            ("", "https://example.org/x", None),
            ("", "a\0b", None),
            ("", "", None),
            ("", ".", None),
        ] {
            assert_eq!(inside(base, path).as_deref(), is, "{base:?} {path:?}");
        }
        let absolute = top.path().join("x/y");
        assert_eq!(inside("a", absolute.to_str().unwrap()).as_deref(), Some("x/y"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_only_within() {
        use std::os::unix::fs::symlink;
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("project");
        fs::create_dir_all(root.join("real")).unwrap();
        fs::create_dir_all(top.path().join("other")).unwrap();
        fs::write(root.join("real/a"), "x").unwrap();
        fs::write(top.path().join("other/secret"), "x").unwrap();
        symlink("real/a", root.join("near")).unwrap();
        symlink("real", root.join("folder")).unwrap();
        symlink("../other/secret", root.join("far")).unwrap();
        symlink("../other", root.join("away")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        let tree = Tree::open(&root).unwrap();
        for near in ["near", "folder/a", "real/a"] {
            assert!(matches!(tree.locate(near), Located::File(_, name, _) if name == "a"), "{near}");
        }
        for far in ["far", "away/secret", "away"] {
            assert!(matches!(tree.locate(far), Located::Outside), "{far}");
        }
        for absent in ["dangling", "x", "real/a/b", "away/none"] {
            assert!(matches!(tree.locate(absent), Located::Absent), "{absent}");
        }
        assert!(matches!(tree.locate("real"), Located::Folder { empty: false }));
        assert_eq!(tree.folder("folder").unwrap_err(), "is a link, which is not followed");
        assert_eq!(tree.folder("real/a").unwrap_err(), "is no folder");
        assert!(tree.folder("none/none").unwrap().is_none());
        assert_eq!(tree.read("near").unwrap_err(), "is a link, which is not followed");
    }

    #[test]
    fn a_state_file_has_a_limit() {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open(top.path()).unwrap();
        for (size, fits) in [(STATE_LIMIT - 1, true), (STATE_LIMIT, true), (STATE_LIMIT + 1, false)] {
            fs::write(top.path().join("x"), vec![b' '; size]).unwrap();
            assert_eq!(bounded::read(&dir, "x", STATE_LIMIT).is_ok(), fits, "{size}");
        }
        assert_eq!(bounded::read(&dir, "none", STATE_LIMIT), Ok(None));
    }

    proptest! {
        #[test]
        fn no_path_leads_out(base in "(a/b|\\.claude|)", path in "(\\.\\.|\\.|/|\\\\|a|~|:|\0){0,12}") {
            let top = tempfile::tempdir().unwrap();
            let tree = Tree::open(top.path()).unwrap();
            if let Some(inner) = tree.inside(&base, &path) {
                prop_assert!(!inner.starts_with('/') && inner.split('/').all(|part| !part.is_empty() && part != ".."));
            }
        }
    }
}
