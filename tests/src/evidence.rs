//! What a client leaves behind: its debug log and its transcripts.

use std::{fs, io, path::Path};

use serde_json::Value;

/// The client's debug log of one run.
#[derive(Clone, Debug)]
pub struct DebugLog {
    text: String,
}

impl DebugLog {
    /// Reads a log.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(Self { text: String::from_utf8_lossy(&fs::read(path)?).into_owned() })
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a hook was run at all.
    pub fn hooks_ran(&self) -> bool {
        self.text.contains("hook")
    }

    /// The lines that report a hook the client could not run, had to stop, or whose output it refused.
    pub fn hook_errors(&self) -> Vec<String> {
        self.text.lines().filter(|line| names_hook_error(line)).map(str::to_owned).collect()
    }
}

fn names_hook_error(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.contains("hook") && ["fail", "error", "invalid"].iter().any(|word| line.contains(word))
}

/// The transcript of one session, or of one subagent.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// Its lines; a line that is not JSON is left out.
    pub lines: Vec<Value>,
}

impl Transcript {
    /// Reads a transcript.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
        Ok(Self { lines: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect() })
    }

    /// The contexts that hooks gave: `(hookEvent, text)` of the attachments `hook_additional_context`.
    pub fn hook_contexts(&self) -> Vec<(String, String)> {
        self.attachments("hook_additional_context")
            .flat_map(|attachment| {
                let event = attachment["hookEvent"].as_str().unwrap_or_default().to_owned();
                let texts = match &attachment["content"] {
                    Value::Array(texts) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                    Value::String(text) => vec![text.clone()],
                    _ => Vec::new(),
                };
                texts.into_iter().map(move |text| (event.clone(), text))
            })
            .collect()
    }

    /// The attachments of one type.
    pub fn attachments<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.lines
            .iter()
            .filter(|line| line["type"] == "attachment")
            .map(|line| &line["attachment"])
            .filter(move |attachment| attachment["type"] == kind)
    }
}
