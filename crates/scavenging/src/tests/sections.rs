//! What stands below each heading.

use serde_json::{Value, json};

use super::world::{World, answered, asked, assistant, called, edited, failed, ran, said, section, thought};

fn of(lines: &[Value], heading: &str) -> Vec<String> {
    section(&World::new(lines).text(), heading).unwrap_or_default()
}

#[test]
fn the_headings_in_their_order_and_only_those_with_facts() {
    let full = World::new(&[
        asked("Make config reading layered"),
        called("t0", "TodoWrite", &json!({"todos": [{"content": "Nested keys", "status": "pending"}]})),
        answered("t0", "ok"),
        said("Decision: keep dots. A single pass won't work. The order of keys may change."),
        edited("t1", "/p/env.ts"),
        answered("t1", "ok"),
        ran("t2", "npm test"),
        failed("t2", "Exit code 1\nError: 2 of 9 failed"),
        ran("t3", "npm run build"),
    ]);
    let text = full.text();
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(
        headings,
        [
            "Task",
            "Unfinished call",
            "Files Modified",
            "Failed last",
            "Decided",
            "Rejected",
            "Risks",
            "Remaining",
            "Transcript"
        ]
    );
    let little = World::new(&[asked("Hi")]).text();
    let headings: Vec<&str> = little.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings, ["Task", "Transcript"]);
}

#[test]
fn the_task_is_the_first_and_the_last_prompt_of_a_person() {
    let lines = [
        json!({"type": "user", "isMeta": true, "message": {"content": "Caveat"}}),
        asked("<command-name>/clear</command-name>"),
        asked("Port the parser"),
        json!({"type": "user", "isCompactSummary": true, "message": {"content": "So far: a lot"}}),
        asked("now the\nlexer"),
        asked("<task-notification>done</task-notification>"),
    ];
    assert_eq!(of(&lines, "Task"), ["First prompt: Port the parser", "Last prompt: now the lexer"]);
    assert_eq!(of(&lines[..3], "Task"), ["First prompt: Port the parser"]);
    let aside = json!({"type": "attachment", "attachment": {"type": "queued_command", "commandMode": "prompt", "prompt": "with tabs"}});
    let lines = [asked("Port it"), ran("1", "make"), aside];
    assert_eq!(of(&lines, "Task"), ["First prompt: Port it", "Last prompt: with tabs"]);
    assert_eq!(of(&lines, "Unfinished call"), ["Bash `make`"]);
    let with_editor = assistant(&json!([]));
    let blocks = json!({"type": "user", "message": {"content": [
        {"type": "text", "text": "<ide_opened_file>a.rs</ide_opened_file>"}, {"type": "text", "text": "Fix it"}]}});
    assert_eq!(of(&[blocks, with_editor], "Task"), ["First prompt: Fix it"]);
}

#[test]
fn every_call_without_a_result_was_running() {
    let lines = [asked("x"), ran("t1", "cargo test"), ran("t2", "cargo clippy"), answered("t1", "ok")];
    assert_eq!(of(&lines, "Unfinished call"), ["Bash `cargo clippy`"]);
    assert_eq!(of(&lines[..3], "Unfinished call"), ["Bash `cargo clippy`", "Bash `cargo test`"]);
    assert!(of(&[&lines[..3], &[asked("stop that")]].concat(), "Unfinished call").is_empty());
}

#[test]
fn files_with_counts_the_latest_first_below_the_project_as_people_write_them() {
    let world = World::new(&[]);
    let (a, b) = (world.path("src/a.rs"), world.path("src/b.rs"));
    let mut lines = vec![asked("x")];
    for (id, path) in [("1", &a), ("2", &b), ("3", &a)] {
        lines.extend([edited(id, path), answered(id, "ok")]);
    }
    lines.extend([edited("4", &world.path("missed.rs")), failed("4", "not found")]);
    let outside = called("5", "Write", &json!({"file_path": "/etc/demo.conf", "content": ""}));
    let mut late = answered("5", "ok");
    late["timestamp"] = json!("2026-03-02T10:00:00Z");
    lines.extend([outside, late]);
    world.says(&lines);
    let files = section(&world.text(), "Files Modified").unwrap();
    assert_eq!(files[0], "/etc/demo.conf (1 change)");
    assert!(files.contains(&"src/a.rs (2 changes)".to_owned()), "{files:?}");
    assert!(files.contains(&"src/b.rs (1 change)".to_owned()) && files.len() == 3, "{files:?}");
}

#[test]
fn a_command_that_failed_last_with_its_last_error_line() {
    let error = "Exit code 101\nerror[E1]: first\nnote: x\nerror: could not compile `demo`\n";
    let lines =
        [asked("x"), ran("1", "cargo test"), failed("1", error), ran("2", "cargo test"), failed("2", error)];
    assert_eq!(of(&lines, "Failed last"), ["Bash `cargo test` (2 times): error: could not compile `demo`"]);
    let mended = [&lines[..], &[ran("3", "cargo test"), answered("3", "ok")]].concat();
    assert!(of(&mended, "Failed last").is_empty());
    let silent = [asked("x"), ran("1", "false"), failed("1", "Exit code 1")];
    assert_eq!(of(&silent, "Failed last"), ["Bash `false`: no output"]);
    let two = [
        &lines[..3],
        &[edited("9", "/p/a"), failed("9", "<tool_use_error>String not found</tool_use_error>")],
    ];
    let all = of(&two.concat(), "Failed last");
    assert_eq!(all[0], "Edit `/p/a`: String not found", "the latest first");
    assert_eq!(all.len(), 2);
}

#[test]
fn neither_an_interrupt_nor_a_refusal_is_a_failure() {
    let said_no = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the other table";
    let lines = [
        asked("x"),
        ran("1", "sleep 9"),
        failed("1", "[Request interrupted by user for tool use]"),
        ran("2", "drop table t"),
        failed("2", said_no),
    ];
    assert!(of(&lines, "Failed last").is_empty());
    assert_eq!(of(&lines, "Rejected"), ["A person refused Bash `drop table t`: use the other table"]);
}

#[test]
fn decisions_follow_an_error_or_precede_an_edit_the_latest_first() {
    let lines = [
        asked("x"),
        said("I look at the tree."),
        ran("1", "ls"),
        answered("1", "a"),
        said("The parser gets its own file."),
        edited("2", "/p/a"),
        answered("2", "ok"),
        thought("Splitting loses the key."),
        ran("3", "cargo test"),
        failed("3", "Exit code 1\nerror: x"),
        thought("The key is lost in trim()."),
        said("Trim after the split."),
        ran("4", "cargo test"),
        answered("4", "ok"),
        said("All tests pass."),
        ran("5", "git status"),
        answered("5", "clean"),
        said("Ready."),
    ];
    assert_eq!(
        of(&lines, "Decided"),
        [
            "(last words) Ready.",
            "Trim after the split.",
            "(thought) The key is lost in trim().",
            "The parser gets its own file."
        ]
    );
}

#[test]
fn what_names_a_decision_counts_wherever_it_stands() {
    let lines = [
        asked("x"),
        said("Decision: keep dots, split only on double underscore."),
        ran("1", "npm test"),
        answered("1", "ok"),
        said("Next."),
    ];
    assert_eq!(
        of(&lines, "Decided"),
        ["(last words) Next.", "Decision: keep dots, split only on double underscore."]
    );
}

#[test]
fn rejections_and_risks_stand_under_their_own_headings() {
    let lines = [
        asked("x"),
        said("Two passes. A one-pass merge does not work: keys are lost. The order of keys may change."),
        edited("1", "/p/a"),
    ];
    assert_eq!(of(&lines, "Decided"), ["Two passes."]);
    assert_eq!(of(&lines, "Rejected"), ["A one-pass merge does not work: keys are lost."]);
    assert_eq!(of(&lines, "Risks"), ["The order of keys may change."]);
}

#[test]
fn only_the_last_twenty_turns_decide() {
    let turns = |n: usize| -> Vec<Value> {
        (0..n)
            .flat_map(|turn| {
                let id = format!("t{turn}");
                let note = said(&format!("Choice number {turn}."));
                [asked(&format!("prompt {turn}")), note, edited(&id, "/p/a"), answered(&id, "ok")]
            })
            .collect()
    };
    for (n, oldest) in [(19, 0), (20, 0), (21, 1)] {
        let decided = of(&turns(n), "Decided");
        assert_eq!(decided.last().unwrap(), &format!("Choice number {oldest}."), "{n}");
        assert_eq!(decided[0], format!("Choice number {}.", n - 1));
    }
}

#[test]
fn changes_after_a_failure_and_an_api_error_are_risks() {
    let mut error = said("API Error: Repeated 529 Overloaded errors");
    error["isApiErrorMessage"] = json!(true);
    let lines = [
        asked("x"),
        ran("1", "cargo test"),
        failed("1", "Exit code 1\nerror: x"),
        edited("2", "/p/a"),
        answered("2", "ok"),
        error,
    ];
    assert_eq!(
        of(&lines, "Risks"),
        [
            "The last turn ended on an API error: API Error: Repeated 529 Overloaded errors",
            "1 change after the last failure of Bash `cargo test`, which was not run since"
        ]
    );
    let went_on = [&lines[..], &[asked("go on"), said("Yes.")]].concat();
    assert_eq!(of(&went_on, "Risks").len(), 1);
}

#[test]
fn open_items_of_both_kinds_of_lists_and_of_the_plan() {
    let todo = |a: &str, b: &str| json!({"todos": [{"content": "Nested keys", "status": a}, {"content": "Docs", "status": b, "activeForm": "x"}]});
    let world = World::new(&[
        asked("x"),
        called("1", "TodoWrite", &todo("in_progress", "pending")),
        answered("1", "ok"),
        called("2", "TodoWrite", &todo("completed", "in_progress")),
        called("3", "TaskCreate", &json!({"subject": "Write the reader", "description": "d"})),
        called("4", "TaskCreate", &json!({"subject": "Write the writer"})),
        answered("3", "Task #7 created successfully: Write the reader"),
        answered("4", "Task #8 created successfully: Write the writer"),
        called("5", "TaskUpdate", &json!({"taskId": "7", "status": "completed"})),
        answered("5", "Updated task #7 status"),
        called("6", "TaskUpdate", &json!({"taskId": "8", "status": "completed"})),
    ]);
    world.write(".working-state/current-plan.md", "## To do\n- [x] Grammar\n- [ ] Say where\n");
    assert_eq!(
        section(&world.text(), "Remaining").unwrap(),
        ["[ ] Docs (in progress)", "[ ] Write the writer", "[ ] Say where (.working-state/current-plan.md)"]
    );
}

#[test]
fn a_list_that_the_client_does_not_keep_still_says_what_was_to_do() {
    let disabled = "<tool_use_error>Error: No such tool available: TaskCreate.</tool_use_error>";
    let lines = [
        asked("x"),
        called("1", "TaskCreate", &json!({"subject": "Write the reader", "description": "d"})),
        failed("1", disabled),
        called("2", "TaskCreate", &json!({"subject": "Not made"})),
        failed("2", "subject: too short"),
    ];
    assert_eq!(of(&lines, "Remaining"), ["[ ] Write the reader"]);
    assert!(of(&lines, "Failed last").is_empty());
}

#[test]
fn subagents_are_read_too() {
    let world = World::new(&[
        asked("Count the shops"),
        called("1", "Agent", &json!({"description": "Prices", "prompt": "Collect the prices"})),
    ]);
    world.subagent(
        "a1b2",
        &[
            asked("Collect the prices"),
            said("The page has no table, so the feed is read."),
            edited("s1", &world.path("prices.csv")),
            answered("s1", "ok"),
            ran("s2", "curl shop"),
            failed("s2", "Exit code 7\ncurl: (7) Failed to connect"),
            ran("s3", "sleep 300"),
        ],
    );
    let text = world.text();
    let who = "subagent a1b2 (asked: Collect the prices)";
    assert_eq!(section(&text, "Task").unwrap(), ["First prompt: Count the shops"]);
    assert_eq!(
        section(&text, "Unfinished call").unwrap(),
        ["Agent `Prices`".to_owned(), format!("In {who}: Bash `sleep 300`")]
    );
    assert_eq!(section(&text, "Files Modified").unwrap(), ["prices.csv (1 change)"]);
    assert_eq!(
        section(&text, "Failed last").unwrap(),
        [format!("In {who}: Bash `curl shop`: curl: (7) Failed to connect")]
    );
    assert_eq!(
        section(&text, "Decided").unwrap(),
        [format!("In {who}: The page has no table, so the feed is read.")]
    );
    assert!(section(&text, "Transcript").unwrap().last().unwrap().ends_with("subagents/agent-a1b2.jsonl"));
}

#[test]
fn where_the_whole_transcript_is_and_how_the_session_goes_on() {
    let world = World::new(&[asked("x")]);
    let items = section(&world.text(), "Transcript").unwrap();
    assert!(items[0].starts_with(&format!("{} (", world.transcript().display())), "{items:?}");
    assert!(items[1].contains(&format!("claude --resume {}`", super::world::ID)), "{items:?}");
    assert!(items[1].starts_with(&format!("`cd {} && ", world.project().display())), "{items:?}");
}
