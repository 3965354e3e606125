//! What is damaged, foreign, newer or leads elsewhere is named and left alone.

use std::{fs, os::unix::fs::symlink, process::Command};

use proptest::prelude::*;
use serde_json::json;
use systems::run::evidence;
use systems::run::judgement::{Outcome, Row};
use systems::run::record::Stage;

use crate::home::Home;

#[test]
fn everything_odd_is_named_and_nothing_is_followed() {
    let home = Home::new();
    let outside = tempfile::tempdir().unwrap();
    home.add("error", "loaf-1", json!({}));
    fs::create_dir(outside.path().join("run")).unwrap();
    fs::copy(home.folder("error", "loaf-1").join("run.json"), outside.path().join("run/run.json")).unwrap();
    symlink(outside.path().join("run"), home.folder("error", "link-run")).unwrap();
    symlink(outside.path(), home.path().join("workspaces/link-workspace")).unwrap();
    fs::create_dir_all(home.folder("error", "link-record")).unwrap();
    symlink(outside.path().join("run/run.json"), home.folder("error", "link-record").join("run.json"))
        .unwrap();
    fs::create_dir_all(home.folder("error", "folder-record").join("run.json")).unwrap();
    fs::create_dir_all(home.folder("error", "no-record")).unwrap();
    fs::create_dir_all(home.folder("error", "pipe-record")).unwrap();
    let pipe = home.folder("error", "pipe-record").join("run.json");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    home.write("error", "half", "run.json", r#"{"runKey":"half","works"#);
    home.write("error", "foreign", "run.json", r#"{"name":"a package","version":"1.0.0"}"#);
    home.write("error", "empty", "run.json", "");
    home.add("error", "odd-stage", json!({"stage": "elsewhere"}));
    home.add("error", "renamed", json!({"runKey": "other"}));
    home.write("error", "loaf-2.1234.99.tmp", "run.json", "{}");
    home.add("archived", "loaf-9", json!({"stage": "error"}));
    fs::write(home.path().join("workspaces/bakery/error/a-file"), "x").unwrap();
    let before = home.snapshot();

    let (runs, overview) = home.list(&Stage::ALL);
    let mut named: Vec<String> =
        overview.problems.iter().map(|problem| format!("{} {}", problem.path, problem.problem)).collect();
    named.sort();
    let expected = [
        "bakery/archived is no stage that is known: left alone",
        "bakery/error/a-file is no folder: left alone",
        "bakery/error/empty/run.json is damaged: not JSON",
        "bakery/error/folder-record/run.json cannot be read (not an ordinary file)",
        "bakery/error/foreign/run.json is no run record: runKey is missing",
        "bakery/error/half/run.json is damaged: not JSON",
        "bakery/error/link-record/run.json cannot be read (it is a link)",
        "bakery/error/link-run is a link: left alone",
        "bakery/error/no-record/run.json cannot be read (it is missing)",
        "bakery/error/odd-stage/run.json is no run record: its stage is not known",
        "bakery/error/pipe-record/run.json cannot be read (not an ordinary file)",
        "bakery/error/renamed its record says run key \"other\", its folder \"renamed\"",
        "link-workspace is a link: left alone",
    ];
    assert_eq!(named, expected);
    let readable: Vec<_> = runs.iter().filter(|run| run.record.is_ok()).map(|run| run.key.as_str()).collect();
    assert_eq!(readable, ["loaf-1", "renamed"]);
    for key in
        ["half", "foreign", "empty", "link-record", "folder-record", "no-record", "pipe-record", "odd-stage"]
    {
        let judgement = home.judge(key);
        assert_eq!((judgement.outcome, judgement.row), (Outcome::ReportOnly, Row::NoRecord), "{key}");
    }
    assert_eq!(home.judge("renamed").row, Row::Incomplete);
    for key in ["link-run", "..", "../error/loaf-1", "", "loaf-1/"] {
        assert!(home.registry().find(key, None).is_empty(), "{key}");
    }
    assert!(home.registry().find("loaf-1", Some("..")).is_empty());
    assert!(home.registry().find("loaf-1", Some("link-workspace")).is_empty());
    assert_eq!(home.snapshot(), before);
}

#[test]
fn a_home_that_is_not_there_is_empty() {
    let home = Home::new();
    assert!(home.list(&Stage::ALL).0.is_empty());
    assert!(home.registry().find("loaf-1", None).is_empty());
    fs::write(home.path().join("workspaces"), "a file").unwrap();
    assert!(systems::run::registry::Registry::open(home.path()).is_err());
}

#[test]
fn a_damaged_or_unreadable_progress_makes_the_evidence_incomplete() {
    let home = Home::new();
    home.add("error", "loaf-1", json!({}));
    home.write("error", "loaf-1", "progress.ndjson", b"\0\0\0\0\xff\xfe nothing of a line");
    assert_eq!(home.judge("loaf-1").row, Row::Incomplete);
    home.add("error", "loaf-2", json!({}));
    symlink("/etc/hostname", home.folder("error", "loaf-2").join("progress.ndjson")).unwrap();
    assert_eq!(home.judge("loaf-2").row, Row::Incomplete);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_in_any_file_are_survived_and_nothing_is_written(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        file in "run\\.json|progress\\.ndjson|changelog\\.md|context\\.md|engine\\.log|recovery-claim\\.json|repairs/mend/repair\\.json",
    ) {
        let home = Home::new();
        home.add("error", "loaf-1", json!({"activeRepairId": "mend"}));
        home.write("error", "loaf-1", &file, &bytes);
        let before = home.snapshot();
        let run = home.find("loaf-1");
        let judgement = home.judge("loaf-1");
        if let Ok(record) = &run.record {
            let evidence = evidence::of(&run, record);
            let control = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
            prop_assert!(!evidence.files.iter().any(|file| control(&file.text)));
        }
        prop_assert!(!judgement.reason.chars().any(char::is_control));
        prop_assert_eq!(home.snapshot(), before);
    }
}
