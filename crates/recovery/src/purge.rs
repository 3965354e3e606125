//! `recovery uninstall --purge`: remove what the hooks recorded, and the programs.
//!
//! Only what is certainly ours goes. A session's folder that holds one file we do not know stays as it is, and the
//! person is told.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    backup, binaries,
    environment::Environment,
    printer::Printer,
    scope::Scope,
    settings::{document::Document, file::SettingsFile, merge},
};

/// Folder of the sessions in a project.
const SESSIONS: &str = "sessions";
/// Index of open sessions, inside it.
const OPEN_INDEX: &str = ".open";
/// Folder of logs in a project; the log stands in the session's folder where this one was there before us.
const LOGS: &str = "logs";
/// Our log; its older generations have `.1` and so on behind the name.
const LOG: &str = "error-recovery.log";
/// Makes a folder of ours invisible to git.
const GITIGNORE: &str = ".gitignore";
/// All of our `.gitignore`.
const GITIGNORE_TEXT: &str = "*";

/// Files that nobody but us writes: one of them makes a folder ours.
const UNMISTAKABLE: [&str; 4] = ["journal.jsonl", "session.json", "open", ".state.lock"];
/// Files that we write under names that other programs know too.
const SHARED_NAMES: [&str; 3] = ["heartbeat", "status", "failure-tracker.json"];
/// Beginning and end of the views of single tools.
const TOOL_VIEWS: [(&str, &str); 2] = [("mcp-retry-", ".json"), ("fail-count-", ".txt")];

/// Removes the records of the hooks from a project.
pub(crate) fn state(scope: &Scope, printer: &Printer) {
    let Scope::Project(project) = scope else {
        printer.line(
            "What the hooks recorded lies in each project: recovery uninstall --project DIR --purge removes it there",
        );
        return;
    };
    let mut kept = Vec::new();
    let sessions = purge_sessions(&project.join(SESSIONS), &mut kept);
    purge_log(&project.join(LOGS), &mut kept);
    printer.line(format_args!("Records of {sessions} sessions removed from {}.", project.display()));
    for (path, why) in kept {
        printer.line(format_args!("kept: {} ({why})", path.display()));
    }
}

/// A path that stays, and why.
type Kept = Vec<(PathBuf, String)>;

fn purge_sessions(sessions: &Path, kept: &mut Kept) -> usize {
    let mut removed = 0;
    for name in names_in(sessions) {
        let folder = sessions.join(&name);
        if name.starts_with('.') || !is_real_dir(&folder) {
            continue;
        }
        match our_files(&folder) {
            Ok(files) => match remove_all(&folder, &files) {
                Ok(()) => {
                    // Without its folder the mark in the index means nothing; it may be gone already.
                    let _ = fs::remove_file(sessions.join(OPEN_INDEX).join(&name));
                    removed += 1;
                }
                Err(error) => kept.push((folder, error.to_string())),
            },
            Err(why) => kept.push((folder, why)),
        }
    }
    // Empty ones only: a folder that still holds something keeps its marks and its `.gitignore`.
    let _ = fs::remove_dir(sessions.join(OPEN_INDEX));
    remove_if_only_ignored(sessions);
    removed
}

/// Returns the files of a session's folder if all of them are ours, else why not.
fn our_files(folder: &Path) -> Result<Vec<String>, String> {
    let names = names_in(folder);
    if let Some(foreign) = names.iter().find(|name| !is_ours(folder, name)) {
        return Err(format!("{foreign} is not ours"));
    }
    if names.iter().any(|name| UNMISTAKABLE.contains(&name.as_str())) {
        Ok(names)
    } else {
        Err("nothing in it says that it is ours".to_owned())
    }
}

fn is_ours(folder: &Path, name: &str) -> bool {
    let is_plain_file = fs::symlink_metadata(folder.join(name)).is_ok_and(|meta| meta.is_file());
    let is_view = TOOL_VIEWS.iter().any(|(start, end)| name.starts_with(start) && name.ends_with(end));
    is_plain_file
        && (UNMISTAKABLE.contains(&name)
            || SHARED_NAMES.contains(&name)
            || is_view
            || is_log(name)
            || (name == GITIGNORE && is_our_gitignore(folder)))
}

fn remove_all(folder: &Path, files: &[String]) -> io::Result<()> {
    for name in files {
        fs::remove_file(folder.join(name))?;
    }
    fs::remove_dir(folder)
}

/// Tells whether the name is that of our log, or of one of its older generations.
fn is_log(name: &str) -> bool {
    match name.strip_prefix(LOG).map(|rest| rest.strip_prefix('.')) {
        Some(None) => name == LOG,
        Some(Some(generation)) => {
            !generation.is_empty() && generation.bytes().all(|byte| byte.is_ascii_digit())
        }
        None => false,
    }
}

fn purge_log(logs: &Path, kept: &mut Kept) {
    for name in names_in(logs) {
        if is_log(&name)
            && let Err(error) = fs::remove_file(logs.join(&name))
        {
            kept.push((logs.join(&name), error.to_string()));
        }
    }
    remove_if_only_ignored(logs);
}

/// Removes a folder in which nothing but our `.gitignore` is left.
fn remove_if_only_ignored(folder: &Path) {
    if names_in(folder) == [GITIGNORE] && is_our_gitignore(folder) {
        // Both may fail if somebody writes here right now; then they stay.
        let _ = fs::remove_file(folder.join(GITIGNORE));
        let _ = fs::remove_dir(folder);
    }
}

fn is_our_gitignore(folder: &Path) -> bool {
    fs::read_to_string(folder.join(GITIGNORE)).is_ok_and(|text| text.trim() == GITIGNORE_TEXT)
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
