//! When the project last got a commit, read from git's own log: no process is started for it.

use session_state::{Dir, Project};

/// How much of the log's end is read, in bytes.
const LIMIT: usize = 4 * 1024 * 1024;

/// What is known of the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastCommit {
    /// Seconds since 1970.
    At(i64),
    /// A repository without any.
    Never,
    /// No repository, or one whose log cannot be read.
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
            let text = String::from_utf8(root.read(".git", 4096).ok()?).ok()?;
            Dir::open(&project.root.join(text.strip_prefix("gitdir:")?.trim())).ok()?
        }
    };
    let Ok(logs) = git.folder("logs") else {
        return git.has("HEAD").then_some(LastCommit::Never);
    };
    let text = String::from_utf8_lossy(&logs.read("HEAD", LIMIT).ok()?).into_owned();
    // `<old> <new> Name <mail> <seconds> <zone>\t<what>`; a checkout is no commit.
    let at = text.lines().rev().find_map(|line| {
        let (who, what) = line.split_once('\t')?;
        what.starts_with("commit").then(|| who.rsplit(' ').nth(1)?.parse().ok())?
    });
    at.map(LastCommit::At)
}
