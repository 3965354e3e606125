use super::*;

fn write(root: &Path, files: &[&str]) {
    for file in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = if file.ends_with(layout::GITIGNORE) { "*\n" } else { "x" };
        fs::write(path, text).unwrap();
    }
}

fn all_files(root: &Path) -> Vec<String> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    found
}

fn purged(files: &[&str]) -> (tempfile::TempDir, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    state(&Scope::Project(dir.path().to_owned()), None, &Printer);
    let left = all_files(dir.path());
    (dir, left)
}

#[test]
fn everything_that_is_ours_goes_with_its_folders() {
    let (dir, left) = purged(&[
        "sessions/.gitignore",
        "sessions/.open/a",
        "sessions/a/journal.jsonl",
        "sessions/a/.state.lock",
        "sessions/a/open",
        "sessions/a/mcp-retry-mcp__x__y.json",
        "sessions/a/fail-count-Bash.txt",
        "sessions/a/failure-tracker.json",
        "sessions/a/heartbeat",
        "sessions/a/session.json",
        "sessions/a/status",
        "sessions/b/.gitignore",
        "sessions/b/error-recovery.log",
        "sessions/b/session.json",
        "logs/.gitignore",
        "logs/error-recovery.log",
        "logs/error-recovery.log.1",
        "src/main.rs",
    ]);
    assert_eq!(left, ["src/main.rs"]);
    assert!(!dir.path().join("sessions").exists());
    assert!(!dir.path().join("logs").exists());
}

#[test]
fn a_session_with_one_foreign_file_stays_whole() {
    let files = [
        "sessions/.gitignore",
        "sessions/.open/a",
        "sessions/a/handoffs/notes.md",
        "sessions/a/journal.jsonl",
        "sessions/b/journal.jsonl",
        "sessions/b/ralph.json",
        "sessions/c/fail-count-Bash.txt",
        "sessions/c/heartbeat",
        "sessions/notes.md",
    ];
    let (_dir, left) = purged(&files);
    assert_eq!(left, files, "c has only names that other programs write too");
}

#[test]
fn foreign_logs_and_a_foreign_gitignore_stay() {
    let (_dir, left) = purged(&[
        "logs/.gitignore",
        "logs/error-recovery.log",
        "logs/error-recovery.log.2",
        "logs/error-recovery.log.old",
        "logs/error-recovery.logs",
        "logs/server.log",
    ]);
    assert_eq!(
        left,
        ["logs/.gitignore", "logs/error-recovery.log.old", "logs/error-recovery.logs", "logs/server.log"]
    );
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &["elsewhere/a/journal.jsonl", "project/sessions/b/session.json"]);
    let project = dir.path().join("project");
    symlink(dir.path().join("elsewhere/a"), project.join("sessions/a")).unwrap();
    symlink(dir.path().join("elsewhere/a/journal.jsonl"), project.join("sessions/b/journal.jsonl")).unwrap();
    symlink(dir.path().join("elsewhere"), project.join("logs")).unwrap();
    let before = all_files(dir.path());
    state(&Scope::Project(project), None, &Printer);
    assert_eq!(all_files(dir.path()), before);
}

#[test]
fn what_was_saved_of_a_session_goes_too_and_another_programs_hand_off_stays() {
    for (text, left) in [("# Scavenged: session a\n", 0), ("# Scavenged\n", 3)] {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            &["sessions/.gitignore", "sessions/a/session.json", "sessions/a/handoffs/scavenged.md"],
        );
        fs::write(dir.path().join("sessions/a/handoffs/scavenged.md"), text).unwrap();
        state(&Scope::Project(dir.path().to_owned()), None, &Printer);
        assert_eq!(all_files(dir.path()).len(), left, "{text}");
    }
}
