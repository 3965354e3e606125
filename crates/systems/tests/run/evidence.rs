//! What a run left behind, without what must not be shown.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;
use systems::run::evidence::{self, Evidence, RepairState, TAIL};

use crate::home::Home;

fn gather(home: &Home, key: &str) -> Evidence {
    let run = home.find(key);
    evidence::of(&run, run.record.as_ref().unwrap())
}

fn text<'e>(evidence: &'e Evidence, name: &str) -> &'e str {
    &evidence
        .files
        .iter()
        .find(|file| file.name == name)
        .unwrap_or_else(|| panic!("{name}: {evidence:?}"))
        .text
}

#[test]
fn every_file_is_shown_and_no_secret() {
    let home = Home::new();
    home.add(
        "error",
        "loaf-1",
        json!({
            "errorMessage": "\u{1b}[31moven\u{1b}[0m failed with warm-and-secret, api_key=abcdefgh12345678",
            "inputs": {"flour": "two-sacks-of-rye"},
            "secretFile": "keys-of-the-bakery.log",
            "runDirectory": {"entries": [
                {"path": "out/oven.txt", "kind": "log"},
                {"path": "keys-of-the-bakery.log", "kind": "log"},
                {"path": "../../loaf-2/run.json", "kind": "log"},
                {"path": "plan.md", "kind": "document"},
            ]},
            "later": {"unknown": [1, 2]},
        }),
    );
    home.write("error", "loaf-1", "changelog.md", "- kneaded with warm-and-secret\r\n");
    home.write("error", "loaf-1", "context.md", "The order: bake a loaf for the mayor\n");
    home.write("error", "loaf-1", "progress.ndjson", "{\"type\":\"job\"}\n");
    home.write("error", "loaf-1", "engine.log", "\u{1b}[1mstart\u{1b}[0m\n  password: hunter2\n");
    home.write("error", "loaf-1", "writes.ndjson", "{\"flour\":\"two-sacks-of-rye\"}\n");
    home.write("error", "loaf-1", "jobs/bake/step.log", "deep\n");
    home.write("error", "loaf-1", "out/oven.txt", "listed\n");
    home.write("error", "loaf-1", "keys-of-the-bakery.log", "OVEN=hidden\n");
    home.write("error", "loaf-1", "plan.md", "not a log\n");
    symlink("/etc/passwd", home.folder("error", "loaf-1").join("stolen.log")).unwrap();
    let before = home.snapshot();
    let evidence = gather(&home, "loaf-1");
    let names: Vec<_> = evidence.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "run.json",
            "changelog.md",
            "context.md",
            "progress.ndjson",
            "engine.log",
            "jobs/bake/step.log",
            "out/oven.txt",
            "writes.ndjson"
        ]
    );
    assert_eq!(text(&evidence, "engine.log"), "start\n  password: [redacted]\n");
    assert_eq!(text(&evidence, "changelog.md"), "- kneaded with [withheld]\n");
    assert_eq!(text(&evidence, "context.md"), "The order: [withheld]\n");
    assert!(text(&evidence, "run.json").contains("\"unknown\""), "unknown fields stay");
    assert_eq!(evidence.withheld, ["env", "inputs", "prompt", "secretFile"]);
    let left: Vec<_> =
        evidence.left_alone.iter().map(|left| (left.name.as_str(), left.why.as_str())).collect();
    assert_eq!(
        left,
        [
            ("../../loaf-2/run.json", "leads out of the run's folder"),
            ("stolen.log", "not opened (it is a link)"),
        ]
    );
    let all = format!("{evidence:?}");
    for secret in [
        "warm-and-secret",
        "mayor",
        "rye",
        "keys-of",
        "hidden",
        "hunter2",
        "abcdefgh12345678",
        "root:",
        "order-9",
    ] {
        assert!(!all.contains(secret), "{secret}");
    }
    assert_eq!(home.snapshot(), before);
}

#[test]
fn only_the_active_repair_is_opened() {
    let home = Home::new();
    home.add("error", "loaf-1", json!({"activeRepairId": "mend-2"}));
    home.write("error", "loaf-1", "repairs/mend-1/repair.json", "{\"of\": \"an earlier cycle\"}");
    home.write("error", "loaf-1", "repairs/mend-1/old.log", "an earlier cycle");
    home.write(
        "error",
        "loaf-1",
        "repairs/mend-2/repair.json",
        "{\"state\": \"open\", \"token\": \"x\", \"env\": {\"A\": \"b\"}}",
    );
    home.write("error", "loaf-1", "repairs/mend-2/issue.md", "# The oven\n");
    let evidence = gather(&home, "loaf-1");
    let repair = evidence.repair.as_ref().unwrap();
    assert_eq!(repair.state, RepairState::Present);
    let files: Vec<_> = repair.files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
    assert_eq!(
        files,
        [
            ("repairs/mend-2/issue.md", "# The oven\n"),
            ("repairs/mend-2/repair.json", "{\n  \"state\": \"open\"\n}\n"),
        ]
    );
    assert!(!format!("{evidence:?}").contains("earlier"));
}

#[test]
fn a_repair_that_is_not_there_or_leads_elsewhere_is_said() {
    let home = Home::new();
    for (id, state) in [
        ("mend-9", RepairState::Missing),
        ("../../loaf-2", RepairState::Escapes),
        ("..", RepairState::Escapes),
        ("a/b", RepairState::Escapes),
    ] {
        home.add("error", "loaf-1", json!({"activeRepairId": id}));
        home.write("error", "loaf-1", "repairs/mend-1/repair.json", "{}");
        let repair = gather(&home, "loaf-1").repair.unwrap();
        assert_eq!((repair.state, repair.files.len()), (state, 0), "{id}");
    }
    home.add("error", "loaf-3", json!({"activeRepairId": "mend-1"}));
    assert_eq!(gather(&home, "loaf-3").repair.unwrap().state, RepairState::NotKnown);
    symlink(home.folder("error", "loaf-1").join("repairs"), home.folder("error", "loaf-3").join("repairs"))
        .unwrap();
    assert_eq!(
        gather(&home, "loaf-3").repair.unwrap().state,
        RepairState::NotKnown,
        "a link is not followed"
    );
}

#[test]
fn only_the_end_of_a_long_file_is_shown() {
    let home = Home::new();
    home.add("error", "loaf-1", json!({}));
    let limit = usize::try_from(TAIL).unwrap();
    for (size, truncated) in [(limit - 1, false), (limit, false), (limit + 1, true), (4 * limit, true)] {
        let line = "a line of the log\n";
        let mut log = "x".repeat(size % line.len());
        log.push_str(&line.repeat(size / line.len()));
        home.write("error", "loaf-1", "engine.log", &log);
        let evidence = gather(&home, "loaf-1");
        let file = evidence.files.iter().find(|file| file.name == "engine.log").unwrap();
        assert_eq!((file.bytes, file.truncated), (size as u64, truncated));
        assert!(
            file.text.len() <= limit && file.text.len() + 2 * line.len() >= limit.min(size),
            "{}",
            file.text.len()
        );
        assert!(!truncated || file.text.starts_with("a line"), "it begins with a whole line");
    }
    fs::remove_file(home.folder("error", "loaf-1").join("engine.log")).unwrap();
    assert!(gather(&home, "loaf-1").is_bare());
}
