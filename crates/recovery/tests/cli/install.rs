use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::Value;

use super::world::{World, program};

/// Arguments that leave the client of this machine out of it.
const INSTALL: [&str; 3] = ["install", "--client-version", "2.1.332"];

fn install(more: &[&str]) -> Vec<String> {
    INSTALL.iter().chain(more).map(ToString::to_string).collect()
}

fn succeed(world: &World, more: &[&str]) -> super::world::Said {
    let arguments = install(more);
    world.succeed(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn commands(settings: &Value) -> Vec<(String, String)> {
    let mut commands = Vec::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        for entry in groups.as_array().unwrap().iter().flat_map(|group| group["hooks"].as_array().unwrap()) {
            commands.push((event.clone(), entry["command"].as_str().unwrap().to_owned()));
        }
    }
    commands
}

#[test]
fn a_newcomer_sees_what_was_wired_where_and_how_to_undo_it() {
    let world = World::new();
    let said = succeed(&world, &[]);
    insta::assert_snapshot!(said.stdout, @r"
    The recovery hooks are wired for the project [PROJECT].
      settings   [PROJECT]/.claude/settings.json (new)
      events     SessionStart UserPromptSubmit PostToolUse PostToolUseFailure PostToolBatch Stop StopFailure SessionEnd
      client     2.1.332 (given)
      programs   [HOME]/.local/share/recovery-hooks/bin (6 copied)
    See it work: start `claude` there and type /hooks; after the first prompt, sessions/<id>/heartbeat is in the project.
    Remove it:   recovery uninstall --project [PROJECT]
    ");
    assert_eq!(said.stderr, "");
    let wired = commands(&world.settings());
    assert_eq!(wired.len(), 8);
    for (event, command) in wired {
        let path = Path::new(&command);
        assert_eq!(path, world.bin_dir().join("recovery-hooks"), "{event}");
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o755);
    }
    assert!(world.bin_dir().join("recovery").is_file());
}

#[test]
fn a_second_run_writes_nothing_at_all() {
    for more in [&[][..], &["--separate"], &["--shared"]] {
        let world = World::with_settings("{\"a\": 1}");
        succeed(&world, more);
        let once = world.snapshot();
        let times = |world: &World| {
            fs::metadata(world.project.join(".claude/settings.json")).unwrap().modified().unwrap()
        };
        let written = times(&world);
        let said = succeed(&world, more);
        assert!(said.stdout.contains("(nothing to change)"), "{}", said.stdout);
        assert_eq!(world.snapshot(), once, "{more:?}");
        assert_eq!(times(&world), written);
    }
}

#[test]
fn a_dry_run_shows_a_diff_and_writes_nothing_anywhere() {
    let world = World::with_settings("{\n  \"model\": \"opus\"\n}\n");
    let before = world.snapshot();
    let said = succeed(&world, &["--dry-run"]);
    assert_eq!(world.snapshot(), before);
    for line in [
        "--- [PROJECT]/.claude/settings.json",
        "-  \"model\": \"opus\"\n",
        "+  \"model\": \"opus\",\n+  \"hooks\": {\n",
        "6 programs would be copied to [HOME]/.local/share/recovery-hooks/bin",
        "Nothing was written.",
    ] {
        assert!(said.stdout.contains(line), "{line}\n{}", said.stdout);
    }
}

#[test]
fn the_installed_command_wires_itself() {
    let world = World::new();
    succeed(&world, &[]);
    let other = world.home.join("other");
    fs::create_dir(&other).unwrap();
    let arguments = install(&["--project", other.to_str().unwrap()]);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let installed = world.bin_dir().join("recovery");
    let said = world.said(world.prepared(&installed, &arguments).output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let settings = fs::read_to_string(other.join(".claude/settings.json")).unwrap();
    assert!(settings.contains(world.bin_dir().to_str().unwrap()));
}

#[test]
fn installs_at_the_same_moment_do_no_harm() {
    let before = "{\"hooks\": {}, \"a\": 1}";
    let world = World::with_settings(before);
    let runs: Vec<_> = (0..12)
        .map(|_| world.command(&INSTALL).stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    assert_eq!(commands(&world.settings()).len(), 8);
    let left: Vec<_> =
        fs::read_dir(world.bin_dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 7, "six programs and the mark: {left:?}");
    world.succeed(&["uninstall"]);
    assert_eq!(world.read(".claude/settings.json"), before);
}

#[test]
fn newer_programs_replace_the_old_ones_even_while_they_run() {
    let world = World::new();
    succeed(&world, &[]);
    let installed = world.bin_dir().join("recovery-hooks");
    // An open file stands for a running program: a write into it would fail or change it.
    let running = fs::File::open(&installed).unwrap();
    program(&world.build().join("recovery-hooks"), "#!/bin/sh\necho newer\n");
    let said = succeed(&world, &[]);
    assert!(said.stdout.contains("(1 copied)"), "{}", said.stdout);
    assert!(fs::read_to_string(&installed).unwrap().contains("newer"));
    assert!(std::io::read_to_string(running).unwrap().contains("echo recovery-hooks"));
}

#[test]
fn a_missing_program_is_said_before_anything_is_written() {
    let world = World::new();
    fs::remove_file(world.build().join("error-tracker")).unwrap();
    let before = world.snapshot();
    let said = world.run(&INSTALL);
    assert_eq!(said.code, Some(1));
    assert_eq!(
        said.stderr,
        "error: error-tracker is not in [ROOT]/build, the folder of this `recovery`\n\
         hint: build all programs with `cargo build --release` and run `target/release/recovery` again\n"
    );
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_file_that_cannot_be_edited_is_refused_with_its_place() {
    for (text, expected) in [
        (
            "{\n  // mine\n}",
            "error: [PROJECT]/.claude/settings.json:2:3 cannot be edited: there is a comment, and the client ignores a settings file with comments as a whole\nhint: take the comments out and run the command again\n",
        ),
        (
            "{\"hooks\": {\n\"Stop\": [],\n\"Stop\": []\n}}",
            "error: [PROJECT]/.claude/settings.json:3:1 cannot be edited: the key \"Stop\" stands twice (first on line 2); the client drops the first one silently\nhint: join the two into one and run the command again\n",
        ),
        (
            "{\"a\": }",
            "error: [PROJECT]/.claude/settings.json:1:7 cannot be edited: it is not valid JSON (unexpected close brace)\nhint: mend the file there and run the command again\n",
        ),
        (
            "{\"hooks\": []}",
            "error: [PROJECT]/.claude/settings.json:1:11 cannot be edited: \"hooks\" is not an object\nhint: mend or remove that value and run the command again\n",
        ),
    ] {
        let world = World::with_settings(text);
        let before = world.snapshot();
        let said = world.run(&INSTALL);
        assert_eq!((said.code, said.stderr.as_str()), (Some(1), expected), "{text}");
        assert_eq!(world.snapshot(), before, "{text}");
    }
}

#[test]
fn a_key_twice_elsewhere_is_reported() {
    let world = World::with_settings("{\"env\": {\"A\": \"1\",\n \"A\": \"2\"}}");
    let said = succeed(&world, &[]);
    assert_eq!(
        said.stderr,
        "note: [PROJECT]/.claude/settings.json:2:2: the key \"A\" stands twice; the client takes the last one\n"
    );
}

#[test]
fn tracked_settings_are_left_to_the_team() {
    let world = World::with_settings("{}\n");
    world.git(&["init", "-q"]);
    world.git(&["add", "."]);
    let said = succeed(&world, &[]);
    assert!(said.stdout.contains("settings.local.json (new)"), "{}", said.stdout);
    assert!(said.stdout.contains("because git tracks settings.json"), "{}", said.stdout);
    assert_eq!(world.read(".claude/settings.json"), "{}\n");
    assert!(world.read(".claude/settings.local.json").contains("recovery-hooks/bin/recovery-hooks"));

    // For the team: the line that is silent elsewhere, and only that one.
    let said = succeed(&world, &["--shared"]);
    assert!(said.stderr.contains("`recovery-hooks` is not on the PATH"), "{}", said.stderr);
    assert!(
        commands(&world.settings())
            .iter()
            .all(|(_, command)| command.starts_with("command -v recovery-hooks "))
    );
    assert!(!world.read(".claude/settings.local.json").contains("recovery-hooks"));

    // A plain install of a team member keeps the shared lines.
    let shared = world.read(".claude/settings.json");
    let said = succeed(&world, &[]);
    assert!(said.stdout.contains("shared lines and stay such"), "{}", said.stdout);
    assert_eq!(world.read(".claude/settings.json"), shared);
}

#[test]
fn an_entry_of_ours_is_updated_where_it_is() {
    let world = World::new();
    world.write(
        ".claude/settings.local.json",
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/old/recovery-hooks"}]}]}}"#,
    );
    succeed(&world, &[]);
    assert!(!world.project.join(".claude/settings.json").exists());
    let local = world.read(".claude/settings.local.json");
    assert!(!local.contains("/old/"), "{local}");
    assert!(local.contains("\"SessionStart\":["), "still on one line: {local}");
}

#[test]
fn user_settings_are_in_the_configuration_folder() {
    let world = World::new();
    succeed(&world, &["--user"]);
    let own = world.home.join(".claude/settings.json");
    assert!(fs::read_to_string(&own).unwrap().contains("recovery-hooks"));
    let elsewhere = world.home.join("config");
    let arguments = install(&["--user"]);
    let output = world
        .command(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
        .env("CLAUDE_CONFIG_DIR", &elsewhere)
        .output()
        .unwrap();
    assert_eq!(world.said(output).code, Some(0));
    assert!(elsewhere.join("settings.json").is_file());
    assert!(!world.project.join(".claude").exists());
}

#[test]
fn without_an_argument_it_is_the_project_around_the_current_folder() {
    let world = World::new();
    fs::create_dir(world.project.join(".git")).unwrap();
    let deep = world.project.join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    let said = world.said(world.command(&INSTALL).current_dir(&deep).output().unwrap());
    assert!(
        said.stdout.starts_with("The recovery hooks are wired for the project [PROJECT].\n"),
        "{}",
        said.stdout
    );
    let said = world.said(world.command(&INSTALL).current_dir(&world.home).output().unwrap());
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.contains("hint: name the project with --project DIR, or use --user"),
        "{}",
        said.stderr
    );
}

#[test]
fn the_installed_clients_version_decides_the_events() {
    let world = World::new();
    world.install_client("#!/bin/sh\necho '2.1.80 (Claude Code)'\n");
    let said = world.succeed(&["install"]);
    assert!(
        said.stdout.contains("left out   PostToolBatch: known from 2.1.150 on, the client is 2.1.80\n"),
        "{}",
        said.stdout
    );
    let settings = world.settings();
    assert!(settings["hooks"]["PostToolBatch"].is_null());
    assert!(
        settings["hooks"]["StopFailure"][0]["hooks"][0]["args"].is_null(),
        "a shell line for an old client"
    );
    world.install_client("#!/bin/sh\nexit 1\n");
    let said = world.succeed(&["install"]);
    assert!(said.stdout.contains("claude printed no version: version 2.1.332 assumed"), "{}", said.stdout);
    assert!(world.settings()["hooks"]["PostToolBatch"].is_array());
}

#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let world = World::with_settings("{}");
    let folder = world.project.join(".claude");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser writes everywhere; then there is nothing to see here.
    if fs::write(folder.join("probe"), "").is_ok() {
        fs::remove_file(folder.join("probe")).unwrap();
        return;
    }
    let said = world.run(&INSTALL);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("hint: make [PROJECT]/.claude writable for you"), "{}", said.stderr);
    assert_eq!(world.read(".claude/settings.json"), "{}");
}

#[test]
fn a_file_in_the_place_of_the_folder_is_said() {
    let world = World::new();
    world.write(".claude", "not a folder");
    let before = world.snapshot();
    let said = world.run(&INSTALL);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.starts_with("error: cannot read [PROJECT]/.claude/settings.json: "),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains("hint: look at [PROJECT]/.claude/settings.json"), "{}", said.stderr);
    assert_eq!(world.snapshot(), before);
}

#[test]
fn another_folder_for_the_programs_is_named_absolutely() {
    let world = World::new();
    succeed(&world, &["--bin-dir", "tools//bin/"]);
    let expected = world.project.join("tools/bin/recovery-hooks");
    assert!(commands(&world.settings()).iter().all(|(_, command)| Path::new(command) == expected));
    // The folder of the build itself: nothing is copied, nothing is marked as ours.
    succeed(&world, &["--bin-dir", world.build().to_str().unwrap()]);
    assert_eq!(fs::read_dir(world.build()).unwrap().count(), 6);
}
