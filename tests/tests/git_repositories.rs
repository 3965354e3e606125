//! Git never notices us: in a repository, a worktree and a submodule.

#![allow(missing_docs, clippy::expect_used, reason = "everything here is a test")]

use std::path::Path;

use end_to_end::hook_project::HookProject;
use serde_json::json;

fn git(project: &HookProject, folder: &Path, arguments: &[&str]) -> String {
    let output = project
        .command_of(Path::new("git"))
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@t.invalid", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .output()
        .expect("git is there");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn commit_all(project: &HookProject, folder: &Path) {
    git(project, folder, &["add", "-A"]);
    git(project, folder, &["commit", "-qm", "begin"]);
}

/// Everything a session does, but for its end.
fn live(project: &HookProject) {
    let run = |payload: &[u8]| assert_eq!(project.run("recovery-hooks", payload).code, Some(0));
    run(&project.payload("SessionStart", &json!({"source": "startup"})));
    run(&project.payload("UserPromptSubmit", &json!({"prompt": "go"})));
    for id in ["toolu_1", "toolu_2"] {
        run(&project.mcp_failure(id));
    }
    run(&project.payload(
        "StopFailure",
        &json!({"error": "rate_limit", "last_assistant_message": "You've hit your 5-hour limit"}),
    ));
    beat(project);
}

fn beat(project: &HookProject) {
    let own = json!({"tool_name": "Read", "tool_input": {}, "tool_response": "x", "tool_use_id": "toolu_r"});
    assert_eq!(project.run("heartbeat-write", &project.payload("PostToolUse", &own)).code, Some(0));
}

fn git_notices_nothing(project: &HookProject, folder: &Path, dirty: &Path) {
    live(project);
    assert_eq!(git(project, folder, &["status", "--porcelain", "-uall"]), "");
    std::fs::write(dirty, "changed").expect("the file is writable");
    git(project, folder, &["stash", "-q", "-u"]);
    beat(project);
    git(project, folder, &["stash", "pop", "-q"]);
    assert_eq!(std::fs::read_to_string(dirty).expect("it is back"), "changed");
    git(project, folder, &["checkout", "-q", "--", "."]);
    git(project, folder, &["clean", "-fdq"]);
    assert!(project.session_file("journal.jsonl").is_some(), "a clean leaves our state");
    assert!(
        project.root.join("logs/error-recovery.log").exists()
            || project.session_file("error-recovery.log").is_some()
    );
}

#[test]
fn a_repository() {
    let project = HookProject::new();
    git(&project, &project.root, &["init", "-q"]);
    project.write("a.txt", "a");
    commit_all(&project, &project.root);
    git_notices_nothing(&project, &project.root, &project.root.join("a.txt"));
}

#[test]
fn folders_that_were_there_before_us() {
    let project = HookProject::new();
    git(&project, &project.root, &["init", "-q"]);
    project.write("a.txt", "a");
    project.write("sessions/theirs/notes.md", "kept");
    project.write("logs/server.log", "kept");
    commit_all(&project, &project.root);
    git_notices_nothing(&project, &project.root, &project.root.join("a.txt"));
    assert!(!project.root.join("sessions/.gitignore").exists(), "their folder is left as it is");
}

#[test]
fn a_worktree() {
    let project = HookProject::new();
    let main = project.home().join("main");
    std::fs::create_dir(&main).expect("the home is writable");
    git(&project, &main, &["init", "-q"]);
    std::fs::write(main.join("a.txt"), "a").expect("writable");
    commit_all(&project, &main);
    std::fs::remove_dir_all(&project.root).expect("it is ours");
    git(&project, &main, &["worktree", "add", "-q", &project.root.to_string_lossy()]);
    git_notices_nothing(&project, &project.root, &project.root.join("a.txt"));
}

#[test]
fn a_submodule() {
    let project = HookProject::new();
    let inner = project.home().join("inner");
    std::fs::create_dir(&inner).expect("the home is writable");
    git(&project, &inner, &["init", "-q"]);
    std::fs::write(inner.join("a.txt"), "a").expect("writable");
    commit_all(&project, &inner);
    git(&project, &project.root, &["init", "-q"]);
    git(&project, &project.root, &["submodule", "add", "-q", &inner.to_string_lossy(), "sub"]);
    commit_all(&project, &project.root);
    live(&project);
    assert_eq!(git(&project, &project.root, &["status", "--porcelain", "-uall"]), "");
    // A session started inside the submodule keeps its state there, and neither repository sees it.
    let sub = project.root.join("sub");
    let payload = project.payload("SessionStart", &json!({"source": "startup", "cwd": sub}));
    let mut command = project.command("recovery-hooks");
    command.env("CLAUDE_PROJECT_DIR", &sub).current_dir(&sub);
    end_to_end::hook_project::finish(end_to_end::hook_project::start(&mut command), &payload);
    assert!(sub.join("sessions").is_dir());
    for folder in [&project.root, &sub] {
        assert_eq!(git(&project, folder, &["status", "--porcelain", "-uall"]), "");
    }
}
