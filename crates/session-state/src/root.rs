//! Where a project's state lies.

use std::path::{Path, PathBuf};

use crate::dir::Dir;
use crate::env::{self, Env};
use crate::{layout, platform};

/// A project whose state can be kept.
#[derive(Clone, Debug)]
pub struct Project {
    /// The project's root: `.claims`, `.working-state` and other programs' files lie here.
    pub root: PathBuf,
    /// Folder of `sessions/` and `logs/`: the root, or where `RECOVERY_STATE_DIR` points.
    pub state: PathBuf,
}

impl Project {
    /// Finds the project of a call. None: no place for state, which means silence.
    ///
    /// `CLAUDE_PROJECT_DIR` if it exists, else the nearest folder from `cwd` upwards with our state, `.claude` or
    /// `.git`, else `cwd`. The walk stops below the home folder, at a file-system boundary and at `/`; neither the
    /// home folder nor the client's configuration folder is ever a root.
    #[must_use]
    pub fn find(env: &Env, cwd: Option<&str>) -> Option<Self> {
        let root = match env.path(env::CLAUDE_PROJECT_DIR).filter(|path| path.is_dir()) {
            Some(given) => given,
            None => walk_up(env, &absolute(cwd)?)?,
        };
        if root.parent().is_none() || is_home(env, &root) {
            return None;
        }
        let state = match env.path(env::RECOVERY_STATE_DIR) {
            Some(moved) => moved,
            None => root.clone(),
        };
        platform::writable(&state).then_some(Self { root, state })
    }

    /// Opens the folder of all sessions; None when there is none.
    #[must_use]
    pub fn sessions(&self) -> Option<Dir> {
        Dir::open(&self.state).ok()?.folder(layout::SESSIONS).ok()
    }

    /// Opens the folder of all sessions, made if missing. Also tells whether it ignores itself: a folder that was
    /// there before us is left as it is.
    pub fn make_sessions(&self) -> std::io::Result<(Dir, bool)> {
        make_ignored(&Dir::open(&self.state)?, layout::SESSIONS)
    }

    /// Opens the root itself.
    #[must_use]
    pub fn open_root(&self) -> Option<Dir> {
        Dir::open(&self.root).ok()
    }

    /// A path as people of this project write it.
    #[must_use]
    pub fn relative<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

/// Opens a folder that git shall not see, made if missing; whoever makes it writes its `.gitignore` in the same step.
/// Returns whether it ignores itself.
pub(crate) fn make_ignored(parent: &Dir, name: &str) -> std::io::Result<(Dir, bool)> {
    let (dir, made) = parent.make_folder(name)?;
    if made {
        // Another process may have been here between the two steps; it writes the same bytes.
        match dir.create_new(layout::GITIGNORE, layout::GITIGNORE_TEXT) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
            _ => return Ok((dir, true)),
        }
    }
    let ignored = dir.has(layout::GITIGNORE);
    Ok((dir, ignored))
}

fn absolute(cwd: Option<&str>) -> Option<PathBuf> {
    match cwd.map(Path::new) {
        Some(path) if path.is_absolute() && path.is_dir() => Some(path.to_owned()),
        // Deleted under the session, or not sent: the folder this process was started in is the same one.
        _ => std::env::current_dir().ok(),
    }
}

fn walk_up(env: &Env, start: &Path) -> Option<PathBuf> {
    let config = env.client_config_dir();
    let device = platform::device(start);
    let mut here = start;
    while !is_home(env, here) && platform::device(here) == device {
        let marked = has_state(here)
            || here.join(".git").exists()
            || here.join(".claude").is_dir() && config.as_deref() != Some(&*here.join(".claude"));
        if marked && config.as_deref() != Some(here) {
            return Some(here.to_owned());
        }
        match here.parent() {
            Some(parent) if parent.parent().is_some() => here = parent,
            _ => break,
        }
    }
    (!is_home(env, start) && start.parent().is_some()).then(|| start.to_owned())
}

/// Our own mark, so that a folder called `sessions` of somebody else is none.
fn has_state(folder: &Path) -> bool {
    folder.join(layout::SESSIONS).join(layout::OPEN_SESSIONS).is_dir()
        || folder.join(layout::WORKING_STATE).is_dir()
}

fn is_home(env: &Env, path: &Path) -> bool {
    env.path(env::HOME).is_some_and(|home| home == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn env(home: &Path, project: Option<&Path>) -> Env {
        let mut list = vec![("HOME", home.as_os_str())];
        list.extend(project.map(|path| (env::CLAUDE_PROJECT_DIR, path.as_os_str())));
        Env::of(&list)
    }

    #[test]
    fn the_root_by_what_lies_in_it() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("home");
        let project = home.join("work/übung app");
        let inner = project.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(home.join(".claude")).unwrap();
        let root = |env: &Env, cwd: &Path| Project::find(env, cwd.to_str()).map(|found| found.root);
        let plain = env(&home, None);
        assert_eq!(root(&plain, &inner), Some(inner.clone()), "nothing marks it: the folder itself");
        for mark in [".git", ".claude", "sessions/.open", ".working-state"] {
            fs::create_dir_all(project.join(mark)).unwrap();
            assert_eq!(root(&plain, &inner), Some(project.clone()), "{mark}");
            fs::remove_dir_all(project.join(mark.split('/').next().unwrap())).unwrap();
        }
        fs::create_dir_all(project.join("sessions")).unwrap();
        assert_eq!(root(&plain, &inner), Some(inner.clone()), "a folder of that name alone marks nothing");
        fs::write(project.join(".git"), "gitdir: elsewhere").unwrap();
        assert_eq!(root(&plain, &inner), Some(project.clone()), "a worktree's .git is a file");
        assert_eq!(root(&env(&home, Some(&inner)), &project), Some(inner.clone()), "the variable wins");
        assert_eq!(
            root(&env(&home, Some(&top.path().join("gone"))), &inner),
            Some(project),
            "unless it is gone"
        );
    }

    #[test]
    fn home_and_the_top_are_no_projects() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("home");
        fs::create_dir_all(home.join(".claude")).unwrap();
        assert!(Project::find(&env(&home, None), home.to_str()).is_none());
        assert!(Project::find(&env(&home, Some(&home)), home.to_str()).is_none());
        assert!(Project::find(&env(&home, None), Some("/")).is_none());
    }
}
