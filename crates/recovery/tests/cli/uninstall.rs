use std::{fs, os::unix::fs::symlink};

use super::world::World;

fn install(world: &World, more: &[&str]) {
    let mut arguments = vec!["install", "--client-version", "2.1.332"];
    arguments.extend(more);
    world.succeed(&arguments);
}

/// Files before an install, in every look.
const FILES: [&str; 12] = [
    "",
    "\n",
    "{}",
    "{ }\r\n",
    "\u{feff}{\r\n\t\"a\": 1\r\n}\r\n",
    "{\"hooks\":{}}",
    "{\n  \"hooks\": {\n  },\n  \"z\": []\n}\n",
    "{ \"hooks\": { \"Stop\": [ ], \"PostToolUse\": [\n] } }",
    "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]},\"n\":1.50e1}",
    "{\n    \"hooks\": {\n        \"Stop\": [{\n            \"hooks\": []\n        }]\n    }\n}",
    "\n\n  {\"hooks\": {\"Odd\": 7}}  \n\n",
    "{\"env\": {\"A\": \"\\u00e9\\/\", \"A\": \"2\"}}",
];

#[test]
fn the_old_file_is_back_byte_for_byte() {
    for before in FILES {
        for installs in [&[&[][..]][..], &[&["--separate"]], &[&[], &["--separate"], &["--shared"], &[]]] {
            let world = World::with_settings(before);
            for more in installs {
                install(&world, more);
            }
            let said = world.succeed(&["uninstall"]);
            assert_eq!(world.read(".claude/settings.json"), before, "{installs:?}");
            assert!(said.stdout.contains("byte for byte"), "{}", said.stdout);
            assert_eq!(fs::read_dir(world.project.join(".claude")).unwrap().count(), 1);
        }
    }
}

#[test]
fn a_file_and_a_folder_that_install_made_are_removed() {
    let world = World::new();
    let before = world.snapshot();
    install(&world, &[]);
    world.succeed(&["uninstall", "--purge"]);
    let after: Vec<_> = world
        .snapshot()
        .into_iter()
        .filter(|(path, ..)| !world.home.join(".local/share").starts_with(path))
        .collect();
    assert_eq!(after, before, "but for ~/.local/share, which belongs to all programs");

    // A folder that was there stays.
    fs::create_dir(world.project.join(".claude")).unwrap();
    install(&world, &[]);
    world.succeed(&["uninstall"]);
    assert_eq!(fs::read_dir(world.project.join(".claude")).unwrap().count(), 0);
}

#[test]
fn later_changes_of_others_stay() {
    let world = World::with_settings("{\n  \"a\": 1\n}\n");
    install(&world, &["--separate"]);
    let edited = world.read(".claude/settings.json").replace("\"a\": 1", "\"a\": 2,\n  \"b\": [1,  2]");
    world.write(".claude/settings.json", &edited);
    // An update in between starts from what is there now.
    install(&world, &[]);
    world.succeed(&["uninstall"]);
    assert_eq!(world.read(".claude/settings.json"), "{\n  \"a\": 2,\n  \"b\": [1,  2]\n}\n");

    // The same without another install.
    install(&world, &[]);
    let edited = world.read(".claude/settings.json").replace("\"a\": 2", "\"a\": 3");
    world.write(".claude/settings.json", &edited);
    let said = world.succeed(&["uninstall"]);
    assert!(said.stdout.contains("our entries are out, everything else is as it was"), "{}", said.stdout);
    assert_eq!(world.read(".claude/settings.json"), "{\n  \"a\": 3,\n  \"b\": [1,  2]\n}\n");
}

#[test]
fn a_second_uninstall_has_nothing_to_do() {
    let world = World::with_settings("{}");
    install(&world, &[]);
    world.succeed(&["uninstall"]);
    let before = world.snapshot();
    let said = world.succeed(&["uninstall"]);
    assert!(said.stdout.starts_with("There was nothing of ours in the settings of the project [PROJECT].\n"));
    assert_eq!(world.snapshot(), before);
}

#[test]
fn entries_of_an_older_install_go_too() {
    let old = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/old/error-tracker"}]}]},"a":1}"#;
    let world = World::with_settings(old);
    install(&world, &[]);
    let said = world.succeed(&["uninstall"]);
    assert_eq!(world.read(".claude/settings.json"), r#"{"a":1}"#);
    assert!(said.stdout.contains("less the entries of an older one"), "{}", said.stdout);
}

#[test]
fn a_linked_file_is_edited_at_its_target() {
    let world = World::new();
    fs::create_dir(world.home.join("dotfiles")).unwrap();
    fs::create_dir(world.project.join(".claude")).unwrap();
    let target = world.home.join("dotfiles/claude.json");
    let link = world.project.join(".claude/settings.json");
    fs::write(&target, "{ \"a\": 1 }").unwrap();
    symlink(&target, &link).unwrap();
    install(&world, &[]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("recovery-hooks"));
    world.succeed(&["uninstall"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "{ \"a\": 1 }");
}

#[test]
fn a_home_behind_a_link_is_cleaned_up_too() {
    let world = World::new();
    let link = world.home.with_file_name("linked-home");
    symlink(&world.home, &link).unwrap();
    let before = world.snapshot();
    for arguments in
        [&["install", "--user", "--client-version", "2.1.332"][..], &["uninstall", "--user", "--purge"]]
    {
        let said = world.said(world.command(arguments).env("HOME", &link).output().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let after: Vec<_> = world
        .snapshot()
        .into_iter()
        .filter(|(path, ..)| !world.home.join(".local/share").starts_with(path))
        .collect();
    assert_eq!(after, before);
}

#[test]
fn a_broken_file_stops_the_whole() {
    let world = World::with_settings("{}");
    install(&world, &[]);
    world.write(".claude/settings.local.json", "{ // x\n}");
    let before = world.snapshot();
    let said = world.run(&["uninstall"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("settings.local.json:1:3 cannot be edited"), "{}", said.stderr);
    assert_eq!(world.snapshot(), before);
}

#[test]
fn programs_stay_as_long_as_another_project_is_wired_to_them() {
    let world = World::new();
    let other = world.home.join("other");
    fs::create_dir(&other).unwrap();
    install(&world, &[]);
    install(&world, &["--project", other.to_str().unwrap()]);
    let said = world.succeed(&["uninstall", "--purge"]);
    assert!(
        said.stdout.contains(
            "kept: [HOME]/.local/share/recovery-hooks/bin ([HOME]/other/.claude/settings.json is wired to it)"
        ),
        "{}",
        said.stdout
    );
    assert!(world.bin_dir().join("recovery-hooks").is_file());
    world.succeed(&["uninstall", "--purge", "--project", other.to_str().unwrap()]);
    assert!(!world.home.join(".local/share/recovery-hooks").exists());
}

#[test]
fn purge_takes_records_and_leaves_what_others_wrote() {
    let world = World::new();
    install(&world, &["--bin-dir", world.build().to_str().unwrap()]);
    world.write("sessions/a/session.json", "{}");
    world.write("sessions/b/session.json", "{}");
    world.write("sessions/b/ralph.json", "{}");
    world.write("logs/.gitignore", "*\n");
    world.write("logs/error-recovery.log", "x");
    let said = world.succeed(&["uninstall", "--purge"]);
    assert!(said.stdout.contains("Records of 1 sessions removed from [PROJECT]."), "{}", said.stdout);
    assert!(said.stdout.contains("kept: [PROJECT]/sessions/b (ralph.json is not ours)"), "{}", said.stdout);
    assert!(!world.project.join("sessions/a").exists());
    assert!(!world.project.join("logs").exists());
    assert_eq!(fs::read_dir(world.build()).unwrap().count(), 6, "a build is never taken away");
}

#[test]
fn secrets_of_the_original_are_kept_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::with_settings(r#"{"env":{"TOKEN":"t"}}"#);
    install(&world, &[]);
    let kept: Vec<_> = world
        .snapshot()
        .into_iter()
        .filter(|(path, bytes, _)| {
            bytes.is_some() && path.components().any(|part| part.as_os_str() == "backups")
        })
        .collect();
    assert_eq!(kept.len(), 3);
    for (path, _, mode) in kept {
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
