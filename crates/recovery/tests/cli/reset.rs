//! `recovery reset`.

use rules::fact::{Fact, What};
use session_state::env::{self, Env};
use session_state::ledger::Ledger;
use session_state::{Now, Project, Session};

use crate::world::World;

/// A session in which a server and a tool failed twice.
fn failing(world: &World, id: &str) {
    let variables =
        [(env::CLAUDE_PROJECT_DIR, world.project.as_os_str()), (env::HOME, world.home.as_os_str())];
    let project = Project::find(&Env::of(&variables), None).unwrap();
    let session = Session::make(&project, id).unwrap();
    for number in 1..=2 {
        let mut ledger = Ledger::make(&session).unwrap();
        let fail = |key: &str| {
            let mut fact = Fact::new(What::Fail, key.to_owned(), format!("call-{number}"));
            fact.tool = "mcp__docs__find".into();
            fact.cls = "connection".into();
            fact
        };
        ledger.record(vec![fail("mcp:docs"), fail("tool:mcp__docs__find")]).unwrap();
        ledger.finish(Vec::new(), "test", Now::read()).unwrap();
    }
    assert!(world.project.join(format!("sessions/{id}/mcp-retry-mcp__docs__find.json")).exists());
}

#[test]
fn a_streak_and_its_counter_are_set_back() {
    let world = World::new();
    world.write(".git/HEAD", "x");
    failing(&world, "one");
    failing(&world, "two");
    let said = world.run(&["reset", "docs", "--session", "one"]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "mcp:docs set back in session one\n"),
        "{}",
        said.stderr
    );
    assert!(!world.project.join("sessions/one/mcp-retry-mcp__docs__find.json").exists());
    assert!(world.project.join("sessions/one/open").exists(), "the tool's streak is still open");
    assert!(world.project.join("sessions/two/mcp-retry-mcp__docs__find.json").exists());
    let said = world.run(&["reset", "*"]);
    assert_eq!(said.code, Some(0));
    for id in ["one", "two"] {
        assert!(!world.project.join(format!("sessions/{id}/open")).exists(), "{id}");
        assert!(!world.project.join(format!("sessions/{id}/fail-count-mcp__docs__find.txt")).exists());
    }
}

#[test]
fn a_name_that_is_not_open_is_told_with_those_that_are() {
    let world = World::new();
    world.write(".git/HEAD", "x");
    let said = world.run(&["reset", "docs"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("no streak is open there"), "{}", said.stderr);
    failing(&world, "one");
    let said = world.run(&["reset", "other"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("open are: mcp:docs, tool:mcp__docs__find"), "{}", said.stderr);
}
