//! Divergence, by a real git.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use systems::run::judgement::{Outcome, Row};

use crate::home::Home;

fn git(repository: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(repository)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// Makes commits that differ: two with the same text, parent and second would be the same one.
fn commit(repository: &Path, count: usize) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    for _ in 0..count {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        git(repository, &["commit", "-q", "--allow-empty", "-m", &format!("change {number}")]);
    }
}

/// A repository with a branch of the run that has one commit of its own.
fn with_branch() -> (Home, std::path::PathBuf) {
    let home = Home::new();
    let repository = home.path().join("repository");
    fs::create_dir_all(repository.join("flows")).unwrap();
    git(&repository, &["init", "-q", "-b", "main"]);
    fs::write(repository.join("flows/loaf.yml"), "jobs:\n  bake:\n    steps: []\n").unwrap();
    git(&repository, &["add", "."]);
    commit(&repository, 1);
    git(&repository, &["checkout", "-q", "-b", "loaf/loaf-1"]);
    commit(&repository, 1);
    git(&repository, &["checkout", "-q", "main"]);
    home.add(
        "error",
        "loaf-1",
        json!({"workflowPath": repository.join("flows/loaf.yml"), "originalRepoPath": repository}),
    );
    (home, repository)
}

#[test]
fn commits_the_branch_lacks_are_counted() {
    let (home, repository) = with_branch();
    commit(&repository, 2);
    for (far, outcome, row) in [
        (3, Outcome::Recover, Row::Interrupted),
        (2, Outcome::LaunchFresh, Row::StaleBranch),
        (1, Outcome::LaunchFresh, Row::StaleBranch),
    ] {
        let judgement = home.judge_with("loaf-1", far);
        assert_eq!((judgement.outcome, judgement.row), (outcome, row), "{far}: {}", judgement.reason);
    }
    let evidence = home.judge("loaf-1").evidence;
    assert!(evidence.iter().any(|fact| fact.value == "2 commits behind main, 1 ahead"), "{evidence:?}");
}

#[test]
fn a_branch_that_is_gone_or_of_another_history_cannot_be_gone_on_with() {
    let (home, repository) = with_branch();
    git(&repository, &["branch", "-q", "-D", "loaf/loaf-1"]);
    let judgement = home.judge("loaf-1");
    assert_eq!((judgement.outcome, judgement.row), (Outcome::LaunchFresh, Row::InvalidTarget));
    git(&repository, &["checkout", "-q", "--orphan", "loaf/loaf-1"]);
    commit(&repository, 1);
    git(&repository, &["checkout", "-q", "-f", "main"]);
    let judgement = home.judge("loaf-1");
    assert_eq!(
        (judgement.outcome, judgement.row),
        (Outcome::LaunchFresh, Row::StaleBranch),
        "{}",
        judgement.reason
    );
}

#[test]
fn a_branch_that_is_checked_out_is_compared_with_main() {
    let (home, repository) = with_branch();
    commit(&repository, 2);
    git(&repository, &["checkout", "-q", "loaf/loaf-1"]);
    assert_eq!(home.judge_with("loaf-1", 2).row, Row::StaleBranch);
    assert_eq!(home.judge_with("loaf-1", 3).row, Row::Interrupted);
}

#[test]
fn what_git_cannot_tell_is_not_known_and_decides_nothing() {
    let home = Home::new();
    let folder = home.path().join("no-repository");
    fs::create_dir_all(folder.join("flows")).unwrap();
    fs::write(folder.join("flows/loaf.yml"), "jobs:\n  bake:\n    steps: []\n").unwrap();
    let flow = folder.join("flows/loaf.yml");
    home.add("error", "loaf-1", json!({"originalRepoPath": folder, "workflowPath": flow}));
    home.add("error", "loaf-2", json!({"originalRepoPath": "relative", "workflowPath": flow}));
    home.add(
        "error",
        "loaf-3",
        json!({"originalRepoPath": folder, "workflowPath": flow, "worktreeBranch": "--upload-pack=x"}),
    );
    for key in ["loaf-1", "loaf-2", "loaf-3"] {
        let judgement = home.judge(key);
        assert_eq!(judgement.row, Row::Interrupted, "{key}: {}", judgement.reason);
        assert!(
            judgement.not_known.iter().any(|text| text.contains("diverged")),
            "{key}: {:?}",
            judgement.not_known
        );
    }
}

#[test]
fn a_repository_starts_nothing_and_is_not_changed() {
    let (home, repository) = with_branch();
    let trap = home.path().join("trap");
    fs::write(&trap, "#!/bin/sh\ntouch \"$(dirname \"$0\")/sprung\"\n").unwrap();
    fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for name in
        ["core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand", "diff.external"]
    {
        git(&repository, &["config", name, trap.to_str().unwrap()]);
    }
    git(&repository, &["config", "alias.rev-parse", &format!("!{}", trap.display())]);
    fs::create_dir_all(repository.join(".git/hooks")).unwrap();
    for hook in ["post-index-change", "reference-transaction", "fsmonitor-watchman"] {
        fs::copy(&trap, repository.join(".git/hooks").join(hook)).unwrap();
    }
    let before = home.snapshot();
    assert_eq!(home.judge("loaf-1").row, Row::Interrupted);
    assert_eq!(home.snapshot(), before);
    assert!(!home.path().join("sprung").exists());
}
