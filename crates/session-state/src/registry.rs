//! Which projects have sessions: for those who look after all of them. One small file a project, in the user's state
//! folder; written at the start of a session, read by the watcher.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::dir::Dir;
use crate::env::Env;
use crate::names::hash_name;
use crate::root::Project;

/// In our folder of the user's state.
const PROJECTS: &str = "projects";
const LIMIT: usize = 16 * 1024;

/// A project as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    root: PathBuf,
    /// Absent: the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<PathBuf>,
}

/// Writes down that a project has sessions, unless it is known.
///
/// # Errors
/// The user's state folder cannot be made or written, or the path is not text; nothing is lost by it but the watch over
/// this project.
pub fn note(env: &Env, project: &Project) -> io::Result<()> {
    let Some(folder) = env.user_state_dir() else { return Ok(()) };
    let (Some(root), Some(state)) = (project.root.to_str(), project.state.to_str()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let name = name_of(root, state);
    let known = |projects: Dir| projects.has(&name);
    if Dir::open(&folder).and_then(|dir| dir.folder(PROJECTS)).is_ok_and(known) {
        return Ok(());
    }
    let projects = Dir::make_all(&folder.join(PROJECTS))?;
    let moved = (project.state != project.root).then(|| project.state.clone());
    let bytes =
        serde_json::to_vec(&Known { root: project.root.clone(), state: moved }).map_err(io::Error::other)?;
    projects.replace(&name, &bytes, false)
}

/// Forgets a project; what is empty after it goes too. Nothing happens where it was not known.
pub fn forget(env: &Env, project: &Project) {
    let Some(folder) = env.user_state_dir() else { return };
    let (Some(root), Some(state)) = (project.root.to_str(), project.state.to_str()) else { return };
    let Ok(dir) = Dir::open(&folder) else { return };
    if let Ok(projects) = dir.folder(PROJECTS) {
        let _ = projects.remove_file(&name_of(root, state));
    }
    // Only if empty: other projects, and what the watcher remembers, stay.
    if dir.remove_folder(PROJECTS).is_ok() {
        let _ = std::fs::remove_dir(&folder);
    }
}

fn name_of(root: &str, state: &str) -> String {
    format!("{}.json", hash_name(&[root, state].join("\0")))
}

/// Reads the known projects, at most `limit`; those whose folder is gone are left out.
#[must_use]
pub fn all(env: &Env, limit: usize) -> Vec<Project> {
    let projects = env.user_state_dir().and_then(|folder| Dir::open(&folder).ok()?.folder(PROJECTS).ok());
    let Some(projects) = projects else { return Vec::new() };
    let mut names = projects.names(limit);
    names.sort();
    let known = names.iter().filter(|name| name.ends_with(".json")).filter_map(|name| {
        let known: Known = serde_json::from_slice(&projects.read(name, LIMIT).ok()?).ok()?;
        let state = known.state.unwrap_or_else(|| known.root.clone());
        (known.root.is_absolute() && known.root.is_dir() && state.is_absolute())
            .then_some(Project { root: known.root, state })
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env;

    #[test]
    fn a_project_is_written_down_once_and_read_while_it_exists() {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("über app");
        std::fs::create_dir(&root).unwrap();
        let env = Env::of(&[(env::HOME, top.path().as_os_str())]);
        assert!(all(&env, 10).is_empty());
        let plain = Project { root: root.clone(), state: root.clone() };
        let moved = Project { root: root.clone(), state: top.path().join("state") };
        for _ in 0..2 {
            note(&env, &plain).unwrap();
            note(&env, &moved).unwrap();
        }
        let mut states: Vec<PathBuf> = all(&env, 10).into_iter().map(|project| project.state).collect();
        states.sort();
        let mut wanted = [plain.state, moved.state];
        wanted.sort();
        assert_eq!(states, wanted);
        let moved = Project { root: root.clone(), state: top.path().join("state") };
        forget(&env, &moved);
        assert_eq!(all(&env, 10).len(), 1);
        std::fs::remove_dir(&root).unwrap();
        assert!(all(&env, 10).is_empty());
        forget(&env, &Project { root: root.clone(), state: root });
        assert!(!env.user_state_dir().unwrap().exists(), "nothing of ours is left");
    }

    #[test]
    fn without_a_home_nothing_is_written_down() {
        let top = tempfile::tempdir().unwrap();
        let project = Project { root: top.path().to_owned(), state: top.path().to_owned() };
        note(&Env::of(&[]), &project).unwrap();
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
    }
}
