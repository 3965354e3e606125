//! Typed events, borrowed from the payload.
//!
//! One pass over the text keeps each top-level field as a slice; only what a hook asks for is decoded. A field of a
//! wrong type counts as absent, of a repeated field the last one counts, an unknown event is [`Kind::Other`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::text;

/// One hook event.
#[derive(Debug)]
pub struct Event<'a> {
    /// `session_id`: the parent's id inside a subagent. Never empty.
    pub session_id: Cow<'a, str>,
    /// `hook_event_name` as sent.
    pub name: EventName<'a>,
    /// `cwd`: follows `cd` in Bash calls, so it is not the project's root.
    pub cwd: Option<Cow<'a, str>>,
    /// `transcript_path`; the file need not exist yet.
    pub transcript_path: Option<Cow<'a, str>>,
    /// `prompt_id`: absent before the first prompt and from older clients.
    pub prompt_id: Option<Cow<'a, str>>,
    /// `agent_id`: only inside a subagent.
    pub agent_id: Option<Cow<'a, str>>,
    /// What is special to this event.
    pub kind: Kind<'a>,
}

/// The name of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventName<'a>(pub(crate) Cow<'a, str>);

impl EventName<'_> {
    /// The name as the client wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The fields special to an event.
#[derive(Debug)]
pub enum Kind<'a> {
    /// A session starts, goes on or was compacted.
    SessionStart {
        /// Why.
        source: Source<'a>,
        /// `model`: sent by some versions, and after a compaction.
        model: Option<Cow<'a, str>>,
    },
    /// A prompt was submitted, by a person or by the client itself.
    UserPromptSubmit {
        /// The prompt.
        prompt: Cow<'a, str>,
    },
    /// A call succeeded.
    PostToolUse(Success<'a>),
    /// A call ran and failed.
    PostToolUseFailure(Failure<'a>),
    /// All calls of one model message are done.
    PostToolBatch {
        /// The calls, in the message's order.
        calls: Vec<BatchCall<'a>>,
    },
    /// A turn ended well.
    Stop,
    /// A turn ended on an API error.
    StopFailure {
        /// `error` (`error_type` in other descriptions of the event).
        error: Option<Cow<'a, str>>,
        /// `error_details` (`error_message` elsewhere).
        details: Option<Cow<'a, str>>,
        /// `last_assistant_message`: the text that tells the kinds apart.
        message: Option<Cow<'a, str>>,
    },
    /// The session ends.
    SessionEnd {
        /// `clear resume logout prompt_input_exit other`.
        reason: Cow<'a, str>,
    },
    /// Any other event.
    Other,
}

/// Why a session starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// A new session.
    Startup,
    /// `--resume` or `--continue`: the same id, a new process.
    Resume,
    /// `/clear`: a new id, the same process.
    Clear,
    /// After a compaction: same id, same process, earlier contexts gone.
    Compact,
    /// `--fork-session`: a new id with the old conversation.
    Fork,
    /// A value that is not known, or none.
    Other(Cow<'a, str>),
}

impl Source<'_> {
    /// The value as the client writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::Fork => "fork",
            Self::Other(other) => other,
        }
    }
}

impl<'a> From<Cow<'a, str>> for Source<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        match &*text {
            "startup" => Self::Startup,
            "resume" => Self::Resume,
            "clear" => Self::Clear,
            "compact" => Self::Compact,
            "fork" => Self::Fork,
            _ => Self::Other(text),
        }
    }
}

/// What every tool event tells of its call.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// `tool_name`; empty when absent.
    pub tool: Cow<'a, str>,
    /// `tool_use_id`.
    pub id: Option<Cow<'a, str>>,
    /// `mcp_server.name`.
    pub mcp_server: Option<Cow<'a, str>>,
    /// `duration_ms`.
    pub duration_ms: Option<u64>,
    input: Option<&'a RawValue>,
}

impl<'a> ToolCall<'a> {
    /// A string member of `tool_input`, such as `command` or `file_path`.
    #[must_use]
    pub fn input(&self, member: &str) -> Option<Cow<'a, str>> {
        string_member(self.input?, member)
    }
}

/// A call that succeeded.
#[derive(Debug)]
pub struct Success<'a> {
    /// The call.
    pub call: ToolCall<'a>,
    /// What it gave.
    pub response: Response<'a>,
}

/// A call that ran and failed.
#[derive(Debug)]
pub struct Failure<'a> {
    /// The call.
    pub call: ToolCall<'a>,
    /// `error`; empty when absent. For Bash the first line is `Exit code N`.
    pub error: Cow<'a, str>,
    /// `is_interrupt`: a person stopped it.
    pub is_interrupt: bool,
}

/// One call of a batch.
#[derive(Debug)]
pub struct BatchCall<'a> {
    /// The call.
    pub call: ToolCall<'a>,
    /// What it gave; text as the model gets it.
    pub response: Response<'a>,
}

/// `tool_response` in any of its shapes: object, array of content blocks, string (`tool_output` is taken too).
#[derive(Clone, Copy, Debug, Default)]
pub struct Response<'a>(Option<&'a RawValue>);

impl<'a> Response<'a> {
    /// The whole result when it is one text: a string, or an array of exactly one text block.
    #[must_use]
    pub fn single_text(&self) -> Option<Cow<'a, str>> {
        let raw = self.0?;
        match raw.get().as_bytes().first()? {
            b'"' => text::decode(raw.get()),
            b'[' => {
                let mut blocks = elements(raw)?;
                let block = blocks.pop().filter(|_| blocks.is_empty())?;
                if string_member(block, "type").is_some_and(|kind| kind != "text") {
                    return None;
                }
                string_member(block, "text")
            }
            _ => None,
        }
    }

    /// `timedOutAfterMs`: a Bash call that was moved to the background, reported as a success.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0.is_some_and(|raw| member(raw, "timedOutAfterMs").is_some())
    }

    /// `returnCodeInterpretation`: an exit status other than 0 that is an answer (grep without a match).
    #[must_use]
    pub fn has_interpretation(&self) -> bool {
        self.0.is_some_and(|raw| member(raw, "returnCodeInterpretation").is_some())
    }
}

impl<'a> Event<'a> {
    /// Parses a payload. None when it is no JSON object or names no session.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let fields: Fields<'a> = serde_json::from_str(text).ok()?;
        let session_id = fields.text(Field::SessionId).filter(|id| !id.is_empty())?;
        let name = EventName(fields.text(Field::HookEventName).unwrap_or_default());
        let kind = match name.as_str() {
            "SessionStart" => Kind::SessionStart {
                source: fields.text(Field::Source).unwrap_or_default().into(),
                model: fields.text(Field::Model).filter(|model| !model.is_empty()),
            },
            "UserPromptSubmit" => {
                Kind::UserPromptSubmit { prompt: fields.text(Field::Prompt).unwrap_or_default() }
            }
            "PostToolUse" => Kind::PostToolUse(Success { call: fields.call(), response: fields.response() }),
            "PostToolUseFailure" => Kind::PostToolUseFailure(Failure {
                call: fields.call(),
                error: fields.text(Field::Error).unwrap_or_default(),
                is_interrupt: fields.get(Field::IsInterrupt).is_some_and(|raw| raw.get() == "true"),
            }),
            "PostToolBatch" => Kind::PostToolBatch { calls: fields.batch() },
            "Stop" => Kind::Stop,
            "StopFailure" => fields.stop_failure(),
            "SessionEnd" => Kind::SessionEnd { reason: fields.text(Field::Reason).unwrap_or_default() },
            _ => Kind::Other,
        };
        Some(Self {
            session_id,
            name,
            cwd: fields.text(Field::Cwd),
            transcript_path: fields.text(Field::TranscriptPath).filter(|path| !path.is_empty()),
            prompt_id: fields.text(Field::PromptId).filter(|id| !id.is_empty()),
            agent_id: fields.text(Field::AgentId).filter(|id| !id.is_empty()),
            kind,
        })
    }
}

macro_rules! fields {
    ($($field:ident = $name:literal),* $(,)?) => {
        #[derive(Clone, Copy)]
        enum Field { $($field),*, Unknown }

        impl Field {
            const COUNT: usize = Field::Unknown as usize;

            fn named(name: &str) -> Self {
                match name { $($name => Self::$field,)* _ => Self::Unknown }
            }
        }
    };
}

fields! {
    SessionId = "session_id", HookEventName = "hook_event_name", Cwd = "cwd", TranscriptPath = "transcript_path",
    PromptId = "prompt_id", AgentId = "agent_id", Source = "source", Model = "model", Prompt = "prompt",
    ToolName = "tool_name", ToolInput = "tool_input", ToolResponse = "tool_response", ToolOutput = "tool_output",
    ToolUseId = "tool_use_id", McpServer = "mcp_server", DurationMs = "duration_ms", ToolCalls = "tool_calls",
    Error = "error", ErrorType = "error_type", ErrorDetails = "error_details", ErrorMessage = "error_message",
    LastAssistantMessage = "last_assistant_message", IsInterrupt = "is_interrupt", Reason = "reason",
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl Visitor<'_> for Names {
            type Value = Field;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a field name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Field, E> {
                Ok(Field::named(name))
            }
        }
        deserializer.deserialize_str(Names)
    }
}

/// The known fields of one object as slices of the payload.
struct Fields<'a>([Option<&'a RawValue>; Field::COUNT]);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Fields([None; Field::COUNT]);
                while let Some(field) = map.next_key::<Field>()? {
                    match field {
                        Field::Unknown => {
                            map.next_value::<IgnoredAny>()?;
                        }
                        known => fields.0[known as usize] = Some(map.next_value()?),
                    }
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'a> Fields<'a> {
    fn get(&self, field: Field) -> Option<&'a RawValue> {
        self.0[field as usize]
    }

    fn text(&self, field: Field) -> Option<Cow<'a, str>> {
        text::decode(self.get(field)?.get())
    }

    fn call(&self) -> ToolCall<'a> {
        ToolCall {
            tool: self.text(Field::ToolName).unwrap_or_default(),
            id: self.text(Field::ToolUseId).filter(|id| !id.is_empty()),
            mcp_server: self.get(Field::McpServer).and_then(|server| string_member(server, "name")),
            duration_ms: self.get(Field::DurationMs).and_then(|raw| raw.get().parse().ok()),
            input: self.get(Field::ToolInput),
        }
    }

    fn response(&self) -> Response<'a> {
        Response(self.get(Field::ToolResponse).or_else(|| self.get(Field::ToolOutput)))
    }

    fn batch(&self) -> Vec<BatchCall<'a>> {
        let calls = self.get(Field::ToolCalls).and_then(elements).unwrap_or_default();
        calls
            .into_iter()
            .filter_map(|raw| serde_json::from_str::<Fields<'a>>(raw.get()).ok())
            .map(|fields| BatchCall { call: fields.call(), response: fields.response() })
            .collect()
    }

    /// Three descriptions of these fields are in circulation; the client's own names come first.
    fn stop_failure(&self) -> Kind<'a> {
        let kind = self.text(Field::ErrorType);
        let error = self.text(Field::Error);
        let (error, code) = if kind.is_some() { (kind, error) } else { (error, None) };
        Kind::StopFailure {
            error,
            details: self.text(Field::ErrorDetails).or_else(|| self.text(Field::ErrorMessage)).or(code),
            message: self.text(Field::LastAssistantMessage),
        }
    }
}

/// One member of an object, or None; deep or broken values inside others do not matter.
fn member<'a>(object: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    struct Wanted<'n>(&'n str);
    impl<'de> Visitor<'de> for Wanted<'_> {
        type Value = Option<&'de RawValue>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(Named(key)) = map.next_key()? {
                if key == self.0 {
                    found = Some(map.next_value()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }
    if !object.get().starts_with('{') {
        return None;
    }
    serde_json::Deserializer::from_str(object.get()).deserialize_map(Wanted(name)).ok()?
}

fn string_member<'a>(object: &'a RawValue, name: &str) -> Option<Cow<'a, str>> {
    text::decode(member(object, name)?.get())
}

struct Named<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Named<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Named<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Named(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Named(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The elements of an array.
fn elements(array: &RawValue) -> Option<Vec<&RawValue>> {
    struct Elements;
    impl<'de> Visitor<'de> for Elements {
        type Value = Vec<&'de RawValue>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut found = Vec::new();
            while let Some(element) = seq.next_element()? {
                found.push(element);
            }
            Ok(found)
        }
    }
    serde_json::Deserializer::from_str(array.get()).deserialize_seq(Elements).ok()
}
