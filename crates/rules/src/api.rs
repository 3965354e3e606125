//! API errors on which a turn ends: their class, and the reset time a limit message names.
//!
//! The client reports overload, server errors and lost connections all as `server_error`, and every kind of limit as
//! `rate_limit`; its last message tells them apart. So that message decides, then the details, then the error word.

use serde::{Deserialize, Serialize};

use crate::{model, scan};

/// What a StopFailure event says about the error. Older clients use other field names for the same things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApiError<'a> {
    /// The error word (`error`, `error_type`), such as `server_error`.
    pub error: Option<&'a str>,
    /// The details (`error_details`, `error_message`), mostly absent.
    pub details: Option<&'a str>,
    /// The client's own last message, such as `API Error: 529 Overloaded. ...`.
    pub message: Option<&'a str>,
}

/// The class of an API error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiClass {
    /// The service has no capacity (529, "temporarily limiting requests").
    Overload,
    /// The service failed (500, 502, 503, error in mid-stream).
    Server,
    /// The service was not reached, or the connection broke.
    Network,
    /// A limit of the account over time: 5 hours, a week, usage credits.
    UsageLimit,
    /// A limit of one model family; another family may go on.
    ModelLimit,
    /// Too many requests at the moment (429 without a limit of the account).
    RequestLimit,
    /// Login, key or permission.
    Auth,
    /// Credits, spending limits, and what an administrator switched off.
    Billing,
    /// The selected model does not exist or may not be used.
    ModelNotFound,
    /// The conversation or the request is too large.
    TooLong,
    /// The answer ran into its own maximum.
    OutputLimit,
    /// The request was refused for its content.
    Refused,
    /// Anything else.
    Other,
}

impl ApiClass {
    const ALL: [Self; 13] = [
        Self::Overload,
        Self::Server,
        Self::Network,
        Self::UsageLimit,
        Self::ModelLimit,
        Self::RequestLimit,
        Self::Auth,
        Self::Billing,
        Self::ModelNotFound,
        Self::TooLong,
        Self::OutputLimit,
        Self::Refused,
        Self::Other,
    ];

    /// Returns the word used in keys of the journal (`api:overload`); it never changes.
    pub fn key(self) -> &'static str {
        match self {
            Self::Overload => "overload",
            Self::Server => "server",
            Self::Network => "network",
            Self::UsageLimit => "usage_limit",
            Self::ModelLimit => "model_limit",
            Self::RequestLimit => "request_limit",
            Self::Auth => "auth",
            Self::Billing => "billing",
            Self::ModelNotFound => "model_not_found",
            Self::TooLong => "too_long",
            Self::OutputLimit => "output_limit",
            Self::Refused => "refused",
            Self::Other => "other",
        }
    }

    /// Returns the class of a word that [`ApiClass::key`] gave.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.key() == key)
    }

    /// Returns whether trying again cannot help until a person acts.
    pub fn is_permanent(self) -> bool {
        matches!(self, Self::Auth | Self::Billing | Self::ModelNotFound | Self::TooLong)
    }

    /// Returns whether the error passes with time.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::UsageLimit | Self::ModelLimit | Self::RequestLimit)
    }
}

/// Returns the class of an API error: by the message, then the details, then the error word.
pub fn classify(error: &ApiError<'_>) -> ApiClass {
    error
        .message
        .and_then(by_text)
        .or_else(|| error.details.and_then(by_text))
        .or_else(|| error.error.and_then(by_word))
        .unwrap_or(ApiClass::Other)
}

/// The error words of the client's schema, those of older clients, and codes given as text.
fn by_word(word: &str) -> Option<ApiClass> {
    Some(match word.trim() {
        "overloaded" | "overloaded_error" => ApiClass::Overload,
        "server_error" | "api_error" | "internal_server_error" => ApiClass::Server,
        "rate_limit" | "rate_limit_error" => ApiClass::RequestLimit,
        "authentication_failed"
        | "authentication_error"
        | "permission_error"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "verification_required"
        | "cloud_credential_error" => ApiClass::Auth,
        "billing_error" => ApiClass::Billing,
        "model_not_found" => ApiClass::ModelNotFound,
        "request_too_large" => ApiClass::TooLong,
        "max_output_tokens" => ApiClass::OutputLimit,
        other => return by_text(other),
    })
}

/// Reads one text of the client; `None` when it says nothing that is known.
fn by_text(text: &str) -> Option<ApiClass> {
    let text = text.trim();
    // Capacity texts talk about limits too: "(not your usage limit)".
    if scan::contains_any(
        text,
        &[
            "overloaded",
            "temporarily limiting requests",
            "api is at capacity",
            "experiencing high load",
            "experiencing high demand",
        ],
    ) {
        // A bad request that only quotes the word is not an overload.
        if !matches!(status_code(text), Some(400..=428)) {
            return Some(ApiClass::Overload);
        }
    }
    if let Some(class) = by_limit_text(text) {
        return Some(class);
    }
    if let Some(class) = by_phrase(text) {
        return Some(class);
    }
    if let Some(class) = status_code(text).and_then(|code| by_status(code, text)) {
        return Some(class);
    }
    if scan::contains_any(text, &NETWORK_TEXTS) {
        return Some(ApiClass::Network);
    }
    if scan::contains_any(
        text,
        &["internal server error", "server error mid-response", "malformed response", "api_error\""],
    ) {
        return Some(ApiClass::Server);
    }
    by_loose_words(text)
}

/// The words that say "limit" in any wording: the last resort, when nothing more exact is in the text.
fn by_loose_words(text: &str) -> Option<ApiClass> {
    // Warnings and news about limits that have not been reached.
    let news = [
        "approaching",
        "close to",
        "nearing",
        "running low",
        "you've used ",
        "you’ve used ",
        "now using",
        "now covering",
        "has been reset",
        "has reset",
        "increase your usage limit",
        "not your usage limit",
        // The client's own continuation, and its command.
        "automatic continue",
        "continuing automatically",
        "/rate-limit-options",
        "unknown slash command",
    ];
    if scan::contains_any(text, &news) {
        return None;
    }
    if scan::contains_any(text, &["usage limit", "usage-limit", "usage_limit", "quota exceeded"]) {
        return Some(ApiClass::UsageLimit);
    }
    let rate = ["rate limit", "rate-limit", "rate_limit", "ratelimit", "too many requests"];
    (scan::contains_any(text, &rate) || names_status_429(text)).then_some(ApiClass::RequestLimit)
}

/// `HTTP 429`, `status code 429`, `error: 429`; a bare number is a number like any other.
fn names_status_429(text: &str) -> bool {
    scan::find_word(text, "429").is_some_and(|end| {
        let before = text[..end - "429".len()].trim_end_matches([' ', ':', '=', '(', '#', '"']);
        ["http", "status", "code", "error"].iter().any(|word| scan::ends_with(before, word))
    })
}

const NETWORK_TEXTS: [&str; 34] = [
    "connection dropped",
    "connection refused",
    "connection lost",
    "connection closed",
    "connection reset",
    "connection error",
    "econnrefused",
    "econnreset",
    "econnaborted",
    "epipe",
    "enotfound",
    "etimedout",
    "ehostunreach",
    "enetunreach",
    "eai_again",
    "fetch failed",
    "socket hang up",
    "unable to connect",
    "request timed out",
    "stream ended before",
    "stream idle timeout",
    "network error",
    "no response from api",
    "went to sleep",
    "response stopped arriving",
    "response stalled",
    "no internet route",
    "reach the api server",
    "connect through your proxy",
    "proxy refused",
    "socket is closed",
    "streaming response ended",
    "certificate",
    "dns",
];

fn by_phrase(text: &str) -> Option<ApiClass> {
    const TABLE: [(ApiClass, &[&str]); 6] = [
        (
            ApiClass::TooLong,
            &[
                "prompt is too long",
                "request too large",
                "input is too long",
                "conversation is too long",
                "conversation too long",
                "context window limit",
                "exceed context limit",
                "request_too_large",
            ],
        ),
        (
            ApiClass::OutputLimit,
            &["output token maximum", "exceeded the maximum output", "max_output_tokens"],
        ),
        (
            ApiClass::ModelNotFound,
            &[
                "issue with the selected model",
                "model_not_found",
                "model may not exist",
                "model is not available",
                "is not available with the claude",
            ],
        ),
        (ApiClass::Refused, &["safeguards flagged", "violate our usage policy", "usage policy"]),
        (
            ApiClass::Auth,
            &[
                "invalid api key",
                "failed to authenticate",
                "please run /login",
                "not logged in",
                "login expired",
                "oauth token",
                "token has been revoked",
                "authentication_error",
                "invalid bearer token",
                "invalid x-api-key",
                "could not resolve authentication",
                "credentials",
                "account is on hold",
                "organization has been disabled",
                "oauth authentication is currently not",
                "does not have access to claude",
                "scope requirement",
                "run /login",
                "not signed in",
                "signed out of claude",
                "authentication required",
                "login not accepted",
                "login was rejected",
                "apikeyhelper",
                "invalid auth token",
                "authentication failed",
                "rejected the session token",
                "gateway session expired",
                "gateway refused the request",
                "invalid anthropic_custom_headers",
                "invalid request header",
                "organization has disabled",
            ],
        ),
        (
            ApiClass::Billing,
            &["credit balance is too low", "credit balance too low", "payment required", "billing_error"],
        ),
    ];
    // A status in front means that what follows is the service's text about *our* request: only a few phrases count.
    let quotes_request = matches!(status_code(text), Some(code) if code == 400 || code == 404);
    TABLE.into_iter().find_map(|(class, phrases)| {
        let considered = !quotes_request || matches!(class, ApiClass::TooLong | ApiClass::Billing);
        (considered && scan::contains_any(text, phrases)).then_some(class)
    })
}

/// Limits of the account, of a model, of an organisation: the banner texts of old and new clients.
fn by_limit_text(text: &str) -> Option<ApiClass> {
    // Switched off or used up by rule of an administrator: no waiting helps.
    if scan::contains_any(
        text,
        &[
            "usage credits required",
            "doesn't include usage credits",
            "doesn’t include usage credits",
            "usage allocation has been disabled",
            "group's usage limit is set to",
            "group’s usage limit is set to",
            "service is disabled for your org",
            "usage is paused for your organization",
            "extra usage required",
            "extra usage is required",
            "specified api usage limits",
        ],
    ) {
        return Some(ApiClass::Billing);
    }
    // With the window's own reset in the text, waiting for it does help; a budget is an administrator's to raise.
    if is_budget(text) {
        let window = scan::contains(text, "limit resets");
        return Some(if window { ApiClass::UsageLimit } else { ApiClass::Billing });
    }
    // A share that is used up is a warning only, and with another model or with credits the work goes on.
    if scan::contains_any(text, &["you've used ", "you’ve used ", "now using "]) {
        return None;
    }
    if scan::contains_any(
        text,
        &[
            "out of extra usage",
            "out of usage",
            "spending cap reached",
            "usage_limit_reached",
            "limit will reset at",
        ],
    ) {
        return Some(ApiClass::UsageLimit);
    }
    by_named_limit(text)
}

/// A sum of money somebody set: `monthly spend limit`, `your org's monthly usage limit`, `your team's shared budget`.
fn is_budget(text: &str) -> bool {
    const BUDGETS: [&str; 6] = [
        "spend limit",
        "spending limit",
        "pooled group budget",
        "shared budget",
        "org is out of ",
        "organization is out of ",
    ];
    // Whose it is, or its month: no window of a subscription has either.
    const OWNERS: [&str; 14] = [
        "org's",
        "org’s",
        "organization's",
        "organization’s",
        "team's",
        "team’s",
        "group's",
        "group’s",
        "channel's",
        "channel’s",
        "workspace's",
        "workspace’s",
        "individual",
        "monthly",
    ];
    let owned = |name: &str| {
        let is_owner = |word: &str| OWNERS.iter().any(|owner| word.eq_ignore_ascii_case(owner));
        name.split(' ').any(is_owner) && !scan::contains(name, "rate")
    };
    scan::contains_any(text, &BUDGETS) || limit_hit(text).is_some_and(owned)
}

/// `You've hit your NAME limit`, `NAME limit reached`: the name says what is used up.
fn by_named_limit(text: &str) -> Option<ApiClass> {
    let name = match limit_hit(text) {
        Some(name) => name,
        None => limit_reached(text)?,
    };
    let is_one_of = |words: &[&str]| {
        name.split([' ', '-', '_']).any(|word| words.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    if model::family_of_limit(name).is_some() {
        return Some(ApiClass::ModelLimit);
    }
    if is_one_of(&["rate", "request", "requests", "concurrency", "throughput"]) {
        return Some(ApiClass::RequestLimit);
    }
    if is_one_of(&NOT_OF_THE_ACCOUNT) {
        return None;
    }
    let is_window = name.split([' ', '-']).all(|word| {
        let word = word.trim_end_matches(['\'', '’', 's', ':']);
        word.bytes().any(|b| b.is_ascii_digit())
            || WINDOWS.iter().any(|known| word.eq_ignore_ascii_case(known))
    });
    // What is no window of time, no plan and no account is a model this table has not heard of.
    Some(if is_window { ApiClass::UsageLimit } else { ApiClass::ModelLimit })
}

/// Words of names of the account's limits (a final `s` is cut off before they are compared).
const WINDOWS: [&str; 38] = [
    "",
    "session",
    "weekly",
    "week",
    "daily",
    "day",
    "monthly",
    "month",
    "hour",
    "hourly",
    "five",
    "usage",
    "extra",
    "claude",
    "claude.ai",
    "ai",
    "code",
    "pro",
    "max",
    "team",
    "enterprise",
    "free",
    "plan",
    "subscription",
    "account",
    "current",
    "overall",
    "total",
    "combined",
    "individual",
    "personal",
    "own",
    "message",
    "prompt",
    "the",
    "your",
    "error",
    "quota",
];

/// Limits of other things than what may be used of the service.
const NOT_OF_THE_ACCOUNT: [&str; 22] = [
    "context",
    "turn",
    "turns",
    "size",
    "length",
    "file",
    "line",
    "lines",
    "fast",
    "retry",
    "output",
    "input",
    "memory",
    "thinking",
    "iteration",
    "iterations",
    "tool",
    "time",
    "depth",
    "character",
    "recursion",
    "token",
];

/// The name in `You've hit your NAME limit` and `You've reached your NAME limit`.
fn limit_hit(text: &str) -> Option<&str> {
    ["hit your ", "reached your ", "exceeded your "].iter().find_map(|start| {
        let rest = &text[scan::find(text, start)? + start.len()..];
        let clause = rest.split(['·', '∙', '•', ';', ',', '\n']).next().unwrap_or(rest);
        let name = clause[..scan::find_word(clause, "limit")? - "limit".len()].trim();
        // A sentence that ended before is about something else.
        (!name.contains(". ")).then_some(name)
    })
}

/// The name in `NAME limit reached`: all that stands before it in its clause, three words at most, so that prose that
/// mentions a limit is none.
fn limit_reached(text: &str) -> Option<&str> {
    let at = scan::find(text, "limit reached")?;
    let before = text[..at].trim_end();
    let clause = before.rsplit(['·', '∙', '•', ':', ';', ',', '\n']).next().unwrap_or(before);
    let sentence = clause.rsplit(". ").next().unwrap_or(clause);
    let name = sentence.trim_matches(|c: char| !c.is_alphanumeric());
    (name.split_whitespace().count() <= 3).then_some(name)
}

fn by_status(code: u32, text: &str) -> Option<ApiClass> {
    Some(match code {
        401 | 403 | 407 => ApiClass::Auth,
        402 => ApiClass::Billing,
        404 if scan::contains(text, "model") => ApiClass::ModelNotFound,
        408 => ApiClass::Network,
        413 => ApiClass::TooLong,
        429 => ApiClass::RequestLimit,
        529 => ApiClass::Overload,
        500..=599 => ApiClass::Server,
        400..=499 => ApiClass::Other,
        _ => return None,
    })
}

/// Reads the status out of `API Error: 529 ...`, `API Error (500 ...)`, `... rejected (429) ...`, `400 {...}`.
fn status_code(text: &str) -> Option<u32> {
    let after = match scan::find(text, "api error") {
        Some(at) => text[at + "api error".len()..].trim_start_matches([':', ' ', '(']),
        None => text,
    };
    let direct =
        scan::leading_number(after).filter(|(_, rest)| !rest.starts_with(|c: char| c.is_alphanumeric()));
    let code = match direct {
        Some((code, _)) => code,
        None => {
            let (_, rest) = after.split_once('(')?;
            let (code, rest) = scan::leading_number(rest)?;
            rest.starts_with(')').then_some(code)?
        }
    };
    (100..600).contains(&code).then_some(code)
}

/// Returns the reset time that a limit message names, as it is written: `10:20pm (UTC)`, `Dec 3, 8:20pm (UTC)`.
///
/// Never a number that is no time of day or date.
pub fn reset_phrase(message: &str) -> Option<&str> {
    reset_clauses(message).find_map(|clause| {
        let phrase = up_to_its_end(clause).trim();
        (phrase.chars().count() <= 60 && names_a_time(phrase)).then_some(phrase)
    })
}

/// Returns what follows `resets` or `reset` in each clause of a message, in order.
///
/// The reset of a window counts, never the date of a budget that an administrator must raise: a date with
/// `ask your admin` after it.
pub fn reset_clauses(message: &str) -> impl Iterator<Item = &str> {
    let mut offset = 0;
    message.split(['·', '∙', '•', '\n']).filter_map(move |segment| {
        let end = offset + segment.len();
        let after = &message[end..];
        // Every separator is one character.
        offset = end + after.chars().next().map_or(0, char::len_utf8);
        let budget = scan::contains(after, "ask your admin") && !scan::contains(segment, "limit resets");
        if budget { None } else { reset_in(segment) }
    })
}

fn reset_in(segment: &str) -> Option<&str> {
    let end = ["resets", "reset"].iter().find_map(|word| scan::find_word(segment, word))?;
    let mut rest = segment[end..].trim_start_matches([':', ' ']);
    for word in ["at ", "on "] {
        rest = scan::strip_prefix(rest, word).unwrap_or(rest);
    }
    Some(rest)
}

/// Cuts a clause where its sentence, its bracket or its quotation ends.
fn up_to_its_end(clause: &str) -> &str {
    let mut depth = 0_i32;
    for (at, c) in clause.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return &clause[..at],
            ')' => depth -= 1,
            ';' | '|' | '"' | '<' => return &clause[..at],
            '.' if clause[at + 1..].starts_with([' ', '\u{a0}']) || at + 1 == clause.len() => {
                return &clause[..at];
            }
            _ => {}
        }
    }
    clause
}

/// Whether a phrase begins with a time of day, a date, a day's name or a span.
fn names_a_time(phrase: &str) -> bool {
    const NAMES: [&str; 19] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon", "tue",
        "wed", "thu", "fri", "sat", "sun",
    ];
    let first = phrase.split([' ', ',']).next().unwrap_or("");
    if let Some((_, rest)) = scan::leading_number(first) {
        let tail = phrase[first.len()..].trim_start();
        let named = |tail: &str| NAMES[..12].iter().any(|month| scan::starts_with(tail, month));
        return rest.starts_with([':', '-'])
            || named(tail)
            || ["am", "pm"]
                .iter()
                .any(|half| scan::starts_with(rest, half) || scan::starts_with(tail, half));
    }
    let digits = phrase.bytes().any(|b| b.is_ascii_digit());
    let named = first.len() >= 3 && NAMES.iter().any(|name| scan::starts_with(first, name));
    let spoken = ["in", "today", "tomorrow"].iter().any(|word| first.eq_ignore_ascii_case(word));
    (named || spoken) && digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(error: &str, message: &str) -> ApiClass {
        classify(&ApiError { error: Some(error), details: None, message: Some(message) })
    }

    #[test]
    fn the_message_decides_before_the_word() {
        for (error, message, expected) in [
            (
                "rate_limit",
                "API Error: Request rejected (429) · too many calls of this account",
                ApiClass::RequestLimit,
            ),
            ("server_error", "API Error: 529 Overloaded. Usually temporary.", ApiClass::Overload),
            ("server_error", "API Error: Repeated 529 Overloaded errors", ApiClass::Overload),
            (
                "rate_limit",
                "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited",
                ApiClass::Overload,
            ),
            ("server_error", "API Error: 500 Internal server error.", ApiClass::Server),
            ("server_error", "API Error: 503 upstream", ApiClass::Server),
            ("server_error", r#"API Error (502 {"type":"error"})"#, ApiClass::Server),
            (
                "server_error",
                r#"API Error: 500 {"type":"error","error":{"type":"overloaded_error"}}"#,
                ApiClass::Overload,
            ),
            (
                "server_error",
                "API Error: Server error mid-response. The answer may be cut.",
                ApiClass::Server,
            ),
            ("server_error", "API Error: Connection lost mid-response.", ApiClass::Network),
            (
                "server_error",
                "API Error: Connection dropped (ECONNRESET). Check the gateway.",
                ApiClass::Network,
            ),
            (
                "server_error",
                "API Error: Connection refused — a proxy may block it (ECONNREFUSED)",
                ApiClass::Network,
            ),
            ("unknown", "API Error: Request timed out.", ApiClass::Network),
            ("unknown", "API Error: Unable to connect to API (ENOTFOUND)", ApiClass::Network),
            ("authentication_failed", "Invalid API key · Fix external API key", ApiClass::Auth),
            ("authentication_failed", "Failed to authenticate. API Error: 403 no", ApiClass::Auth),
            ("authentication_failed", "Not logged in · Please run /login", ApiClass::Auth),
            ("unknown", r#"API Error: 401 {"type":"error"} · Please run /login"#, ApiClass::Auth),
            ("billing_error", "Credit balance is too low", ApiClass::Billing),
            ("billing_error", "Credit balance too low · Add funds: https://a.example", ApiClass::Billing),
            ("unknown", "API Error: 402 pay first", ApiClass::Billing),
            (
                "unknown",
                "API Error: Usage credits required for 1M context · run /usage-credits",
                ApiClass::Billing,
            ),
            ("invalid_request", "Prompt is too long · the request is ~250000 tokens", ApiClass::TooLong),
            ("invalid_request", "Request too large (max 32MB).", ApiClass::TooLong),
            (
                "max_output_tokens",
                "API Error: The model has reached its context window limit.",
                ApiClass::TooLong,
            ),
            (
                "unknown",
                "API Error: 400 input length and `max_tokens` exceed context limit: 9 + 9 > 10",
                ApiClass::TooLong,
            ),
            (
                "max_output_tokens",
                "API Error: Claude's response exceeded the 64000 output token maximum.",
                ApiClass::OutputLimit,
            ),
            ("model_not_found", "There's an issue with the selected model (x).", ApiClass::ModelNotFound),
            (
                "unknown",
                r#"API Error: 404 {"error":{"type":"not_found_error","message":"model: x"}}"#,
                ApiClass::ModelNotFound,
            ),
            ("invalid_request", "API Error: The safeguards flagged this message", ApiClass::Refused),
            (
                "unknown",
                "API Error: 400 messages.3: tool text says overloaded, ECONNRESET, invalid api key",
                ApiClass::Other,
            ),
            ("unknown", "something never seen", ApiClass::Other),
        ] {
            assert_eq!(of(error, message), expected, "{message}");
        }
    }

    #[test]
    fn limits_of_all_versions_are_told_apart() {
        for (message, expected) in [
            ("You've hit your 5-hour limit · resets 10:20pm (UTC)", ApiClass::UsageLimit),
            ("You've hit your 5-hour limit\n/upgrade to increase your usage limit.", ApiClass::UsageLimit),
            ("You’ve hit your weekly limit · resets Dec 3, 8:20pm (UTC)", ApiClass::UsageLimit),
            ("You've hit your limit · resets 10pm (Europe/Oslo)", ApiClass::UsageLimit),
            ("You've hit your session limit · resets 3:45pm", ApiClass::UsageLimit),
            ("You've hit your Opus limit · resets 3:45pm", ApiClass::ModelLimit),
            ("You've hit your Fable limit · resets 3:45pm (UTC)", ApiClass::ModelLimit),
            ("Opus weekly limit reached ∙ resets 1:38am", ApiClass::ModelLimit),
            ("Session limit reached ∙ resets 10:37pm", ApiClass::UsageLimit),
            ("5-hour limit reached ∙ resets 3pm", ApiClass::UsageLimit),
            ("Weekly limit reached ∙ resets Dec 3, 9:38pm", ApiClass::UsageLimit),
            ("Limit reached · resets 5pm · /upgrade", ApiClass::UsageLimit),
            ("Claude AI usage limit reached|1795215600", ApiClass::UsageLimit),
            ("Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5).", ApiClass::UsageLimit),
            ("You're out of extra usage · resets 11:30am (Asia/Colombo)", ApiClass::UsageLimit),
            ("You're out of usage credits · resets 9pm (UTC)", ApiClass::UsageLimit),
            ("Spending cap reached resets 10:27pm", ApiClass::UsageLimit),
            (
                "You've hit your org's monthly spend limit · ask your admin to raise it at URL · your 5-hour limit resets 9pm (UTC)",
                ApiClass::UsageLimit,
            ),
            ("You've hit your org's monthly spend limit · ask your admin to raise it", ApiClass::Billing),
            ("spend limit reached (daily; resets 2026-08-09 00:00 UTC)", ApiClass::Billing),
            (
                "You've hit your team's pooled group budget · resets Dec 6, 8:20pm (UTC) · ask your admin",
                ApiClass::Billing,
            ),
            ("Your seat type doesn't include usage credits", ApiClass::Billing),
            ("Your usage allocation has been disabled by your admin · ask", ApiClass::Billing),
            ("Your group's usage limit is set to $0 · ask", ApiClass::Billing),
            ("This service is disabled for your org", ApiClass::Billing),
            ("Usage is paused for your organization. For help, please contact support.", ApiClass::Billing),
            ("You've used 91% of your session limit", ApiClass::RequestLimit),
            ("You've reached your Fable 5 limit. Run /usage-credits to go on", ApiClass::ModelLimit),
            ("You've hit your Opus 4.1 limit · resets 3:45pm", ApiClass::ModelLimit),
            ("You've hit your Rhapsody limit · resets 3:45pm", ApiClass::ModelLimit),
            ("Rhapsody 7 weekly limit reached ∙ resets 1:38am", ApiClass::ModelLimit),
            ("▎ Usage limit reached · set to continue automatically at 9pm", ApiClass::UsageLimit),
            ("You've reached your weekly usage limit. Resets Jul 9", ApiClass::UsageLimit),
            ("You're out of usage", ApiClass::UsageLimit),
            ("usage limit exceeded", ApiClass::UsageLimit),
            ("You've hit your organization's monthly usage limit", ApiClass::Billing),
            ("You have reached your specified API usage limits.", ApiClass::Billing),
            ("API Error: Extra usage is required for 1M context", ApiClass::Billing),
            ("Claude Opus 4 limit reached, now using Sonnet 4", ApiClass::RequestLimit),
            ("You've hit your individual usage limit · ask your admin", ApiClass::Billing),
            (
                "You've hit your individual usage limit · your session limit resets 3:45pm",
                ApiClass::UsageLimit,
            ),
            ("You've hit your channel's monthly spend limit · ask", ApiClass::Billing),
            ("You've hit your team's shared budget · ask your admin", ApiClass::Billing),
            ("Your org is out of usage · contact your admin", ApiClass::Billing),
            ("Your organization is out of usage credits. Contact your admin", ApiClass::Billing),
            ("spend limit unavailable", ApiClass::Billing),
        ] {
            assert_eq!(of("rate_limit", message), expected, "{message}");
        }
    }

    #[test]
    fn loose_words_decide_last() {
        for (message, expected) in [
            ("API Error: Rate limit reached", ApiClass::RequestLimit),
            ("Rate limited. Press Enter to retry", ApiClass::RequestLimit),
            ("You've hit your rate limit", ApiClass::RequestLimit),
            ("this exceeded your organization's rate limit of 9 tokens", ApiClass::RequestLimit),
            ("Request failed with status code 429", ApiClass::RequestLimit),
            ("Too many requests", ApiClass::RequestLimit),
            ("Opus is experiencing high load, please use /model", ApiClass::Overload),
            ("Error during compaction: Conversation too long", ApiClass::TooLong),
            ("Claude Opus is not available with the Claude Pro plan", ApiClass::ModelNotFound),
            ("token does not meet scope requirement user:x", ApiClass::Auth),
            ("Approaching usage limit · resets at 7pm", ApiClass::Other),
            ("Your usage limit has reset", ApiClass::Other),
            ("Claude Opus 4 limit reached, now using Sonnet 4", ApiClass::Other),
            ("Fast limit reached and off for a while · resets in 2m", ApiClass::Other),
            ("Turn limit reached", ApiClass::Other),
            ("Automatic continue stopped after repeated usage limit hits", ApiClass::Other),
            ("see src/net.rs:418-429", ApiClass::Other),
            ("waited 429 ms", ApiClass::Other),
        ] {
            assert_eq!(of("unknown", message), expected, "{message}");
        }
    }

    #[test]
    fn details_and_word_decide_when_the_message_does_not() {
        let with = |error, details, message| classify(&ApiError { error, details, message });
        assert_eq!(with(Some("unknown"), Some("529 overloaded_error"), None), ApiClass::Overload);
        assert_eq!(with(Some("server_error"), Some(r#"529 {"type":"error"}"#), Some("")), ApiClass::Overload);
        assert_eq!(with(Some("overloaded"), None, None), ApiClass::Overload);
        assert_eq!(with(Some("server_error"), None, Some("?")), ApiClass::Server);
        assert_eq!(with(Some("rate_limit"), None, None), ApiClass::RequestLimit);
        assert_eq!(with(Some("oauth_org_not_allowed"), None, None), ApiClass::Auth);
        assert_eq!(with(Some("529"), None, None), ApiClass::Overload);
        assert_eq!(with(Some("invalid_request"), Some("413 too big"), None), ApiClass::TooLong);
        assert_eq!(with(Some("invalid_request"), None, None), ApiClass::Other);
        assert_eq!(with(None, None, None), ApiClass::Other);
    }

    #[test]
    fn keys_lead_back_to_their_class() {
        for class in ApiClass::ALL {
            assert_eq!(ApiClass::from_key(class.key()), Some(class));
            assert_eq!(serde_json::to_value(class).unwrap(), class.key());
            assert!(!(class.is_permanent() && class.is_limit()));
        }
        assert_eq!(ApiClass::from_key("overloaded"), None);
    }

    #[test]
    fn the_reset_is_taken_as_written() {
        for (message, expected) in [
            ("You've hit your 5-hour limit · resets 10:20pm (UTC)", Some("10:20pm (UTC)")),
            ("Session limit reached ∙ resets 10:37pm", Some("10:37pm")),
            ("You've hit your weekly limit · resets Dec 3, 8:20pm (UTC)", Some("Dec 3, 8:20pm (UTC)")),
            (
                "Weekly limit · resets Jan 29, 2027, 8:23pm (Asia/Tokyo)",
                Some("Jan 29, 2027, 8:23pm (Asia/Tokyo)"),
            ),
            ("You've hit your weekly limit · resets Mon 12:00am", Some("Mon 12:00am")),
            ("Limit reached · resets 5pm (Etc/Unknown) · /upgrade to Max", Some("5pm (Etc/Unknown)")),
            ("You've hit your limit · resets 15:30 (Asia/Kolkata)", Some("15:30 (Asia/Kolkata)")),
            ("Your limit will reset at 1pm (Etc/GMT+5).", Some("1pm (Etc/GMT+5)")),
            ("Spending cap reached resets 10:27pm", Some("10:27pm")),
            ("You've hit your 5-hour limit · resets 10:20pm (UTC)\n/upgrade to go on", Some("10:20pm (UTC)")),
            (
                "You've hit your org's monthly spend limit · ask your admin to raise it at URL · your 5-hour limit resets 9pm (UTC)",
                Some("9pm (UTC)"),
            ),
            (
                "You've hit your team's pooled group budget · resets Dec 6, 8:20pm (UTC) · ask your admin for more",
                None,
            ),
            ("spend limit reached (daily; resets 2026-08-09 00:00 UTC)", Some("2026-08-09 00:00 UTC")),
            ("You've hit your limit · resets 3 Dec at 9pm", Some("3 Dec at 9pm")),
            ("You've hit your limit · resets 30", None),
            ("You've hit your limit · resets soon", None),
            ("Claude AI usage limit reached|1795215600", None),
            ("Your seat type doesn't include usage credits", None),
            ("the connection was reset by 10:20pm", None),
            ("", None),
        ] {
            assert_eq!(reset_phrase(message), expected, "{message}");
        }
    }
}
