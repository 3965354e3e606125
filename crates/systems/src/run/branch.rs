//! How far the branch of a run and its repository have grown apart. git is only read.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::record::Record;
use super::shown;
use crate::git;

/// A branch that lacks this many commits of its base has diverged far: a resumed run would have to be rebased onto a
/// history its plan never saw. The system names no figure.
pub const FAR: u64 = 50;

/// One question; a large repository answers in less.
const GIT_LIMIT: Duration = Duration::from_secs(3);

/// What git says about the branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Branch {
    /// The record names no branch or no repository.
    NotRecorded,
    /// git could not tell.
    NotKnown {
        /// Why.
        why: String,
    },
    /// The branch is no longer there.
    Missing,
    /// The branch and its base share no commit.
    Unrelated {
        /// What it was compared with.
        base: String,
    },
    /// Commits that only one of the two has.
    Counted {
        /// What it was compared with.
        base: String,
        /// Commits of the base that the branch lacks.
        behind: u64,
        /// Commits of the branch that the base lacks.
        ahead: u64,
    },
}

impl Branch {
    /// Whether resuming on it makes no sense; `far` is the number of commits from which it has diverged far.
    #[must_use]
    pub const fn is_lost(&self, far: u64) -> bool {
        match self {
            Self::Missing | Self::Unrelated { .. } => true,
            Self::Counted { behind, .. } => *behind >= far,
            Self::NotRecorded | Self::NotKnown { .. } => false,
        }
    }
}

/// Asks git, until the deadline of the pass; `repository_is_here` as the pass found it.
#[must_use]
pub fn of(record: &Record, repository_is_here: bool, deadline: Instant) -> Branch {
    let (Some(repository), Some(branch)) = (&record.repository, &record.branch) else {
        return Branch::NotRecorded;
    };
    let path = Path::new(repository);
    if !path.is_absolute() || repository.contains('\0') {
        return not_known("the path of the repository is not absolute");
    }
    if !repository_is_here {
        return not_known("the repository is not on this machine");
    }
    if !is_branch_name(branch) {
        return not_known("the recorded branch is no name of a branch");
    }
    compare(&Repository { path, deadline }, branch).unwrap_or_else(|why| Branch::NotKnown { why })
}

fn not_known(why: &str) -> Branch {
    Branch::NotKnown { why: why.to_owned() }
}

/// The characters git refuses in a name, and those that would mean something else in a question.
fn is_branch_name(name: &str) -> bool {
    const LONGEST: usize = 250;
    !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with(['-', '/', '.'])
        && !name.ends_with(['/', '.'])
        && !["..", "//", "@{"].iter().any(|part| name.contains(part))
        && !name.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c))
}

fn compare(repository: &Repository<'_>, branch: &str) -> Result<Branch, String> {
    let reference = format!("refs/heads/{branch}");
    if repository.commit("HEAD")?.is_none() {
        return Err("the repository has no commit".to_owned());
    }
    if repository.commit(&reference)?.is_none() {
        return Ok(Branch::Missing);
    }
    // The base is not recorded: what the repository has checked out, unless that is the branch itself.
    let head = repository.ask(&["symbolic-ref", "--quiet", "HEAD"])?.unwrap_or_default();
    let mut base = "HEAD";
    if head.trim() == reference {
        let others = ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"];
        let mut found = None;
        for other in others.into_iter().filter(|other| *other != reference) {
            if repository.commit(other)?.is_some() {
                found = Some(other);
                break;
            }
        }
        base = found.ok_or("the repository has nothing to compare the branch with")?;
    }
    let name = if base == "HEAD" { head.trim().trim_start_matches("refs/heads/") } else { base };
    let name = if name.is_empty() { "HEAD".to_owned() } else { shown::line(name, 60) };
    if repository.ask(&["merge-base", base, &reference])?.is_none() {
        return Ok(Branch::Unrelated { base: name });
    }
    let range = format!("{base}...{reference}");
    let counts = repository.ask(&["rev-list", "--left-right", "--count", &range, "--"])?.unwrap_or_default();
    let mut counts = counts.split_whitespace().map(str::parse);
    match (counts.next(), counts.next()) {
        (Some(Ok(behind)), Some(Ok(ahead))) => Ok(Branch::Counted { base: name, behind, ahead }),
        _ => Err("git gave no count".to_owned()),
    }
}

struct Repository<'p> {
    path: &'p Path,
    deadline: Instant,
}

impl Repository<'_> {
    fn commit(&self, name: &str) -> Result<Option<String>, String> {
        self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")])
    }

    /// Asks one question. None: git says no (status 1).
    fn ask(&self, arguments: &[&str]) -> Result<Option<String>, String> {
        let left = self.deadline.saturating_duration_since(Instant::now()).min(GIT_LIMIT);
        if left.is_zero() {
            return Err("the time for git was spent on other runs".to_owned());
        }
        let answer = git::ask(self.path, arguments, left).map_err(|error| format!("git {error}"))?;
        match answer.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&answer.stdout).into_owned())),
            Some(1) => Ok(None),
            _ => {
                let complaint = String::from_utf8_lossy(&answer.stderr);
                let first =
                    complaint.lines().next().unwrap_or("without a word").trim_start_matches("fatal: ");
                Err(format!("git says {}", shown::line(first, 100)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_begins_at_its_figure() {
        let counted = |behind| Branch::Counted { base: "main".into(), behind, ahead: 3 };
        for (behind, lost) in [(0, false), (FAR - 1, false), (FAR, true), (FAR + 1, true)] {
            assert_eq!(counted(behind).is_lost(FAR), lost, "{behind}");
        }
        assert!(Branch::Missing.is_lost(FAR) && Branch::Unrelated { base: "main".into() }.is_lost(FAR));
        assert!(!Branch::NotRecorded.is_lost(0) && !not_known("x").is_lost(0));
    }

    #[test]
    fn names_that_would_be_something_else_are_no_branches() {
        for name in ["wf/shop-1", "feature_x", "a.b"] {
            assert!(is_branch_name(name), "{name}");
        }
        for name in
            ["", "-x", "--upload-pack=x", "a..b", "a b", "a\nb", "/a", "a/", "a^", "a:b", "a@{1}", "a*"]
        {
            assert!(!is_branch_name(name), "{name}");
        }
    }
}
