//! What git says about a project.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use systems::{
    change::{
        delivery::{self, Delivery, GitFacts, RemoteStatus},
        project::{ChangeFolder, LOCK, STATE, TRANSACTION},
        state,
    },
    git,
};

use bounded_command::Answer;

/// Time for one question.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Time for the state of the working tree, which may be large.
const STATUS_TIME_LIMIT: Duration = Duration::from_secs(3);
/// Commits in which the one of an archive is looked for.
const COMMITS: usize = 20;

/// The repository around a project.
pub(crate) struct Git {
    root: PathBuf,
}

impl Git {
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn ask(&self, arguments: &[&str], limit: Duration) -> Option<Answer> {
        git::ask(&self.root, arguments, limit).ok()
    }

    /// The answer as a line of text, if git says yes.
    fn text(&self, arguments: &[&str]) -> Option<String> {
        let answer = self.ask(arguments, TIME_LIMIT).filter(|answer| answer.status.success())?;
        Some(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
    }

    fn says_yes(&self, arguments: &[&str]) -> bool {
        self.text(arguments).is_some()
    }

    /// Number of uncommitted files; 0 also when git does not tell in time.
    pub(crate) fn dirty_files(&self) -> usize {
        let asked = ["status", "--short", "--untracked-files=all"];
        let Some(answer) = self.ask(&asked, STATUS_TIME_LIMIT) else { return 0 };
        let lines = answer.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        // So much of an answer that git was cut short says enough.
        let cut_short = answer.stdout.len() as u64 >= bounded_command::SHORT;
        if answer.status.success() || cut_short { lines } else { 0 }
    }

    /// What git says about the delivery of an archived change.
    pub(crate) fn facts(&self, change: &ChangeFolder, delivery: &Delivery) -> GitFacts {
        let current_branch = self.text(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
        let commit = match &delivery.commit {
            Some(commit) => Some(commit.clone()),
            None => self.archive_commit(change, delivery),
        };
        let commit_exists = commit
            .as_ref()
            .is_some_and(|commit| self.text(&["cat-file", "-t", commit]).as_deref() == Some("commit"));
        let archive_committed = commit
            .as_ref()
            .is_some_and(|commit| commit_exists && self.holds_archive(change, delivery, commit));
        let known = commit.as_deref().filter(|_| archive_committed);
        GitFacts {
            current_branch,
            commit_exists,
            archive_committed,
            remote: known.map_or(RemoteStatus::NotChecked, |commit| self.remote(delivery, commit)),
            on_a_remote: known.is_some_and(|commit| {
                let contains = format!("--contains={commit}");
                self.text(&["for-each-ref", "--count=1", &contains, "refs/remotes"])
                    .is_some_and(|refs| !refs.is_empty())
            }),
            commit,
        }
    }

    /// The newest commit that touched the state of an archived change and holds the archive.
    fn archive_commit(&self, change: &ChangeFolder, delivery: &Delivery) -> Option<String> {
        let count = format!("-{COMMITS}");
        let path = format!(":(literal){}", change.file(STATE));
        let history = self.text(&["log", &count, "--format=%H", "HEAD", "--", &path])?;
        history
            .lines()
            .find(|commit| is_object_id(commit) && self.holds_archive(change, delivery, commit))
            .map(str::to_owned)
    }

    /// Whether a commit is part of the branch and holds the archived change as it is now.
    fn holds_archive(&self, change: &ChangeFolder, delivery: &Delivery, commit: &str) -> bool {
        let stored = format!("{commit}:./{}", change.file(STATE));
        let is_this_one = self.text(&["show", &stored]).is_some_and(|text| {
            state::parse(&text).is_ok_and(|state| {
                state.archived
                    && delivery::identity(&state, &change.name).is_ok_and(|id| id == delivery.change_identity)
            })
        });
        let here = format!(":(literal){}", change.path);
        let without: Vec<String> = [LOCK, TRANSACTION]
            .iter()
            .map(|file| format!(":(exclude,literal){}", change.file(file)))
            .collect();
        let paths = || std::iter::once(&*here).chain(without.iter().map(String::as_str));
        let diff: Vec<&str> = ["diff", "--quiet", "--no-ext-diff", "--no-textconv", commit, "--"]
            .into_iter()
            .chain(paths())
            .collect();
        let others: Vec<&str> =
            ["ls-files", "--others", "--exclude-standard", "--"].into_iter().chain(paths()).collect();
        is_this_one
            && self.says_yes(&["merge-base", "--is-ancestor", commit, "HEAD"])
            && self.says_yes(&diff)
            && self.text(&others).as_deref() == Some("")
    }

    /// Whether the branch of the remote, as it was last seen here, has the commit.
    fn remote(&self, delivery: &Delivery, commit: &str) -> RemoteStatus {
        let (Some(remote), Some(address)) = (&delivery.remote, &delivery.authorized_remote_url) else {
            return RemoteStatus::NotChecked;
        };
        let same = |more: &[&str]| {
            let asked: Vec<&str> =
                ["remote", "get-url"].into_iter().chain(more.iter().copied()).chain(["--", remote]).collect();
            self.text(&asked).as_ref() == Some(address)
        };
        if !same(&[]) || !same(&["--push"]) {
            return RemoteStatus::Unavailable;
        }
        let branch = format!("refs/remotes/{remote}/{}", delivery.target_branch);
        match self.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &branch]) {
            None => RemoteStatus::Unavailable,
            Some(head) if self.says_yes(&["merge-base", "--is-ancestor", commit, &head]) => {
                RemoteStatus::Verified
            }
            Some(_) => RemoteStatus::Missing,
        }
    }
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}
