//! Messages about limits and other API errors: their kind, and the instant at which waiting is over.
//!
//! The built-in wordings are those of [`rules::api`], which the hooks use too; the user's own come on top.

use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use rules::api::{self, ApiClass, ApiError};
use serde::{Deserialize, Serialize};

mod line;
mod phrase;
mod reset;
mod wordings;
mod zone;

pub use wordings::{Wording, WordingError};
pub use zone::named as zone_named;

/// What a message says is used up, or broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A limit of the account over time: 5 hours, a week, usage credits, a spend limit whose window resets.
    UsageLimit,
    /// A limit of one model family.
    ModelLimit,
    /// Too many requests at the moment (429 without a limit of the account).
    RequestLimit,
    /// The service has no capacity (529).
    Overload,
    /// The service failed (5xx), or was not reached.
    ServerError,
    /// Credits, budgets, what an administrator switched off: no way out by waiting.
    Billing,
    /// Login, key or permission.
    Auth,
    /// The conversation is too long.
    Context,
}

impl Kind {
    /// Returns the kind of an API error's class; `None` for errors of the request itself.
    #[must_use]
    pub fn of(class: ApiClass) -> Option<Self> {
        Some(match class {
            ApiClass::Overload => Self::Overload,
            ApiClass::Server | ApiClass::Network => Self::ServerError,
            ApiClass::UsageLimit => Self::UsageLimit,
            ApiClass::ModelLimit => Self::ModelLimit,
            ApiClass::RequestLimit => Self::RequestLimit,
            ApiClass::Auth => Self::Auth,
            ApiClass::Billing => Self::Billing,
            ApiClass::TooLong => Self::Context,
            ApiClass::ModelNotFound | ApiClass::OutputLimit | ApiClass::Refused | ApiClass::Other => {
                return None;
            }
        })
    }

    /// Returns the word for answers, files and logs: `usage_limit`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::UsageLimit => "usage_limit",
            Self::ModelLimit => "model_limit",
            Self::RequestLimit => "request_limit",
            Self::Overload => "overload",
            Self::ServerError => "server_error",
            Self::Billing => "billing",
            Self::Auth => "auth",
            Self::Context => "context",
        }
    }

    /// Returns whether the state passes by itself, so that a reset time means something.
    #[must_use]
    pub fn passes(self) -> bool {
        !matches!(self, Self::Billing | Self::Auth | Self::Context)
    }
}

/// When a limit is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The instant. It may be past: the limit is over then.
    pub at: DateTime<Utc>,
    /// The zone is the host's, because the text names none that is known.
    pub assumed_zone: bool,
}

impl Reset {
    /// Returns the instant as RFC 3339 in UTC, to the second: `2026-11-20T20:00:00Z`.
    #[must_use]
    pub fn rfc3339(&self) -> String {
        self.at.to_rfc3339_opts(SecondsFormat::Secs, true)
    }
}

/// A message about a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is used up.
    pub kind: Kind,
    /// When it is over; None: the text does not say, or not in a form that is understood, or the kind does not pass
    /// ([`Kind::passes`]).
    pub reset: Option<Reset>,
    /// Waiting helps: until [`Limit::reset`], or for a fixed time when the text names none. False for kinds that do
    /// not pass, and for used-up credits and spending caps whose text names no reset of a window.
    pub waits: bool,
}

/// The moment at which a text is first seen.
///
/// The nearer it is to the moment the text was written (that of StopFailure, where it is known), the surer is the day
/// of a reset that is told as a time of day only.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The instant.
    pub now: DateTime<Utc>,
    /// The zone of the host the client runs on.
    pub host: Tz,
}

impl Moment {
    /// Reads an instant (RFC 3339) and a zone's name, as questions to `recovery explain` give them. A zone that is
    /// missing or unknown is UTC, as the client itself has it.
    #[must_use]
    pub fn parse(now: &str, host: Option<&str>) -> Option<Self> {
        let now = DateTime::parse_from_rfc3339(now).ok()?.with_timezone(&Utc);
        Some(Self { now, host: host.and_then(zone_named).unwrap_or(Tz::UTC) })
    }
}

/// The wordings that are known: the built-in table and those of the user's configuration.
#[derive(Clone, Debug, Default)]
pub struct Wordings {
    own: Vec<Wording>,
}

impl Wordings {
    /// Returns the built-in wordings and `own`, which are asked first.
    #[must_use]
    pub fn with(own: Vec<Wording>) -> Self {
        Self { own }
    }

    /// Reads one message: the whole text of an API error, as StopFailure or the transcript has it. None: it is not
    /// about a limit or an API error that is known; warnings (`You've used 91% of ...`) are none.
    #[must_use]
    pub fn read(&self, text: &str, moment: &Moment) -> Option<Limit> {
        let text = line::plain(text);
        let kind = self.kind_of(&text)?;
        let reset = if kind.passes() { reset::find(&text, kind, moment) } else { None };
        let waits = kind.passes() && (reset.is_some() || !wordings::needs_a_reset(&text));
        Some(Limit { kind, reset, waits })
    }

    /// Reads one message of a screen, where anything may stand: as [`Wordings::read`], but only if the text *begins*
    /// like a message of the client (or with a wording of the user's), so that an answer, a file or a log that quotes
    /// one is none.
    #[must_use]
    pub fn banner(&self, text: &str, moment: &Moment) -> Option<Limit> {
        let plain = line::plain(text);
        let begins = self.own.iter().any(|own| own.begins(&plain)) || wordings::begins_like_a_message(&plain);
        if begins { self.read(text, moment) } else { None }
    }

    /// Returns what kind of message `text` is, without its reset.
    #[must_use]
    pub fn kind(&self, text: &str) -> Option<Kind> {
        self.kind_of(&line::plain(text))
    }

    fn kind_of(&self, plain: &str) -> Option<Kind> {
        let own = self.own.iter().find(|own| own.matches(plain)).map(Wording::kind);
        own.or_else(|| Kind::of(api::classify(&ApiError { message: Some(plain), ..ApiError::default() })))
    }
}
