//! Whether what made a run fail passes by itself.

use serde::Serialize;

/// What the recorded texts say about the cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It passes by itself: the words that say so.
    Transient(&'static str),
    /// It does not, or nobody can tell from the text.
    NotTransient,
    /// No text was recorded.
    NotRecorded,
}

/// Printed by the job's own claim when another worker was faster (FORMATS 7).
pub const ALREADY_CLAIMED: &str = "JOB_ALREADY_CLAIMED";

/// Words in this order, as words: `timeout` is not in `timeouts_test`'s neighbourhood by accident of letters.
const TRANSIENT: [&str; 47] = [
    "connection reset",
    "connection refused",
    "connection closed",
    "connection lost",
    "connection dropped",
    "connection aborted",
    "connection error",
    "network error",
    "network failure",
    "network unreachable",
    "network is unreachable",
    "network timeout",
    "host unreachable",
    "no route to host",
    "socket hang up",
    "fetch failed",
    "broken pipe",
    "timed out",
    "timeout",
    "time out",
    "rate limit",
    "rate limited",
    "ratelimit",
    "too many requests",
    "usage limit",
    "overloaded",
    "service unavailable",
    "temporarily unavailable",
    "temporary failure",
    "try again later",
    "bad gateway",
    "gateway timeout",
    "internal server error",
    "econnreset",
    "econnrefused",
    "econnaborted",
    "etimedout",
    "enotfound",
    "eai again",
    "enetunreach",
    "ehostunreach",
    "epipe",
    "sigterm",
    "sigint",
    "sighup",
    "sigkill",
    "interrupted",
];

/// Statuses of a server that may answer better the next time, after one of [`STATUS_WORDS`].
const STATUSES: [&str; 6] = ["429", "500", "502", "503", "504", "529"];
const STATUS_WORDS: [&str; 5] = ["http", "status", "code", "error", "https"];

/// Whatever else the text says, these do not pass.
const PERMANENT: [&str; 9] = [
    "unauthorized",
    "forbidden",
    "authentication failed",
    "invalid api key",
    "permission denied",
    "http 401",
    "http 403",
    "status 401",
    "status 403",
];

/// Judges the texts of a failure: the error, the reason, the last event.
#[must_use]
pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Cause {
    let mut cause = Cause::NotRecorded;
    for text in texts {
        let words = words(text);
        if words.is_empty() {
            continue;
        }
        if PERMANENT.iter().any(|phrase| says(&words, phrase)) {
            return Cause::NotTransient;
        }
        match (transient(&words), &cause) {
            (_, Cause::Transient(_)) => {}
            (Some(words), _) => cause = Cause::Transient(words),
            (None, _) => cause = Cause::NotTransient,
        }
    }
    cause
}

fn transient(words: &str) -> Option<&'static str> {
    let status = |status: &&&str| {
        words.match_indices(**status).any(|(at, _)| {
            let before = words[..at].trim_end();
            says_at(words, at, status)
                && STATUS_WORDS.iter().any(|word| before.ends_with(&format!(" {word}")))
        })
    };
    TRANSIENT.iter().find(|phrase| says(words, phrase)).or_else(|| STATUSES.iter().find(status)).copied()
}

/// The words of a text in lower case, each between two blanks.
fn words(text: &str) -> String {
    let clean = rules::text::one_line(text, 20_000).to_lowercase();
    let mut words = String::with_capacity(clean.len() + 2);
    for word in clean.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        words.push(' ');
        words.push_str(word);
    }
    if !words.is_empty() {
        words.push(' ');
    }
    words
}

fn says(words: &str, phrase: &str) -> bool {
    words.match_indices(phrase).any(|(at, _)| says_at(words, at, phrase))
}

/// Whether the phrase at this place is not a part of a longer word.
fn says_at(words: &str, at: usize, phrase: &str) -> bool {
    words[..at].ends_with(' ') && words[at + phrase.len()..].starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_decide_and_not_letters() {
        for (text, expected) in [
            ("job build failed: connection reset", Cause::Transient("connection reset")),
            ("read ECONNRESET", Cause::Transient("econnreset")),
            ("getaddrinfo EAI_AGAIN api", Cause::Transient("eai again")),
            ("\u{1b}[31mRequest timed out\u{1b}[0m", Cause::Transient("timed out")),
            ("upstream answered HTTP 503", Cause::Transient("503")),
            ("503 tests failed", Cause::NotTransient),
            ("the timeoutish thing", Cause::NotTransient),
            ("x", Cause::NotTransient),
            ("expected 3, got 4", Cause::NotTransient),
            ("HTTP 401, connection closed", Cause::NotTransient),
            ("", Cause::NotRecorded),
            (" \u{1b}[0m ", Cause::NotRecorded),
        ] {
            assert_eq!(of([text]), expected, "{text}");
        }
        assert_eq!(of(["job a failed", "socket hang up"]), Cause::Transient("socket hang up"));
        assert_eq!(of(["socket hang up", "job a failed"]), Cause::Transient("socket hang up"));
        assert_eq!(of(["socket hang up", "permission denied"]), Cause::NotTransient);
        assert_eq!(of([]), Cause::NotRecorded);
    }
}
