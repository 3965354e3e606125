//! A session's folder.

use std::io;

use crate::dir::Dir;
use crate::layout;
use crate::names::file_name;
use crate::root::{self, Project};

/// The folder of one session, open.
#[derive(Debug)]
pub struct Session {
    /// Its name: the session's id, made safe.
    pub name: String,
    /// The folder.
    pub dir: Dir,
    /// The folder of all sessions.
    pub sessions: Dir,
}

impl Session {
    /// Opens a session's folder; None when there is none (or no folder of our making).
    #[must_use]
    pub fn open(project: &Project, id: &str) -> Option<Self> {
        Self::open_in(project.sessions()?, id)
    }

    /// Opens a session's folder among all.
    #[must_use]
    pub fn open_in(sessions: Dir, id: &str) -> Option<Self> {
        let name = file_name(id).into_owned();
        let dir = sessions.folder(&name).ok()?;
        Some(Self { name, dir, sessions })
    }

    /// Opens a session's folder, made if missing, together with its mark among the open sessions.
    ///
    /// Whoever makes a folder makes it invisible to git in the same step: `git stash -u` followed by a heartbeat would
    /// otherwise make `git stash pop` fail.
    pub fn make(project: &Project, id: &str) -> io::Result<Self> {
        let (sessions, ignored) = project.make_sessions()?;
        let name = file_name(id).into_owned();
        let (dir, made) = sessions.make_folder(&name)?;
        if made && !ignored {
            ignore(&dir)?;
        }
        let session = Self { name, dir, sessions };
        if made {
            session.mark_open()?;
        }
        Ok(session)
    }

    /// Marks the session as one that has not ended well.
    pub fn mark_open(&self) -> io::Result<()> {
        match self.open_folder()?.create_new(&self.name, b"") {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// The folder of the marks, made if missing: a session's folder may be older than it, made by another program.
    pub(crate) fn open_folder(&self) -> io::Result<Dir> {
        let (open, made) = self.sessions.make_folder(layout::OPEN_SESSIONS)?;
        if made && !self.sessions.has(layout::GITIGNORE) {
            ignore(&open)?;
        }
        Ok(open)
    }

    /// Whether a session has its mark: it has not ended well, and nobody was told.
    #[must_use]
    pub fn is_marked_open(sessions: &Dir, name: &str) -> bool {
        sessions.folder(layout::OPEN_SESSIONS).is_ok_and(|open| open.has(name))
    }

    /// Takes the mark away. Returns whether this call did it: of several, one.
    #[must_use]
    pub fn unmark_open(sessions: &Dir, name: &str) -> bool {
        sessions.folder(layout::OPEN_SESSIONS).is_ok_and(|open| open.remove_file(name).is_ok())
    }

    /// Names of the sessions that have not ended well, at most `limit`.
    #[must_use]
    pub fn open_names(sessions: &Dir, limit: usize) -> Vec<String> {
        let Ok(open) = sessions.folder(layout::OPEN_SESSIONS) else { return Vec::new() };
        let mut names = open.names(limit);
        names.retain(|name| !name.starts_with('.'));
        names
    }
}

fn ignore(dir: &Dir) -> io::Result<()> {
    match dir.create_new(layout::GITIGNORE, layout::GITIGNORE_TEXT) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

impl Project {
    /// Opens the folder for the log, made if missing: `logs/`, or the session's own folder when `logs/` was there
    /// before us.
    pub(crate) fn log_folder(&self, session: Option<&Session>) -> io::Result<Option<Dir>> {
        let (logs, ignored) = root::make_ignored(&Dir::open(&self.state)?, layout::LOGS)?;
        if ignored {
            return Ok(Some(logs));
        }
        match session {
            Some(session) => Ok(Some(session.sessions.folder(&session.name)?)),
            None => Ok(None),
        }
    }
}
