//! The look of a JSON text, so that what is added looks like what was there.

use std::{
    io::{self, Write},
    ops::Range,
};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Indentation where the file shows none.
const DEFAULT_UNIT: &str = "  ";

/// How one value is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// No blank anywhere: `{"a":1}`.
    Minified,
    /// All on one line: `{ "a": 1 }`.
    OneLine,
    /// Spread over lines that begin with `indent`, one `unit` more for each level.
    Lines { newline: &'static str, indent: String, unit: String },
}

impl Style {
    /// Returns the value as text that fits where the style was found.
    pub(super) fn render(&self, value: &impl Serialize) -> Result<String, serde_json::Error> {
        match self {
            Self::Minified => serde_json::to_string(value),
            Self::OneLine => render_with(value, OneLineFormatter::default()),
            Self::Lines { newline, indent, unit } => {
                let text = render_with(value, PrettyFormatter::with_indent(unit.as_bytes()))?;
                // Strings hold no raw line break, so that every one here belongs to the layout.
                Ok(text.replace('\n', &format!("{newline}{indent}")))
            }
        }
    }

    /// Returns `"key": value`.
    pub(super) fn render_property(
        &self,
        key: &str,
        value: &impl Serialize,
    ) -> Result<String, serde_json::Error> {
        let colon = if *self == Self::Minified { ":" } else { ": " };
        Ok(format!("{}{colon}{}", serde_json::to_string(key)?, self.render(value)?))
    }
}

fn render_with(value: &impl Serialize, formatter: impl Formatter) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes `{ "a": 1, "b": [ 2 ] }`, and empty brackets without a blank.
#[derive(Default)]
struct OneLineFormatter {
    /// Whether the innermost open bracket has something behind it.
    has_content: bool,
}

impl OneLineFormatter {
    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.has_content = false;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.has_content {
            writer.write_all(b" ")?;
        }
        writer.write_all(bracket)
    }

    fn separate<W: ?Sized + Write>(writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b" " } else { b", " })
    }
}

impl Formatter for OneLineFormatter {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        Self::separate(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.has_content = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        Self::separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.has_content = true;
        Ok(())
    }
}

/// The look of a whole file.
#[derive(Debug)]
pub(super) struct Look {
    newline: &'static str,
    unit: String,
    /// The style of a file that stands on one line; `None` for one with lines, and for one that is empty.
    flat: Option<Style>,
}

impl Look {
    /// Reads the look off the text, given the range of its root object and of that object's first property.
    pub(super) fn of(text: &str, root: &Range<usize>, first: Option<&Range<usize>>) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let before_first = first.map(|first| &text[root.start + 1..first.start]);
        let unit = match before_first.and_then(|gap| gap.rsplit_once('\n')) {
            Some((_, unit)) if !unit.is_empty() => unit,
            _ => DEFAULT_UNIT,
        };
        let is_flat = first.is_some() && !text[root.clone()].contains('\n');
        let flat =
            is_flat.then(|| if is_minified(&text[root.clone()]) { Style::Minified } else { Style::OneLine });
        Self { newline, unit: unit.to_owned(), flat }
    }

    /// Returns the style for one more item after the last one, which begins behind this gap.
    pub(super) fn after_gap(&self, gap: &str) -> Style {
        match gap.rsplit_once('\n') {
            Some((_, indent)) => self.lines(indent),
            None => self.flat.clone().unwrap_or(Style::OneLine),
        }
    }

    /// Returns the style for a value that replaces `old`, which stands at `start` of the text.
    pub(super) fn in_place_of(&self, old: &str, text: &str, start: usize) -> Style {
        if old.contains('\n') { self.lines(indent_of_line(text, start)) } else { self.after_gap("") }
    }

    /// Returns the style for the first item of a container that opens at `open` of the text.
    pub(super) fn inside(&self, text: &str, open: usize) -> Style {
        let lines = || self.lines(&format!("{}{}", indent_of_line(text, open), self.unit));
        self.flat.clone().unwrap_or_else(lines)
    }

    fn lines(&self, indent: &str) -> Style {
        Style::Lines { newline: self.newline, indent: indent.to_owned(), unit: self.unit.clone() }
    }

    /// Returns the line break, and the indentation of the line at `at`.
    pub(super) fn line_break(&self, text: &str, at: usize) -> String {
        format!("{}{}", self.newline, indent_of_line(text, at))
    }
}

/// Returns the blanks at the beginning of the line that holds the position.
fn indent_of_line(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..];
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    &line[..indent]
}

/// Tells whether no blank stands outside of a string.
fn is_minified(json: &str) -> bool {
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b' ' | b'\t' | b'\r' | b'\n' if !in_string => return false,
            _ => {}
        }
    }
    true
}
