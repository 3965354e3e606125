//! The present, read once a call and handed on.

use std::time::{SystemTime, UNIX_EPOCH};

/// A moment: milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now(pub i64);

impl Now {
    /// Reads the clock. A clock before 1970 counts as 1970.
    #[must_use]
    pub fn read() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// Seconds since 1970.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Age of a time in whole seconds; the future is age 0 (FORMATS 1.1).
    #[must_use]
    pub const fn age_s(self, epoch_s: i64) -> i64 {
        let age = self.seconds().saturating_sub(epoch_s);
        if age < 0 { 0 } else { age }
    }
}
