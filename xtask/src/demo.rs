//! A project as a killed session leaves it: the demo project, and the scratch project that an install is tried on.
//!
//! This is the one place that knows what those files look like from outside the suite. They are written by hand and
//! not with the suite's own crates: the hooks must cope with what lies on a disk, whoever put it there.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use chrono::{DateTime, Local, SecondsFormat, Utc};
use serde_json::{Value, json};

use crate::tool::Tool;

/// The session that was killed.
pub(crate) const DEAD_SESSION: &str = "7d3c1f20-5b64-4c8e-9a57-2f0c6e81b3d4";

/// How long ago it was killed: long enough for its loop to be stale (7200 s) and its claims (900 s).
const KILLED_AGO: Duration = Duration::from_secs(3 * 3600);

const PLAN: &str = "\
# Nested tokens

## Done

- [x] Write down the grammar

## In progress

- [ ] Let the parser nest tokens

## To do

- [ ] Say where a bracket was opened when it is never closed
";

const FALLBACKS: &str = "\
# When a tool does not answer

| tool | replacement | difference |
|---|---|---|
| mcp__docsearch__query | WebFetch | static pages only |
| Bash(cargo nextest) | cargo test | no time-out a test |
";

const PARSER: &str = "\
//! Reads tokens.

/// How deep brackets may nest.
pub const DEPTH: usize = 1;
";

const PARSER_EDITED: &str = "\
//! Reads tokens.

/// How deep brackets may nest.
pub const DEPTH: usize = 64;
";

/// Writes all of it into `project`, which must be empty; `client` is where the client would keep its own files.
pub(crate) fn leave_behind(project: &Path, client: &Path) -> Result<()> {
    let now = SystemTime::now();
    let killed = now - KILLED_AGO;
    repository(project, killed)?;
    session(project, client, killed)?;
    claims(project, now)
}

/// A small repository with one edit that was not committed: the commit is older than the killed session.
fn repository(project: &Path, killed: SystemTime) -> Result<()> {
    let committed = format!("{} +0000", epoch(killed - Duration::from_secs(3600)));
    write(&project.join(".gitignore"), "/.claims\n/.claude/settings.local.json\n")?;
    write(&project.join("src/parser.rs"), PARSER)?;
    write(&project.join(".working-state/current-plan.md"), PLAN)?;
    write(&project.join(".working-state/fallback-tools.md"), FALLBACKS)?;
    let git = |args: &[&str]| {
        Tool::new("git")
            .args(["-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"])
            .args(["-c", "core.hooksPath=/dev/null", "-c", "init.defaultBranch=main"])
            .args(args)
            .env("GIT_AUTHOR_DATE", &committed)
            .env("GIT_COMMITTER_DATE", &committed)
            .cwd(project)
            .next_step("apt-get install git")
            .read()
    };
    git(&["init", "--quiet"])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message", "Begin the parser"])?;
    let edited = project.join("src/parser.rs");
    write(&edited, PARSER_EDITED)?;
    set_age(&edited, killed - Duration::from_secs(60))
}

/// The killed session's own folder, the loop it drove, and the transcript that ends in a call without a result.
fn session(project: &Path, client: &Path, killed: SystemTime) -> Result<()> {
    let transcript = client.join("projects").join(client_name(project)).join(format!("{DEAD_SESSION}.jsonl"));
    write(&transcript, &transcript_text(project, killed))?;

    let sessions = project.join("sessions");
    let folder = sessions.join(DEAD_SESSION);
    let (boot_id, pid_ns) = machine();
    let pid = ended_process()?;
    write(&sessions.join(".gitignore"), "*\n")?;
    write(&sessions.join(".open").join(DEAD_SESSION), "")?;
    write(&folder.join("status"), "running\n")?;
    write(&folder.join("heartbeat"), &format!("{:010}\n", epoch(killed)))?;
    let known = json!({
        "v": 1,
        "process": {"boot_id": boot_id, "pid_ns": pid_ns, "pid": pid, "start": 1},
        "tmux": null,
        "transcript": transcript,
        "cwd": project,
        "model": "claude-sonnet-5-5",
        "client_version": "2.1.332",
        "started_at": utc(killed - Duration::from_secs(1800)),
    });
    write_json(&folder.join("session.json"), &known)?;
    let ralph = json!({
        "session_id": DEAD_SESSION,
        "active": true,
        "iteration": 7,
        "max_iterations": 50,
        "created_at": utc(killed - Duration::from_secs(1500)),
        "last_checked_at": utc(killed),
    });
    write_json(&folder.join("ralph.json"), &ralph)?;

    // The client's own mark of a running session, which only an orderly end removes.
    let mark = json!({
        "pid": pid, "procStart": "1", "sessionId": DEAD_SESSION, "cwd": project, "status": "busy",
        "kind": "interactive", "entrypoint": "cli", "version": "2.1.332",
        "startedAt": epoch(killed - Duration::from_secs(1800)) * 1000, "updatedAt": epoch(killed) * 1000,
    });
    write_json(&client.join("sessions").join(format!("{pid}.json")), &mark)?;

    for file in
        [&transcript, &folder.join("heartbeat"), &folder.join("session.json"), &folder.join("ralph.json")]
    {
        set_age(file, killed)?;
    }
    Ok(())
}

/// Two claims that nobody renews any more and one that is fresh.
fn claims(project: &Path, now: SystemTime) -> Result<()> {
    for (name, file, age_s) in [
        ("src_parser.rs.lock", "src/parser.rs", 40 * 60),
        ("docs_nesting.md.lock", "docs/nesting.md", 20 * 60),
        ("src_lexer.rs.lock", "src/lexer.rs", 30),
    ] {
        let claimed = now - Duration::from_secs(age_s);
        let path = project.join(".claims").join(name);
        let body = json!({
            "session_id": DEAD_SESSION,
            "file": file,
            "claimed_at": utc(claimed),
            "expires_at": epoch(claimed) + 600,
        });
        write_json(&path, &body)?;
        set_age(&path, claimed)?;
    }
    Ok(())
}

/// A prompt, an edit that went well, and a command that was running when the session was killed.
fn transcript_text(project: &Path, killed: SystemTime) -> String {
    let line = |number: u32, parent: Option<u32>, before_s: u64, kind: &str, message: Value| {
        let uuid = |number: u32| format!("00000000-0000-4000-a000-{number:012}");
        json!({
            "type": kind,
            "uuid": uuid(number),
            "parentUuid": parent.map(uuid),
            "timestamp": utc_ms(killed - Duration::from_secs(before_s)),
            "sessionId": DEAD_SESSION,
            "cwd": project,
            "gitBranch": "main",
            "version": "2.1.332",
            "isSidechain": false,
            "userType": "external",
            "message": message,
        })
    };
    let assistant = |id: &str, content: Value| {
        json!({
            "id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "stop_reason": "tool_use",
            "content": content,
        })
    };
    let parser = project.join("src/parser.rs");
    let lines = [
        line(
            1,
            None,
            90,
            "user",
            json!({"role": "user", "content": "Let the parser nest tokens up to 64 deep."}),
        ),
        line(
            2,
            Some(1),
            60,
            "assistant",
            assistant(
                "msg_01",
                json!([{"type": "tool_use", "id": "toolu_000000000000000000000001", "name": "Edit",
                    "input": {"file_path": parser, "old_string": "usize = 1", "new_string": "usize = 64"}}]),
            ),
        ),
        line(
            3,
            Some(2),
            58,
            "user",
            json!({"role": "user", "content": [{"type": "tool_result",
                "tool_use_id": "toolu_000000000000000000000001", "content": "The file was changed."}]}),
        ),
        line(
            4,
            Some(3),
            40,
            "assistant",
            assistant(
                "msg_02",
                json!([{"type": "tool_use", "id": "toolu_000000000000000000000002", "name": "Bash",
                    "input": {"command": "cargo test parser", "description": "Run the parser's tests"}}]),
            ),
        ),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The client's folder name for a project: every character outside `A-Za-z0-9` is a dash.
fn client_name(project: &Path) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    project.to_string_lossy().chars().map(keep).collect()
}

/// The boot and the process namespace of this machine, where it has them.
fn machine() -> (Option<String>, Option<String>) {
    let boot =
        fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|text| text.trim_end().to_owned());
    let space = fs::read_link("/proc/self/ns/pid").ok().map(|link| link.to_string_lossy().into_owned());
    (boot, space)
}

/// The number of a process that was there and is gone.
fn ended_process() -> Result<u32> {
    let mut child = Command::new("true").spawn().context("starting `true`")?;
    let pid = child.id();
    child.wait().context("waiting for `true`")?;
    Ok(pid)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn write_json(path: &Path, value: &Value) -> Result<()> {
    write(path, &format!("{value:#}\n"))
}

fn set_age(path: &Path, time: SystemTime) -> Result<()> {
    let file =
        File::options().append(true).open(path).with_context(|| format!("opening {}", path.display()))?;
    file.set_modified(time).with_context(|| format!("setting the time of {}", path.display()))
}

fn epoch(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn utc(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn utc_ms(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The time of day at which the demo's session was killed, as the advice will say it.
pub(crate) fn killed_at() -> String {
    DateTime::<Local>::from(SystemTime::now() - KILLED_AGO).format("%H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transcript_ends_in_a_call_that_has_no_result() {
        let text = transcript_text(Path::new("/p"), SystemTime::now());
        let values: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
        let ids = |kind: &str, key: &str| -> Vec<String> {
            let blocks = values.iter().filter_map(|value| value["message"]["content"].as_array()).flatten();
            let blocks = blocks.filter(|block| block["type"] == kind);
            blocks.map(|block| block[key].as_str().unwrap_or_default().to_owned()).collect()
        };
        let calls = ids("tool_use", "id");
        let results = ids("tool_result", "tool_use_id");
        assert_eq!(calls.len(), 2);
        assert_eq!(results, calls[..1]);
    }

    #[test]
    fn a_project_has_the_clients_folder_name() {
        assert_eq!(client_name(Path::new("/home/dev/my_app.rs")), "-home-dev-my-app-rs");
    }

    #[test]
    fn the_loop_and_the_old_claims_are_past_their_limits() {
        assert!(KILLED_AGO > Duration::from_secs(7200));
        let folder = std::env::temp_dir().join(format!("demo-claims-{}", std::process::id()));
        claims(&folder, SystemTime::now()).expect("can be written");
        let old = fs::read_dir(folder.join(".claims")).expect("is there").filter(|entry| {
            let meta = entry.as_ref().expect("readable").metadata().expect("has");
            meta.modified().expect("has").elapsed().expect("past") > Duration::from_secs(900)
        });
        assert_eq!(old.count(), 2);
        fs::remove_dir_all(&folder).expect("was made here");
    }
}
