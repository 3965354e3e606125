//! A gate file: did a step pass? Four shapes are in use (FORMATS 5.3).
//!
//! | shape | pass means | step from |
//! |---|---|---|
//! | as documented | `validation_status` is `pass` | field `step`, else the file's name |
//! | as the gate program writes it | `valid` is true | the file's name |
//! | gate result | `allowed` is true; without it, `status` is `passed` | field `step` |
//! | older | `valid` is true | field `step` |
//!
//! A file that says both yes and no has not passed.

use serde::Serialize;
use serde_json::Value;

use super::step::Step;
use crate::json::{Fields as _, Object};

/// What a gate says of its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It was skipped, and nothing allows to go on.
    Skipped,
    /// It passed with warnings, and nothing allows to go on.
    Warned,
    /// It failed.
    Failed,
}

impl Outcome {
    /// Returns it as part of a sentence.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped => "skipped",
            Self::Warned => "warned",
            Self::Failed => "failed",
        }
    }
}

/// A gate that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) step: Step,
    pub(crate) agent: Option<String>,
    pub(crate) outcome: Outcome,
    /// Seconds since 1970; None: the file does not tell.
    pub(crate) time_s: Option<i64>,
    /// Why it did not pass, in the gate's words.
    pub(crate) errors: Vec<String>,
    /// It says both yes and no.
    pub(crate) contradicts_itself: bool,
    /// The name of the file tells of another step.
    pub(crate) named_step: Option<Step>,
}

/// Why an object is no gate. The text stands alone after the name of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoGate {
    #[error("does not say whether the step passed")]
    NoVerdict,
    #[error("does not say which step it is about")]
    NoStep,
    /// Neither its name nor its content is that of a gate: some other file.
    #[error("is no gate")]
    Foreign,
}

/// Reads a gate.
pub(crate) fn parse(file_name: &str, object: &Object) -> Result<Gate, NoGate> {
    let named = Step::of_file_name(file_name);
    let own = object.get("step").and_then(Step::of_json);
    let verdict = verdict(object);
    let named_step = named.map(|(step, _)| step);
    let (step, (outcome, contradicts_itself)) = match (own.or(named_step), verdict) {
        (Some(step), Some(verdict)) => (step, verdict),
        (Some(_), None) if named.is_some() => return Err(NoGate::NoVerdict),
        (None, Some(_)) => return Err(NoGate::NoStep),
        _ => return Err(NoGate::Foreign),
    };
    // A JSON number cannot tell 1.10 from 1.1; the name can.
    let same = |named: Step| named == step || number(named) == number(step) && number(step).is_some();
    let step = named_step.filter(|named| same(*named)).unwrap_or(step);
    let words =
        |value: &Value| value.as_str().or_else(|| value.as_object()?.text("message")).map(str::to_owned);
    let mut errors: Vec<String> = ["errors", "blockers", "secret_validation_errors"]
        .iter()
        .flat_map(|name| object.list(name).iter().filter_map(words))
        .collect();
    if errors.is_empty() && outcome != Outcome::Passed {
        errors.extend(object.owned("summary"));
    }
    let times = ["timestamp", "checked_at", "validated_at", "updated_at", "created_at"];
    Ok(Gate {
        step,
        agent: object.owned("agent").or_else(|| named.and_then(|(_, agent)| agent.map(str::to_owned))),
        outcome,
        time_s: times.iter().find_map(|name| object.time(name)),
        errors,
        contradicts_itself,
        named_step: named_step.filter(|named| *named != step),
    })
}

fn number(step: Step) -> Option<f64> {
    step.to_string().parse().ok()
}

/// Returns what the fields say together, and whether they contradict each other.
fn verdict(object: &Object) -> Option<(Outcome, bool)> {
    let flag = |name: &str| object.get(name).and_then(Value::as_bool);
    let yes = |passed: bool| if passed { Outcome::Passed } else { Outcome::Failed };
    let word = |name: &str| object.text(name).and_then(self::word);
    let result = match flag("allowed") {
        // Not allowed to go on is what counts, whatever the status calls it.
        Some(false) if word("status") == Some(Outcome::Passed) => return Some((Outcome::Failed, true)),
        Some(false) => Some(word("status").unwrap_or(Outcome::Failed)),
        Some(true) => Some(Outcome::Passed),
        None => word("status"),
    };
    let said = [word("validation_status"), flag("valid").map(yes), result];
    let passes = |outcome: &Outcome| *outcome == Outcome::Passed;
    let worst = said.iter().flatten().max().copied()?;
    let split = said.iter().flatten().any(passes) && !passes(&worst);
    Some((worst, split))
}

fn word(word: &str) -> Option<Outcome> {
    match word.trim().to_ascii_lowercase().as_str() {
        "pass" | "passed" => Some(Outcome::Passed),
        "fail" | "failed" => Some(Outcome::Failed),
        "warning" => Some(Outcome::Warned),
        "skipped" => Some(Outcome::Skipped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::object;
    use proptest::prelude::*;

    fn read(name: &str, text: &str) -> Result<Gate, NoGate> {
        parse(name, &object(text.as_bytes()).unwrap())
    }

    #[test]
    fn all_shapes() {
        use Outcome::{Failed, Passed, Skipped, Warned};
        for (name, text, step, outcome, split) in [
            ("03-qa.json", r#"{"validation_status":"pass"}"#, "3", Passed, false),
            ("03-qa.json", r#"{"validation_status":"fail","step":3}"#, "3", Failed, false),
            (
                "step-4.json",
                r#"{"valid":true,"validated_data":{"step":9,"valid":false}}"#,
                "4",
                Passed,
                false,
            ),
            ("step-4.json", r#"{"valid":false,"validated_data":{"valid":true}}"#, "4", Failed, false),
            ("x.json", r#"{"gate_id":"gate-x","step":5,"status":"passed"}"#, "5", Passed, false),
            ("x.json", r#"{"step":5,"status":"failed","allowed":false}"#, "5", Failed, false),
            ("x.json", r#"{"step":5,"status":"warning","allowed":true}"#, "5", Passed, false),
            ("x.json", r#"{"step":5,"status":"warning"}"#, "5", Warned, false),
            ("x.json", r#"{"step":5,"status":"skipped"}"#, "5", Skipped, false),
            ("x.json", r#"{"step":5,"status":"skipped","allowed":true}"#, "5", Passed, false),
            ("x.json", r#"{"step":5,"status":"passed","allowed":false}"#, "5", Failed, true),
            ("x.json", r#"{"step":0,"valid":true}"#, "0", Passed, false),
            ("x.json", r#"{"step":"0.1","valid":true}"#, "0.1", Passed, false),
            ("2.json", r#"{"valid":true,"validation_status":"fail"}"#, "2", Failed, true),
            ("2.json", r#"{"valid":true,"allowed":true,"status":"failed"}"#, "2", Passed, false),
            ("2.json", r#"{"valid":true,"status":"completed"}"#, "2", Passed, false),
            ("01.10-a.json", r#"{"step":1.1,"valid":true}"#, "1.10", Passed, false),
        ] {
            let gate = read(name, text).unwrap();
            assert_eq!(
                (gate.step.to_string().as_str(), gate.outcome, gate.contradicts_itself),
                (step, outcome, split),
                "{text}"
            );
            assert_eq!(gate.named_step, None, "{text}");
        }
    }

    #[test]
    fn what_is_no_gate() {
        assert_eq!(read("03-qa.json", "{}"), Err(NoGate::NoVerdict));
        assert_eq!(read("03-qa.json", r#"{"valid":"true"}"#), Err(NoGate::NoVerdict));
        assert_eq!(read("03-qa.json", r#"{"validation_status":"perhaps"}"#), Err(NoGate::NoVerdict));
        assert_eq!(read("qa.json", r#"{"valid":true}"#), Err(NoGate::NoStep));
        assert_eq!(read("qa.json", r#"{"valid":true,"step":-1}"#), Err(NoGate::NoStep));
        assert_eq!(read("summary.json", r#"{"total":3}"#), Err(NoGate::Foreign));
    }

    #[test]
    fn agent_time_and_reasons() {
        let gate = read(
            "03-qa.json",
            r#"{"valid":false,"errors":["a",{"message":"b"},7],"blockers":["c"],"timestamp":"2026-03-02T10:20:00Z"}"#,
        )
        .unwrap();
        assert_eq!(gate.agent.as_deref(), Some("qa"));
        assert_eq!(gate.time_s, Some(1_772_446_800));
        assert_eq!(gate.errors, ["a", "b", "c"]);
        let gate = read("05-x.json", r#"{"step":3,"agent":"y","valid":true,"timestamp":"soon"}"#).unwrap();
        assert_eq!((gate.agent.as_deref(), gate.time_s), (Some("y"), None));
        assert_eq!(gate.named_step, Step::parse("5"), "the field counts, the name is told");
    }

    proptest! {
        #[test]
        fn any_object_is_survived(
            name in "(step-)?[0-9]{0,6}[.]?[0-9]{0,3}-?[a-z]{0,3}(.json)?",
            fields in prop::collection::btree_map(
                "step|valid|allowed|status|validation_status|errors|agent|timestamp",
                prop_oneof![Just("null"), Just("true"), Just("-1"), Just("1e999"), Just("\"pass\""), Just("[{}]"), Just("{}")],
                0..6,
            ),
        ) {
            let text = fields.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect::<Vec<_>>().join(",");
            if let Ok(object) = object(format!("{{{text}}}").as_bytes()) {
                let _ = parse(&name, &object);
            }
        }
    }
}
