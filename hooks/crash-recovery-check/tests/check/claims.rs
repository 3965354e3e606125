use serde_json::json;
use session_state::process;

use crate::world::{ME, World, ended_process, living_process};

fn claim(world: &World, name: &str, body: &str, age_s: u64) {
    world.write(&format!(".claims/{name}"), body);
    world.age(&format!(".claims/{name}"), age_s);
}

#[test]
fn claims_nobody_holds_go_after_fifteen_minutes() {
    let world = World::new();
    claim(&world, "empty.lock", "", 1_200);
    claim(&world, "sub/gone.lock", &ended_process().pid.to_string(), 2_400);
    claim(&world, "fresh.lock", "", 30);
    claim(&world, "edge.lock", "", 890);
    claim(&world, "notes.txt", "", 90_000);
    let said = world.start(ME).unwrap();
    assert!(said.contains("2 expired claims removed"), "{said}");
    assert!(said.contains("empty") && said.contains("sub/gone"), "{said}");
    assert!(!world.has(".claims/empty.lock") && !world.has(".claims/sub/gone.lock"));
    assert!(
        world.has(".claims/fresh.lock") && world.has(".claims/edge.lock") && world.has(".claims/notes.txt")
    );
}

#[test]
fn a_holder_that_may_live_keeps_its_claim() {
    let world = World::new();
    let me = living_process();
    let started = process::start_epoch_s(me.pid).unwrap();
    let claims = [
        ("ticks.lock", json!({"pid": me.pid, "start": me.start})),
        ("seconds.lock", json!({"pid": me.pid, "start": started})),
        ("millis.lock", json!({"pid": me.pid, "start_time": started * 1000})),
        ("elsewhere.lock", json!({"pid": 4242, "host": "far.invalid"})),
        ("session.lock", json!({"session_id": "busy"})),
        ("mine.lock", json!({"session_id": ME})),
        ("ahead.lock", json!({"expires_at": world.now.seconds() + 60})),
        ("odd.lock", json!("locked by bob")),
    ];
    world.heartbeat("busy", 20);
    for (name, body) in &claims {
        claim(&world, name, &body.to_string(), 1_200);
    }
    let said = world.start(ME).unwrap();
    assert!(
        said.contains("2 old claims stay") && said.contains("elsewhere") && said.contains("odd"),
        "{said}"
    );
    for (name, _) in &claims {
        assert!(world.has(&format!(".claims/{name}")), "{name}");
    }
}

#[test]
fn a_number_that_another_process_got_since_holds_nothing() {
    let world = World::new();
    let me = living_process();
    claim(&world, "reused.lock", &me.pid.to_string(), 90_000);
    claim(&world, "other-start.lock", &json!({"pid": me.pid, "start": 1}).to_string(), 1_200);
    claim(&world, "other-boot.lock", &json!({"pid": me.pid, "boot_id": "before"}).to_string(), 1_200);
    claim(&world, "dead-session.lock", &json!({"session": "dead", "expires_at": 1}).to_string(), 1_200);
    let said = world.start(ME).unwrap();
    assert!(said.contains("4 expired claims removed"), "{said}");
}

#[test]
fn a_claim_somebody_has_locked_stays() {
    let world = World::new();
    claim(&world, "a.lock", "", 1_200);
    let held = std::fs::File::open(world.path(".claims/a.lock")).unwrap();
    held.lock().unwrap();
    assert_eq!(world.start(ME), None);
    assert!(world.has(".claims/a.lock"));
}

#[test]
fn a_claim_that_cannot_be_judged_is_not_reported_for_ever() {
    let world = World::new();
    claim(&world, "a.lock", "locked by bob", 15 * 86_400);
    assert_eq!(world.start(ME), None);
    assert!(world.has(".claims/a.lock"));
}
