//! No byte string makes a reader of a change panic, and what is written keeps everything else.

use proptest::prelude::*;
use systems::change::{config, coordination, delivery, design, plan, probe, project, state, tasks, yaml};

/// Lines in which tasks, ids, fences and line breaks of every kind meet.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("- [ ] ".to_owned()),
        Just("* [x] ".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("- [X]\t".to_owned()),
        Just("```".to_owned()),
        Just("~~~~ ".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\r".to_owned()),
        Just("\u{2028}".to_owned()),
        Just(" <!-- comet-task:".to_owned()),
        Just(" -->".to_owned()),
        "[a-d]{1,2}",
        Just("<!-- comet-task-authority: x/tasks.md -->".to_owned()),
        Just("<!-- comet-task-ref:".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Lines in which the syntax of YAML meets the names of a state.
fn yamlish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("workflow: full\n".to_owned()),
        Just("phase: build\n".to_owned()),
        Just("review_mode: off\n".to_owned()),
        Just("classic:\n  artifact_layout: docs\n".to_owned()),
        Just("schema: comet.project.v1\n".to_owned()),
        Just("- ".to_owned()),
        Just("? ".to_owned()),
        Just(": ".to_owned()),
        Just("&a ".to_owned()),
        Just("*a".to_owned()),
        Just("!!str ".to_owned()),
        Just("[".to_owned()),
        Just("}".to_owned()),
        Just("{".to_owned()),
        Just("|\n ".to_owned()),
        Just("%TAG ! x\n".to_owned()),
        Just("---\n".to_owned()),
        Just("\"\\x".to_owned()),
        Just("'".to_owned()),
        Just("#".to_owned()),
        Just("\t".to_owned()),
        Just("\r\n".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// JSON that is nearly a checkpoint, a delivery or a request.
fn jsonish() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("1".to_owned()),
        Just("-1".to_owned()),
        Just("1e400".to_owned()),
        Just("null".to_owned()),
        Just("[]".to_owned()),
        Just("[\"a\"]".to_owned()),
        Just("\"done\"".to_owned()),
        Just("\"push\"".to_owned()),
        Just(format!("\"{}\"", "a".repeat(64))),
        Just("\"\\ud800\"".to_owned()),
        Just("{}".to_owned()),
        any::<String>().prop_map(|text| serde_json::Value::String(text).to_string()),
    ];
    let name = proptest::sample::select(vec![
        "schemaVersion",
        "taskIds",
        "revision",
        "stage",
        "sessionId",
        "evidence",
        "unresolved",
        "reviewRounds",
        "changeIdentity",
        "action",
        "targetBranch",
        "remote",
        "commit",
        "prUrl",
        "schema_version",
        "utterance",
        "agent_context",
    ]);
    proptest::collection::vec((name, value), 0..12).prop_map(|members| {
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{{}}}", members.join(", "))
    })
}

fn read_all(text: &str) {
    let _ = yaml::parse(text);
    let _ = state::parse(text);
    let _ = config::parse(text);
    let _ = design::fault(text, "demo");
    let _ = design::fault(&format!("---\n{text}\n---\n"), "demo");
    let known = tasks::parse(text).unwrap_or_default();
    let _ = plan::read(text, "x/tasks.md", &known);
    let _ = plan::synchronized(text, &known);
    let _ = tasks::with_ids(text, || "new".to_owned());
    let _ = tasks::with_task_done(text, "a", "b");
    let _ = rules::change::is_change_name(text);
    let _ = project::archived_name(text);
    read_bytes(text.as_bytes());
}

fn read_bytes(bytes: &[u8]) {
    let _ = coordination::parse(bytes);
    let _ = delivery::parse(bytes);
    let _ = delivery::parse_receipt(bytes);
    if let Ok(request) = probe::read_request(bytes) {
        let _ = probe::answer_without_changes(&request);
        let _ = probe::Named::in_request(&request.utterance).has("demo");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        read_all(&text);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_bytes(&bytes);
        read_all(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn nearly_right(markdown in markdown(), yaml in yamlish(), json in jsonish()) {
        read_all(&markdown);
        read_all(&yaml);
        read_all(&json);
    }

    #[test]
    fn a_tick_is_one_character_and_keeps_the_revision(markdown in markdown()) {
        let Ok(known) = tasks::parse(&markdown) else { return Ok(()) };
        let revision = tasks::revision_of(&markdown, &known);
        let mut number = 0;
        let named = tasks::with_ids(&markdown, || { number += 1; format!("n{number}-{}", "z".repeat(40)) }).unwrap();
        let again = tasks::with_ids(&named, || "never".to_owned()).unwrap();
        prop_assert_eq!(&again, &named, "ids are given once");
        prop_assert_eq!(named == markdown, known.iter().all(|task| task.id.is_some()));
        prop_assert_eq!(tasks::revision(&named).unwrap() == revision, named == markdown);
        for task in tasks::parse(&named).unwrap() {
            let id = task.id.clone().unwrap();
            let now = tasks::revision(&named).unwrap();
            let ticked = tasks::with_task_done(&named, &id, &now).unwrap();
            let differing: Vec<usize> =
                named.bytes().zip(ticked.bytes()).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
            prop_assert_eq!(named.len(), ticked.len());
            prop_assert_eq!(differing.len(), usize::from(!task.completed));
            prop_assert_eq!(tasks::revision(&ticked).unwrap(), now);
            let done = tasks::parse(&ticked).unwrap();
            prop_assert!(done.iter().find(|other| other.id == task.id).unwrap().completed);
            if let Some(at) = differing.first() {
                let mut unticked = ticked.clone();
                unticked.replace_range(*at..=*at, " ");
                prop_assert_eq!(&unticked, &named, "tick and untick");
            }
        }
    }

    #[test]
    fn a_plan_takes_the_ticks_and_changes_nothing_else(ticks in proptest::collection::vec(any::<bool>(), 1..8), plan in proptest::collection::vec(any::<bool>(), 8)) {
        let line = |(at, ticked): (usize, &bool)| format!("- [{}] t <!-- comet-task:t{at} -->\r\n", if *ticked { "x" } else { " " });
        let source: String = ticks.iter().enumerate().map(line).collect();
        let before: String = plan.iter().take(ticks.len()).enumerate().map(line).collect();
        let known = tasks::parse(&source).unwrap();
        let after = plan::synchronized(&before, &known).unwrap();
        prop_assert_eq!(&after, &source);
        prop_assert_eq!(plan::synchronized(&after, &known).unwrap(), after);
    }

    #[test]
    fn a_checkpoint_survives_its_file(rounds in 0u64..1000, evidence in proptest::collection::vec("[ -~äß]{0,20}[a-z]", 0..5)) {
        let text = serde_json::json!({"schemaVersion": 1, "taskIds": ["a"], "revision": "0".repeat(64), "stage": "checkoff",
            "sessionId": "s", "evidence": evidence, "unresolved": [], "reviewRounds": rounds}).to_string();
        let checkpoint = coordination::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(coordination::parse(coordination::to_json(&checkpoint).as_bytes()).unwrap(), checkpoint);
    }
}
