//! A JSON object as slices of its text: other programs' files are read leniently and changed in place.
//!
//! Of a repeated member the last one counts; a value of a wrong type is as good as absent, and harms no other.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object as slices of its text.
#[derive(Debug)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// None: no whole object, or something behind it.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    members.push(entry);
                }
                Ok(Members(members))
            }
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let members = deserializer.deserialize_map(Object).ok()?;
        deserializer.end().ok()?;
        Some(members)
    }

    /// Of a repeated member the last one counts.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// Where a value stands in the text that the members were read from.
    pub(crate) fn span(&self, name: &str, text: &str) -> Option<std::ops::Range<usize>> {
        let value = self.get(name)?.get();
        // Both are slices of the same text.
        let start = (value.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        Some(start..start + value.len())
    }

    /// A value that is text. The client writes halves of surrogate pairs, which strict decoders refuse: they become
    /// U+FFFD here.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        decode(self.get(name)?)
    }

    /// A value of the type asked for.
    pub(crate) fn value<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// A value that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        Self::of(self.get(name)?.get())
    }
}

/// Text, in whatever state.
pub(crate) fn decode(raw: &RawValue) -> Option<String> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = String;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("text")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
    }
    // As bytes, since only then are half pairs let through.
    serde_json::Deserializer::from_str(raw.get()).deserialize_bytes(Text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_repeated_member_counts_and_a_wrong_type_harms_nobody() {
        let members = Members::of(r#"{"a": 1, "b": {"c": true}, "a": "x", "d": "\ud83d"}"#).unwrap();
        assert_eq!(members.value::<String>("a").as_deref(), Some("x"));
        assert_eq!(members.value::<u64>("a"), None);
        assert_eq!(members.text("a").as_deref(), Some("x"));
        assert!(members.text("d").is_some_and(|text| text.starts_with('\u{fffd}')), "half of a pair");
        assert_eq!(members.text("b"), None);
        assert_eq!(members.object("b").and_then(|inner| inner.value("c")), Some(true));
        assert!(members.object("a").is_none());
        for none in ["", "[]", "{\"a\":1", "{}x"] {
            assert!(Members::of(none).is_none(), "{none}");
        }
    }
}
