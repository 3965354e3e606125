//! Messages about limits and other API errors: their kind, and the instant at which waiting is over.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

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

/// When a limit is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The instant.
    pub at: DateTime<Utc>,
    /// The zone is the host's, because the text names none that is known.
    pub assumed_zone: bool,
}

/// A message about a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is used up.
    pub kind: Kind,
    /// When it is over; None: the text does not say, or not in a form that is understood.
    pub reset: Option<Reset>,
}

/// The moment at which a text is first seen.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The instant.
    pub now: DateTime<Utc>,
    /// The zone of the host the client runs on.
    pub host: Tz,
}

/// The wordings that are known: the built-in table and those of the user's configuration.
#[derive(Clone, Debug, Default)]
pub struct Wordings {
    _own: (),
}

impl Wordings {
    /// Reads one message. None: it is not about a limit or an API error.
    #[must_use]
    pub fn read(&self, text: &str, moment: &Moment) -> Option<Limit> {
        let _ = (text, moment);
        None
    }
}
