//! Checks a document against a published schema: as much of JSON Schema as ours use, and stricter in one point: a field
//! that the schema does not describe is an error, so that nothing is printed undocumented.

use std::{fs, path::Path};

use serde_json::Value;

/// Insists that the text is one document of the schema `schemas/<name>.json`; returns it.
pub(crate) fn check(name: &str, text: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let schema: Value =
        serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
    let document: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    if let Err(wrong) = matches(&schema, &document, "$") {
        panic!("{name}: {wrong}\n{text}");
    }
    document
}

fn matches(schema: &Value, document: &Value, at: &str) -> Result<(), String> {
    let rules = schema.as_object().ok_or("a schema is an object")?;
    for (rule, wanted) in rules {
        match rule.as_str() {
            "$schema" | "$id" | "title" | "description" => {}
            "const" if wanted == document => {}
            "enum" if wanted.as_array().unwrap().contains(document) => {}
            "const" | "enum" => return Err(format!("{at}: {document} is not {wanted}")),
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                if !types.iter().any(|kind| is(kind.as_str().unwrap(), document)) {
                    return Err(format!("{at}: {document} is no {wanted}"));
                }
            }
            "minimum" => {
                if document.as_f64().is_some_and(|number| number < wanted.as_f64().unwrap()) {
                    return Err(format!("{at}: {document} is below {wanted}"));
                }
            }
            "required" => {
                for name in wanted.as_array().unwrap() {
                    if document.is_object() && document.get(name.as_str().unwrap()).is_none() {
                        return Err(format!("{at}: {name} is missing"));
                    }
                }
            }
            "properties" | "additionalProperties" => {}
            "items" => {
                for (number, item) in document.as_array().into_iter().flatten().enumerate() {
                    matches(wanted, item, &format!("{at}[{number}]"))?;
                }
            }
            "anyOf" => {
                let tried: Vec<_> =
                    wanted.as_array().unwrap().iter().map(|schema| matches(schema, document, at)).collect();
                if !tried.iter().any(Result::is_ok) {
                    return Err(format!("{at}: none of {tried:?}"));
                }
            }
            other => return Err(format!("{at}: the rule {other} is not known to this check")),
        }
    }
    let (named, others) = (rules.get("properties"), rules.get("additionalProperties"));
    if named.is_some() || others.is_some() {
        for (name, value) in document.as_object().into_iter().flatten() {
            let schema = named.and_then(|named| named.get(name)).or(others);
            let schema = schema.ok_or(format!("{at}: {name} is not described"))?;
            matches(schema, value, &format!("{at}.{name}"))?;
        }
    }
    Ok(())
}

fn is(kind: &str, document: &Value) -> bool {
    match kind {
        "null" => document.is_null(),
        "boolean" => document.is_boolean(),
        "integer" => document.is_i64() || document.is_u64(),
        "string" => document.is_string(),
        "array" => document.is_array(),
        "object" => document.is_object(),
        other => panic!("the type {other} is not known to this check"),
    }
}

#[test]
fn the_check_itself_finds_what_is_wrong() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"],
        "properties": {"a": {"type": ["integer", "null"], "minimum": 0}, "b": {"type": "array", "items": {"enum": ["x"]}}},
    });
    let ok = |document: Value| matches(&schema, &document, "$").is_ok();
    assert!(ok(serde_json::json!({"a": 1, "b": ["x"]})) && ok(serde_json::json!({"a": null})));
    for wrong in ["[]", "{}", r#"{"a":-1}"#, r#"{"a":"1"}"#, r#"{"a":1,"b":["y"]}"#, r#"{"a":1,"c":2}"#] {
        assert!(!ok(serde_json::from_str(wrong).unwrap()), "{wrong}");
    }
}
