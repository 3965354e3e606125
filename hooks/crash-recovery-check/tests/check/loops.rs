use serde_json::Value;
use session_state::layout;

use crate::world::{ME, World, ended_process, living_process, write};

fn is_active(world: &World, path: &str) -> bool {
    let file: Value = serde_json::from_str(&world.read(path)).unwrap();
    file["active"] == true
}

#[test]
fn a_stale_loop_is_set_inactive_and_nothing_else_of_it_changes() {
    let world = World::new();
    world.ralph("old", 10_800);
    world.heartbeat("old", 10_800);
    let before = world.read("sessions/old/ralph.json");
    let said = world.start(ME).unwrap();
    assert!(said.contains("sessions/old/ralph.json") && said.contains("3h ago"), "{said}");
    assert!(said.contains("iteration 7 kept"), "{said}");
    let after = before.replacen("true", r#"false, "deactivation_reason": "stale""#, 1);
    assert_eq!(world.read("sessions/old/ralph.json"), after);
    assert!(world.read("logs/error-recovery.log").contains("error=loop action=mended"));
    assert_eq!(world.start("another"), None, "said and done");
}

#[test]
fn the_two_hours_are_strict() {
    let world = World::new();
    for (name, age) in [("under", 7_199), ("at", 7_200), ("over", 7_201)] {
        world.ralph(name, age);
    }
    let said = world.start(ME).unwrap();
    assert!(said.contains("sessions/over/") && !said.contains("sessions/at/"), "{said}");
    assert!(is_active(&world, "sessions/at/ralph.json") && is_active(&world, "sessions/under/ralph.json"));
}

#[test]
fn an_owner_with_any_sign_of_life_keeps_its_loop() {
    let world = World::new();
    for name in ["beats", "runs", "listed", "just-gone"] {
        world.ralph(name, 10_800);
    }
    world.heartbeat("beats", 25);
    world.session("runs", &living_process(), &[]);
    world.heartbeat("runs", 10_800);
    let alive = living_process();
    let file =
        serde_json::json!({"pid": alive.pid, "procStart": alive.start, "sessionId": "listed", "cwd": "/"});
    write(&world.home().join(format!(".claude/sessions/{}.json", alive.pid)), &file.to_string());
    world.session("just-gone", &ended_process(), &[]);
    world.heartbeat("just-gone", 300);
    let _ = world.start(ME);
    for name in ["beats", "runs", "listed", "just-gone"] {
        assert!(is_active(&world, &format!("sessions/{name}/ralph.json")), "{name}");
    }
}

#[test]
fn ones_own_loop_stays_after_a_resume() {
    let world = World::new();
    world.ralph(ME, 90_000);
    let _ = world.event(ME, "SessionStart", &serde_json::json!({"source": "resume"}));
    assert!(is_active(&world, &format!("sessions/{ME}/ralph.json")));
}

#[test]
fn a_loop_that_waits_for_a_limit_is_spared_for_a_day() {
    let world = World::new();
    for (name, ago_ms) in [("waits", 86_400_000_i64), ("waited", 86_401_000)] {
        world.ralph(name, 90_000);
        let t = world.now.seconds() * 1000 - ago_ms;
        let fact = format!(r#"{{"v":1,"t":{t},"k":"api","id":"p1","key":"api:limit","cls":"usage_limit"}}"#);
        world.write(&format!("sessions/{name}/journal.jsonl"), &(fact + "\n"));
    }
    let _ = world.start(ME);
    assert!(is_active(&world, "sessions/waits/ralph.json"));
    assert!(!is_active(&world, "sessions/waited/ralph.json"));
}

#[test]
fn loops_of_other_systems_are_mended_where_they_lie_and_a_plugins_is_reported() {
    let world = World::new();
    let text = |ago: i64| format!(r#"{{"active":true,"iteration":2,"started_at":"{}"}}"#, world.iso(ago));
    let script = world.home().join(".openclaw/shared-context/sessions/main/ralph.json");
    write(&script, &text(8_000));
    world.write(".omc/state/ralph-state.json", &text(8_000));
    world.write(".omc/state/sessions/s1/ralph-state.json", &text(600));
    let front = "---\nactive: true\niteration: 3\nsession_id: gone-1\n---\n\nGo on.\n";
    world.write(".claude/ralph-loop.local.md", front);
    world.age(".claude/ralph-loop.local.md", 9_000);
    let said = world.start(ME).unwrap();
    assert!(std::fs::read_to_string(&script).unwrap().contains(r#""active":false"#));
    assert!(!is_active(&world, ".omc/state/ralph-state.json"));
    assert!(is_active(&world, ".omc/state/sessions/s1/ralph-state.json"));
    assert_eq!(world.read(".claude/ralph-loop.local.md"), front);
    for part in ["~/.openclaw", ".omc/state/ralph-state.json", ".claude/ralph-loop.local.md says active"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let beside: Vec<_> = std::fs::read_dir(script.parent().unwrap()).unwrap().collect();
    assert_eq!(beside.len(), 1, "nothing of ours is left in a foreign folder");
}

#[test]
fn a_damaged_loop_is_named_and_kept_to_the_byte() {
    let world = World::new();
    world.write("sessions/cut/ralph.json", r#"{"active": true, "iteration": 31, "last_"#);
    world.write("sessions/empty/ralph.json", "");
    world.ralph("sound", 9_000);
    let said = world.start(ME).unwrap();
    assert!(said.contains("sessions/cut/ralph.json is damaged"), "{said}");
    assert!(said.contains("sessions/sound/ralph.json was active"), "{said}");
    assert_eq!(world.read("sessions/cut/ralph.json"), r#"{"active": true, "iteration": 31, "last_"#);
    assert_eq!(world.read("sessions/empty/ralph.json"), "");
}

#[test]
fn a_damaged_loop_of_a_dead_session_comes_back_from_its_copy_inactive() {
    let world = World::new();
    let copy = r#"{"session_id": "dead", "active": true, "iteration": 9}"#;
    for name in ["dead", "fresh", "alive", "unknown"] {
        world.write(&format!("sessions/{name}/ralph.json"), r#"{"session_id": "de"#);
        world.write(&format!("sessions/{name}/{}", layout::LOOP_CHECKPOINT), &copy.replace("dead", name));
        world.age(&format!("sessions/{name}/ralph.json"), if name == "fresh" { 500 } else { 700 });
    }
    for name in ["dead", "fresh"] {
        world.session(name, &ended_process(), &[]);
        world.heartbeat(name, 700);
    }
    world.session("alive", &living_process(), &[]);
    let said = world.start(ME).unwrap();
    assert!(said.contains("sessions/dead/ralph.json was damaged: restored inactive"), "{said}");
    let restored: Value = serde_json::from_str(&world.read("sessions/dead/ralph.json")).unwrap();
    assert_eq!((&restored["active"], &restored["iteration"]), (&false.into(), &9.into()));
    let saved = format!("sessions/dead/{}{}", layout::LOOP_DAMAGED, world.now.seconds());
    assert_eq!(world.read(&saved), r#"{"session_id": "de"#);
    assert!(said.contains(&saved), "{said}");
    for name in ["fresh", "alive", "unknown"] {
        assert_eq!(world.read(&format!("sessions/{name}/ralph.json")), r#"{"session_id": "de"#, "{name}");
    }
}

#[test]
fn an_unreadable_time_is_never_old_and_a_future_one_is_young() {
    let world = World::new();
    world.write("sessions/odd/ralph.json", r#"{"active": true, "last_checked_at": "long ago"}"#);
    world.write("sessions/none/ralph.json", r#"{"active": true}"#);
    world.ralph("future", -90_000);
    assert_eq!(world.start(ME), None);
}
