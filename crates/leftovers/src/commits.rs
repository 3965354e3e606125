//! When the project last got a commit, read from git's own files: no process is started for it.

use std::io::{Read, Seek, SeekFrom};

use session_state::{Dir, Project};

/// How much of the log's end is read, in bytes: some hundred lines.
const TAIL: u64 = 64 * 1024;
const LIMIT: usize = 4 * 1024;

/// What is known of the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastCommit {
    /// Seconds since 1970.
    At(i64),
    /// A repository without any.
    Never,
    /// No repository, or one that keeps no log of its commits.
    Unknown,
}

pub(crate) fn last(project: &Project) -> LastCommit {
    read(project).unwrap_or(LastCommit::Unknown)
}

fn read(project: &Project) -> Option<LastCommit> {
    let root = project.open_root()?;
    let git = match root.folder(".git") {
        Ok(git) => git,
        // A worktree or submodule: a file that names the folder.
        Err(_) => {
            let text = String::from_utf8(root.read(".git", LIMIT).ok()?).ok()?;
            Dir::open(&project.root.join(text.strip_prefix("gitdir:")?.trim())).ok()?
        }
    };
    match git.folder("logs").and_then(|logs| logs.open_file("HEAD")) {
        Ok(log) => last_in(log),
        Err(_) => without_log(&git),
    }
}

/// `<old> <new> Name <mail> <seconds> <zone>\t<what>` a line; a checkout or a reset is no commit.
fn last_in(mut log: std::fs::File) -> Option<LastCommit> {
    let size = log.metadata().ok()?.len();
    log.seek(SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    log.take(TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let at = text.lines().rev().find_map(|line| {
        let (who, what) = line.split_once('\t')?;
        ["commit", "cherry-pick", "revert", "rebase (continue)"]
            .iter()
            .any(|kind| what.starts_with(kind))
            .then(|| who.rsplit(' ').nth(1)?.parse().ok())?
    });
    at.map(LastCommit::At)
}

/// A branch without a commit has no file; one with commits but without a log was committed to when its file changed.
fn without_log(git: &Dir) -> Option<LastCommit> {
    let head = String::from_utf8(git.read("HEAD", LIMIT).ok()?).ok()?;
    let branch = head.strip_prefix("ref: ")?.trim();
    let (folders, name) = branch.rsplit_once('/')?;
    if git.has("packed-refs") || git.has("commondir") || folders.split('/').any(|part| part == "..") {
        return None;
    }
    let mut dir = git.folder("refs").ok()?;
    for folder in folders.strip_prefix("refs/")?.split('/') {
        let Ok(inner) = dir.folder(folder) else { return Some(LastCommit::Never) };
        dir = inner;
    }
    Some(dir.stat(name).map_or(LastCommit::Never, |stat| LastCommit::At(stat.mtime_s)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn project(top: &std::path::Path) -> Project {
        Project { root: top.to_owned(), state: top.to_owned() }
    }

    #[test]
    fn the_last_commit_by_gits_own_files() {
        let top = tempfile::tempdir().unwrap();
        let last = || last(&project(top.path()));
        let write = |path: &str, text: &str| {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(last(), LastCommit::Unknown, "no repository");
        write(".git/HEAD", "ref: refs/heads/topic/x\n");
        fs::create_dir_all(top.path().join(".git/refs/heads")).unwrap();
        assert_eq!(last(), LastCommit::Never);
        write(".git/refs/heads/topic/x", "0123\n");
        assert!(matches!(last(), LastCommit::At(at) if at > 1_700_000_000), "{:?}", last());
        let line =
            |at: u64, what: &str| format!("0 1 A B <a@b.example> {at} +0100\t{what}: tidy up 9 things\n");
        let filler = line(1_760_000_000, "commit (initial)").repeat(2_000);
        write(
            ".git/logs/HEAD",
            &[filler, line(1_760_000_100, "commit"), line(1_760_000_200, "checkout")].concat(),
        );
        assert_eq!(last(), LastCommit::At(1_760_000_100));
        write(".git/logs/HEAD", &line(1_760_000_200, "clone"));
        assert_eq!(last(), LastCommit::Unknown);
    }

    #[test]
    fn a_worktree_names_its_folder_in_a_file() {
        let top = tempfile::tempdir().unwrap();
        let tree = top.path().join("tree");
        let git = top.path().join("main/.git/worktrees/tree");
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(git.join("logs")).unwrap();
        fs::write(git.join("logs/HEAD"), "0 1 A <a@b.example> 1760000300 +0000\tcommit: x\n").unwrap();
        for text in [format!("gitdir: {}\n", git.display()), "gitdir: ../main/.git/worktrees/tree".to_owned()]
        {
            fs::write(tree.join(".git"), text).unwrap();
            assert_eq!(last(&project(&tree)), LastCommit::At(1_760_000_300));
        }
        fs::write(tree.join(".git"), "gitdir: /no/such/folder\n").unwrap();
        assert_eq!(last(&project(&tree)), LastCommit::Unknown);
    }
}
