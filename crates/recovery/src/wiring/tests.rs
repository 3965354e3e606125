use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use super::*;

const CURRENT: ClientVersion = ClientVersion::new(2, 1, 332);

/// Where the example file pretends the programs are.
const EXAMPLE_BIN_DIR: &str = "/home/you/.local/share/recovery-hooks/bin";

fn installed(bin_dir: &str) -> CommandForm {
    CommandForm::Installed { bin_dir: bin_dir.to_owned() }
}

fn repository_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names(events: &[EventWiring]) -> Vec<&'static str> {
    events.iter().map(|wired| wired.event.name()).collect()
}

#[test]
fn the_default_wiring_starts_one_process_an_event() {
    let wiring = Wiring::new(Layout::OneProcess, &installed("/b"), &CURRENT);
    assert_eq!(names(&wiring.events), Event::ALL.map(Event::name));
    assert!(wiring.left_out.is_empty());
    for wired in &wiring.events {
        let programs: Vec<_> = wired.entries.iter().map(|(program, _)| program.name()).collect();
        assert_eq!(programs, ["recovery-hooks"], "{}", wired.event);
        assert_eq!(
            serde_json::to_string(&wired.entries[0].1).unwrap(),
            r#"{"type":"command","command":"/b/recovery-hooks","args":[],"timeout":5}"#
        );
    }
}

#[test]
fn the_separate_wiring_is_the_one_of_the_design() {
    let wiring = Wiring::new(Layout::Separate, &installed("/b"), &CURRENT);
    let mut table = BTreeSet::new();
    for wired in &wiring.events {
        for (program, entry) in &wired.entries {
            let in_background = if entry.is_async { " (async)" } else { "" };
            table.insert(format!("{program} {}{in_background}", wired.event));
        }
    }
    let expected = [
        "crash-recovery-check SessionStart",
        "crash-recovery-check UserPromptSubmit",
        "error-tracker PostToolBatch",
        "error-tracker PostToolUse",
        "error-tracker PostToolUseFailure",
        "error-tracker SessionStart",
        "error-tracker Stop",
        "error-tracker StopFailure",
        "error-tracker UserPromptSubmit",
        "heartbeat-write PostToolUse (async)",
        "heartbeat-write PostToolUseFailure (async)",
        "heartbeat-write SessionEnd",
        "heartbeat-write SessionStart",
        "heartbeat-write Stop",
        "heartbeat-write UserPromptSubmit (async)",
        "tool-degradation PostToolUse",
        "tool-degradation PostToolUseFailure",
    ];
    assert_eq!(table.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn only_events_that_the_client_knows_are_written() {
    let left_out = |version: &str| {
        let version = version.parse().unwrap();
        let wiring = Wiring::new(Layout::OneProcess, &installed("/b"), &version);
        wiring.left_out.iter().map(|event| event.name()).collect::<Vec<_>>()
    };
    assert_eq!(left_out("1.0.128"), ["PostToolUseFailure", "PostToolBatch", "StopFailure"]);
    assert_eq!(left_out("2.0.999"), ["PostToolUseFailure", "PostToolBatch", "StopFailure"]);
    assert_eq!(left_out("2.1.0"), ["PostToolBatch", "StopFailure"]);
    assert_eq!(left_out("2.1.77"), ["PostToolBatch", "StopFailure"]);
    assert_eq!(left_out("2.1.78"), ["PostToolBatch"]);
    assert_eq!(left_out("2.1.149"), ["PostToolBatch"]);
    assert_eq!(left_out("2.1.150"), [""; 0]);
    assert_eq!(left_out("3.0.0"), [""; 0]);
}

#[test]
fn a_client_that_knows_no_args_gets_a_shell_line() {
    let command = |version: &str, bin_dir: &str| {
        let wiring = Wiring::new(Layout::OneProcess, &installed(bin_dir), &version.parse().unwrap());
        let entry = &wiring.events[0].entries[0].1;
        (entry.command.clone(), entry.args.is_some())
    };
    assert_eq!(command("2.1.138", "/b"), ("/b/recovery-hooks".to_owned(), false));
    assert_eq!(command("2.1.138", "/my b/it's"), (r"'/my b/it'\''s/recovery-hooks'".to_owned(), false));
    assert_eq!(command("2.1.139", "/my b"), ("/my b/recovery-hooks".to_owned(), true));
}

#[test]
fn the_shared_line_is_the_promised_one() {
    let wiring = Wiring::new(Layout::OneProcess, &CommandForm::Silent, &CURRENT);
    let entry = &wiring.events[0].entries[0].1;
    assert_eq!(entry.command, "command -v recovery-hooks >/dev/null 2>&1 && exec recovery-hooks; exit 0");
    assert_eq!(entry.args, None);
}

#[test]
fn every_written_entry_is_known_as_ours_again() {
    for layout in [Layout::OneProcess, Layout::Separate] {
        for (form, version) in [
            (installed("/b"), CURRENT),
            (installed("/my b/it's \"here\""), CURRENT),
            (installed("/my b/it's \"here\""), ClientVersion::new(2, 1, 0)),
            (CommandForm::Silent, CURRENT),
        ] {
            for wired in Wiring::new(layout, &form, &version).events {
                for (program, entry) in wired.entries {
                    let own = crate::programs::own_command(&serde_json::to_value(&entry).unwrap()).unwrap();
                    assert_eq!(
                        (own.program, own.silent),
                        (program, form == CommandForm::Silent),
                        "{entry:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_example_file_shows_both_wirings() {
    let text = repository_file("settings.example.jsonc");
    let example: Value = jsonc_parser::parse_to_serde_value(&text, &Default::default()).unwrap();
    let expected = |layout| Wiring::new(layout, &installed(EXAMPLE_BIN_DIR), &CURRENT).as_hooks();
    assert_eq!(example["hooks"], expected(Layout::Separate));
    assert_eq!(example["hooks in one process"], expected(Layout::OneProcess));
}

#[test]
fn the_plugin_has_the_default_wiring() {
    let plugin: Value = serde_json::from_str(&repository_file("hooks/hooks.json")).unwrap();
    let expected = Wiring::new(Layout::OneProcess, &CommandForm::Plugin, &CURRENT).as_hooks();
    assert_eq!(
        plugin["hooks"],
        expected,
        "hooks/hooks.json should hold:\n{}",
        serde_json::to_string_pretty(&serde_json::json!({ "hooks": expected })).unwrap()
    );
}

#[test]
fn the_plugin_carries_the_version_of_the_command() {
    let plugin: Value = serde_json::from_str(&repository_file(".claude-plugin/plugin.json")).unwrap();
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    let market: Value = serde_json::from_str(&repository_file(".claude-plugin/marketplace.json")).unwrap();
    assert_eq!(market["plugins"][0]["name"], plugin["name"]);
    assert_eq!(market["plugins"][0]["source"], "./");
}

#[cfg(unix)]
mod plugin_lines {
    use std::{
        io::Write as _,
        process::{Command, Stdio},
    };

    use super::*;

    /// Runs the plugin's line of an event as the client does; returns standard output.
    fn run(event: Event, plugin_root: &Path, home: &Path, payload: &str) -> String {
        let wiring = Wiring::new(Layout::OneProcess, &CommandForm::Plugin, &CURRENT);
        let wired = wiring.events.iter().find(|wired| wired.event == event).unwrap();
        let mut shell = Command::new("/bin/sh")
            .args(["-c", &wired.entries[0].1.command])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home)
            .env("CLAUDE_PLUGIN_ROOT", plugin_root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A line that does not read its input closes the pipe; the client does not mind either.
        let _ = shell.stdin.take().unwrap().write_all(payload.as_bytes());
        let output = shell.wait_with_output().unwrap();
        assert!(output.status.success(), "{event}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{event}");
        String::from_utf8(output.stdout).unwrap()
    }

    const STARTUP: &str = r#"{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}"#;
    const RESUME: &str = r#"{"session_id":"s","hook_event_name":"SessionStart","source":"resume"}"#;

    #[test]
    fn nothing_built_gives_one_message_at_the_start_and_silence_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let said = run(Event::SessionStart, dir.path(), dir.path(), STARTUP);
        let said: Value = serde_json::from_str(&said).unwrap();
        let message = said["systemMessage"].as_str().unwrap();
        let manifest = dir.path().join("Cargo.toml").display().to_string();
        assert!(message.contains(&format!("cargo build --release --manifest-path {manifest}")), "{message}");
        assert_eq!(said.as_object().unwrap().len(), 1, "nothing for the agent");
        assert_eq!(run(Event::SessionStart, dir.path(), dir.path(), RESUME), "");
        for event in Event::ALL.into_iter().filter(|event| *event != Event::SessionStart) {
            assert_eq!(run(event, dir.path(), dir.path(), STARTUP), "", "{event}");
        }
    }

    #[test]
    fn a_folder_with_odd_characters_still_gives_valid_output() {
        for root in ["", "/it's \"here\"", "/a b", "/$(id)`id`", "/back\\slash", "/über"] {
            let dir = tempfile::tempdir().unwrap();
            let said = run(Event::SessionStart, Path::new(root), dir.path(), STARTUP);
            let said: Value = serde_json::from_str(&said).unwrap();
            assert!(said["systemMessage"].as_str().unwrap().contains("./Cargo.toml"), "{root}: {said}");
        }
    }

    #[test]
    fn a_built_or_installed_program_is_started_and_gets_the_payload() {
        use std::os::unix::fs::PermissionsExt as _;
        for place in
            ["target/release", "target/x86_64-unknown-linux-musl/release", ".local/share/recovery-hooks/bin"]
        {
            let dir = tempfile::Builder::new().prefix("with blank ").tempdir().unwrap();
            let folder = dir.path().join(place);
            fs::create_dir_all(&folder).unwrap();
            let program = folder.join("recovery-hooks");
            fs::write(&program, "#!/bin/sh\nprintf 'got '; exec cat\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            for event in Event::ALL {
                assert_eq!(
                    run(event, dir.path(), dir.path(), STARTUP),
                    format!("got {STARTUP}"),
                    "{place} {event}"
                );
            }
        }
    }
}
