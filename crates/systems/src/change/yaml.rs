//! YAML as the files of a change use it: one small tree of plain values, every scalar read by the core rules of YAML 1.2.
//!
//! Only `true` and `false` are truth values there: `off`, `on`, `yes` and `no` are words. Aliases, tags, several
//! documents and a name that stands twice are refused: none of these files has them, and each can mean two things.

use saphyr_parser::{Event, Parser, ScalarStyle};

/// Deeper trees are refused; the files in use have three levels.
const MAX_DEPTH: usize = 16;
/// More values are refused; the files in use have about forty.
const MAX_VALUES: usize = 4_096;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A number, as written.
    Number(String),
    /// Words.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// Names and values in the order of the file; no name twice.
    Map(Vec<(String, Self)>),
}

impl Value {
    /// The value under a name; None when there is none or this is no map.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Why a text is no such tree; the texts go after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// No YAML.
    #[error("is no YAML (line {line}: {what})")]
    Malformed {
        /// Where, from 1.
        line: usize,
        /// What the parser says.
        what: String,
    },
    /// A name stands twice in one map.
    #[error("has {name:?} twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// YAML that these files do not use.
    #[error("uses {0}, which this file never has")]
    Unusual(&'static str),
}

/// A map or list that is being read.
enum Open {
    List(Vec<Value>),
    Map(Vec<(String, Value)>, Option<String>),
}

/// Reads one document. An empty text is [`Value::Null`].
pub fn parse(text: &str) -> Result<Value, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut open: Vec<Open> = Vec::new();
    let mut whole = None;
    let mut values = 0;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| YamlError::Malformed {
            line: error.marker().line(),
            what: error.info().to_owned(),
        })?;
        let value = match event {
            Event::Alias(_) => return Err(YamlError::Unusual("an alias")),
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                return Err(YamlError::Unusual("an anchor"));
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => return Err(YamlError::Unusual("a tag")),
            Event::Scalar(text, style, ..) => {
                if style == ScalarStyle::Plain {
                    plain(&text)
                } else {
                    Value::Text(text.into_owned())
                }
            }
            Event::SequenceStart(..) => {
                descend(&mut open, Open::List(Vec::new()))?;
                continue;
            }
            Event::MappingStart(..) => {
                descend(&mut open, Open::Map(Vec::new(), None))?;
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::List(items),
                Some(Open::Map(members, _)) => Value::Map(members),
                None => return Err(YamlError::Unusual("an end without a beginning")),
            },
            Event::DocumentStart(_) if whole.is_some() => {
                return Err(YamlError::Unusual("several documents"));
            }
            _ => continue,
        };
        values += 1;
        if values > MAX_VALUES {
            return Err(YamlError::Unusual("thousands of values"));
        }
        match open.last_mut() {
            None => whole = Some(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(members, name)) => match name.take() {
                Some(name) => members.push((name, value)),
                None => *name = Some(key(value, members)?),
            },
        }
    }
    Ok(whole.unwrap_or(Value::Null))
}

fn descend(open: &mut Vec<Open>, inner: Open) -> Result<(), YamlError> {
    if matches!(open.last(), Some(Open::Map(_, None))) {
        return Err(YamlError::Unusual("a list or map as a name"));
    }
    if open.len() >= MAX_DEPTH {
        return Err(YamlError::Unusual("deep nesting"));
    }
    open.push(inner);
    Ok(())
}

fn key(value: Value, members: &[(String, Value)]) -> Result<String, YamlError> {
    let name = match value {
        Value::Text(text) | Value::Number(text) => text,
        Value::Flag(flag) => flag.to_string(),
        Value::Null => return Err(YamlError::Unusual("an empty name")),
        Value::List(_) | Value::Map(_) => return Err(YamlError::Unusual("a list or map as a name")),
    };
    if members.iter().any(|(known, _)| *known == name) {
        return Err(YamlError::Twice { name });
    }
    Ok(name)
}

/// The core schema of YAML 1.2 (section 10.3.2).
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Flag(true),
        "false" | "False" | "FALSE" => Value::Flag(false),
        _ if is_number(text) => Value::Number(text.to_owned()),
        _ => Value::Text(text.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|b| matches!(b, b'0'..=b'7'));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    has_digits
        && digits(whole)
        && digits(fraction)
        && exponent.is_none_or(|part| {
            let part = part.strip_prefix(['-', '+']).unwrap_or(part);
            !part.is_empty() && digits(part)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_old_yaml_stay_words() {
        let value =
            parse("a: off\nb: on\nc: yes\nd: false\ne: ~\nf: 3\ng: \"true\"\nh:\ni: 2026-03-01\n").unwrap();
        let text = |name: &str| value.get(name).unwrap().clone();
        assert_eq!(text("a"), Value::Text("off".into()));
        assert_eq!(text("b"), Value::Text("on".into()));
        assert_eq!(text("c"), Value::Text("yes".into()));
        assert_eq!(text("d"), Value::Flag(false));
        assert_eq!(text("e"), Value::Null);
        assert_eq!(text("f"), Value::Number("3".into()));
        assert_eq!(text("g"), Value::Text("true".into()));
        assert_eq!(text("h"), Value::Null);
        assert_eq!(text("i"), Value::Text("2026-03-01".into()));
    }

    #[test]
    fn numbers() {
        for number in
            ["0", "-7", "+3", "1.5", ".5", "1.", "1e3", "1E-3", "0o17", "0xfF", ".inf", "-.INF", ".nan"]
        {
            assert!(is_number(number), "{number}");
        }
        for word in ["", "-", "e3", "1e", "1e+", "0o8", "0x", "1.2.3", "2f1e0d", "1_000", "."] {
            assert!(!is_number(word), "{word}");
        }
    }

    #[test]
    fn what_can_mean_two_things_is_refused() {
        for text in [
            "a: 1\na: 2",
            "a: &x 1",
            "a: &x 1\nb: *x",
            "a: !!str 1",
            "a: 1\n---\nb: 2",
            "? [a]\n: 1",
            "a: [",
            "~: 1",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(parse(&"[".repeat(100)).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(17), "]".repeat(17))).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(16), "]".repeat(16))).is_ok());
        let list = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert!(parse(&list(MAX_VALUES - 1)).is_ok());
        assert!(parse(&list(MAX_VALUES)).is_err());
    }

    #[test]
    fn windows_line_ends_and_a_bom_are_nothing() {
        let value = parse("\u{feff}a: off\r\nb:\r\n  - x\r\n").unwrap();
        assert_eq!(value.get("a").unwrap().text(), Some("off"));
        assert_eq!(value.get("b"), Some(&Value::List(vec![Value::Text("x".into())])));
    }
}
