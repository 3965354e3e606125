use serde_json::{Value, json};
use session_state::layout;

use crate::world::{ME, World, answered, asked, called, ended_process, living_process};

const OLD: &str = "3f2a9c1e-0000-4000-8000-00000000000a";

fn at_work(world: &World) -> Vec<Value> {
    let file = |name: &str| json!({"file_path": world.path(name)});
    vec![
        asked("Port the parser"),
        called("t1", "Edit", &file("src/a.rs")),
        answered("t1", false),
        called("t2", "Write", &file("src/b.rs")),
        answered("t2", false),
        called("t3", "Edit", &file("src/missed.rs")),
        answered("t3", true),
        called("t4", "Bash", &json!({"command": "cargo test -p api"})),
    ]
}

#[test]
fn a_killed_session_is_told_with_what_it_did() {
    let world = World::new();
    world.session(OLD, &ended_process(), &at_work(&world));
    let said = world.start(ME).unwrap();
    for part in [
        "session 3f2a9c1e ended at ",
        "while Bash `cargo test -p api` was running (process gone, no end mark)",
        "last prompt: \"Port the parser\"",
        "edited: src/b.rs, src/a.rs.",
        "`claude --resume 3f2a9c1e-0000-4000-8000-00000000000a` continues it",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.contains("Its last failure: Edit `src/missed.rs` (\"x\")."), "an edit that failed: {said}");
    assert!(!world.has(&format!("sessions/.open/{OLD}")));
    assert!(
        !world.has(&format!("sessions/{OLD}/status")),
        "it did not end: it can still be saved and resumed"
    );
    assert!(world.read("logs/error-recovery.log").contains("error=session action=told"));
    assert_eq!(world.start("next"), None, "told once");
}

#[test]
fn what_it_was_about_is_told_too() {
    let world = World::new();
    let text = |text: &str| json!({"type": "assistant", "message": {"model": "claude-x-5", "content": [{"type": "text", "text": text}]}});
    let todo = |content: &str, status: &str| json!({"content": content, "status": status});
    let failure = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1",
        "is_error": true, "content": "Exit code 101\nrunning 2 tests\nerror: expected Eof"}]}});
    world.session(
        OLD,
        &ended_process(),
        &[
            asked("Let the parser nest tokens"),
            called(
                "t0",
                "TodoWrite",
                &json!({"todos": [
                todo("Write the grammar", "completed"), todo("Say where a bracket was opened", "in_progress"),
                todo("Document it", "pending")]}),
            ),
            answered("t0", false),
            called("t1", "Bash", &json!({"command": "cargo test parser"})),
            failure,
            text("The lexer eats the bracket. Keep a stack of openings."),
            called("t2", "Edit", &json!({"file_path": world.path("src/parser.rs")})),
            answered("t2", false),
            asked("go on"),
            called("t3", "Edit", &json!({"file_path": world.path("src/lexer.rs")})),
        ],
    );
    world.write(&format!("sessions/{OLD}/status"), "scavenged\n");
    world.write(&format!("sessions/{OLD}/handoffs/scavenged.md"), "# What it knew\n");
    world.write(".working-state/current-plan.md", "- [ ] one\n");
    let said = world.start(ME).unwrap();
    for part in [
        "while Edit `src/lexer.rs` was running",
        "last prompt: \"go on\"",
        "edited: src/parser.rs",
        "Its last failure: Bash `cargo test parser` (\"error: expected Eof\")",
        "task: \"Let the parser nest tokens\"",
        "open items: \"Say where a bracket was opened\" and 1 more",
        "last decision: \"Keep a stack of openings\"",
        "scavenged.md is a hand-off",
        "current-plan.md has 1 open box",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn of_a_long_transcript_the_first_prompt_is_told_from_its_beginning() {
    let world = World::new();
    let filler: Vec<Value> = (0..1_600).map(|_| json!({"type": "system", "x": "y".repeat(1_000)})).collect();
    let lines = [vec![asked("Port the parser")], filler, vec![asked("and the lexer")]].concat();
    world.session(OLD, &ended_process(), &lines);
    let said = world.start(ME).unwrap();
    assert!(
        said.contains("last prompt: \"and the lexer\"") && said.contains("Its task: \"Port the parser\"."),
        "{said}"
    );
}

#[test]
fn edits_are_those_since_the_last_commit_where_git_tells_it() {
    let world = World::new();
    // The fixture's results came at 09:00:20 on that day.
    for (at, edited) in
        [(1_772_442_019, "edited since the last commit: src/b.rs, src/a.rs"), (1_772_442_020, "")]
    {
        world.session(OLD, &ended_process(), &at_work(&world));
        world.write(".git/logs/HEAD", &format!("0 1 A <a@b.example> {at} +0000\tcommit: x\n"));
        let said = world.start(&format!("s{at}")).unwrap();
        assert_eq!(said.contains("edited"), !edited.is_empty(), "{said}");
        assert!(said.contains(edited), "{said}");
    }
}

#[test]
fn a_session_that_lives_or_ended_well_is_not_told() {
    let world = World::new();
    world.session("alive", &living_process(), &at_work(&world));
    world.session(
        "ended",
        &ended_process(),
        &[asked("Hi"), called("t", "Read", &json!({})), answered("t", false)],
    );
    world.write("sessions/ended/status", "ended\n");
    world.session("cleared", &ended_process(), &at_work(&world));
    world.write("sessions/cleared/status", "superseded\n");
    assert_eq!(world.start(ME), None);
}

#[test]
fn a_closed_terminal_in_mid_call_is_told_although_its_end_was_seen() {
    let world = World::new();
    world.session(OLD, &ended_process(), &at_work(&world));
    world.write(&format!("sessions/{OLD}/status"), "ended\n");
    let said = world.start(ME).unwrap();
    assert!(said.contains("cargo test -p api` was running (closed, the call has no result)"), "{said}");
}

#[test]
fn a_session_whose_knowledge_was_saved_is_told_with_where_it_lies() {
    let world = World::new();
    world.session(OLD, &ended_process(), &at_work(&world));
    world.write(&format!("sessions/{OLD}/status"), "scavenged\n");
    world.write(&format!("sessions/{OLD}/handoffs/scavenged.md"), "# What it knew\n");
    let said = world.start(ME).unwrap();
    assert!(
        said.contains("session 3f2a9c1e") && said.contains("/handoffs/scavenged.md is a hand-off"),
        "{said}"
    );
    assert_eq!(world.read(&format!("sessions/{OLD}/status")), "scavenged\n");
    assert_eq!(world.start("next"), None);
}

#[test]
fn a_session_is_not_told_of_itself() {
    let world = World::new();
    world.session(ME, &ended_process(), &at_work(&world));
    assert_eq!(world.event(ME, "SessionStart", &json!({"source": "resume"})), None);
    assert!(world.has(&format!("sessions/.open/{ME}")), "its mark stays");
}

#[test]
fn a_session_of_before_the_hooks_is_found_by_the_clients_own_file() {
    let world = World::new();
    let inner = world.path("packages/api");
    world.client(OLD, ended_process().pid, &inner, "busy", &at_work(&world));
    let said = world.start(ME).unwrap();
    assert!(said.contains("3f2a9c1e") && said.contains("cargo test -p api"), "{said}");
    assert_eq!(world.start("next"), None, "told once, although the client's file stays");
}

#[test]
fn of_the_clients_files_only_those_of_a_cut_off_turn_in_this_project_count() {
    let world = World::new();
    let project = world.project();
    world.client("idle", ended_process().pid, &project, "idle", &[asked("Hi")]);
    world.client("elsewhere", ended_process().pid, &world.home().join("other"), "busy", &at_work(&world));
    world.client("sibling", ended_process().pid, &project.with_extension("2"), "busy", &at_work(&world));
    world.client(ME, ended_process().pid, &project, "busy", &at_work(&world));
    // Killed, and taken up again by a client that lives.
    world.client("resumed", ended_process().pid, &project, "busy", &at_work(&world));
    let alive = living_process();
    let file = json!({"pid": alive.pid, "procStart": alive.start, "sessionId": "resumed", "cwd": project});
    crate::world::write(
        &world.home().join(format!(".claude/sessions/{}.json", alive.pid)),
        &file.to_string(),
    );
    assert_eq!(world.start(ME), None);
}

#[test]
fn a_week_is_the_limit() {
    for (days, told) in [(6, true), (8, false)] {
        let mut world = World::new();
        let pid = ended_process().pid;
        world.client(OLD, pid, &world.project(), "busy", &at_work(&world)[..0]);
        world.session("marked", &ended_process(), &[]);
        world.now = session_state::Now(world.now.0 + days * 86_400_000);
        let said = world.start(ME);
        assert_eq!(said.is_some(), told, "{days} days: {said:?}");
        assert!(!world.has("sessions/.open/marked"), "old marks do not pile up");
    }
}

#[test]
fn with_this_hook_alone_a_killed_session_is_still_told() {
    let world = World::new();
    // Its own start left a folder and a mark, and nobody wrote down its process.
    assert_eq!(world.start(OLD), None);
    world.client(OLD, ended_process().pid, &world.project(), "busy", &at_work(&world));
    assert!(world.start(ME).is_some_and(|said| said.contains("3f2a9c1e")));
    assert_eq!(world.start("next"), None);
}

#[test]
fn the_newest_in_detail_the_others_by_name_and_its_hand_off_pointed_to() {
    let world = World::new();
    for (name, beat_ago) in [("aaaaaaaa-1", 4_000), ("bbbbbbbb-2", 30), ("cccccccc-3", 9_000)] {
        world.session(name, &ended_process(), &[asked(name), called("t", "Bash", &json!({"command": name}))]);
        let path = format!("sessions/{name}/session.json");
        world.write(&path, &world.read(&path).replace("\"updated_s\":1", "\"updated_s\":0, \"was\":1"));
        world.heartbeat(name, beat_ago);
        world.write(&format!("sessions/{name}/handoffs/stage-1.md"), "# So far\n");
    }
    world.write("sessions/bbbbbbbb-2/handoffs/scavenged.md", "# What it knew\n");
    world.age("sessions/bbbbbbbb-2/handoffs/scavenged.md", 5_000);
    let said = world.start(ME).unwrap();
    assert!(said.starts_with("[CRASH RECOVERY] session bbbbbbbb ended"), "{said}");
    assert!(said.contains("2 more sessions were interrupted: aaaaaaaa, cccccccc."), "{said}");
    assert!(said.contains("sessions/bbbbbbbb-2/handoffs/scavenged.md is a hand-off"), "{said}");
}

#[test]
fn however_long_its_parts_the_session_is_told() {
    let world = World::new();
    let long = "x/".repeat(300);
    let mut lines = vec![asked(&"Refactor everything ".repeat(40))];
    for number in 0..9 {
        let id = format!("e{number}");
        lines.push(called(&id, "Edit", &json!({"file_path": world.path(&format!("{long}{number}.rs"))})));
        lines.push(answered(&id, false));
    }
    lines.push(called("t", &format!("mcp__{}__run", "y".repeat(80)), &json!({"command": "z".repeat(400)})));
    world.session(OLD, &ended_process(), &lines);
    let said = world.start(ME).unwrap();
    assert!(said.contains("session 3f2a9c1e") && said.contains("claude --resume"), "{said}");
    assert!(said.contains("8.rs"), "the last edit: {said}");
}

#[test]
fn secrets_and_escapes_of_a_transcript_do_not_pass() {
    let world = World::new();
    let command = "curl -H 'Authorization: Bearer sk-live-0123456789abcdefABCDEF' \u{1b}[31m\u{202e}x";
    world.session(
        OLD,
        &ended_process(),
        &[asked("use password=hunter2abc now\nplease"), called("t", "Bash", &json!({"command": command}))],
    );
    let said = world.start(ME).unwrap();
    assert!(!said.contains("0123456789abcdef") && !said.contains("hunter2abc"), "{said}");
    assert!(!said.contains(|c: char| c.is_control() || c == '\u{202e}'), "{said}");
    let told = world.read(&format!("sessions/{ME}/{}", layout::CRASH_CONTEXT));
    assert_eq!(told, said);
}
