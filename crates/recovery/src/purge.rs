//! `recovery uninstall --purge`: remove what the hooks recorded, and the programs.
//!
//! Only what is certainly ours goes. A session's folder that holds one file we do not know stays as it is, and the
//! person is told.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use session_state::{Dir, Project, env, handoff, layout, registry, retention};

use crate::{
    backup, binaries,
    environment::Environment,
    printer::Printer,
    scope::Scope,
    settings::{document::Document, file::SettingsFile, merge},
};

/// Files that nobody but us writes: one of them makes a session's folder ours.
const UNMISTAKABLE: [&str; 4] = [layout::JOURNAL, layout::SESSION, layout::OPEN, layout::STATE_LOCK];
/// Names of a folder looked at.
const NAMES: usize = 100_000;

/// Removes the records of the hooks from a project; `moved` is where `RECOVERY_STATE_DIR` points.
pub(crate) fn state(scope: &Scope, moved: Option<&Path>, printer: &Printer) {
    let Scope::Project(project) = scope else {
        printer.line(
            "What the hooks recorded lies in each project: recovery uninstall --project DIR --purge removes it there",
        );
        return;
    };
    let state = moved.unwrap_or(project);
    let mut kept = Vec::new();
    let sessions = purge_sessions(&state.join(layout::SESSIONS), &mut kept);
    purge_log(&state.join(layout::LOGS), &mut kept);
    printer.line(format_args!("Records of {sessions} sessions removed from {}.", state.display()));
    for (path, why) in kept {
        printer.line(format_args!("kept: {} ({why})", path.display()));
    }
}

/// Takes the project out of those that are watched.
pub(crate) fn registration(scope: &Scope, environment: &Environment) {
    if let Scope::Project(root) = scope {
        let moved = environment.variables.path(env::RECOVERY_STATE_DIR);
        let project = Project { root: root.clone(), state: moved.unwrap_or_else(|| root.clone()) };
        registry::forget(&environment.variables, &project);
    }
}

/// A path that stays, and why.
type Kept = Vec<(PathBuf, String)>;

fn purge_sessions(path: &Path, kept: &mut Kept) -> usize {
    let Ok(sessions) = Dir::open(path) else { return 0 };
    let mut removed = 0;
    for name in sessions.names(NAMES) {
        let Ok(folder) = sessions.folder(&name) else { continue };
        if name.starts_with('.') {
            continue;
        }
        match foreign(&folder) {
            Some(why) => kept.push((path.join(&name), why)),
            None if retention::remove(&sessions, &name) => removed += 1,
            None => kept.push((path.join(&name), "it could not be removed".to_owned())),
        }
    }
    if let Ok(open) = sessions.folder(layout::OPEN_SESSIONS) {
        for name in [layout::TOLD, layout::GITIGNORE] {
            let _ = open.remove_file(name);
        }
    }
    // Empty ones only: a session's folder that stays keeps its mark.
    let _ = sessions.remove_folder(layout::OPEN_SESSIONS);
    remove_if_only_ignored(path);
    removed
}

/// Why a session's folder is not ours to remove.
fn foreign(folder: &Dir) -> Option<String> {
    let names = folder.names(NAMES);
    let is_ours =
        |name: &str| layout::is_ours(name) || name == layout::HANDOFFS && handoff::holds_only_ours(folder);
    if let Some(name) = names.iter().find(|name| !is_ours(name)) {
        return Some(format!("{name} is not ours"));
    }
    let ours = names.iter().any(|name| UNMISTAKABLE.contains(&name.as_str()));
    (!ours).then(|| "nothing in it says that it is ours".to_owned())
}

fn purge_log(logs: &Path, kept: &mut Kept) {
    for name in names_in(logs) {
        if layout::is_log(&name)
            && let Err(error) = fs::remove_file(logs.join(&name))
        {
            kept.push((logs.join(&name), error.to_string()));
        }
    }
    remove_if_only_ignored(logs);
}

/// Removes a folder in which nothing but our `.gitignore` is left.
fn remove_if_only_ignored(folder: &Path) {
    if names_in(folder) == [layout::GITIGNORE] && is_our_gitignore(folder) {
        // Both may fail if somebody writes here right now; then they stay.
        let _ = fs::remove_file(folder.join(layout::GITIGNORE));
        let _ = fs::remove_dir(folder);
    }
}

fn is_our_gitignore(folder: &Path) -> bool {
    fs::read_to_string(folder.join(layout::GITIGNORE))
        .is_ok_and(|text| text.as_bytes() == layout::GITIGNORE_TEXT)
}

fn is_real_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn names_in(folder: &Path) -> Vec<String> {
    if !is_real_dir(folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Removes the programs from each folder that no other settings file names.
pub(crate) fn programs(
    bin_dirs: &BTreeSet<PathBuf>,
    scope: &Scope,
    environment: &Environment,
    printer: &Printer,
) {
    let users = users_of_programs(scope, environment);
    for bin_dir in bin_dirs {
        let user = users.iter().find(|(folder, _)| folder == bin_dir);
        if let Some((_, settings)) = user {
            printer.line(format_args!("kept: {} ({} is wired to it)", bin_dir.display(), settings.display()));
            continue;
        }
        match binaries::remove_copies(bin_dir) {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) => {
                printer.line(format_args!("{} programs removed from {}.", removed.len(), bin_dir.display()))
            }
            Err(error) => printer.line(format_args!("kept: {} ({error})", bin_dir.display())),
        }
    }
    if let Some(data_dir) = environment.data_dir() {
        // Backups of other settings files may be in it; then it stays.
        let _ = fs::remove_dir(data_dir);
    }
}

/// Returns the folders that other settings files name, and which file does.
///
/// Looked at are those that this person's installs have touched, and the person's own.
fn users_of_programs(scope: &Scope, environment: &Environment) -> Vec<(PathBuf, PathBuf)> {
    let own_files: Vec<PathBuf> =
        scope.files().iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect();
    let known = environment.data_dir().map(|data_dir| backup::known_settings(&data_dir)).unwrap_or_default();
    let personal = Scope::user(environment).map(|user| user.files()).unwrap_or_default();
    let mut users = Vec::new();
    for path in known.into_iter().chain(personal).filter(|path| !own_files.contains(path)) {
        // A file that cannot be read any more wires nothing.
        let Some(bytes) = SettingsFile::read(&path).ok().and_then(|file| file.bytes) else { continue };
        let Ok(document) = Document::parse(&bytes) else { continue };
        for entry in merge::own_entries(&document) {
            if let Some(folder) = Path::new(&entry.command.path).parent() {
                users.push((folder.to_owned(), path.clone()));
            }
        }
    }
    users
}

#[cfg(test)]
mod tests;
