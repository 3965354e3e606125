//! Checks answers against the published schemas in `schemas/`: exactly the keywords those use, no more.

use std::{fs, path::PathBuf};

use serde_json::{Map, Value};

/// Insists that a value is as a schema says, and that the schema names every member of it.
///
/// `name` is that of the file, with or without `.json`.
pub(crate) fn assert_valid(name: &str, value: &Value) {
    let mut faults = Vec::new();
    let schema = load(name);
    check(&schema, &schema, value, "$", &mut faults);
    assert!(faults.is_empty(), "{name}: {faults:#?}");
}

fn load(name: &str) -> Value {
    let file = format!("{}.json", name.trim_end_matches(".json"));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(file);
    serde_json::from_str(
        &fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    )
    .unwrap()
}

/// Words that constrain nothing.
const REMARKS: [&str; 5] = ["$schema", "$id", "$defs", "title", "description"];

fn check(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    for (word, rule) in schema.as_object().unwrap() {
        let mut fault = |what: &str| faults.push(format!("{at}: {what} {rule}, but is {value}"));
        match word.as_str() {
            word if REMARKS.contains(&word) => {}
            "$ref" => match rule.as_str().unwrap().split_once('#') {
                Some(("", pointer)) => {
                    check(root, root.pointer(pointer).unwrap(), value, at, faults);
                }
                None => {
                    let other = load(rule.as_str().unwrap());
                    check(&other, &other, value, at, faults);
                }
                Some(_) => panic!("{rule}: not supported"),
            },
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                if !types.iter().any(|name| is_of_type(value, name.as_str().unwrap())) {
                    fault("has to be");
                }
            }
            "const" if rule != value => fault("has to be"),
            "enum" if !rule.as_array().unwrap().contains(value) => fault("has to be one of"),
            "const" | "enum" | "properties" => {}
            "anyOf" => {
                let fits = |choice: &Value| {
                    let mut inner = Vec::new();
                    check(root, choice, value, at, &mut inner);
                    inner.is_empty()
                };
                if !rule.as_array().unwrap().iter().any(fits) {
                    fault("has to be any of");
                }
            }
            "required" => {
                // Says something of objects only: `null` may be another type that is allowed.
                for name in rule.as_array().unwrap().iter().filter(|_| value.is_object()) {
                    if value.get(name.as_str().unwrap()).is_none() {
                        faults.push(format!("{at}: has no {name}"));
                    }
                }
            }
            // Later versions may add members; this one has none that are not described.
            "additionalProperties" => {
                let described = schema["properties"].as_object().unwrap();
                members(described, root, value, at, faults);
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{number}]"), faults);
                }
            }
            "minItems" if (value.as_array().map_or(0, Vec::len) as u64) < rule.as_u64().unwrap() => {
                fault("too few")
            }
            "maxItems" if (value.as_array().map_or(0, Vec::len) as u64) > rule.as_u64().unwrap() => {
                fault("too many")
            }
            "minimum" if value.as_f64().is_some_and(|number| number < rule.as_f64().unwrap()) => {
                fault("at least")
            }
            "pattern" if value.as_str().is_some_and(|text| !matches(rule.as_str().unwrap(), text)) => {
                fault("has to match");
            }
            "minItems" | "maxItems" | "minimum" | "pattern" => {}
            other => panic!("the keyword {other} is not supported"),
        }
    }
}

fn members(described: &Map<String, Value>, root: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        match described.get(name) {
            Some(schema) => check(root, schema, member, &format!("{at}.{name}"), faults),
            None => faults.push(format!("{at}: {name} is not described")),
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the type {other} is not supported"),
    }
}

/// The patterns in use.
fn matches(pattern: &str, text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match pattern {
        "^[0-9a-f]{64}$" => {
            text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        }
        "^[0-9]+[.][0-9]+$" => text.split_once('.').is_some_and(|(whole, sub)| digits(whole) && digits(sub)),
        other => panic!("the pattern {other} is not supported"),
    }
}

#[test]
fn what_is_not_as_described_is_found() {
    let good = serde_json::json!({"schema": "recovery.workflow-mark.v1", "id": "wf", "step": 0.1, "status": "blocked",
        "path": "p", "changed": true, "contradicted": null});
    assert_valid("workflow-mark.v1.json", &good);
    let schema = load("workflow-mark.v1.json");
    for (name, value) in [
        ("schema", serde_json::json!("recovery.workflow-mark.v2")),
        ("step", serde_json::json!(null)),
        ("step", serde_json::json!(-1)),
        ("step", serde_json::json!("1.x")),
        ("status", serde_json::json!("done")),
        ("changed", serde_json::json!("yes")),
        ("more", serde_json::json!(1)),
    ] {
        let mut bad = good.clone();
        bad[name] = value.clone();
        let mut faults = Vec::new();
        check(&schema, &schema, &bad, "$", &mut faults);
        assert!(!faults.is_empty(), "{name}: {value}");
    }
    let mut less = good;
    less.as_object_mut().unwrap().remove("path");
    let mut faults = Vec::new();
    check(&schema, &schema, &less, "$", &mut faults);
    assert_eq!(faults.len(), 1);
}
