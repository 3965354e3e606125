use super::world::World;

#[test]
fn the_whole_command_line() {
    let world = World::new();
    let mut reference = String::new();
    for arguments in [
        &["--help"][..],
        &["install", "--help"],
        &["uninstall", "--help"],
        &["explain", "--help"],
        &["workflow", "--help"],
        &["change", "--help"],
        &["change", "check", "--help"],
        &["change", "tasks", "--help"],
        &["change", "task-complete", "--help"],
        &["change", "sync-plan", "--help"],
        &["change", "checkpoint", "--help"],
        &["change", "delivery", "--help"],
        &["resume-probe", "--help"],
        &["run", "--help"],
        &["run", "list", "--help"],
        &["run", "evidence", "--help"],
        &["run", "judge", "--help"],
        &["run", "claim", "--help"],
        &["run", "release", "--help"],
        &["run", "verify", "--help"],
    ] {
        let said = world.succeed(arguments);
        reference.push_str(&format!("$ recovery {}\n{}\n", arguments.join(" "), said.stdout));
    }
    insta::assert_snapshot!(reference);
}

#[test]
fn the_version_is_the_packages() {
    let said = World::new().succeed(&["--version"]);
    assert_eq!(said.stdout, format!("recovery {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_wrong_command_line_is_exit_2() {
    let world = World::new();
    for arguments in [
        &["instal"][..],
        &["install", "--user", "--project", "."],
        &["install", "--user", "--shared"],
        &["install", "--client-version", "new"],
        &[],
    ] {
        let said = world.run(arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}");
        assert_eq!(said.stdout, "", "{arguments:?}");
    }
}
