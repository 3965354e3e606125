//! One line of a transcript, taken apart: what a person asked, what the model said, called and got back.

use serde_json::value::RawValue;

use super::RunningCall;
use crate::json_members::{self, Members};

/// A part of a line.
pub(super) enum Piece<'m, 'a> {
    /// A person's prompt, which begins a turn.
    Prompt(String),
    /// What a person wrote while a turn went on: it ends nothing.
    Aside(String),
    /// A text of the model.
    Said(Block<'m, 'a>),
    /// A thought of the model, where the transcript still has it.
    Thought(Block<'m, 'a>),
    /// A call of a tool.
    Call(Call<'m, 'a>),
    /// What a call gave.
    Answer(Answer<'m, 'a>),
    /// The client's note of an API error, in the place of an answer.
    ApiError(Block<'m, 'a>),
}

/// A block of text.
pub(super) struct Block<'m, 'a>(&'m Members<'a>, &'static str);

impl Block<'_, '_> {
    pub(super) fn text(&self) -> String {
        self.0.text(self.1).unwrap_or_default()
    }
}

/// A call of a tool.
pub(super) struct Call<'m, 'a> {
    block: &'m Members<'a>,
    /// What the call was given.
    pub(super) input: Option<Members<'a>>,
}

impl Call<'_, '_> {
    pub(super) fn id(&self) -> String {
        self.block.text("id").unwrap_or_default()
    }

    pub(super) fn tool(&self) -> String {
        self.block.text("name").unwrap_or_default()
    }

    pub(super) fn member(&self, name: &str) -> Option<String> {
        self.input.as_ref()?.text(name)
    }

    /// The tool and what it was asked.
    pub(super) fn running(&self) -> RunningCall {
        const WHAT: [&str; 9] = [
            "command",
            "file_path",
            "notebook_path",
            "url",
            "query",
            "pattern",
            "subject",
            "description",
            "prompt",
        ];
        let what = WHAT.into_iter().find_map(|name| self.member(name)).unwrap_or_default();
        RunningCall { tool: self.tool(), what }
    }

    /// The file it is on, and whether it changes it.
    pub(super) fn file(&self) -> Option<(String, bool)> {
        const FILES: [(&str, &str, bool); 5] = [
            ("Read", "file_path", false),
            ("Edit", "file_path", true),
            ("MultiEdit", "file_path", true),
            ("Write", "file_path", true),
            ("NotebookEdit", "notebook_path", true),
        ];
        let name = self.tool();
        let (_, field, changes) = FILES.into_iter().find(|(tool, ..)| *tool == name)?;
        Some((self.member(field)?, changes))
    }
}

/// What a call gave.
pub(super) struct Answer<'m, 'a>(&'m Members<'a>);

impl Answer<'_, '_> {
    /// The call's id.
    pub(super) fn id(&self) -> String {
        self.0.text("tool_use_id").unwrap_or_default()
    }

    pub(super) fn failed(&self) -> bool {
        self.0.value("is_error") == Some(true)
    }

    pub(super) fn text(&self) -> String {
        if let Some(text) = self.0.text("content") {
            return text;
        }
        let texts: Vec<String> = blocks(self.0).iter().filter_map(|block| block.text("text")).collect();
        texts.join("\n")
    }
}

/// Calls `each` with the parts of a line, in order.
pub(super) fn pieces<'a>(line: &Members<'a>, mut each: impl FnMut(Piece<'_, 'a>)) {
    let kind = line.text("type").unwrap_or_default();
    let Some(message) = line.object("message") else {
        if let Some(text) = aside(&kind, line) {
            each(Piece::Aside(text));
        }
        return;
    };
    match kind.as_str() {
        "assistant" => {
            let is_error = line.value("isApiErrorMessage") == Some(true);
            for block in &blocks(&message) {
                match block.text("type").unwrap_or_default().as_str() {
                    "text" if is_error => each(Piece::ApiError(Block(block, "text"))),
                    "text" => each(Piece::Said(Block(block, "text"))),
                    "thinking" => each(Piece::Thought(Block(block, "thinking"))),
                    "tool_use" => each(Piece::Call(Call { block, input: block.object("input") })),
                    _ => {}
                }
            }
        }
        "user" => {
            // Notes of the client, and the summary that stands for a compacted conversation.
            let is_meta = ["isMeta", "isCompactSummary"].iter().any(|name| line.value(name) == Some(true));
            let mut prompt = |text: Option<String>| {
                if let Some(text) = text.filter(|_| !is_meta) {
                    each(Piece::Prompt(text));
                }
            };
            if let Some(text) = message.get("content").and_then(json_members::decode) {
                return prompt(of_a_person(&text));
            }
            let blocks = blocks(&message);
            if !blocks.iter().any(|block| is(block, "tool_result")) {
                let texts = blocks.iter().filter(|block| is(block, "text"));
                return prompt(
                    texts.filter_map(|block| block.text("text")).find_map(|text| of_a_person(&text)),
                );
            }
            for block in blocks.iter().filter(|block| is(block, "tool_result")) {
                each(Piece::Answer(Answer(block)));
            }
        }
        _ => {}
    }
}

/// What a person wrote while the model was at work: queued, and told to it between two calls.
fn aside(kind: &str, line: &Members<'_>) -> Option<String> {
    match kind {
        "queue-operation" if line.text("operation").as_deref() == Some("enqueue") => {
            of_a_person(&line.text("content")?)
        }
        // Most lines of this kind are notes of hooks: those are not taken apart.
        "attachment" if line.get("attachment")?.get().contains("queued_command") => {
            let queued = line.object("attachment").filter(|attachment| is(attachment, "queued_command"))?;
            if queued.text("commandMode").is_some_and(|mode| mode != "prompt") {
                return None;
            }
            match queued.text("prompt") {
                Some(text) => of_a_person(&text),
                None => {
                    members_of(&queued, "prompt").iter().find_map(|block| of_a_person(&block.text("text")?))
                }
            }
        }
        _ => None,
    }
}

/// A prompt, trimmed, if a person wrote it. Commands, their output and notices stand in tags; an interrupt in square
/// brackets.
fn of_a_person(text: &str) -> Option<String> {
    const NOT_A_PERSON: [&str; 9] = [
        "<task-notification>",
        "<command-",
        "<local-command-",
        "<bash-",
        "<ide_",
        "<system-reminder>",
        "[Request interrupted",
        "Caveat: ",
        "Your claude.ai usage limit has reset.",
    ];
    let text = text.trim();
    (!text.is_empty() && !NOT_A_PERSON.iter().any(|start| text.starts_with(start))).then(|| text.to_owned())
}

/// The content blocks of a message.
fn blocks<'a>(message: &Members<'a>) -> Vec<Members<'a>> {
    members_of(message, "content")
}

/// The objects in a list.
fn members_of<'a>(object: &Members<'a>, name: &str) -> Vec<Members<'a>> {
    let raw: Vec<&RawValue> = object.value(name).unwrap_or_default();
    raw.into_iter().filter_map(|block| Members::of(block.get())).collect()
}

fn is(block: &Members<'_>, kind: &str) -> bool {
    block.text("type").as_deref() == Some(kind)
}
