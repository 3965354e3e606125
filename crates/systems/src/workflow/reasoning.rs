//! A reasoning file: what an agent decided in its step, and why (FORMATS 5.5).

use serde_json::Value;

use super::step::Step;
use crate::json::{Fields as _, Object};

/// A reasoning file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reasoning {
    pub(crate) step: Step,
    pub(crate) agent: Option<String>,
    pub(crate) decisions: Vec<Decided>,
    pub(crate) open_questions: Vec<String>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) decision: String,
    pub(crate) rationale: Option<String>,
}

/// Reads a reasoning file. None: neither its name nor its content tells the step.
pub(crate) fn parse(file_name: &str, object: &Object) -> Option<Reasoning> {
    let named = Step::of_file_name(file_name);
    let step = object.get("step").and_then(Step::of_json).or(named.map(|(step, _)| step))?;
    let decided = |fields: &Object| {
        Some(Decided { decision: fields.owned("decision")?, rationale: fields.owned("rationale") })
    };
    let mut decisions: Vec<Decided> = object
        .list("decisions")
        .iter()
        .filter_map(|value| match value {
            Value::String(text) if !text.trim().is_empty() => {
                Some(Decided { decision: text.clone(), rationale: None })
            }
            Value::Object(fields) => decided(fields),
            _ => None,
        })
        .collect();
    // A short form with one decision at the top.
    decisions.extend(decided(object));
    Some(Reasoning {
        step,
        agent: object.owned("agent").or_else(|| named.and_then(|(_, agent)| agent.map(str::to_owned))),
        decisions,
        open_questions: object.texts("open_questions"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::object;
    use proptest::prelude::*;

    #[test]
    fn both_forms() {
        let read = |name: &str, text: &str| parse(name, &object(text.as_bytes()).unwrap());
        let found = read(
            "00-x.json",
            r#"{"step": "0.1", "decisions": [{"decision": "a", "rationale": "r"}, "b", "", {"rationale": "r"}, 1],
            "open_questions": ["q", 2]}"#,
        )
        .unwrap();
        let decided: Vec<_> = found.decisions.iter().map(|one| one.decision.as_str()).collect();
        assert_eq!((found.step.to_string().as_str(), decided), ("0.1", vec!["a", "b"]));
        assert_eq!((found.agent.as_deref(), found.open_questions.len()), (Some("x"), 1));
        let short = read("step-9.json", r#"{"decision": "keep it"}"#).unwrap();
        assert_eq!((short.step, short.decisions.len()), (Step::whole(9), 1));
        assert_eq!(read("notes.json", "{}"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(name in "[0-9.a-z-]{0,12}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(object) = object(&bytes) {
                let _ = parse(&name, &object);
            }
        }
    }
}
