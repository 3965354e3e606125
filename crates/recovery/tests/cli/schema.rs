//! Checks outputs against the schemas that are published with the command.
//!
//! The schemas use a small part of JSON Schema; a word that is not known here fails the test.

use std::{fs, path::Path};

use serde_json::Value;

/// Insists that a value has the shape that `schemas/NAME.json` says.
pub(crate) fn assert_valid(name: &str, value: &Value) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(format!("{name}.json"));
    let schema: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mut faults = Vec::new();
    check(&schema, value, "$", &mut faults);
    assert!(faults.is_empty(), "{name}: {faults:#?}\n{value:#}");
}

fn check(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    for (word, wanted) in schema.as_object().unwrap() {
        let good = match word.as_str() {
            "$schema" | "title" | "description" => true,
            "type" => match wanted {
                Value::Array(list) => list.iter().any(|one| is(one, value)),
                one => is(one, value),
            },
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "pattern" => value.as_str().is_none_or(|text| {
                assert_eq!(wanted, "^[0-9a-f]{64}$", "the only pattern in use");
                text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            }),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(wanted, item, &format!("{at}[{index}]"), faults);
                }
                true
            }
            "properties" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    match wanted.get(name) {
                        Some(schema) => check(schema, inner, &format!("{at}.{name}"), faults),
                        None => faults.push(format!("{at}.{name} is not in the schema")),
                    }
                }
                true
            }
            "required" => value.as_object().is_none_or(|object| {
                wanted.as_array().unwrap().iter().all(|name| object.contains_key(name.as_str().unwrap()))
            }),
            "additionalProperties" => *wanted == Value::Bool(false),
            _ => panic!("{word} is not known to this test"),
        };
        if !good {
            faults.push(format!("{at}: {word} {wanted} does not hold for {value}"));
        }
    }
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "null" => value.is_null(),
        other => panic!("type {other} is not known to this test"),
    }
}
