//! The head of a design document: whether it says that it is the design of this change.

use super::yaml::{self, Value};

/// More is no design that is read here.
pub(crate) const LIMIT: usize = 4 * 1024 * 1024;

/// What the head must say, beside the name of the change.
const ROLE: (&str, &str) = ("role", "technical-design");
const SPEC: (&str, &str) = ("canonical_spec", "openspec");

/// Judges a design of the change with this name. None: all is well; else what is wrong, which goes after its path.
#[must_use]
pub fn fault(text: &str, change: &str) -> Option<String> {
    let Some(head) = head(text) else { return Some("has no head between two lines of ---".to_owned()) };
    let document = match yaml::parse(head) {
        Ok(document) => document,
        Err(error) => return Some(format!("has a head that {error}")),
    };
    let wrong: Vec<String> = [("comet_change", change), ROLE, SPEC]
        .into_iter()
        .filter(|(name, value)| document.get(name).and_then(Value::text) != Some(value))
        .map(|(name, value)| format!("{name} must be {value}"))
        .collect();
    (!wrong.is_empty()).then(|| format!("has a head in which {}", wrong.join(", ")))
}

/// The text between a first line `---` and the next one.
fn head(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n')?;
    if first.strip_prefix("---")?.trim() != "" {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end_matches(['\r', '\n']) == "---" {
            return Some(&rest[..at]);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let good =
            "---\ncomet_change: tidy\nrole: technical-design\ncanonical_spec: openspec\nmore: x\n---\n# T\n";
        for (text, part) in [
            (good.to_owned(), None),
            (good.replace('\n', "\r\n"), None),
            (format!("\u{feff}{good}"), None),
            (good.trim_end_matches("\n# T\n").to_owned(), None),
            (good.replace("tidy", "other"), Some("comet_change must be tidy")),
            (good.replace("technical-design", "notes"), Some("role must be technical-design")),
            (good.replace("canonical_spec: openspec\n", ""), Some("canonical_spec must be openspec")),
            (good.replace("more: x", "role: again"), Some("twice")),
            ("# T\n".to_owned(), Some("no head")),
            ("---\nrole: x\n".to_owned(), Some("no head")),
            (String::new(), Some("no head")),
        ] {
            let found = fault(&text, "tidy");
            match part {
                None => assert_eq!(found, None, "{text}"),
                Some(part) => {
                    assert!(found.as_deref().is_some_and(|f| f.contains(part)), "{text}: {found:?}")
                }
            }
        }
    }
}
