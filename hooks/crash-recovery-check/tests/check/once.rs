use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Barrier;

use serde_json::json;
use session_state::layout;

use crate::world::{ME, World, asked, called, ended_process};

fn full_of_leftovers() -> World {
    let world = World::new();
    world.ralph("old", 10_800);
    world.write(".claims/a.lock", "");
    world.age(".claims/a.lock", 1_200);
    world.write(".working-state/current-plan.md", "- [ ] one\n");
    world.session("dead", &ended_process(), &[asked("Go"), called("t", "Bash", &json!({"command": "make"}))]);
    world
}

/// All findings, the weightiest first.
fn assert_whole(said: &str) {
    let parts = ["session dead", "sessions/old/ralph.json", "1 expired claim removed: a", "current-plan.md"];
    let at: Vec<_> = parts.iter().map(|part| said.find(part)).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?}: {said}");
}

#[test]
fn at_the_start_or_at_the_first_prompt_never_at_both() {
    let world = full_of_leftovers();
    assert_whole(&world.start(ME).unwrap());
    assert_eq!(world.prompt(ME), None);
    let world = full_of_leftovers();
    assert_whole(&world.prompt(ME).unwrap());
    assert_eq!(world.prompt(ME), None);
}

#[test]
fn a_session_with_nothing_to_hear_looks_no_further_at_its_prompts() {
    let world = World::new();
    assert_eq!(world.start(ME), None);
    assert!(!world.has(&format!("sessions/{ME}")), "a start that finds nothing writes nothing");
    assert_eq!(world.prompt(ME), None, "looks once more");
    world.ralph("old", 10_800);
    assert_eq!(world.prompt(ME), None, "the next start finds it");
    assert!(!world.has(&format!("sessions/{ME}/journal.jsonl")), "nothing but the marker is written");
}

#[test]
fn a_second_wiring_adds_nothing_and_loses_nothing() {
    for round in 0..20 {
        let world = full_of_leftovers();
        let barrier = Barrier::new(4);
        let said: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        if round % 2 == 0 { world.start(ME) } else { world.prompt(ME) }
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(said.len(), 1, "round {round}: {said:?}");
        assert_whole(&said[0]);
    }
}

#[test]
fn of_many_sessions_that_start_at_once_each_finding_is_told_by_one() {
    for _ in 0..10 {
        let world = full_of_leftovers();
        let client = crate::world::ended_process().pid;
        world.client("unwired", client, &world.project(), "busy", &[asked("Go")]);
        let barrier = Barrier::new(8);
        let said: Vec<String> = std::thread::scope(|scope| {
            let (world, barrier) = (&world, &barrier);
            let threads: Vec<_> = (0..8)
                .map(|number| {
                    scope.spawn(move || {
                        barrier.wait();
                        world.start(&format!("new-{number}"))
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        for part in ["sessions/old/ralph.json", "claim removed"] {
            let times = said.iter().filter(|text| text.contains(part)).count();
            assert_eq!(times, 1, "{part}: {said:?}");
        }
        // Each is told in detail or, by one who tells of both, by its name.
        for name in ["dead", "unwired"] {
            let told = |text: &&String| {
                text.contains(&format!("session {name}")) || text.contains(&format!("interrupted: {name}"))
            };
            assert_eq!(said.iter().filter(told).count(), 1, "{name}: {said:?}");
        }
    }
}

#[test]
fn two_processes_for_one_start_tell_once() {
    for _ in 0..10 {
        let world = full_of_leftovers();
        let payload = json!({"session_id": ME, "cwd": world.project(), "hook_event_name": "SessionStart",
            "source": "startup"});
        let mut running: Vec<_> = (0..2)
            .map(|_| {
                Command::new(env!("CARGO_BIN_EXE_crash-recovery-check"))
                    .env_clear()
                    .env("CLAUDE_PROJECT_DIR", world.project())
                    .env("HOME", world.home())
                    .env("CLAUDE_PID", std::process::id().to_string())
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for process in &mut running {
            process.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        }
        let outputs: Vec<_> =
            running.into_iter().map(|process| process.wait_with_output().unwrap()).collect();
        assert!(outputs.iter().all(|output| output.status.success() && output.stderr.is_empty()));
        let said: Vec<_> = outputs.iter().filter(|output| !output.stdout.is_empty()).collect();
        assert_eq!(said.len(), 1, "{outputs:?}");
        let reply: serde_json::Value = serde_json::from_slice(&said[0].stdout).unwrap();
        assert_eq!(reply["hookSpecificOutput"]["hookEventName"], "SessionStart");
        assert_whole(reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap());
    }
}

#[test]
fn a_compacted_conversation_hears_it_again_once_for_each_compaction() {
    let world = full_of_leftovers();
    let compact = |id: &str| world.event(ME, "SessionStart", &json!({"source": "compact", "prompt_id": id}));
    assert_eq!(compact("p0"), None, "nothing was told yet");
    let said = world.start(ME);
    assert!(said.is_some());
    assert_eq!(compact("p1"), said);
    assert_eq!(compact("p1"), None, "a second wiring");
    assert_eq!(compact("p2"), said);
}

#[test]
fn every_start_scans_and_tells_what_is_new() {
    let mut world = full_of_leftovers();
    assert!(world.start(ME).is_some());
    world.ralph("later", 10_800);
    world.restart_client();
    let said = world.event(ME, "SessionStart", &json!({"source": "resume"})).unwrap();
    assert!(said.contains("sessions/later/ralph.json") && !said.contains("current-plan"), "{said}");
}

#[test]
fn a_subagent_hears_nothing_and_takes_nothing_away() {
    let world = full_of_leftovers();
    let own = json!({"source": "startup", "agent_id": "a1"});
    assert_eq!(world.event(ME, "SessionStart", &own), None);
    assert_eq!(world.event(ME, "PostToolUse", &json!({"tool_name": "Bash"})), None);
    assert!(!world.has("sessions/dead/status") && world.has(".claims/a.lock"));
    assert_whole(&world.start(ME).unwrap());
}

#[test]
fn switched_off_it_says_nothing_and_mends_nothing() {
    let world = full_of_leftovers();
    world.write(".claude/recovery.json", r#"{"crash_recovery": false}"#);
    assert_eq!(world.start(ME), None);
    assert!(
        world.has(".claims/a.lock") && world.read("sessions/old/ralph.json").contains("\"active\": true")
    );
    assert!(!world.has(&format!("sessions/{ME}")), "no folder either");
}

#[test]
fn what_it_said_counts_toward_the_sessions_budget() {
    let world = full_of_leftovers();
    let said = world.start(ME).unwrap();
    let journal = world.read(&format!("sessions/{ME}/{}", layout::JOURNAL));
    let spent: u64 = journal
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter_map(|fact| fact["n"].as_u64())
        .sum();
    assert_eq!(spent, said.encode_utf16().count() as u64);
}
