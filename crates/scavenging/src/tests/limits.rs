//! Any bytes, any size.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};

use proptest::prelude::*;
use serde_json::{Value, json};
use session_state::handoff;

use super::world::{World, answered, asked, called, edited, failed, ran, said, section};
use crate::Outcome;

const MIB: u64 = 1024 * 1024;

#[test]
fn a_gigabyte_is_read_at_both_ends_only() {
    let world = World::new(&[]);
    let mut file = File::create(world.transcript()).unwrap();
    writeln!(file, "{}", asked("The very first prompt")).unwrap();
    file.seek(SeekFrom::Start(1 << 30)).unwrap();
    let filler = json!({"type": "system", "x": "y".repeat(4_000)});
    writeln!(file).unwrap();
    for _ in 0..4_000 {
        writeln!(file, "{filler}").unwrap();
    }
    writeln!(file, "{}\n{}", asked("The last prompt"), ran("t1", "cargo test")).unwrap();
    drop(file);
    world.settle();
    let Outcome::Saved { read, .. } = world.scavenge().unwrap() else { panic!("not saved") };
    // Eight found backwards and read forwards, a block at either end, and one for the first prompt.
    assert!(read <= 18 * MIB, "{} MiB", read / MIB);
    let text = std::fs::read_to_string(world.handoff()).unwrap();
    assert_eq!(
        section(&text, "Task").unwrap(),
        ["First prompt: The very first prompt", "Last prompt: The last prompt"]
    );
    assert_eq!(section(&text, "Unfinished call").unwrap(), ["Bash `cargo test`"]);
    assert!(section(&text, "Transcript").unwrap()[0].contains("1039 MiB, of which the end"), "{text}");
}

#[test]
fn a_line_of_thirty_megabytes_hides_neither_itself_nor_what_was_before() {
    let huge = format!(
        "Exit code 1\n{}\nerror: the very end",
        format!("{}\"quoted\" \\ words\n", "of output ".repeat(100)).repeat(30_000)
    );
    assert!(huge.len() > 30_000_000);
    let world = World::new(&[
        asked("Port the parser"),
        edited("t0", "/p/a.rs"),
        answered("t0", "ok"),
        ran("t1", "make"),
        failed("t1", &huge),
        said("The linker is missing."),
    ]);
    let text = world.text();
    assert_eq!(section(&text, "Task").unwrap(), ["First prompt: Port the parser"]);
    assert_eq!(section(&text, "Files Modified").unwrap(), ["/p/a.rs (1 change)"]);
    assert_eq!(section(&text, "Failed last").unwrap(), ["Bash `make`: error: the very end"]);
    assert_eq!(section(&text, "Unfinished call"), None, "its result was seen");
    assert_eq!(section(&text, "Decided").unwrap(), ["The linker is missing."]);

    // As a call, and as the last and torn line.
    let world = World::new(&[
        asked("Port the parser"),
        called(
            "t1",
            "Write",
            &json!({"file_path": "/p/b.rs", "content": "some more text ".repeat(2_000_000)}),
        ),
    ]);
    assert_eq!(section(&world.text(), "Unfinished call").unwrap(), ["Write `/p/b.rs`"]);
    let world = World::new(&[]);
    let whole =
        [asked("Port the parser"), ran("t1", "make"), answered("t1", &huge)].map(|line| line.to_string());
    world.bytes(&whole.join("\n").as_bytes()[..20_000_000]);
    assert_eq!(section(&world.text(), "Unfinished call").unwrap(), ["Bash `make`"]);
}

#[test]
fn a_torn_last_line_costs_itself_only() {
    let lines = [asked("Port the parser"), ran("t1", "make"), answered("t1", "öäü ok")];
    let whole = lines.map(|line| line.to_string()).join("\n");
    let from = whole.rfind('\n').unwrap() + 1;
    for end in [from, from + 1, from + 40, whole.len() - 1] {
        let world = World::new(&[]);
        world.bytes(&whole.as_bytes()[..end]);
        assert_eq!(section(&world.text(), "Unfinished call").unwrap(), ["Bash `make`"], "{end}");
    }
    let world = World::new(&[]);
    world.bytes(whole.as_bytes());
    assert_eq!(section(&world.text(), "Unfinished call"), None);
}

/// Every section fuller than it can be shown.
fn plenty(text: &str) -> Vec<Value> {
    let mut lines = vec![asked(&format!("first {text}"))];
    for n in 0..80 {
        let id = |kind: &str| format!("{kind}{n}");
        lines.extend([
            ran(&id("b"), &format!("run {n} {text}")),
            failed(&id("b"), &format!("Exit code 1\nerror: {n} {text}")),
            said(&format!("Choice {n} {text}. It won't work {n} {text}. It may break {n} {text}.")),
            edited(&id("e"), &format!("/p/{n}/{text}")),
            answered(&id("e"), "ok"),
            called(&id("c"), "TaskCreate", &json!({"subject": format!("item {n} {text}")})),
            answered(&id("c"), &format!("Task #{n} created successfully")),
        ]);
    }
    lines.push(asked(&format!("last {text}")));
    lines.extend((0..80).map(|n| ran(&format!("open{n}"), &format!("wait {n} {text}"))));
    lines
}

#[test]
fn however_much_there_is_it_fits_and_every_section_is_there() {
    for text in ["x", &"word ".repeat(200), &"漢字".repeat(300), &"😀".repeat(400)] {
        let world = World::new(&plenty(text));
        for n in 0..12 {
            world.subagent(&format!("s{n}"), &plenty(text));
        }
        let handoff = world.text();
        assert!(handoff.len() <= handoff::MAX_BYTES, "{}", handoff.len());
        assert!(handoff.len() > handoff::MAX_BYTES / 2, "room is used: {}", handoff.len());
        assert_eq!(handoff.lines().filter(|line| line.starts_with("## ")).count(), 9, "{handoff}");
        let task = section(&handoff, "Task").unwrap();
        assert!(
            task[0].starts_with("First prompt: first ") && task[1].starts_with("Last prompt: last "),
            "{task:?}"
        );
        assert!(section(&handoff, "Unfinished call").unwrap()[0].contains("wait 79"), "{handoff}");
        assert!(section(&handoff, "Failed last").unwrap()[0].contains("run 79"), "{handoff}");
        assert!(section(&handoff, "Decided").unwrap()[0].starts_with("Choice 79"), "{handoff}");
        assert!(section(&handoff, "Transcript").unwrap()[1].contains("claude --resume"), "{handoff}");
    }
}

#[test]
fn secrets_and_control_characters_do_not_pass() {
    let secret = "sk-live-0123456789abcdefABCDEF";
    let dirty = format!("use \u{1b}[31m{secret}\u{1b}[0m and password=hunter2abc \u{202e}\u{7}\u{0}now");
    let world = World::new(&[
        asked(&dirty),
        called("0", "TodoWrite", &json!({"todos": [{"content": dirty, "status": "pending"}]})),
        ran("1", &dirty),
        failed("1", &format!("Exit code 1\nerror: {dirty}")),
        said(&format!("{dirty}. It won't work: {dirty}. It may break: {dirty}")),
        edited("2", &format!("/p/{dirty}")),
        answered("2", "ok"),
        asked(&format!("then {dirty}")),
        called("3", &dirty, &json!({"query": dirty})),
    ]);
    world.write(".working-state/current-plan.md", &format!("- [ ] {dirty}\n"));
    world.subagent("a", &[asked(&dirty), ran("1", &dirty)]);
    let text = world.text();
    assert!(text.matches("[redacted]").count() > 10, "{text}");
    for hidden in ["0123456789abcdef", "hunter2abc"] {
        assert!(!text.contains(hidden), "{text}");
    }
    assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
        let world = World::new(&[]);
        world.bytes(&bytes);
        prop_assert!(world.scavenge().is_ok());
    }

    #[test]
    fn any_transcript_fits_and_is_clean(
        texts in prop::collection::vec("(?s).{0,400}", 1..12),
        secret in "(ghp_[A-Za-z0-9]{36}|AKIA[A-Z0-9]{16}|glpat-[A-Za-z0-9]{20}1)",
        at in 0..2_000_usize,
        cut in 0..4_000_usize,
    ) {
        let mut texts = texts;
        if let Some(text) = texts.get_mut(at % 7) {
            let place = (0..=at % (text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.insert_str(place, &format!(" {secret} "));
        }
        let lines: Vec<Value> = texts
            .iter()
            .enumerate()
            .flat_map(|(n, text)| {
                let id = n.to_string();
                match n % 4 {
                    0 => vec![asked(text), said(text)],
                    1 => vec![ran(&id, text), failed(&id, text)],
                    2 => vec![edited(&id, text), answered(&id, text)],
                    _ => vec![called(&id, text, &json!({"description": text}))],
                }
            })
            .collect();
        let world = World::new(&lines);
        let whole = std::fs::read(world.transcript()).unwrap();
        world.bytes(&whole[..whole.len() - cut.min(whole.len() / 2)]);
        if let Outcome::Saved { bytes, .. } = world.scavenge().unwrap() {
            let text = std::fs::read_to_string(world.handoff()).unwrap();
            prop_assert!(bytes == text.len() && bytes <= handoff::MAX_BYTES);
            prop_assert!(!text.contains(|c: char| c != '\n' && c.is_control()), "{text:?}");
            prop_assert!(!text.contains(&secret), "{text}");
        }
    }
}
