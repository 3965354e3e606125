//! What is remembered of a pane from look to look: the limit that holds, and what was already done about it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::limit::Kind;

/// Version of the stored form.
const VERSION: u32 = 1;
/// Limits that were acted on and are over, remembered so that the same message is not acted on twice.
const MOST_DONE: usize = 8;
/// Longest message that is kept, in characters.
const LONGEST_TEXT: usize = 600;

/// The memory of one pane. Its fields are nobody else's business; store it as it is.
///
/// Unknown fields are ignored and missing ones have their defaults, so an older or newer program's memory loads; see
/// [`Memory::is_usable`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub(crate) v: u32,
    /// The limit on screen.
    pub(crate) event: Option<Event>,
    /// Limits that were acted on.
    pub(crate) done: Vec<Done>,
}

/// A limit from its first sighting on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) text: String,
    pub(crate) kind: Kind,
    /// Epoch seconds of the reset as it was understood first: a time of day moves to the next day once it is past.
    #[serde(default)]
    pub(crate) reset_s: Option<i64>,
    #[serde(default)]
    pub(crate) assumed_zone: bool,
    /// Epoch seconds of the first sighting.
    pub(crate) first_s: i64,
    /// The text, or the Enter of a stale continuation, was sent.
    #[serde(default)]
    pub(crate) is_resumed: bool,
    /// Enter was sent into the limit menu.
    #[serde(default)]
    pub(crate) is_menu_closed: bool,
    /// Tries after back-offs.
    #[serde(default)]
    pub(crate) tries: u32,
    /// Epoch seconds of the next try after a back-off.
    #[serde(default)]
    pub(crate) next_s: Option<i64>,
    /// A turn was seen running since the last try.
    #[serde(default)]
    pub(crate) has_worked: bool,
}

/// A limit that was acted on and left the screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) text: String,
    pub(crate) reset_s: i64,
}

impl Memory {
    /// Returns whether the memory is of a form this program knows; another one counts as none.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.v == VERSION
    }

    /// Returns the usable memory, or an empty one.
    pub(crate) fn of(memory: Option<&Self>) -> Self {
        let mut memory = memory.filter(|memory| memory.is_usable()).cloned().unwrap_or_default();
        memory.v = VERSION;
        memory
    }

    /// Ends the limit on screen. What was acted on is kept.
    pub(crate) fn end(&mut self) {
        let Some(event) = self.event.take() else { return };
        let (true, Some(reset_s)) = (event.is_resumed, event.reset_s) else { return };
        self.done.retain(|done| (&done.text, done.reset_s) != (&event.text, reset_s));
        self.done.push(Done { text: event.text, reset_s });
        let surplus = self.done.len().saturating_sub(MOST_DONE);
        self.done.drain(..surplus);
    }

    /// Returns whether a limit with this message and reset was acted on before; banners cut the seconds off.
    pub(crate) fn was_done(&self, text: &str, reset_s: Option<i64>) -> bool {
        reset_s.is_some_and(|reset_s| {
            self.done.iter().any(|done| done.text == kept(text) && done.reset_s.abs_diff(reset_s) < 60)
        })
    }
}

impl Event {
    pub(crate) fn new(text: &str, kind: Kind, now: DateTime<Utc>) -> Self {
        Self {
            text: kept(text),
            kind,
            reset_s: None,
            assumed_zone: false,
            first_s: now.timestamp(),
            is_resumed: false,
            is_menu_closed: false,
            tries: 0,
            next_s: None,
            has_worked: false,
        }
    }

    pub(crate) fn is_about(&self, text: &str) -> bool {
        self.text == kept(text)
    }

    pub(crate) fn reset(&self) -> Option<DateTime<Utc>> {
        self.reset_s.and_then(|seconds| DateTime::from_timestamp(seconds, 0))
    }
}

fn kept(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str, reset_s: Option<i64>, is_resumed: bool) -> Event {
        let now = DateTime::from_timestamp(1_000, 0).unwrap();
        Event { reset_s, is_resumed, ..Event::new(text, Kind::UsageLimit, now) }
    }

    #[test]
    fn what_was_acted_on_is_known_again_within_a_minute_of_its_reset() {
        let mut memory = Memory::of(None);
        for (index, is_resumed) in [true, false].into_iter().enumerate() {
            memory.event = Some(event(&format!("limit {index}"), Some(5_000), is_resumed));
            memory.end();
        }
        assert_eq!(memory.event, None);
        for (text, reset_s, known) in [
            ("limit 0", Some(5_000), true),
            ("limit 0", Some(5_059), true),
            ("limit 0", Some(5_060), false),
            ("limit 0", Some(4_941), true),
            ("limit 0", Some(4_940), false),
            ("limit 0", None, false),
            ("limit 1", Some(5_000), false),
        ] {
            assert_eq!(memory.was_done(text, reset_s), known, "{text} {reset_s:?}");
        }
    }

    #[test]
    fn only_so_many_are_kept() {
        let mut memory = Memory::of(None);
        for index in 0..=MOST_DONE {
            memory.event = Some(event(&format!("limit {index}"), Some(5_000), true));
            memory.end();
        }
        assert_eq!(memory.done.len(), MOST_DONE);
        assert!(!memory.was_done("limit 0", Some(5_000)));
        assert!(memory.was_done("limit 1", Some(5_000)));
    }

    #[test]
    fn memory_of_other_programs_loads_and_counts_as_none() {
        for text in ["{}", r#"{"v": 2, "event": null, "new": 1}"#, r#"{"v": 1, "done": []}"#] {
            let memory: Memory = serde_json::from_str(text).unwrap();
            assert_eq!(memory.is_usable(), text.contains(r#""v": 1"#), "{text}");
            assert_eq!(Memory::of(Some(&memory)).v, VERSION);
        }
        assert!(serde_json::from_str::<Memory>(r#"{"v": "one"}"#).is_err());
    }

    #[test]
    fn memory_survives_being_stored() {
        let mut memory = Memory::of(None);
        memory.event = Some(event("limit", Some(5_000), true));
        memory.end();
        memory.event = Some(event("other", None, false));
        let stored = serde_json::to_string(&memory).unwrap();
        assert_eq!(serde_json::from_str::<Memory>(&stored).unwrap(), memory);
    }
}
