//! JSON as other programs leave it: read leniently, never guessed, changed in place.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// An object that was read.
pub(crate) type Object = Map<String, Value>;

/// Why bytes are no JSON object. The text stands alone after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotRead {
    #[error("is empty")]
    Empty,
    #[error("is not UTF-8 text")]
    NotText,
    #[error("is not JSON ({0})")]
    NotJson(String),
    #[error("is JSON, but no object")]
    NotAnObject,
}

/// Reads an object; a byte order mark and halves of surrogate pairs (which JavaScript writes) are no fault.
pub(crate) fn object(bytes: &[u8]) -> Result<Object, NotRead> {
    object_without(bytes, None)
}

/// The same without a member that is never needed and often large.
pub(crate) fn object_without(bytes: &[u8], skipped: Option<&str>) -> Result<Object, NotRead> {
    let text = text(bytes)?;
    let members = |text: &str| members(text, skipped);
    let parsed = match members(text) {
        Ok(object) => Ok(object),
        Err(error) => match mend_surrogates(text) {
            Cow::Owned(mended) => members(&mended),
            Cow::Borrowed(_) => Err(error),
        },
    };
    parsed.map_err(|error| match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) if !text.trim_start().starts_with('{') => NotRead::NotAnObject,
        _ => NotRead::NotJson(error.to_string()),
    })
}

fn members(text: &str, skipped: Option<&str>) -> serde_json::Result<Object> {
    struct Members<'s>(Option<&'s str>);
    impl<'de> Visitor<'de> for Members<'_> {
        type Value = Object;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut object = Object::new();
            while let Some(name) = map.next_key::<String>()? {
                if self.0 == Some(name.as_str()) {
                    map.next_value::<IgnoredAny>()?;
                } else {
                    object.insert(name, map.next_value()?);
                }
            }
            Ok(object)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let object = deserializer.deserialize_map(Members(skipped))?;
    deserializer.end()?;
    Ok(object)
}

/// Checks that bytes are one JSON value of whatever kind.
pub(crate) fn check(bytes: &[u8]) -> Result<(), NotRead> {
    let text = text(bytes)?;
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Ok(()),
        // Sound as far as we look: other programs nest deeper than our parser goes.
        Err(error) if error.to_string().starts_with("recursion limit") => Ok(()),
        Err(error) => Err(NotRead::NotJson(error.to_string())),
    }
}

/// Returns the text of a file without its byte order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, NotRead> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| NotRead::NotText)?;
    if text.trim().is_empty() { Err(NotRead::Empty) } else { Ok(text) }
}

/// Replaces halves of surrogate pairs by U+FFFD.
fn mend_surrogates(text: &str) -> Cow<'_, str> {
    let unit = |at: usize| {
        let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(hex, 16).ok()
    };
    let bytes = text.as_bytes();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str(&text[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            (Some(_), _) => at += 6,
            // Another escape: the character behind it is not the beginning of one.
            (None, _) => at += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Fields of an object, where a wrong type is as good as none.
pub(crate) trait Fields {
    /// Text that is not blank.
    fn text(&self, name: &str) -> Option<&str>;
    /// A list; empty if there is none.
    fn list(&self, name: &str) -> &[Value];
    /// An object in this one.
    fn inner(&self, name: &str) -> Option<&Object>;
    /// A time, seconds since 1970.
    fn time(&self, name: &str) -> Option<i64>;
    /// The texts of a list.
    fn texts(&self, name: &str) -> Vec<String> {
        self.list(name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
    /// Text of one's own.
    fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }
}

impl Fields for Object {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str().filter(|text| !text.trim().is_empty())
    }

    fn list(&self, name: &str) -> &[Value] {
        self.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn inner(&self, name: &str) -> Option<&Object> {
        self.get(name)?.as_object()
    }

    fn time(&self, name: &str) -> Option<i64> {
        session_state::times::of_json(self.get(name)?)
    }
}

/// A part of a text that is one JSON value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a>(&'a RawValue);

impl<'a> Piece<'a> {
    /// The whole text, if it is one value.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// The value.
    pub(crate) fn value(self) -> Option<Value> {
        serde_json::from_str(self.0.get()).ok()
    }

    /// The members of an object, in their order; none if it is no object.
    pub(crate) fn members(self) -> Vec<(Cow<'a, str>, Self)> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    members.push((Cow::Owned(name), value));
                }
                Ok(members)
            }
        }
        let found = serde_json::Deserializer::from_str(self.0.get()).deserialize_map(Members);
        found.unwrap_or_default().into_iter().map(|(name, value)| (name, Self(value))).collect()
    }

    /// A member by its name; of a repeated one the last counts.
    pub(crate) fn member(self, name: &str) -> Option<Self> {
        self.members().into_iter().rev().find(|(known, _)| known == name).map(|(_, piece)| piece)
    }

    /// The elements of a list; none if it is no list.
    pub(crate) fn elements(self) -> Vec<Self> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    elements.push(element);
                }
                Ok(elements)
            }
        }
        let found = serde_json::Deserializer::from_str(self.0.get()).deserialize_seq(Elements);
        found.unwrap_or_default().into_iter().map(Self).collect()
    }

    /// Where it stands in the text it was read from.
    pub(crate) fn span(self, text: &str) -> Option<Range<usize>> {
        // Both are slices of the same text.
        let start = (self.0.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        let end = start + self.0.get().len();
        (end <= text.len()).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_line_ends_and_halves_of_pairs_are_no_fault() {
        for (bytes, value) in [
            ("\u{feff}{\"a\":\"x\"}", "x"),
            ("{\r\n\"a\":\"x\"\r\n}", "x"),
            (r#"{"a":"\ud83d"}"#, "\u{fffd}"),
            (r#"{"a":"\udc00\ud83d\ude00"}"#, "\u{fffd}\u{1f600}"),
            (r#"{"a":"\\ud83d\ud83d"}"#, "\\ud83d\u{fffd}"),
            (r#"{"a":1,"a":"last"}"#, "last"),
        ] {
            assert_eq!(object(bytes.as_bytes()).unwrap().text("a"), Some(value), "{bytes}");
        }
    }

    #[test]
    fn what_is_no_object_says_why() {
        assert_eq!(object(b""), Err(NotRead::Empty));
        assert_eq!(object(b" \n"), Err(NotRead::Empty));
        assert_eq!(object(b"[]"), Err(NotRead::NotAnObject));
        assert_eq!(object(b"{\"a\":\"\xff\"}"), Err(NotRead::NotText));
        for damaged in ["{", "{\"a\": 1", "{} x", "\0\0\0\0", "// no\n{}"] {
            assert!(matches!(object(damaged.as_bytes()), Err(NotRead::NotJson(_))), "{damaged}");
        }
        assert!(matches!(object("{\"a\":".repeat(5_000).as_bytes()), Err(NotRead::NotJson(_))));
    }

    #[test]
    fn deep_but_sound_is_not_called_damaged() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        assert_eq!(check(deep.as_bytes()), Ok(()));
        assert!(check(b"[1").is_err());
    }

    #[test]
    fn pieces_know_where_they_stand() {
        let text = r#" {"steps": [ {"n": 1}, {"n" : 2 } ], "n": 3, "n": 4}"#;
        let whole = Piece::of(text).unwrap();
        let second = whole.member("steps").unwrap().elements()[1];
        assert_eq!(&text[second.span(text).unwrap()], r#"{"n" : 2 }"#);
        assert_eq!(&text[second.member("n").unwrap().span(text).unwrap()], "2");
        assert_eq!(&text[whole.member("n").unwrap().span(text).unwrap()], "4");
        assert!(whole.elements().is_empty() && second.member("x").is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), escapes in "(\\\\|u|d|8|0|\"|x){0,40}") {
            let _ = (object(&bytes), check(&bytes), mend_surrogates(&escapes));
        }
    }
}
