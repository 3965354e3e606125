//! Times as other programs write them, and as people read them.

use chrono::{DateTime, Local, NaiveDateTime, SecondsFormat, TimeZone, Utc};
use serde_json::Value;

use crate::clock::Now;

/// Numbers from here on are milliseconds (FORMATS 1.1).
const MILLISECONDS_FROM: f64 = 1e11;

/// Reads a time: RFC 3339 with `Z` or an offset, with a fraction, naive local time, epoch seconds or milliseconds as a
/// number or as text. Seconds since 1970; None when it is none of these.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return epoch(number);
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp());
    }
    for form in ["%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z"] {
        if let Ok(time) = DateTime::parse_from_str(text, form) {
            return Some(time.timestamp());
        }
    }
    for form in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"] {
        if let Ok(naive) = NaiveDateTime::parse_from_str(text, form) {
            return Some(Local.from_local_datetime(&naive).earliest()?.timestamp());
        }
    }
    None
}

/// Reads a time out of a JSON value.
#[must_use]
pub fn of_json(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => epoch(number.as_f64()?),
        _ => None,
    }
}

fn epoch(number: f64) -> Option<i64> {
    let seconds = if number.abs() >= MILLISECONDS_FROM { number / 1000.0 } else { number };
    // Beyond the year 9999 it is some other number.
    (0.0..253_402_300_800.0).contains(&seconds).then_some(seconds as i64)
}

/// Hours and minutes in this machine's zone, such as `11:40`; with the date when it is another day.
#[must_use]
pub fn local_clock(epoch_s: i64, now: Now) -> String {
    let local = |seconds: i64| Local.timestamp_opt(seconds, 0).earliest();
    match (local(epoch_s), local(now.seconds())) {
        (Some(then), Some(today)) if then.date_naive() == today.date_naive() => {
            then.format("%H:%M").to_string()
        }
        (Some(then), _) => then.format("%Y-%m-%d %H:%M").to_string(),
        (None, _) => "an unknown time".to_owned(),
    }
}

/// RFC 3339 in UTC with milliseconds.
#[must_use]
pub fn rfc3339_utc(now: Now) -> String {
    Utc.timestamp_millis_opt(now.0)
        .earliest()
        .map_or_else(String::new, |t| t.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// RFC 3339 in UTC, whole seconds.
#[must_use]
pub fn rfc3339_utc_s(epoch_s: i64) -> String {
    Utc.timestamp_opt(epoch_s, 0)
        .earliest()
        .map_or_else(String::new, |t| t.to_rfc3339_opts(SecondsFormat::Secs, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_in_use() {
        for (text, seconds) in [
            ("2026-03-02T09:00:00Z", 1_772_442_000),
            ("2026-03-02T09:00:00.250Z", 1_772_442_000),
            ("2026-03-02T10:00:00+01:00", 1_772_442_000),
            ("2026-03-02T10:00:00+0100", 1_772_442_000),
            ("2026-03-02 09:00:00+00:00", 1_772_442_000),
            ("1772442000", 1_772_442_000),
            ("1772442000.75", 1_772_442_000),
            ("1772442000123", 1_772_442_000),
            (" 1772442000\n", 1_772_442_000),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "NaN", "-5", "inf", "1e300"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(of_json(&serde_json::json!(1_772_442_000_123_i64)), Some(1_772_442_000));
        assert_eq!(of_json(&serde_json::json!(null)), None);
    }

    #[test]
    fn a_time_without_a_zone_is_local() {
        let naive = parse("2026-03-02T09:00:00.123456").unwrap();
        let local = Local.with_ymd_and_hms(2026, 3, 2, 9, 0, 0).unwrap().timestamp();
        assert_eq!(naive, local);
    }
}
