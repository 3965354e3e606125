//! All output of the command.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

use serde::Serialize;

use crate::hint::Hinted;

/// Width of the names in a list of facts.
const NAME_WIDTH: usize = 10;

/// Writes results to standard output and messages to standard error.
///
/// Nobody can be told that a stream is closed, and a reader that has seen enough (`| head`) is no error: failed writes
/// are dropped.
#[derive(Debug, Default)]
pub(crate) struct Printer;

impl Printer {
    /// Writes a line of the result.
    pub(crate) fn line(&self, text: impl Display) {
        let _ = writeln!(io::stdout().lock(), "{text}");
    }

    /// Writes a JSON object as the result.
    pub(crate) fn json(&self, object: &impl Serialize) -> anyhow::Result<()> {
        self.line(serde_json::to_string_pretty(object)?);
        Ok(())
    }

    /// Writes a JSON object as the result, the name of its schema (without `recovery.`) in front.
    pub(crate) fn json_of(&self, schema: &str, object: &impl Serialize) -> anyhow::Result<()> {
        // Written straight from the object: a tree of values in between costs as much as judging ten thousand runs.
        #[derive(Serialize)]
        struct Document<'o, O> {
            schema: String,
            #[serde(flatten)]
            object: &'o O,
        }
        self.json(&Document { schema: format!("recovery.{schema}"), object })
    }

    /// Writes text that has its line breaks already.
    pub(crate) fn text(&self, text: &str) {
        let _ = io::stdout().lock().write_all(text.as_bytes());
    }

    /// Writes one fact of a list, its name in the left column.
    pub(crate) fn fact(&self, name: &str, value: impl Display) {
        self.line(format_args!("  {name:NAME_WIDTH$} {value}"));
    }

    /// Writes something the person should know although all is well.
    pub(crate) fn note(&self, text: impl Display) {
        let _ = writeln!(io::stderr().lock(), "note: {text}");
    }

    /// Writes why a run failed, and the one next step.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "error: {error:#}");
        if let Some(hint) = Hinted::of(error) {
            let _ = writeln!(stderr, "hint: {hint}");
        }
    }
}
