//! The artifact registry: which step made which file, and whether it was found good. Two forms are in use, a map by
//! name and a list (FORMATS 5.4).

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::step::Step;
use crate::json::{Fields as _, Object};

/// What the registry says of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// It was found good.
    Pass,
    /// It was found bad.
    Fail,
    /// Nobody has looked yet.
    Pending,
    /// Another word, none, or two that contradict each other.
    Unknown,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) step: Option<Step>,
    pub(crate) agent: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) validation: Validation,
    /// Names of artifacts, or steps.
    pub(crate) dependencies: Vec<String>,
    /// Bytes, as recorded when it was made.
    pub(crate) size: Option<u64>,
    /// SHA-256, 64 hexadecimal digits in lower case.
    pub(crate) digest: Option<String>,
    /// `json`, `markdown` and the like.
    pub(crate) kind: Option<String>,
    /// Seconds since 1970.
    pub(crate) time_s: Option<i64>,
}

/// What a registry holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registry {
    pub(crate) entries: Vec<Entry>,
    /// Entries that are none: how many.
    pub(crate) unusable: usize,
}

/// Reads a registry.
pub(crate) fn parse(object: &Object) -> Registry {
    let mut registry = Registry::default();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |entry: Option<Entry>| {
        let Some(entry) = entry else {
            registry.unusable += 1;
            return;
        };
        // Of a name that stands twice the later entry counts.
        match places.get(&entry.name) {
            Some(place) => registry.entries[*place] = entry,
            None => {
                places.insert(entry.name.clone(), registry.entries.len());
                registry.entries.push(entry);
            }
        }
    };
    match object.get("artifacts") {
        Some(Value::Object(map)) => {
            map.iter()
                .for_each(|(name, value)| add(value.as_object().and_then(|value| entry(value, Some(name)))));
        }
        Some(Value::Array(list)) => {
            list.iter().for_each(|value| add(value.as_object().and_then(|value| entry(value, None))));
        }
        None | Some(Value::Null) => {}
        Some(_) => add(None),
    }
    // A list beside the map repeats it; what only the list holds counts as well.
    for value in object.list("artifacts_list").iter().filter_map(Value::as_object) {
        if let Some(entry) = entry(value, None)
            && !places.contains_key(&entry.name)
        {
            registry.entries.push(entry);
        }
    }
    // Dependencies are kept apart in the list form.
    if let Some(map) = object.inner("dependencies") {
        for entry in registry.entries.iter_mut().filter(|entry| entry.dependencies.is_empty()) {
            entry.dependencies = map.texts(&entry.name);
        }
    }
    registry
}

fn entry(object: &Object, key: Option<&str>) -> Option<Entry> {
    let empty = Object::new();
    let metadata = object.inner("metadata").unwrap_or(&empty);
    let path = object.owned("path");
    let last_part = || path.as_deref()?.rsplit(['/', '\\']).next().map(str::to_owned);
    let name = key.map(str::to_owned).or_else(|| object.owned("name")).or_else(last_part)?;
    let size = [object, metadata].iter().find_map(|fields| fields.get("size").and_then(Value::as_u64));
    let digests = ["sha256", "digest", "checksum", "content_hash", "hash"];
    let digest = [object, metadata]
        .iter()
        .flat_map(|fields| digests.iter().filter_map(|name| fields.text(name)))
        .find_map(sha256);
    Some(Entry {
        step: object.get("step").and_then(Step::of_json),
        agent: object.owned("agent"),
        validation: validation(object, metadata),
        dependencies: object.texts("dependencies"),
        size,
        digest,
        kind: metadata.owned("type"),
        time_s: object.time("updated_at").or_else(|| object.time("created_at")),
        name,
        path,
    })
}

fn validation(object: &Object, metadata: &Object) -> Validation {
    let word = |fields: &Object, name: &str| {
        fields.text(name).map(|word| match word.trim().to_ascii_lowercase().as_str() {
            "pass" | "passed" => Validation::Pass,
            "fail" | "failed" => Validation::Fail,
            "pending" => Validation::Pending,
            _ => Validation::Unknown,
        })
    };
    let said = [
        word(object, "validationStatus"),
        word(object, "validation_status"),
        word(metadata, "validation_status"),
        word(metadata, "validationStatus"),
    ];
    let mut said = said.into_iter().flatten();
    let Some(first) = said.next() else { return Validation::Unknown };
    if said.all(|other| other == first) { first } else { Validation::Unknown }
}

/// `sha256:…`, or 64 hexadecimal digits; anything else is a digest we cannot check.
fn sha256(text: &str) -> Option<String> {
    let hex = text.trim().to_ascii_lowercase();
    let hex = hex.strip_prefix("sha256:").or_else(|| hex.strip_prefix("sha256-")).unwrap_or(&hex);
    (hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| hex.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::object;
    use proptest::prelude::*;

    fn read(text: &str) -> Registry {
        parse(&object(text.as_bytes()).unwrap())
    }

    #[test]
    fn the_map_form() {
        let found = read(
            r#"{"artifacts": {"a.json": {"name": "other", "step": 2, "agent": "x", "path": "artifacts/a.json",
                "validationStatus": "pass", "dependencies": ["b"], "metadata": {"size": 7, "type": "plan"}},
                "b": {"validationStatus": "pending"}, "c": 7},
                "artifacts_list": [{"name": "b", "validationStatus": "pass"}, {"name": "d"}, "a.json"]}"#,
        );
        let names: Vec<_> = found.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!((names, found.unusable), (vec!["a.json", "b", "d"], 1));
        let first = &found.entries[0];
        assert_eq!((first.step, first.agent.as_deref()), (Some(Step::whole(2)), Some("x")));
        assert_eq!(
            (first.validation, first.size, first.kind.as_deref()),
            (Validation::Pass, Some(7), Some("plan"))
        );
        assert_eq!(first.dependencies, ["b"]);
        assert_eq!(
            found.entries[1].validation,
            Validation::Pending,
            "the map counts, not the list beside it"
        );
    }

    #[test]
    fn the_list_form() {
        let found = read(
            r#"{"artifacts": [{"name": "a", "step": "0", "metadata": {"validation_status": "pass", "size": 3}},
                {"name": "b", "step": "step-1", "validation_status": "fail"}, {"path": "x/c.md"}, {}, null,
                {"name": "a", "step": "4", "metadata": {"validation_status": "fail"}}],
                "dependencies": {"b": ["a"]}}"#,
        );
        let seen: Vec<_> =
            found.entries.iter().map(|entry| (entry.name.as_str(), entry.validation)).collect();
        assert_eq!(
            seen,
            [("a", Validation::Fail), ("b", Validation::Fail), ("c.md", Validation::Unknown)],
            "of a repeated name the later one counts"
        );
        assert_eq!((found.unusable, &found.entries[1].dependencies), (2, &vec!["a".to_owned()]));
        assert_eq!(found.entries[0].step, Some(Step::whole(4)));
    }

    #[test]
    fn spellings_that_contradict_each_other_are_no_pass() {
        for (fields, is) in [
            (r#""validationStatus": "PASS""#, Validation::Pass),
            (r#""validationStatus": "pass", "metadata": {"validation_status": "passed"}"#, Validation::Pass),
            (r#""validationStatus": "pass", "metadata": {"validation_status": "fail"}"#, Validation::Unknown),
            (r#""validationStatus": "maybe""#, Validation::Unknown),
            (r#""validationStatus": true"#, Validation::Unknown),
        ] {
            let found = read(&format!(r#"{{"artifacts": [{{"name": "a", {fields}}}]}}"#));
            assert_eq!(found.entries[0].validation, is, "{fields}");
        }
    }

    #[test]
    fn digests() {
        let hex = "a".repeat(64);
        for (text, is) in [
            (hex.clone(), Some(&hex)),
            (format!("sha256:{}", hex.to_uppercase()), Some(&hex)),
            (hex[1..].to_owned(), None),
            (format!("md5:{hex}"), None),
        ] {
            assert_eq!(sha256(&text).as_ref(), is, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), field in "(\\[|\\{|\\]|\\}|\"a\"|:|,|1|null){0,30}") {
            for text in [bytes, format!("{{\"artifacts\":{field}}}").into_bytes()] {
                if let Ok(object) = object(&text) {
                    let _ = parse(&object);
                }
            }
        }
    }
}
