//! A strict JSON object that is changed by splices: what no splice touches keeps its bytes.

use std::{fmt, ops::Range};

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{self, ObjectPropName},
    common::Ranged as _,
    errors::ParseErrorKind,
};
use serde::{Serialize, de::IgnoredAny};
use serde_json::Value;

use super::style::{Look, Style};

const BOM: char = '\u{feff}';

/// The key under which the client keeps hooks.
pub(super) const HOOKS: &str = "hooks";

/// The client takes plain JSON only and ignores the whole file otherwise; so do we.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A place in a text; both numbers begin at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    fn of(text: &str, at: usize) -> Self {
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a text is no settings file that can be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error("it is not UTF-8 text (byte {offset})")]
    NotUtf8 { offset: usize },
    #[error("there is a comment, and the client ignores a settings file with comments as a whole")]
    Comment { at: Position },
    #[error(
        "there is a comma before a closing bracket, and the client ignores such a settings file as a whole"
    )]
    TrailingComma { at: Position },
    #[error("it is not valid JSON ({what})")]
    Syntax { at: Position, what: String },
    #[error("{what} is not {expected}")]
    WrongShape { at: Position, what: String, expected: &'static str },
    #[error("the key {key:?} stands twice (first on line {}); the client drops the first one silently", .first.line)]
    DuplicateKey { at: Position, key: String, first: Position },
}

impl DocumentError {
    /// Returns where the person has to look.
    pub(crate) fn position(&self) -> Option<Position> {
        match self {
            Self::NotUtf8 { .. } => None,
            Self::Comment { at }
            | Self::TrailingComma { at }
            | Self::Syntax { at, .. }
            | Self::WrongShape { at, .. }
            | Self::DuplicateKey { at, .. } => Some(*at),
        }
    }

    /// Returns what to do about it, as a whole sentence.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::NotUtf8 { .. } => "save the file as UTF-8 and run the command again",
            Self::Comment { .. } => "take the comments out and run the command again",
            Self::TrailingComma { .. } => "take that comma out and run the command again",
            Self::Syntax { .. } => "mend the file there and run the command again",
            Self::WrongShape { .. } => "mend or remove that value and run the command again",
            Self::DuplicateKey { .. } => "join the two into one and run the command again",
        }
    }
}

/// One step from a value to a value inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// A settings file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    has_bom: bool,
    text: String,
    /// Keys outside of `hooks` that stand twice: no hindrance, but worth saying.
    repeated: Vec<(String, Position)>,
}

impl Document {
    /// Returns the document of a file that does not exist yet.
    pub(crate) fn new() -> Self {
        Self { has_bom: false, text: "{}\n".to_owned(), repeated: Vec::new() }
    }

    /// Reads a file's bytes; blank ones are an empty object.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| DocumentError::NotUtf8 { offset: error.valid_up_to() })?;
        let (has_bom, text) = match text.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if text.trim().is_empty() {
            return Ok(Self { has_bom, ..Self::new() });
        }
        let root = parse_strictly(text)?;
        let ast::Value::Object(object) = &root else {
            let at = Position::of(text, root.start());
            return Err(DocumentError::WrongShape {
                at,
                what: "the file".to_owned(),
                expected: "a JSON object",
            });
        };
        let repeated = repeated_keys(text, object)?;
        Ok(Self { has_bom, text: text.to_owned(), repeated })
    }

    /// Returns the bytes to write.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut text = String::with_capacity(self.text.len() + BOM.len_utf8());
        if self.has_bom {
            text.push(BOM);
        }
        text.push_str(&self.text);
        text.into_bytes()
    }

    /// Returns the keys outside of `hooks` that stand twice in one object, and where they do so again.
    pub(crate) fn repeated_keys(&self) -> &[(String, Position)] {
        &self.repeated
    }

    /// Returns the whole content.
    pub(super) fn value(&self) -> Value {
        self.with_root(to_value)
    }

    /// Returns where a value stands, for messages.
    pub(super) fn position(&self, path: &[Step<'_>]) -> Option<Position> {
        self.with_root(|root| Some(Position::of(&self.text, find(root, path)?.start())))
    }

    /// Adds a property behind the last one of the object at `path`; `false` if there is no such object.
    pub(super) fn append_property(&mut self, path: &[Step<'_>], key: &str, value: &impl Serialize) -> bool {
        self.append(path, |style| style.render_property(key, value))
    }

    /// Adds an element behind the last one of the array at `path`; `false` if there is no such array.
    pub(super) fn append_element(&mut self, path: &[Step<'_>], value: &impl Serialize) -> bool {
        self.append(path, |style| style.render(value))
    }

    /// Writes another value at `path`; `false` if there is none.
    pub(super) fn replace(&mut self, path: &[Step<'_>], value: &impl Serialize) -> bool {
        let splice = self.with_root(|root| {
            let range = range_of(find(root, path)?);
            let style =
                look(&self.text, root).in_place_of(&self.text[range.clone()], &self.text, range.start);
            Some((range, style.render(value).ok()?))
        });
        self.apply(splice)
    }

    /// Takes a property or an element out, with the comma and the blanks that belong to it; `false` if there is none.
    pub(super) fn remove(&mut self, path: &[Step<'_>]) -> bool {
        let splice = self.with_root(|root| {
            let (last, parent) = path.split_last()?;
            let container = Container::of(find(root, parent)?)?;
            let index = match last {
                Step::Index(index) => *index,
                Step::Key(key) => container.keys.iter().position(|name| name == key)?,
            };
            let child = container.children.get(index)?;
            let range = match (index.checked_sub(1), container.children.get(index + 1)) {
                (Some(previous), _) => container.children[previous].end..child.end,
                (None, Some(next)) => child.start..next.start,
                (None, None) => container.inner.clone(),
            };
            Some((range, String::new()))
        });
        self.apply(splice)
    }

    fn append(
        &mut self,
        path: &[Step<'_>],
        item: impl Fn(&Style) -> Result<String, serde_json::Error>,
    ) -> bool {
        let splice = self.with_root(|root| {
            let text = self.text.as_str();
            let container = Container::of(find(root, path)?)?;
            let look = look(text, root);
            let Some(last) = container.children.last() else {
                let open = container.inner.start;
                let style = look.inside(text, open);
                let item = item(&style).ok()?;
                let inner = match &style {
                    Style::Minified => item,
                    Style::OneLine => format!(" {item} "),
                    Style::Lines { newline, indent, .. } => {
                        format!("{newline}{indent}{item}{}", look.line_break(text, open))
                    }
                };
                return Some((container.inner, inner));
            };
            let gap_start =
                container.children.iter().nth_back(1).map_or(container.inner.start, |child| child.end);
            let style = look.after_gap(&text[gap_start..last.start]);
            let item = item(&style).ok()?;
            let inserted = match &style {
                Style::Minified => format!(",{item}"),
                Style::OneLine => format!(", {item}"),
                Style::Lines { newline, indent, .. } => format!(",{newline}{indent}{item}"),
            };
            Some((last.end..last.end, inserted))
        });
        self.apply(splice)
    }

    fn apply(&mut self, splice: Option<(Range<usize>, String)>) -> bool {
        let Some((range, replacement)) = splice else { return false };
        self.text.replace_range(range, &replacement);
        true
    }

    fn with_root<T>(&self, look_at: impl FnOnce(&ast::Value<'_>) -> T) -> T {
        // The text was parsed when it came in, and every splice puts whole items where whole items stood. Should that
        // ever fail, there is nothing to be found, and nothing is changed.
        match parse_strictly(&self.text) {
            Ok(root) => look_at(&root),
            Err(_) => look_at(&ast::Value::NullKeyword(ast::NullKeyword { range: range_at_start() })),
        }
    }
}

fn range_at_start() -> jsonc_parser::common::Range {
    jsonc_parser::common::Range { start: 0, end: 0 }
}

/// The inside of an object or an array.
struct Container {
    /// Between the brackets.
    inner: Range<usize>,
    children: Vec<Range<usize>>,
    /// Names of the children, for an object.
    keys: Vec<String>,
}

impl Container {
    fn of(value: &ast::Value<'_>) -> Option<Self> {
        let outer = range_of(value);
        let inner = outer.start + 1..outer.end - 1;
        match value {
            ast::Value::Object(object) => Some(Self {
                inner,
                children: object.properties.iter().map(|property| property.start()..property.end()).collect(),
                keys: object.properties.iter().map(|property| property.name.as_str().to_owned()).collect(),
            }),
            ast::Value::Array(array) => Some(Self {
                inner,
                children: array.elements.iter().map(range_of).collect(),
                keys: Vec::new(),
            }),
            _ => None,
        }
    }
}

fn range_of(value: &ast::Value<'_>) -> Range<usize> {
    value.start()..value.end()
}

fn look(text: &str, root: &ast::Value<'_>) -> Look {
    let first = Container::of(root).and_then(|container| container.children.into_iter().next());
    Look::of(text, &range_of(root), first.as_ref())
}

fn find<'v, 'a>(value: &'v ast::Value<'a>, path: &[Step<'_>]) -> Option<&'v ast::Value<'a>> {
    let Some((step, rest)) = path.split_first() else { return Some(value) };
    let inner = match (step, value) {
        (Step::Key(key), ast::Value::Object(object)) => {
            &object.properties.iter().find(|property| property.name.as_str() == *key)?.value
        }
        (Step::Index(index), ast::Value::Array(array)) => array.elements.get(*index)?,
        _ => return None,
    };
    find(inner, rest)
}

fn to_value(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(text) => Value::String(text.value.clone().into_owned()),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or(Value::Null),
        ast::Value::BooleanLit(flag) => Value::Bool(flag.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => array.elements.iter().map(to_value).collect(),
        ast::Value::Object(object) => object
            .properties
            .iter()
            .map(|property| (property.name.as_str().to_owned(), to_value(&property.value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

fn parse_strictly(text: &str) -> Result<ast::Value<'_>, DocumentError> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|error| {
        let at = Position::of(text, error.range().start);
        match error.kind() {
            ParseErrorKind::CommentsNotAllowed | ParseErrorKind::UnterminatedCommentBlock => {
                DocumentError::Comment { at }
            }
            ParseErrorKind::TrailingCommasNotAllowed => DocumentError::TrailingComma { at },
            kind => DocumentError::Syntax { at, what: kind.to_string().to_lowercase() },
        }
    })?;
    // A second reader for what the first one lets through, such as raw control characters in strings.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| DocumentError::Syntax {
        at: Position { line: error.line(), column: error.column() },
        what: error.to_string(),
    })?;
    parsed
        .value
        .ok_or_else(|| DocumentError::Syntax { at: Position::of(text, 0), what: "it is empty".to_owned() })
}

/// Returns repeated keys that do not matter to us; one that does is an error.
///
/// A second `hooks`, or anything twice inside of it, would make an edit vanish: the client takes the last one only.
fn repeated_keys(text: &str, root: &ast::Object<'_>) -> Result<Vec<(String, Position)>, DocumentError> {
    let mut repeated = Vec::new();
    for (name, first) in repeats(root) {
        let (at, first) = (Position::of(text, name.start()), Position::of(text, first));
        if name.as_str() == HOOKS {
            return Err(DocumentError::DuplicateKey { at, key: HOOKS.to_owned(), first });
        }
        repeated.push((name.as_str().to_owned(), at));
    }
    for property in &root.properties {
        let mut objects = vec![&property.value];
        while let Some(value) = objects.pop() {
            match value {
                ast::Value::Array(array) => objects.extend(&array.elements),
                ast::Value::Object(object) => {
                    for (name, first) in repeats(object) {
                        let (at, first) = (Position::of(text, name.start()), Position::of(text, first));
                        let key = name.as_str().to_owned();
                        if property.name.as_str() == HOOKS {
                            return Err(DocumentError::DuplicateKey { at, key, first });
                        }
                        repeated.push((key, at));
                    }
                    objects.extend(object.properties.iter().map(|property| &property.value));
                }
                _ => {}
            }
        }
    }
    repeated.sort_by_key(|(_, at)| (at.line, at.column));
    Ok(repeated)
}

/// Returns each name that was there before, and the offset where it stood first.
fn repeats<'o, 'a>(object: &'o ast::Object<'a>) -> Vec<(&'o ObjectPropName<'a>, usize)> {
    let mut first_at = std::collections::BTreeMap::new();
    let mut repeats = Vec::new();
    for property in &object.properties {
        match first_at.entry(property.name.as_str()) {
            std::collections::btree_map::Entry::Occupied(first) => {
                repeats.push((&property.name, *first.get()))
            }
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(property.name.start());
            }
        }
    }
    repeats
}

#[cfg(test)]
mod tests;
