use serde_json::json;

use super::*;

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

fn text(document: &Document) -> String {
    String::from_utf8(document.to_bytes()).unwrap()
}

fn refusal(text: &str) -> (String, Option<String>) {
    let error = Document::parse(text.as_bytes()).unwrap_err();
    (error.to_string(), error.position().map(|at| at.to_string()))
}

#[test]
fn what_the_client_would_ignore_is_refused_with_its_place() {
    for (text, message, place) in [
        ("{\n  // mine\n  \"a\": 1\n}", "there is a comment", "2:3"),
        ("{ \"a\": 1 /* x */ }", "there is a comment", "1:10"),
        ("{\n  \"a\": [1,]\n}", "comma before a closing bracket", "2:10"),
        ("{\n  \"a\": 1,\n}", "comma before a closing bracket", "2:9"),
        ("{\"a\": 1", "not valid JSON", "1:1"),
        ("{\"a\" 1}", "not valid JSON", "1:6"),
        ("{'a': 1}", "not valid JSON", "1:2"),
        ("{a: 1}", "not valid JSON", "1:2"),
        ("{\"ü\": 1 \"b\": 2}", "not valid JSON", "1:8"),
        ("{\"a\": \"x\ty\"}", "not valid JSON", "1:8"),
        ("{} {}", "not valid JSON", "1:4"),
        ("[]", "the file is not a JSON object", "1:1"),
        ("null", "the file is not a JSON object", "1:1"),
    ] {
        let (said, at) = refusal(text);
        assert!(said.contains(message), "{text}: {said}");
        assert_eq!(at.as_deref(), Some(place), "{text}: {said}");
    }
    let error = Document::parse(b"{\"a\": \"\xff\"}").unwrap_err();
    assert_eq!(error, DocumentError::NotUtf8 { offset: 7 });
}

#[test]
fn a_key_that_would_make_an_edit_vanish_is_refused_and_others_are_reported() {
    for (text, place, first_line) in [
        ("{\n\"hooks\": {},\n\"x\": 1,\n\"hooks\": {}\n}", "4:1", 2),
        ("{\"hooks\": {\n\"Stop\": [],\n\"Stop\": []}}", "3:1", 2),
        ("{\"hooks\": {\"Stop\": [{\n\"hooks\": [],\n \"hooks\": []}]}}", "3:2", 2),
    ] {
        let error = Document::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.position().map(|at| at.to_string()).as_deref(), Some(place), "{text}");
        assert!(
            matches!(error, DocumentError::DuplicateKey { first, .. } if first.line == first_line),
            "{text}"
        );
    }
    let document = document("{\"a\": 1,\n\"env\": {\"X\": 1,\n\"X\": 2},\n\"a\": 2}");
    let repeated: Vec<_> = document.repeated_keys().iter().map(|(key, at)| format!("{key} {at}")).collect();
    assert_eq!(repeated, ["X 3:1", "a 4:1"]);
}

#[test]
fn a_blank_file_is_an_empty_object_and_an_unchanged_one_keeps_its_bytes() {
    assert_eq!(text(&document("")), "{}\n");
    assert_eq!(text(&document(" \n\n")), "{}\n");
    assert_eq!(text(&document("\u{feff}")), "\u{feff}{}\n");
    for kept in ["{}", "\u{feff}{ }\r\n", "\n\n{\"a\":1.50e+2}\n\n", "{\"a\":\"\\u00e9\"}"] {
        assert_eq!(text(&document(kept)), kept);
    }
}

#[test]
fn what_is_added_looks_like_what_is_there() {
    for (before, after) in [
        ("{}", "{\n  \"k\": {\n    \"x\": [\n      1\n    ]\n  }\n}"),
        ("{\"a\":1}", "{\"a\":1,\"k\":{\"x\":[1]}}"),
        ("{ \"a\": 1 }\n", "{ \"a\": 1, \"k\": { \"x\": [ 1 ] } }\n"),
        ("{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"k\": {\n\t\t\"x\": [\n\t\t\t1\n\t\t]\n\t}\n}"),
        (
            "{\r\n    \"a\": 1\r\n}\r\n",
            "{\r\n    \"a\": 1,\r\n    \"k\": {\r\n        \"x\": [\r\n            1\r\n        ]\r\n    }\r\n}\r\n",
        ),
        ("{\n\"a\": 1\n}", "{\n\"a\": 1,\n\"k\": {\n  \"x\": [\n    1\n  ]\n}\n}"),
        ("\u{feff}{\"a\":1}", "\u{feff}{\"a\":1,\"k\":{\"x\":[1]}}"),
    ] {
        let mut document = document(before);
        assert!(document.append_property(&[], "k", &json!({ "x": [1] })));
        assert_eq!(text(&document), after, "{before:?}");
        assert!(document.remove(&[Step::Key("k")]));
        assert_eq!(text(&document), before, "taken out again");
    }
}

#[test]
fn elements_go_in_and_out_at_every_place() {
    let before = "{\n  \"l\": [ 1, { \"a\": 2 } ],\n  \"e\": [],\n  \"f\": [ ]\n}\n";
    let mut list = document(before);
    assert!(list.append_element(&[Step::Key("l")], &json!("x")));
    assert!(list.append_element(&[Step::Key("e")], &json!("y")));
    assert_eq!(
        text(&list),
        "{\n  \"l\": [ 1, { \"a\": 2 }, \"x\" ],\n  \"e\": [\n    \"y\"\n  ],\n  \"f\": [ ]\n}\n"
    );
    assert!(list.replace(&[Step::Key("l"), Step::Index(1)], &json!({ "b": [] })));
    assert!(list.remove(&[Step::Key("l"), Step::Index(0)]));
    assert!(text(&list).contains("[ { \"b\": [] }, \"x\" ]"), "{}", text(&list));
    assert!(list.remove(&[Step::Key("l"), Step::Index(1)]));
    assert!(list.remove(&[Step::Key("l"), Step::Index(0)]));
    assert!(text(&list).contains("\"l\": [],"), "{}", text(&list));
    assert!(list.remove(&[Step::Key("l")]));
    assert!(text(&list).starts_with("{\n  \"e\": ["), "{}", text(&list));

    let unchanged = text(&list);
    assert!(!list.remove(&[Step::Key("l")]));
    assert!(!list.remove(&[Step::Key("e"), Step::Index(1)]));
    assert!(!list.remove(&[]));
    assert!(!list.append_element(&[Step::Key("nothing")], &1));
    assert!(!list.replace(&[Step::Key("e"), Step::Key("x")], &1));
    assert_eq!(text(&list), unchanged);
}
