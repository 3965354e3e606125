//! What a session's hooks and transcript say about the limit its last turn ended on.

use std::path::Path;

use chrono::{TimeZone as _, Utc};
use rules::api::ApiClass;
use rules::streak::Streak;
use screens::{Kind, Limit, Reset};
use session_state::journal::Journal;
use session_state::transcript;

use crate::roster::Known;

/// The first version whose hooks tell of a turn that ended on an API error (changelog of the client).
const TELLS_OF_FAILURES: (u32, u32, u32) = (2, 1, 78);

/// A turn that ended on an API error, and no good one since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of error.
    pub class: ApiClass,
    /// The client's own message.
    pub text: String,
    /// When, epoch milliseconds.
    pub at_ms: i64,
}

/// The evidence beside the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The undone failure, by the session's journal.
    pub failure: Option<Failure>,
    /// The hooks would have told of one: without it the session is not limited.
    pub hooks_tell: bool,
    /// When the limit resets, by the transcript: exact, seconds since 1970 (clients since 2.1.240).
    pub resets_s: Option<i64>,
}

impl Evidence {
    /// Gathers it.
    #[must_use]
    pub fn of(known: &Known) -> Self {
        let journal = Journal::open(&known.session.dir).ok().flatten();
        let failure = journal.as_ref().and_then(|journal| undone(journal.state().streaks()));
        let version = known.client.as_ref().and_then(|client| client.version.as_deref());
        let version = version.or(known.file.client_version.as_deref()).and_then(version_of);
        let is_limit = failure.as_ref().is_some_and(|failure| failure.class.is_limit());
        let resets_s = is_limit
            .then(|| transcript::tail(Path::new(known.file.transcript.as_deref()?))?.limit_resets_s)
            .flatten();
        Self { failure, hooks_tell: version.is_some_and(|version| version >= TELLS_OF_FAILURES), resets_s }
    }
}

impl Evidence {
    /// The limit as the transcript has it.
    #[must_use]
    pub fn exact(&self) -> Option<Limit> {
        let kind = Kind::of(self.failure.as_ref()?.class)?;
        let at = Utc.timestamp_opt(self.resets_s?, 0).earliest()?;
        Some(Limit { kind, reset: Some(Reset { at, assumed_zone: false }), waits: true })
    }
}

/// The latest failure among the open streaks of API errors.
fn undone(streaks: &[Streak]) -> Option<Failure> {
    let open = streaks.iter().filter(|streak| streak.open && streak.key.starts_with("api:"));
    let last = open.max_by_key(|streak| streak.t)?;
    Some(Failure { class: ApiClass::from_key(&last.cls)?, text: last.txt.clone(), at_ms: last.t })
}

/// Reads `2.1.332`; what follows the third number is left out.
fn version_of(text: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = text.trim().split('.').map(|part| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        part[..digits].parse().ok()
    });
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version_of("2.1.332"), Some((2, 1, 332)));
        assert_eq!(version_of("2.1.78-beta.1 (x)"), Some((2, 1, 78)));
        assert!(version_of("2.1.100") > version_of("2.1.78"));
        for other in ["", "2.1", "v2.1.3", "2.x.1"] {
            assert_eq!(version_of(other), None, "{other}");
        }
    }

    #[test]
    fn the_latest_open_failure_counts() {
        use rules::fact::{Fact, What};
        use rules::streak::State;
        let mut state = State::default();
        let mut fail = |what, key: &'static str, cls: &'static str, t| {
            let mut fact = Fact::new(what, key, format!("{key}{t}"));
            fact.cls = cls.into();
            fact.t = t;
            state.apply(&fact);
            undone(state.streaks()).map(|failure| failure.class)
        };
        assert_eq!(fail(What::Api, "api:overload", "overload", 5), Some(ApiClass::Overload));
        assert_eq!(fail(What::Api, "api:limit", "usage_limit", 9), Some(ApiClass::UsageLimit));
        assert_eq!(fail(What::Fail, "mcp:docs", "connection", 20), Some(ApiClass::UsageLimit));
        assert_eq!(fail(What::Turn, "", "good", 30), None, "a good turn ends all of them");
    }
}
