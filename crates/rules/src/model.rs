//! Model families: which one an id names, and which is the next larger one.

/// Families by name; `opusplan` comes before `opus` only for reading, since names are compared as whole words.
const FAMILIES: [&str; 5] = ["haiku", "sonnet", "opusplan", "opus", "fable"];

/// Returns the family that a model id names.
///
/// Providers wrap the family in regions, dates and versions (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`,
/// `claude-haiku-4-5@20251001`, `opus[1m]`), so the family is looked for as a word of the id, with a version number
/// glued to it at most (`sonnet4`). An id that names none, or two different ones, gives `None`: never a guess.
pub fn family(id: &str) -> Option<&'static str> {
    let mut found = None;
    for word in id.split(|c: char| !c.is_ascii_alphanumeric()) {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let Some(family) = FAMILIES.into_iter().find(|family| word.eq_ignore_ascii_case(family)) else {
            continue;
        };
        if found.is_some_and(|other| other != family) {
            return None;
        }
        found = Some(family);
    }
    found
}

/// Returns the next larger family for advice: haiku to sonnet, sonnet to opus.
///
/// `None` for the largest ones, for `opusplan` (which already plans with opus) and for ids of no known family.
pub fn next(id: &str) -> Option<&'static str> {
    match family(id)? {
        "haiku" => Some("sonnet"),
        "sonnet" => Some("opus"),
        _ => None,
    }
}

/// Returns the family in the name of a limit: what stands before `limit` in `Opus weekly limit`, `Fable 5 limit`.
pub(crate) fn family_of_limit(name: &str) -> Option<&'static str> {
    let mut words = name.split(' ').rev().filter(|word| {
        let kind = ["weekly", "usage", "model", ""].iter().any(|kind| word.eq_ignore_ascii_case(kind));
        !kind && !word.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    });
    let last = words.next()?;
    FAMILIES.into_iter().find(|family| last.eq_ignore_ascii_case(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_every_provider_name_their_family() {
        for (id, expected_family, expected_next) in [
            ("claude-haiku-9-1", Some("haiku"), Some("sonnet")),
            ("claude-3-haiku-20240307", Some("haiku"), Some("sonnet")),
            ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", Some("haiku"), Some("sonnet")),
            ("apac.anthropic.claude-sonnet-4-20250514-v1:0", Some("sonnet"), Some("opus")),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", Some("sonnet"), Some("opus")),
            ("anthropic/claude-sonnet-4.5:beta", Some("sonnet"), Some("opus")),
            (
                "projects/p/locations/us-east5/publishers/anthropic/models/claude-sonnet-4@20250514",
                Some("sonnet"),
                Some("opus"),
            ),
            (
                "arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/anthropic.claude-sonnet-4-5",
                Some("sonnet"),
                Some("opus"),
            ),
            ("Sonnet", Some("sonnet"), Some("opus")),
            ("haiku[1m]", Some("haiku"), Some("sonnet")),
            ("sonnet4", Some("sonnet"), Some("opus")),
            ("claude-opus-4-1@20250805", Some("opus"), None),
            ("us.anthropic.claude-opus-4-1-20250805-v1:0", Some("opus"), None),
            ("opus", Some("opus"), None),
            ("OpusPlan", Some("opusplan"), None),
            ("opusplan[1m]", Some("opusplan"), None),
            ("claude-fable-6[1m]", Some("fable"), None),
            ("claude-instant-1.2", None, None),
            ("default", None, None),
            ("<synthetic>", None, None),
            ("magnumopus-7b", None, None),
            ("sonnet-or-opus", None, None),
            ("arn:aws:bedrock:us-west-2:000000000000:application-inference-profile/zz9", None, None),
            (" ", None, None),
        ] {
            assert_eq!((family(id), next(id)), (expected_family, expected_next), "{id}");
        }
    }

    #[test]
    fn a_limit_names_its_family() {
        assert_eq!(family_of_limit("Opus"), Some("opus"));
        assert_eq!(family_of_limit("Sonnet weekly"), Some("sonnet"));
        assert_eq!(family_of_limit("Fable 5"), Some("fable"));
        assert_eq!(family_of_limit("Claude Opus 4.1 usage"), Some("opus"));
        assert_eq!(family_of_limit("weekly"), None);
        assert_eq!(family_of_limit("opus is great; weekly"), None);
    }
}
