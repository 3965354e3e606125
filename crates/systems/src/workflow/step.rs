//! The number of a step: `3`, or `0.1` for a step put in behind `0`.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// More digits than this are a date or an id, not the number of a step.
const MAX_DIGITS: usize = 5;

/// The number of a step. Steps are ordered as numbers (10 comes after 2), sub-steps too (1.10 comes after 1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    whole: u32,
    sub: Option<Sub>,
}

/// A sub-step; the count of digits keeps `0.05` and `0.5` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sub {
    number: u32,
    digits: u8,
}

impl Step {
    /// Returns a step without a sub-step.
    #[must_use]
    pub const fn whole(number: u32) -> Self {
        Self { whole: number, sub: None }
    }

    /// Returns the whole number, if there is no sub-step.
    #[must_use]
    pub const fn as_whole(self) -> Option<u32> {
        if self.sub.is_some() { None } else { Some(self.whole) }
    }

    /// Returns the next whole step.
    #[must_use]
    pub const fn next_whole(self) -> Self {
        Self::whole(self.whole + 1)
    }

    /// Returns whether this is a whole step that follows `before` directly.
    #[must_use]
    pub fn follows(self, before: Self) -> bool {
        self.as_whole().is_some() && before.as_whole().is_some_and(|number| number + 1 == self.whole)
    }

    /// Reads `3`, `0.1`, `03`, `step-3`. None: it is no number of a step.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (step, rest) = leading(strip_word(text).unwrap_or(text))?;
        rest.is_empty().then_some(step)
    }

    /// Reads a JSON number, or text as [`Step::parse`] does.
    #[must_use]
    pub fn of_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => match number.as_f64() {
                Some(whole) if whole.fract() == 0.0 && (0.0..100_000.0).contains(&whole) => {
                    Self::parse(&format!("{whole:.0}"))
                }
                _ => Self::parse(&number.to_string()),
            },
            _ => None,
        }
    }

    /// Reads the step out of the name of a file: `03-qa.json`, `00.1-orchestrator.json`, `step-3.json`, `3.json`; with
    /// what follows the number (the agent).
    #[must_use]
    pub fn of_file_name(name: &str) -> Option<(Self, Option<&str>)> {
        let stem = name.strip_suffix(".json")?;
        let (step, rest) = leading(strip_word(stem).unwrap_or(stem))?;
        match rest.strip_prefix('-') {
            None if rest.is_empty() => Some((step, None)),
            None => None,
            Some(agent) => Some((step, Some(agent).filter(|agent| !agent.is_empty()))),
        }
    }
}

/// Drops `step-` or `step `.
fn strip_word(text: &str) -> Option<&str> {
    let word = text.get(..4)?;
    let rest = text.get(4..)?;
    word.eq_ignore_ascii_case("step").then(|| rest.strip_prefix(['-', '_', ' ']).unwrap_or(rest))
}

/// Reads the number that a text begins with, and returns the rest.
fn leading(text: &str) -> Option<(Step, &str)> {
    let (whole, rest) = digits(text)?;
    let sub = rest.strip_prefix('.').and_then(digits);
    let whole = whole.parse().ok()?;
    let Some((sub, rest)) = sub else { return Some((Step::whole(whole), rest)) };
    let number = sub.parse().ok()?;
    // `1.0` is how some programs write 1.
    let sub = (number > 0).then_some(Sub { number, digits: u8::try_from(sub.len()).ok()? });
    Some((Step { whole, sub }, rest))
}

fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=MAX_DIGITS).contains(&end).then(|| text.split_at(end))
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sub {
            None => write!(formatter, "{}", self.whole),
            Some(Sub { number, digits }) => {
                write!(formatter, "{}.{number:0width$}", self.whole, width = usize::from(digits))
            }
        }
    }
}

impl Serialize for Step {
    /// A number; text where a number cannot tell it from another step (`1.10`).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(whole) = self.as_whole() {
            return serializer.serialize_u32(whole);
        }
        let text = self.to_string();
        match text.parse::<f64>() {
            Ok(number) if number.to_string() == text => serializer.serialize_f64(number),
            _ => serializer.serialize_str(&text),
        }
    }
}

/// Writes steps as people do: `0-2, 4, 4.1`.
#[must_use]
pub fn ranges(steps: &[Step]) -> String {
    let mut runs: Vec<(Step, Step)> = Vec::new();
    for &step in steps {
        match runs.last_mut() {
            Some((_, last)) if step.follows(*last) => *last = step,
            _ => runs.push((step, step)),
        }
    }
    let one = |(first, last): &(Step, Step)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn step(text: &str) -> Step {
        Step::parse(text).unwrap()
    }

    #[test]
    fn steps_are_ordered_as_numbers() {
        let ordered = ["0", "0.1", "0.2", "0.10", "1", "2", "9", "10", "10.5", "11", "100"];
        for pair in ordered.windows(2) {
            assert!(step(pair[0]) < step(pair[1]), "{pair:?}");
        }
        assert_ne!(step("0.05"), step("0.5"));
    }

    #[test]
    fn every_spelling() {
        for (text, is) in [
            ("3", "3"),
            ("03", "3"),
            (" 3 ", "3"),
            ("step-3", "3"),
            ("Step 3", "3"),
            ("step_0.1", "0.1"),
            ("00.1", "0.1"),
            ("1.0", "1"),
            ("0", "0"),
            ("99999", "99999"),
        ] {
            assert_eq!(step(text).to_string(), is, "{text}");
        }
        for none in
            ["", "none", "-1", "+1", "1.", ".1", "1.2.3", "1e3", "100000", "three", "step", "1 2", "١"]
        {
            assert_eq!(Step::parse(none), None, "{none}");
        }
    }

    #[test]
    fn numbers_of_json() {
        for (value, is) in [
            (json!(0), Some("0")),
            (json!(10), Some("10")),
            (json!(0.1), Some("0.1")),
            (json!(1.0), Some("1")),
            (json!(99999), Some("99999")),
            (json!(100_000), None),
            (json!(-1), None),
            (json!(-0.1), None),
            (json!(1e30), None),
            (json!("2"), Some("2")),
            (json!(null), None),
            (json!(true), None),
            (json!([1]), None),
        ] {
            assert_eq!(Step::of_json(&value).map(|step| step.to_string()).as_deref(), is, "{value}");
        }
    }

    #[test]
    fn names_of_files() {
        for (name, is) in [
            ("03-qa.json", Some(("3", Some("qa")))),
            ("00.1-orchestrator.json", Some(("0.1", Some("orchestrator")))),
            ("step-10.json", Some(("10", None))),
            ("step-1.2.json", Some(("1.2", None))),
            ("7.json", Some(("7", None))),
            ("step-4-qa-lead.json", Some(("4", Some("qa-lead")))),
            ("03-.json", Some(("3", None))),
            ("qa.json", None),
            ("3x.json", None),
            ("03-qa.json.tmp", None),
            ("1772440000000-x.json", None),
            (".json", None),
        ] {
            let found = Step::of_file_name(name).map(|(step, agent)| (step.to_string(), agent));
            assert_eq!(found, is.map(|(step, agent)| (step.to_owned(), agent)), "{name}");
        }
    }

    #[test]
    fn as_json() {
        for (text, is) in [("0", "0"), ("10", "10"), ("0.1", "0.1"), ("0.05", "0.05"), ("1.10", "\"1.10\"")] {
            assert_eq!(serde_json::to_string(&step(text)).unwrap(), is);
        }
    }

    #[test]
    fn people_read_ranges() {
        let steps: Vec<Step> = ["0", "1", "2", "2.1", "4", "6", "7"].map(step).to_vec();
        assert_eq!(ranges(&steps), "0-2, 2.1, 4, 6-7");
        assert_eq!(ranges(&[]), "");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(whole in 0u32..99_999, sub in prop::option::of("[0-9]{1,5}")) {
            let text = sub.map_or_else(|| whole.to_string(), |sub| format!("{whole}.{sub}"));
            let first = step(&text);
            prop_assert_eq!(step(&first.to_string()), first);
            prop_assert_eq!(Step::of_json(&serde_json::to_value(first).unwrap()), Some(first));
        }

        #[test]
        fn any_text_is_survived(text in "\\PC*") {
            let _ = (Step::parse(&text), Step::of_file_name(&text));
        }
    }
}
