//! Time zones as messages name them, and local times that do not exist or exist twice.

use chrono::{DateTime, Duration, FixedOffset, LocalResult, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;

/// A zone that a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    /// One of the zone database.
    Named(Tz),
    /// A fixed distance from UTC.
    Fixed(FixedOffset),
}

/// Abbreviations that mean one zone everywhere, and are not in the zone database. `CST`, `IST`, `BST` mean several.
const ABBREVIATIONS: [(&str, i32); 8] =
    [("Z", 0), ("PST", -8), ("PDT", -7), ("MDT", -6), ("CDT", -5), ("EDT", -4), ("CEST", 2), ("JST", 9)];

/// Returns the zone of the database with this name, aliases (`Asia/Calcutta`) included, whatever its case.
#[must_use]
pub fn named(name: &str) -> Option<Tz> {
    let exact = name.parse().ok();
    exact.or_else(|| chrono_tz::TZ_VARIANTS.into_iter().find(|zone| zone.name().eq_ignore_ascii_case(name)))
}

/// Reads `Europe/Warsaw`, `America/New York`, `UTC`, `EDT`, `+02:00`, `GMT-5`, `UTC+5:30`.
pub(super) fn read(text: &str) -> Option<Zone> {
    let text = text.trim();
    if let Some(zone) = named(text).or_else(|| named(&text.replace(' ', "_"))) {
        return Some(Zone::Named(zone));
    }
    if let Some((_, hours)) = ABBREVIATIONS.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return FixedOffset::east_opt(hours * 3600).map(Zone::Fixed);
    }
    let offset = match text.get(..3) {
        Some(name) if name.eq_ignore_ascii_case("UTC") || name.eq_ignore_ascii_case("GMT") => &text[3..],
        _ => text,
    };
    offset_from_utc(offset.trim_start()).map(Zone::Fixed)
}

/// Reads `+2`, `-05`, `+0530`, `+05:30`, with a hyphen or a minus sign.
fn offset_from_utc(text: &str) -> Option<FixedOffset> {
    let (sign, digits) = match text.chars().next()? {
        '+' => (1, &text[1..]),
        '-' => (-1, &text[1..]),
        minus @ '\u{2212}' => (-1, &text[minus.len_utf8()..]),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 && digits.is_ascii() => digits.split_at(2),
        None => (digits, "0"),
    };
    let number = |part: &str, most: i32| {
        let fits = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<i32>().ok().filter(|value| fits && *value <= most)
    };
    FixedOffset::east_opt(sign * (number(hours, 14)? * 3600 + number(minutes, 59)? * 60))
}

impl Zone {
    /// Returns the local time of an instant.
    pub(super) fn local(self, instant: DateTime<Utc>) -> NaiveDateTime {
        match self {
            Self::Named(zone) => instant.with_timezone(&zone).naive_local(),
            Self::Fixed(offset) => instant.with_timezone(&offset).naive_local(),
        }
    }

    /// Returns the instant of a local time: of two the later one, so that nothing is tried too early; of a time the
    /// clocks leave out, the moment they jump.
    pub(super) fn instant(self, local: NaiveDateTime) -> Option<DateTime<Utc>> {
        match self {
            Self::Named(zone) => instant(&zone, local),
            Self::Fixed(offset) => instant(&offset, local),
        }
    }
}

/// The longest gap of the zone database is a whole day (Pacific/Apia, 2011).
const LONGEST_GAP_MIN: i64 = 25 * 60;

fn instant<Z: TimeZone>(zone: &Z, local: NaiveDateTime) -> Option<DateTime<Utc>> {
    let later = |minutes| local.checked_add_signed(Duration::minutes(minutes));
    (0..=LONGEST_GAP_MIN).find_map(|minutes| match zone.from_local_datetime(&later(minutes)?) {
        LocalResult::Single(at) => Some(at.with_timezone(&Utc)),
        LocalResult::Ambiguous(_, last) => Some(last.with_timezone(&Utc)),
        LocalResult::None => None,
    })
}
