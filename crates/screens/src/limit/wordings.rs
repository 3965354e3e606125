//! The user's own wordings, and how the client's own messages begin.

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::Kind;

/// A wording of the user's configuration: `{"text": "quota is gone", "kind": "usage_limit"}`.
///
/// `text` is words, found anywhere in a message, whatever their case and spacing. Between slashes it is a regular
/// expression: `"/quota .* (gone|spent)/"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct Wording {
    pattern: Regex,
    kind: Kind,
}

/// Why a wording of the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WordingError {
    /// There are no words in it.
    #[error("the wording is empty")]
    Empty,
    /// What stands between the slashes is no regular expression, or one that is too large.
    #[error("the wording {text:?} is no regular expression ({reason})")]
    Pattern {
        /// The text, as written.
        text: String,
        /// What is wrong with it, in one line.
        reason: String,
    },
    /// It fits an empty message, and so every message.
    #[error("the wording {text:?} fits every message")]
    FitsAll {
        /// The text, as written.
        text: String,
    },
}

/// The wording as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    text: String,
    kind: Kind,
}

impl TryFrom<Written> for Wording {
    type Error = WordingError;

    fn try_from(written: Written) -> Result<Self, WordingError> {
        Self::new(&written.text, written.kind)
    }
}

/// Compiled size of one pattern, in bytes; ordinary ones need a tenth of it.
const LARGEST_PATTERN: usize = 256 * 1024;

impl Wording {
    /// Returns a wording.
    ///
    /// # Errors
    ///
    /// [`WordingError`]: no words, a bad regular expression, or one that fits everything.
    pub fn new(text: &str, kind: Kind) -> Result<Self, WordingError> {
        let text = text.trim();
        let between_slashes = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let pattern = match between_slashes {
            Some(pattern) => pattern.to_owned(),
            None => {
                let plain = super::line::plain(text);
                let words: Vec<String> = plain.split_whitespace().map(regex::escape).collect();
                words.join(r"\s+")
            }
        };
        if pattern.is_empty() {
            return Err(WordingError::Empty);
        }
        let built = RegexBuilder::new(&pattern).case_insensitive(true).size_limit(LARGEST_PATTERN).build();
        let pattern = built.map_err(|error| {
            let reason = in_one_line(&error);
            WordingError::Pattern { text: text.to_owned(), reason }
        })?;
        if pattern.is_match("") {
            return Err(WordingError::FitsAll { text: text.to_owned() });
        }
        Ok(Self { pattern, kind })
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn matches(&self, plain: &str) -> bool {
        self.pattern.is_match(plain)
    }

    pub(super) fn begins(&self, plain: &str) -> bool {
        self.pattern.find(without_marker(plain)).is_some_and(|found| found.start() == 0)
    }
}

/// The last line of the engine's message says what is wrong; those before it draw the pattern.
fn in_one_line(error: &regex::Error) -> String {
    let whole = error.to_string();
    let last = whole.lines().next_back().unwrap_or_default();
    last.trim_start_matches("error: ").trim_end_matches('.').to_owned()
}

/// Credits and caps: over at a reset only if the text names one.
pub(super) fn needs_a_reset(plain: &str) -> bool {
    let plain = plain.to_ascii_lowercase();
    ["out of usage", "out of extra usage", "spending cap"].iter().any(|words| plain.contains(words))
}

/// How the client's messages begin, in lower case; a blank at the end is part of it.
const BEGINNINGS: [&str; 66] = [
    "you've hit your ",
    "you have hit your ",
    "you've reached your ",
    "you have reached your ",
    "you've exceeded your ",
    "you're out of usage",
    "you're out of extra usage",
    "your limit will reset",
    "claude usage limit reached",
    "claude ai usage limit reached",
    "limit reached",
    "spending cap reached",
    "spend limit reached",
    "spend limit unavailable",
    "your org is out of ",
    "your organization is out of ",
    "usage credits required",
    "extra usage is required",
    "usage limit exceeded",
    "your usage limit resets",
    "your seat type ",
    "your usage allocation ",
    "your group's usage limit ",
    "this service is disabled for your org",
    "this organization has been disabled",
    "usage is paused for your organization",
    "api error",
    "api is at capacity",
    "api returned an empty",
    "server is temporarily limiting requests",
    "repeated 529 ",
    "request rejected (429)",
    "529 ",
    "429 ",
    "overloaded",
    "too many requests",
    "rate limited",
    "rate limit reached",
    "rate limit exceeded",
    "credit balance is too low",
    "credit balance too low",
    "not logged in",
    "not signed in",
    "authentication required",
    "could not resolve authentication",
    "cloud gateway session expired",
    "aws authentication failed",
    "google cloud credentials",
    "your account is on hold",
    "claude login not accepted",
    "claude.ai login expired",
    "your apikeyhelper script",
    "your organization has disabled",
    "invalid auth token",
    "invalid request header from",
    "login expired",
    "please run /login",
    "invalid api key",
    "failed to authenticate",
    "oauth token ",
    "prompt is too long",
    "request too large",
    "error during compaction",
    "request timed out",
    "unable to connect to api",
    "error: 429",
];

pub(super) fn begins_like_a_message(plain: &str) -> bool {
    let text = without_marker(plain).to_ascii_lowercase();
    if let Some(beginning) = BEGINNINGS.iter().find(|beginning| text.starts_with(*beginning)) {
        return !beginning.ends_with("your ") || limit_ends_its_clause(&text);
    }
    // `Opus weekly limit reached`: at most three words before it.
    text.starts_with(char::is_alphanumeric)
        && text.split_once("limit reached").is_some_and(|(name, _)| name.split_whitespace().count() <= 3)
}

/// `You've hit your 5-hour limit · ...`, not `You've hit your limit three times this week, so ...`.
fn limit_ends_its_clause(text: &str) -> bool {
    text.split_once(" limit").or_else(|| text.split_once(" budget")).is_some_and(|(_, rest)| {
        let rest = rest.trim_start();
        rest.is_empty()
            || rest.starts_with(['·', '∙', '•', '.', '-', '|', '(', '/'])
            || rest.starts_with("reset")
    })
}

/// Signs that the interface puts before a message. A quotation bar, a prompt sign and a line number are none.
const MARKERS: [char; 14] = [' ', '⎿', '└', '⏺', '●', '⚠', '✻', '✽', '✶', '✢', '·', '∙', '*', '✗'];

fn without_marker(plain: &str) -> &str {
    plain.trim_start_matches(MARKERS)
}
