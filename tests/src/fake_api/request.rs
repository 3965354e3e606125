//! What the client sent: recorded requests, and what hooks told the model in them.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

/// Who a request came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The conversation that [`FakeApi::script`](super::FakeApi::script) answers.
    Main,
    /// A conversation with a script of its own, named by its marker.
    Marked(String),
    /// A request the client makes for itself (a title, a token count, a probe): it holds no tools.
    Client,
}

/// One recorded request.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    /// Who sent it.
    pub sender: Sender,
    /// HTTP method.
    pub method: String,
    /// Path with the query.
    pub path: String,
    /// Header lines, names in lower case. Values of the dummy credentials included.
    pub headers: BTreeMap<String, String>,
    /// JSON body; null when there was none.
    pub body: Value,
}

/// A text that a hook gave the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookContext {
    /// The event that the client names (`PostToolUse`).
    pub event: String,
    /// What it names beside the event: the tool (`Bash`), or the source of a session start.
    pub detail: Option<String>,
    /// The text up to a blank line that no paragraph with a `[TAG]` follows: what follows may be the client's own
    /// note. The text as the hook gave it is in the transcript, see
    /// [`Transcript::hook_contexts`](crate::evidence::Transcript::hook_contexts).
    pub text: String,
}

/// The client's label before a hook's context (contract section 5).
const LABEL: &str = " hook additional context: ";

impl ApiRequest {
    /// Every hook context in the request, those of earlier turns included, in order.
    pub fn contexts(&self) -> Vec<HookContext> {
        self.messages().iter().flat_map(message_contexts).collect()
    }

    /// The hook contexts that are new in this request: those after the model's last message.
    pub fn new_contexts(&self) -> Vec<HookContext> {
        self.new_messages().iter().flat_map(message_contexts).collect()
    }

    /// Texts of [`contexts`](Self::contexts) that hold `needle`.
    pub fn contexts_with(&self, needle: &str) -> Vec<String> {
        self.contexts().into_iter().map(|context| context.text).filter(|text| text.contains(needle)).collect()
    }

    /// The pieces of advice in the whole request: those lines of its hook contexts that begin with `[TAG]`.
    pub fn advice(&self, tag: &str) -> Vec<String> {
        advice(&self.contexts(), tag)
    }

    /// The pieces of advice that are new in this request.
    pub fn new_advice(&self, tag: &str) -> Vec<String> {
        advice(&self.new_contexts(), tag)
    }

    /// The tool results that are new in this request, as text.
    pub fn new_tool_results(&self) -> Vec<String> {
        self.new_messages()
            .iter()
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| all_text(&block["content"]))
            .collect()
    }

    /// Everything new in this request as one text; for the message of a failed test.
    pub fn new_text(&self) -> String {
        self.new_messages().iter().fold(String::new(), |mut text, message| {
            let _ = writeln!(
                text,
                "<{}> {}",
                message["role"].as_str().unwrap_or("?"),
                all_text(&message["content"])
            );
            text
        })
    }

    /// The texts of role `user` in the whole request, block by block: prompts, and what the client adds to them.
    pub fn user_texts(&self) -> Vec<String> {
        let from_user = self.messages().iter().filter(|message| message["role"] == "user");
        from_user
            .flat_map(|message| match &message["content"] {
                Value::Array(blocks) => {
                    blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
                }
                content => content.as_str().map(|text| vec![text.to_owned()]).unwrap_or_default(),
            })
            .collect()
    }

    /// The model that was asked.
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// The first message of role `user` as text: the same in all requests of one conversation.
    pub(super) fn first_user_text(&self) -> String {
        self.messages()
            .iter()
            .find(|message| message["role"] == "user")
            .map(|message| all_text(&message["content"]))
            .unwrap_or_default()
    }

    fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    fn new_messages(&self) -> &[Value] {
        let messages = self.messages();
        let old =
            messages.iter().rposition(|message| message["role"] == "assistant").map_or(0, |last| last + 1);
        &messages[old..]
    }
}

fn advice(contexts: &[HookContext], tag: &str) -> Vec<String> {
    let start = format!("[{tag}] ");
    let lines = contexts.iter().flat_map(|context| context.text.lines());
    lines.filter(|line| line.starts_with(&start)).map(str::to_owned).collect()
}

/// All text below a `content` value, each block on lines of its own.
fn all_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(all_text).collect::<Vec<_>>().join("\n\n"),
        Value::Object(block) => {
            block.get("text").or_else(|| block.get("content")).map(all_text).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// Hook contexts of one message, in the form of newer models (a `system` message) and of older ones (a reminder
/// in a user message or in a tool result). What the model itself said is never searched.
fn message_contexts(message: &Value) -> Vec<HookContext> {
    if message["role"] == "assistant" {
        return Vec::new();
    }
    labelled_texts(&all_text(&message["content"]))
}

fn labelled_texts(text: &str) -> Vec<HookContext> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(LABEL) {
        let before = &rest[..at];
        let source = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        rest = &rest[at + LABEL.len()..];
        let (event, detail) = match source.split_once(':') {
            Some((event, detail)) => (event, Some(detail.to_owned())),
            None => (source, None),
        };
        if event.is_empty() || !event.chars().all(|letter| letter.is_ascii_alphabetic()) {
            continue;
        }
        let end = end_of_context(rest);
        found.push(HookContext { event: event.to_owned(), detail, text: rest[..end].trim_end().to_owned() });
        rest = &rest[end..];
    }
    found
}

fn end_of_context(text: &str) -> usize {
    let limit = text.find("</system-reminder>").unwrap_or(text.len());
    let breaks = text[..limit].match_indices("\n\n");
    breaks.map(|(at, _)| at).find(|at| !text[at + 2..].starts_with('[')).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(messages: Value) -> ApiRequest {
        ApiRequest {
            sender: Sender::Main,
            method: "POST".into(),
            path: "/v1/messages".into(),
            headers: BTreeMap::new(),
            body: json!({ "messages": messages }),
        }
    }

    #[test]
    fn contexts_are_found_in_a_system_message() {
        let request = request(json!([
            { "role": "user", "content": "go" },
            { "role": "system", "content": "UserPromptSubmit hook additional context: one\nmore of one\n\nSessionStart:startup hook additional context: two\n\nA note of the client" },
        ]));
        let texts: Vec<_> = request.contexts().into_iter().map(|c| (c.event, c.detail, c.text)).collect();
        assert_eq!(
            texts,
            [
                ("UserPromptSubmit".into(), None, "one\nmore of one".into()),
                ("SessionStart".into(), Some("startup".into()), "two".into()),
            ]
        );
    }

    #[test]
    fn contexts_are_found_in_a_reminder_inside_a_tool_result() {
        let request = request(json!([
            { "role": "user", "content": [{ "type": "tool_result", "content":
                "out\n\n<system-reminder>\nPostToolUse:Bash hook additional context: told\n</system-reminder>" }] },
        ]));
        assert_eq!(request.contexts()[0].text, "told");
        assert_eq!(request.contexts()[0].detail.as_deref(), Some("Bash"));
    }

    #[test]
    fn advice_is_counted_by_lines_across_the_paragraphs_of_a_context() {
        let request = request(json!([{ "role": "system", "content":
            "PostToolUse:Bash hook additional context: [MCP] a\n[MCP FALLBACK] b\n\n[MCP] c\n\n[MCP]d, a note of the client" }]));
        assert_eq!(request.advice("MCP"), ["[MCP] a", "[MCP] c"]);
        assert_eq!(request.advice("MCP FALLBACK"), ["[MCP FALLBACK] b"]);
    }

    #[test]
    fn only_what_follows_the_models_last_message_is_new() {
        let request = request(json!([
            { "role": "user", "content": "UserPromptSubmit hook additional context: old" },
            { "role": "assistant", "content": "Stop hook additional context: quoted by the model" },
            { "role": "user", "content": "UserPromptSubmit hook additional context: new" },
        ]));
        assert_eq!(request.contexts().len(), 2);
        assert_eq!(request.new_contexts().into_iter().map(|c| c.text).collect::<Vec<_>>(), ["new"]);
    }
}
