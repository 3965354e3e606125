//! The one answer a hook may give.

use std::io::Write;

use serde::Serialize;

use crate::event::EventName;

/// What a hook says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// For the agent: `additionalContext`.
    pub agent: Option<String>,
    /// For the person: `systemMessage`, one line.
    pub person: Option<String>,
}

impl Reply {
    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.agent.as_deref().is_none_or(str::is_empty) && self.person.as_deref().is_none_or(str::is_empty)
    }
}

/// The right to write the answer to one event, once.
///
/// Exists only for events whose answer the client accepts: `StopFailure` and `SessionEnd` have no output, and a
/// context on `Stop` makes the model go on.
#[derive(Debug)]
pub struct Mouth(&'static str);

const SPEAKING: [&str; 5] =
    ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch"];

/// The client replaces a longer context by the path of a file.
const MAX_CONTEXT_UTF16: usize = 10_000;

impl Mouth {
    /// Returns the mouth of an event, None for one that must stay silent.
    #[must_use]
    pub fn of(event: &EventName<'_>) -> Option<Self> {
        SPEAKING.into_iter().find(|name| *name == event.as_str()).map(Self)
    }

    /// Returns exactly the bytes of the answer; none for an empty one.
    #[must_use]
    pub fn bytes(&self, reply: &Reply) -> Option<Vec<u8>> {
        let agent = reply.agent.as_deref().filter(|text| !text.is_empty());
        let person = reply.person.as_deref().filter(|text| !text.is_empty());
        let agent = agent.filter(|text| text.encode_utf16().count() <= MAX_CONTEXT_UTF16);
        if agent.is_none() && person.is_none() {
            return None;
        }
        let output = Output {
            hook_specific_output: agent
                .map(|text| Context { hook_event_name: self.0, additional_context: text }),
            system_message: person,
        };
        let mut bytes = serde_json::to_vec(&output).ok()?;
        bytes.push(b'\n');
        Some(bytes)
    }

    /// Writes the answer, in one write. Returns whether all of it went out.
    pub fn say(self, reply: &Reply) -> bool {
        self.bytes(reply).is_some_and(|bytes| {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(&bytes).and_then(|()| stdout.flush()).is_ok()
        })
    }
}

#[derive(Serialize)]
struct Output<'a> {
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Context<'a>>,
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
}

#[derive(Serialize)]
struct Context<'a> {
    #[serde(rename = "hookEventName")]
    hook_event_name: &'static str,
    #[serde(rename = "additionalContext")]
    additional_context: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mouth(name: &str) -> Option<Mouth> {
        Mouth::of(&EventName(name.into()))
    }

    #[test]
    fn only_events_that_may_speak_have_a_mouth() {
        for silent in ["Stop", "StopFailure", "SessionEnd", "SubagentStop", "Notification", "posttooluse", ""]
        {
            assert!(mouth(silent).is_none(), "{silent}");
        }
        assert!(SPEAKING.iter().all(|name| mouth(name).is_some()));
    }

    #[test]
    fn the_accepted_form_to_the_byte() {
        let reply = |agent: Option<&str>, person: Option<&str>| Reply {
            agent: agent.map(Into::into),
            person: person.map(Into::into),
        };
        let bytes =
            |reply| mouth("PostToolUse").unwrap().bytes(&reply).map(|b| String::from_utf8(b).unwrap());
        assert_eq!(
            bytes(reply(Some("a \"b\"\n"), None)).unwrap(),
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"a \\\"b\\\"\\n\"}}\n"
        );
        assert_eq!(bytes(reply(None, Some("p"))).unwrap(), "{\"systemMessage\":\"p\"}\n");
        assert_eq!(
            bytes(reply(Some("a"), Some("p"))).unwrap(),
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"a\"},\"systemMessage\":\"p\"}\n"
        );
        assert_eq!(bytes(reply(None, None)), None);
        assert_eq!(bytes(reply(Some(""), Some(""))), None);
    }

    #[test]
    fn a_context_the_client_would_cut_is_not_sent() {
        let mouth = mouth("SessionStart").unwrap();
        let of = |units: usize| Reply { agent: Some("x".repeat(units)), person: None };
        assert!(mouth.bytes(&of(10_000)).is_some());
        assert!(mouth.bytes(&of(10_001)).is_none());
        assert!(mouth.bytes(&Reply { agent: Some("😀".repeat(5_001)), person: None }).is_none());
    }
}
