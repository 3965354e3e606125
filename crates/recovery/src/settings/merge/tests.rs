use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    client_version::ClientVersion,
    wiring::{CommandForm, Layout},
};

const CURRENT: ClientVersion = ClientVersion::new(2, 1, 332);

fn wiring(layout: Layout) -> Wiring {
    Wiring::new(layout, &CommandForm::Installed { bin_dir: "/b".to_owned() }, &CURRENT)
}

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

fn text(document: &Document) -> String {
    String::from_utf8(document.to_bytes()).unwrap()
}

fn wired(before: &str, layout: Layout) -> (String, Vec<String>) {
    let mut document = document(before);
    let changes = wire(&mut document, &wiring(layout)).unwrap();
    (text(&document), changes.iter().map(ToString::to_string).collect())
}

fn unwired(before: &str) -> String {
    let mut document = document(before);
    unwire(&mut document);
    text(&document)
}

/// Commands under an event, in the order of the file, and the entry's matcher where there is one.
fn commands(text: &str, event: &str) -> Vec<String> {
    let root: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
    let mut commands = Vec::new();
    for group in root["hooks"][event].as_array().into_iter().flatten() {
        for entry in group["hooks"].as_array().into_iter().flatten() {
            let matcher =
                group["matcher"].as_str().map(|matcher| format!("[{matcher}] ")).unwrap_or_default();
            commands.push(format!("{matcher}{}", entry["command"].as_str().unwrap()));
        }
    }
    commands
}

#[test]
fn the_usual_file_gets_one_list_an_event_in_the_clients_own_look() {
    let (after, changes) = wired("{\n  \"model\": \"opus\"\n}\n", Layout::OneProcess);
    assert_eq!(changes.len(), 8);
    assert!(
        after.starts_with(
            "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\n            \
             \"type\": \"command\",\n            \"command\": \"/b/recovery-hooks\",\n            \"args\": [],\n            \
             \"timeout\": 5\n          }\n        ]\n      }\n    ],\n    \"UserPromptSubmit\": [\n"
        ),
        "{after}"
    );
    assert!(after.ends_with("    ]\n  }\n}\n"), "{after}");
}

#[test]
fn foreign_entries_stay_and_an_own_one_is_updated_where_it_stands() {
    let before = r#"{ "hooks": { "PostToolUse": [
  { "matcher": "Edit", "hooks": [ { "type": "command", "command": "fmt" } ] },
  { "matcher": "*", "note": 1, "hooks": [ { "type": "command", "command": "a" }, { "type": "command", "command": "\"/old place/error-tracker\" -v", "timeout": 9 }, { "type": "command", "command": "z" } ] }
] } }"#;
    let (after, changes) = wired(before, Layout::Separate);
    assert_eq!(
        commands(&after, "PostToolUse"),
        [
            "[Edit] fmt",
            "[*] a",
            "[*] /b/error-tracker",
            "[*] z",
            "[*] /b/tool-degradation",
            "[*] /b/heartbeat-write"
        ]
    );
    assert!(changes.contains(&"PostToolUse: error-tracker updated".to_owned()), "{changes:?}");
    assert!(
        after.contains(r#"{ "matcher": "Edit", "hooks": [ { "type": "command", "command": "fmt" } ] },"#)
    );
    assert!(!after.contains("/old place/"));
    let without = unwired(&after);
    assert_eq!(commands(&without, "PostToolUse"), ["[Edit] fmt", "[*] a", "[*] z"]);
    assert!(without.contains("\"note\": 1"));
}

#[test]
fn the_other_wiring_is_replaced_in_both_directions() {
    let (one, _) = wired("{}", Layout::OneProcess);
    let (four, changes) = wired(&one, Layout::Separate);
    assert_eq!(changes.iter().filter(|change| change.ends_with("removed")).count(), 8);
    assert_eq!(commands(&four, "StopFailure"), ["/b/error-tracker"]);
    let (one_again, changes) = wired(&four, Layout::OneProcess);
    assert_eq!(changes.iter().filter(|change| change.ends_with("removed")).count(), 17);
    for event in crate::wiring::Event::ALL {
        assert_eq!(commands(&one_again, event.name()), ["/b/recovery-hooks"], "{event}");
    }
}

#[test]
fn what_is_ours_but_not_wanted_goes() {
    let before = r#"{ "hooks": {
        "PreToolUse": [ { "hooks": [ { "type": "command", "command": "recovery-hooks" } ] } ],
        "Stop": [
            { "matcher": "x", "hooks": [ { "type": "command", "command": "/b/recovery-hooks", "args": [], "timeout": 5 } ] },
            { "hooks": [ { "type": "command", "command": "/b/recovery-hooks", "args": [], "timeout": 5 },
                         { "type": "command", "command": "C:\\x\\recovery-hooks.exe" } ] }
        ] } }"#;
    let (after, _) = wired(before, Layout::OneProcess);
    assert_eq!(commands(&after, "PreToolUse"), [""; 0]);
    assert!(!after.contains("PreToolUse\""), "an event that held only ours is gone");
    assert_eq!(commands(&after, "Stop"), ["/b/recovery-hooks"], "once, and for everything");
}

#[test]
fn an_event_the_client_does_not_know_loses_our_entry() {
    let (all, _) = wired("{}", Layout::OneProcess);
    let old = "2.1.0".parse().unwrap();
    let form = CommandForm::Installed { bin_dir: "/b".to_owned() };
    let mut document = document(&all);
    wire(&mut document, &Wiring::new(Layout::OneProcess, &form, &old)).unwrap();
    assert!(!text(&document).contains("StopFailure"));
    assert_eq!(commands(&text(&document), "PostToolUseFailure"), ["/b/recovery-hooks"]);
}

#[test]
fn a_shape_the_client_does_not_read_is_refused() {
    for (before, message, place) in [
        ("{\n \"hooks\": []}", "\"hooks\" is not an object", "2:11"),
        ("{\"hooks\": null}", "\"hooks\" is not an object", "1:11"),
        ("{\"hooks\": {\n\"Stop\": {}}}", "\"hooks\".\"Stop\" is not a list", "2:9"),
    ] {
        let mut document = document(before);
        let error = wire(&mut document, &wiring(Layout::OneProcess)).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.position().map(|at| at.to_string()).as_deref(), Some(place));
        assert_eq!(text(&document), before, "nothing was changed");
        assert_eq!(unwired(before), before, "nothing of ours in it");
    }
}

#[test]
fn odd_foreign_entries_are_left_alone() {
    let before =
        r#"{"hooks":{"Stop":[1,{"hooks":{}},{"matcher":5},{"hooks":[null,{"type":"prompt"}]}],"Odd":7}}"#;
    let (after, _) = wired(before, Layout::OneProcess);
    assert!(
        after.contains(
            r#"[1,{"hooks":{}},{"matcher":5},{"hooks":[null,{"type":"prompt"}]},{"hooks":[{"type""#
        ),
        "{after}"
    );
    assert_eq!(unwired(&after), before);
}

#[test]
fn a_file_that_held_only_ours_is_an_empty_object_again() {
    for layout in [Layout::OneProcess, Layout::Separate] {
        assert_eq!(unwired(&wired("{}\n", layout).0), "{}\n");
    }
}

/// Any settings that are not ours: other keys, and groups and entries in every order.
fn foreign_settings() -> impl Strategy<Value = Value> {
    let entry = prop_oneof![
        "[a-z ./-]{1,12}".prop_map(|command| json!({ "type": "command", "command": format!("x{command}") })),
        "[a-zäß\"\\\\/{}\\[\\],: ]{0,12}"
            .prop_map(|prompt| json!({ "type": "prompt", "prompt": prompt, "timeout": 1.5 })),
    ];
    let group = (prop::option::of("[A-Za-z|*]{0,6}"), prop::collection::vec(entry, 1..3)).prop_map(
        |(matcher, hooks)| match matcher {
            Some(matcher) => json!({ "matcher": matcher, "hooks": hooks }),
            None => json!({ "hooks": hooks }),
        },
    );
    let event =
        prop::sample::select(vec!["Stop", "PostToolUse", "StopFailure", "PreToolUse", "Notification"]);
    let hooks = prop::collection::btree_map(event, prop::collection::vec(group, 1..3), 1..4);
    let other =
        prop_oneof![Just(json!({})), Just(json!([])), Just(json!({"a": [1, {"b": null}]})), Just(json!("x"))];
    (prop::option::of(hooks), prop::collection::btree_map("[a-m\"\\\\]{0,5}", other, 0..4)).prop_map(
        |(hooks, others)| {
            let mut root: serde_json::Map<_, _> = others.into_iter().collect();
            if let Some(hooks) = hooks {
                root.insert(HOOKS.to_owned(), json!(hooks));
            }
            Value::Object(root)
        },
    )
}

/// The same content in any of the usual looks.
fn any_look() -> impl Strategy<Value = String> {
    let unit = prop::sample::select(vec!["", " ", "  ", "    ", "\t"]);
    (foreign_settings(), 0..3, unit, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(root, look, unit, crlf, bom, final_newline)| {
            use super::super::style::Style;
            let style = match look {
                0 => Style::Minified,
                1 => Style::OneLine,
                _ => Style::Lines {
                    newline: if crlf { "\r\n" } else { "\n" },
                    indent: String::new(),
                    unit: unit.to_owned(),
                },
            };
            let bom = if bom { "\u{feff}" } else { "" };
            let end = if final_newline { "\n" } else { "" };
            format!("{bom}{}{end}", style.render(&root).unwrap())
        },
    )
}

proptest! {
    #[test]
    fn taking_out_what_was_put_in_gives_the_same_bytes(before in any_look(), separate: bool) {
        let layout = if separate { Layout::Separate } else { Layout::OneProcess };
        let (after, changes) = wired(&before, layout);
        prop_assert_eq!(changes.len(), if separate { 17 } else { 8 });
        prop_assert_eq!(unwired(&after), before);
    }

    #[test]
    fn a_second_install_changes_nothing(before in any_look(), separate: bool) {
        let layout = if separate { Layout::Separate } else { Layout::OneProcess };
        let (once, _) = wired(&before, layout);
        let (twice, changes) = wired(&once, layout);
        prop_assert_eq!(changes, [""; 0]);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn switching_the_wiring_touches_nothing_foreign(before in any_look(), order in prop::collection::vec(any::<bool>(), 1..4)) {
        let mut current = before.clone();
        for separate in order {
            current = wired(&current, if separate { Layout::Separate } else { Layout::OneProcess }).0;
        }
        prop_assert_eq!(unwired(&current), before);
    }

    #[test]
    fn no_text_makes_it_panic(noise in "[{}\\[\\]\",:a \\\\/\n\u{feff}h]{0,40}") {
        if let Ok(mut document) = Document::parse(noise.as_bytes()) {
            let _ = wire(&mut document, &wiring(Layout::OneProcess));
            unwire(&mut document);
            prop_assert!(Document::parse(&document.to_bytes()).is_ok());
        }
    }
}
