use serde_json::json;

use crate::world::{ME, World};

const PLAN: &str = ".working-state/current-plan.md";

#[test]
fn a_plan_is_pointed_to_and_not_quoted() {
    let world = World::new();
    world.write(PLAN, "# Plan\n\n- [x] Read\n- [ ] Move the session table\n- [ ] Check\n");
    let said = world.start(ME).unwrap();
    assert!(said.contains(".working-state/current-plan.md has 2 open boxes (1 done)"), "{said}");
    assert!(!said.contains("Move the session table"));
}

#[test]
fn once_a_session_and_to_three_sessions_until_it_changes() {
    let mut world = World::new();
    world.write(PLAN, "- [ ] one\n");
    assert!(world.start("s1").is_some());
    assert_eq!(world.prompt("s1"), None);
    world.restart_client();
    assert_eq!(world.event("s1", "SessionStart", &json!({"source": "resume"})), None, "told before");
    assert!(world.prompt("s2").is_some());
    assert!(world.start("s3").is_some());
    assert_eq!(world.start("s4"), None, "the fourth");
    world.write(PLAN, "- [x] one\n- [ ] two\n");
    assert!(world.start("s5").is_some(), "it changed");
}

#[test]
fn a_finished_or_forgotten_plan_is_not_told() {
    let world = World::new();
    world.write(PLAN, "- [x] one\n");
    assert_eq!(world.start("s1"), None);
    world.write(PLAN, "Just words.\n");
    assert!(world.start("s2").is_some(), "no boxes at all");
    world.write(PLAN, "- [ ] one\n");
    world.age(PLAN, 15 * 86_400);
    assert_eq!(world.start("s3"), None);
}

#[test]
fn it_is_told_where_another_program_made_the_sessions_folder() {
    let world = World::new();
    world.write(PLAN, "- [ ] one\n");
    world.write(&format!("sessions/{ME}/reanchor.json"), "{}");
    assert!(world.start(ME).is_some());
}
