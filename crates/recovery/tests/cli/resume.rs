//! `recovery resume`.

use serde_json::{Value, json};
use session_state::process::ProcessId;
use session_state::{Now, heartbeat};
use session_state::{Project, Session};

use crate::world::{World, program};

/// A process that has ended.
fn ended() -> Value {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let id = ProcessId::of(child.id());
    child.wait().unwrap();
    serde_json::to_value(id).unwrap()
}

/// A session of the project that last beat a minute ago.
fn session(world: &World, id: &str, status: &str, more: &Value) {
    let project = Project { root: world.project.clone(), state: world.project.clone() };
    let session = Session::make(&project, id).unwrap();
    heartbeat::beat(&session.dir, Now(Now::read().0 - 60_000)).unwrap();
    let transcript = world.home.join(format!("{id}.jsonl"));
    let lines = [
        json!({"type": "user", "message": {"role": "user", "content": "Port the parser, key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}}),
        json!({"type": "assistant", "message": {"model": "m", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo test\u{1b}[2J -p api"}}]}}),
    ];
    std::fs::write(&transcript, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let mut file = json!({
        "v": 1, "session_id": id, "process": ended(), "transcript": transcript, "project": world.project,
        "entrypoint": "cli", "started_s": 1, "updated_s": 1,
    });
    for (name, value) in more.as_object().unwrap() {
        file[name] = value.clone();
    }
    world.write(&format!("sessions/{id}/session.json"), file.to_string());
    world.write(&format!("sessions/{id}/status"), format!("{status}\n"));
}

#[test]
fn what_was_cut_off_is_listed_with_the_command_that_continues_it() {
    let world = World::new();
    world.write(".git/HEAD", "x");
    session(&world, "killed", "running", &json!({}));
    session(&world, "closed", "ended", &json!({"end_reason": "other"}));
    session(&world, "saved", "scavenged", &json!({}));
    world.write("sessions/saved/handoffs/scavenged.md", "x");
    // These are none of it.
    session(&world, "left", "ended", &json!({"end_reason": "prompt_input_exit"}));
    session(&world, "answered", "ended", &json!({"end_reason": "other", "entrypoint": "sdk-cli"}));
    session(&world, "cleared", "superseded", &json!({}));
    session(&world, "alive", "running", &json!({"process": ProcessId::of(std::process::id())}));
    session(&world, "unknown", "running", &json!({"process": null}));
    session(&world, "elsewhere", "running", &json!({"project": "/another/project"}));
    session(&world, "mute", "running", &json!({"transcript": null}));

    let said = world.succeed(&["resume"]).stdout;
    for id in ["killed", "closed", "saved"] {
        assert!(said.contains(&format!("cd [PROJECT] && claude --resume {id}")), "{id}: {said}");
    }
    for id in ["left", "answered", "cleared", "alive", "unknown", "elsewhere", "mute"] {
        assert!(!said.contains(&format!("--resume {id}")), "{id}: {said}");
    }
    assert!(said.contains("running  Bash cargo test -p api"), "{said}");
    assert!(said.contains("prompt   Port the parser") && !said.contains("abcdefghijklmnop"), "{said}");
    assert!(said.contains("saved    sessions/saved/handoffs/scavenged.md"), "{said}");

    let listed: Value = serde_json::from_str(&world.succeed(&["resume", "--json"]).stdout).unwrap();
    assert_eq!((listed["v"].clone(), listed["sessions"].as_array().map(Vec::len)), (json!(1), Some(3)));
}

#[test]
fn nothing_runs_without_a_yes_and_one_terminal_takes_one() {
    let world = World::new();
    world.write(".git/HEAD", "x");
    world.install_client("#!/bin/sh\npwd -P >>\"$HOME/started\"; echo \"$@\" >>\"$HOME/started\"\n");
    program(&world.build().join("../path/tmux"), "#!/bin/sh\necho tmux >>\"$HOME/started\"\n");
    let started = world.home.join("started");
    assert_eq!(world.succeed(&["resume"]).stdout, "no session was cut off\n");
    session(&world, "one-1", "running", &json!({}));
    session(&world, "two-2", "running", &json!({}));
    world.succeed(&["resume"]);
    let shown = world.succeed(&["resume", "--tmux"]).stdout;
    assert!(shown.contains("claude:project  [PROJECT]: claude --resume one-1"), "{shown}");
    assert!(!started.exists(), "only shown");

    let said = world.run(&["resume", "--yes"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.contains("2 sessions were cut off, and one terminal takes one\nhint: "),
        "{}",
        said.stderr
    );
    assert_eq!(world.run(&["resume", "three", "--yes"]).code, Some(1));
    assert!(!started.exists());

    world.succeed(&["resume", "one", "--yes"]);
    let started = std::fs::read_to_string(started).unwrap();
    assert_eq!(started, format!("{}\n--resume one-1\n", world.project.display()));
}

#[test]
fn all_projects_are_those_the_hooks_have_seen() {
    let world = World::new();
    world.write(".git/HEAD", "x");
    session(&world, "killed", "running", &json!({}));
    assert_eq!(world.succeed(&["resume", "--all"]).stdout, "no session was cut off\n");
    let env = session_state::env::Env::of(&[("HOME", world.home.as_os_str())]);
    let project = Project { root: world.project.clone(), state: world.project.clone() };
    session_state::registry::note(&env, &project).unwrap();
    let said = world.succeed(&["resume", "--all"]).stdout;
    assert!(said.contains("claude --resume killed"), "{said}");
}
