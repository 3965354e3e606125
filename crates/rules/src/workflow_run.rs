//! Runs of agent-studio workflows: which were cut off (FORMATS 5.5).

/// A run without a sign of life for longer than this was interrupted, in seconds.
pub const SILENT_S: i64 = 30 * 60;

/// Returns whether a run was cut off: its status says that it goes on, and it has been silent for too long.
///
/// `silence_s` is the age of its newest sign of life; None: no time could be read, which is never old. `stale_after_ms`
/// is what the record itself calls too long.
#[must_use]
pub fn is_interrupted(status: &str, silence_s: Option<i64>, stale_after_ms: Option<i64>) -> bool {
    let limit = stale_after_ms.filter(|milliseconds| *milliseconds > 0).map_or(SILENT_S, |ms| ms / 1000);
    matches!(status, "in_progress" | "pending" | "running") && silence_s.is_some_and(|age| age > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_first_second_beyond_the_limit() {
        for (status, silence, stale_after_ms, interrupted) in [
            ("in_progress", Some(SILENT_S - 1), None, false),
            ("in_progress", Some(SILENT_S), None, false),
            ("in_progress", Some(SILENT_S + 1), None, true),
            ("pending", Some(SILENT_S + 1), None, true),
            ("running", Some(SILENT_S + 1), None, true),
            ("paused", Some(SILENT_S + 1), None, false),
            ("completed", Some(SILENT_S + 1), None, false),
            ("running", None, None, false),
            ("running", Some(60), Some(60_000), false),
            ("running", Some(61), Some(60_000), true),
            ("running", Some(61), Some(0), false),
            ("running", Some(61), Some(-5), false),
        ] {
            assert_eq!(is_interrupted(status, silence, stale_after_ms), interrupted, "{status} {silence:?}");
        }
    }
}
