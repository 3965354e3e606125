//! `cargo xtask install`: builds what people install, installs it, and shows what the agent would hear.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::binaries::Release;
use crate::demo;
use crate::payloads::{
    BASH_OK, Call, EDIT_NOT_FOUND, MCP_CLOSED, OVERLOAD, PROMPT, READ_OK, Recorded, SESSION_END,
    SESSION_START, STOP,
};
use crate::tool::{Said, Tool};
use crate::wiring::{self, Wired};
use crate::workspace::{COMMAND, Workspace};

/// The session that the recorded payloads belong to.
const SESSION: &str = "00000000-0000-4000-8000-000000000001";

/// What happens in a short session, in order: every event that the default wiring knows.
const STORY: [(Recorded, u32); 10] = [
    (SESSION_START, 1),
    (PROMPT, 1),
    (READ_OK, 1),
    (MCP_CLOSED, 2),
    (EDIT_NOT_FOUND, 3),
    (BASH_OK, 1),
    (STOP, 1),
    (OVERLOAD, 3),
    // A failed turn is mute: what it has to say comes with the next prompt.
    (PROMPT, 1),
    (SESSION_END, 1),
];

/// Installs into `project`, or into a demo project under the build folder; `latest` also names the newest client.
pub(crate) fn run(workspace: &Workspace, project: Option<&Path>, latest: bool) -> Result<()> {
    let release = Release::choose(workspace)?;
    release.build(workspace)?;
    println!("Built in {} ({}).", release.dir.display(), release.link);
    match project {
        Some(project) => {
            let project =
                project.canonicalize().with_context(|| format!("no such project: {}", project.display()))?;
            into(workspace, &release, &project, None)?;
        }
        None => into_demo(workspace, &release)?,
    }
    if latest {
        report_clients();
    }
    Ok(())
}

/// Says which client is here and which is the newest. A report: nothing depends on it.
fn report_clients() {
    let here = Tool::new("claude").arg("--version").read();
    let newest = Tool::new("npm")
        .args(["view", "@anthropic-ai/claude-code", "version"])
        .next_step("apt-get install npm, or look the version up yourself")
        .read();
    for (which, version) in [("client on this machine", here), ("newest client", newest)] {
        match version {
            Ok(version) => println!("{which}: {}", version.trim()),
            Err(error) => println!("{which}: not known ({error:#})"),
        }
    }
    println!("`cargo xtask test --latest` runs the end-to-end tests with the newest one.");
}

fn into_demo(workspace: &Workspace, release: &Release) -> Result<()> {
    let project = workspace.fresh("demo-project")?;
    // The client's own folder stays the person's: only the transcript of the killed session lies here.
    let client = workspace.fresh("demo-client")?;
    demo::leave_behind(&project, &client)?;
    into(workspace, release, &project, Some(&workspace.target.join("demo-bin")))?;
    println!(
        "\nThe demo project holds what a session killed at {} left behind. See it told:\n\n    cd {}\n    claude\n\n\
         Accept the folder, write any prompt (\"What was interrupted?\"), and the first answer knows.\n\
         To begin again: cargo xtask install. To be rid of it: rm -r {} {} {}",
        demo::killed_at(),
        project.display(),
        project.display(),
        client.display(),
        workspace.target.join("demo-bin").display(),
    );
    Ok(())
}

fn into(workspace: &Workspace, release: &Release, project: &Path, bin_dir: Option<&Path>) -> Result<()> {
    install(release, project, bin_dir)?;
    let wired = wiring::of_project(project)?;
    if wired.is_empty() {
        bail!("`recovery install` ended well but {} starts none of our hooks", project.display());
    }
    println!("\nWired in {}:", project.display());
    for (event, processes) in wiring::processes_per_event(&wired) {
        println!("  {event}: {processes} process{}", if processes == 1 { "" } else { "es" });
    }
    fire(workspace, &wired)
}

fn install(release: &Release, project: &Path, bin_dir: Option<&Path>) -> Result<()> {
    let tool = command(release, project);
    match bin_dir {
        Some(dir) => tool.arg("--bin-dir").arg(dir),
        None => tool,
    }
    .run()
}

/// Installs without a word, with a home of its own: for measurements.
pub(crate) fn quietly(release: &Release, project: &Path, bin_dir: &Path, home: &Path) -> Result<()> {
    command(release, project).arg("--bin-dir").arg(bin_dir).env("HOME", home).read().map(drop)
}

fn command(release: &Release, project: &Path) -> Tool {
    Tool::new(release.program(COMMAND))
        .args(["install", "--project"])
        .arg(project)
        .next_step("the message above names what to change")
}

/// Runs every wired command on recorded payloads. They are told that their project is a scratch one with left-overs:
/// the commands are those of the real wiring, the state they write is thrown away.
fn fire(workspace: &Workspace, wired: &[Wired]) -> Result<()> {
    let scratch = workspace.fresh("xtask-scratch")?;
    let place = Place { project: scratch.join("project"), home: scratch.join("home") };
    let client = place.home.join(".claude");
    std::fs::create_dir_all(&place.project).context("making the scratch project")?;
    demo::leave_behind(&place.project, &client)?;

    println!("\nEach hook on recorded payloads, in a scratch project with left-overs:");
    let mut number = 0;
    let mut fired = Vec::new();
    let mut heard = 0;
    for (recorded, times) in STORY {
        println!(
            "\n{}: {}{}",
            recorded.event,
            recorded.title,
            if times > 1 { format!(" ({times} times)") } else { String::new() }
        );
        let entries: Vec<&Wired> = wired
            .iter()
            .filter(|one| one.event == recorded.event && one.starts_for(recorded.subject))
            .collect();
        if entries.is_empty() {
            println!("  no hook is wired to it");
        }
        for _ in 0..times {
            number += 1;
            let call = Call { session: SESSION, project: &place.project, number, bytes: 0 };
            let payload = recorded.fill(&call);
            for one in &entries {
                heard += show(&hear(one, &recorded, &payload, &place)?);
                fired.push((*one).clone());
            }
        }
    }
    let silent: Vec<&Wired> = wired.iter().filter(|one| !fired.contains(one)).collect();
    for one in silent {
        println!("\nNot tried (no recorded payload for it): {} {}", one.event, one.shown());
    }
    if heard == 0 {
        bail!(
            "no hook said anything about the left-overs. Next: `{}` doctor, or run one hook by hand",
            COMMAND
        );
    }
    std::fs::remove_dir_all(&scratch).context("removing the scratch project")
}

/// Where a fired hook believes to be.
struct Place {
    project: PathBuf,
    home: PathBuf,
}

/// What one hook said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    /// What the agent reads.
    agent: Option<String>,
    /// What the person reads.
    person: Option<String>,
}

fn hear(wired: &Wired, recorded: &Recorded, payload: &[u8], place: &Place) -> Result<Heard> {
    let said = wired
        .tool()
        .clean_env()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &place.home)
        .env("CLAUDE_PROJECT_DIR", &place.project)
        .env("CLAUDE_CODE_SESSION_ID", SESSION)
        .env("CLAUDE_PID", std::process::id().to_string())
        .cwd(&place.project)
        .next_step("see that the installed program is there and may be started")
        .capture(payload)?;
    understand(&said, recorded.event).with_context(|| format!("`{}` at {}", wired.shown(), recorded.event))
}

/// Reads a hook's answer as strictly as the client does.
fn understand(said: &Said, event: &str) -> Result<Heard> {
    if !said.status.success() {
        bail!("ended with {}: {}", said.status, said.stderr.trim_end());
    }
    if said.stdout.trim().is_empty() {
        return Ok(Heard::default());
    }
    let value: Value =
        serde_json::from_str(&said.stdout).context("printed something else than one JSON object")?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let output = &value["hookSpecificOutput"];
    if !output.is_null() && output["hookEventName"] != event {
        bail!("answered for another event: {}", output["hookEventName"]);
    }
    Ok(Heard { agent: text(&output["additionalContext"]), person: text(&value["systemMessage"]) })
}

/// Prints it and returns how many texts there were.
fn show(heard: &Heard) -> usize {
    let texts = [("the agent hears", &heard.agent), ("the person sees", &heard.person)];
    let mut count = 0;
    for (who, text) in texts {
        for line in text.iter().flat_map(|text| text.lines()) {
            println!("  {who}: {line}");
            count += 1;
        }
    }
    if count == 0 {
        println!("  (silent)");
    }
    count
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn said(code: i32, stdout: &str) -> Said {
        Said { status: ExitStatus::from_raw(code << 8), stdout: stdout.to_owned(), stderr: String::new() }
    }

    #[test]
    fn silence_is_an_answer() {
        assert_eq!(understand(&said(0, "\n"), "Stop").expect("fine"), Heard::default());
    }

    #[test]
    fn both_texts_are_heard() {
        let text = r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"a"},"systemMessage":"p"}"#;
        let heard = understand(&said(0, text), "PostToolUse").expect("fine");
        assert_eq!(heard, Heard { agent: Some("a".into()), person: Some("p".into()) });
    }

    #[test]
    fn what_the_client_rejects_is_an_error() {
        let unnamed = r#"{"hookSpecificOutput":{"additionalContext":"a"}}"#;
        for (code, text) in [(0, unnamed), (0, "a log line"), (0, "{}{}"), (1, "")] {
            assert!(understand(&said(code, text), "PostToolUse").is_err(), "{code} {text}");
        }
        let other = r#"{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"a"}}"#;
        assert!(understand(&said(0, other), "PostToolUse").is_err());
    }
}
