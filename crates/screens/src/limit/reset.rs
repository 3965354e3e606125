//! The instant a message names: where the time stands in the text, and which day is meant.

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveTime, TimeDelta, Utc};
use rules::api;

use super::{
    Kind, Moment, Reset,
    phrase::{self, Day, Phrase},
    zone::Zone,
};

/// A time of day that is past by at most this much has just passed; one further back is tomorrow's. This covers a
/// daemon that starts late and a machine that slept: a recorded pane asks for Enter 45 minutes after its reset.
const JUST_PASSED: Duration = Duration::hours(3);

/// The same for limits that last days: their reset may well be 23 hours ahead (20 were seen), and looks the same then.
const JUST_PASSED_OF_DAYS: Duration = Duration::hours(1);

/// The same for limits that last hours: a reset more than half a day ahead cannot be one of theirs. Also for a day of
/// the week, which the client names for resets more than a day ahead only: today's is past.
const JUST_PASSED_OF_HOURS: Duration = Duration::hours(12);

/// No limit lasts longer; what is further away has been misread.
const FARTHEST: Duration = Duration::days(366);

/// 2020-01-01, before the first client: an instant before it has been misread.
const EARLIEST_EPOCH_S: i64 = 1_577_836_800;

/// Returns the reset that a plain line names.
pub(super) fn find(text: &str, kind: Kind, moment: &Moment) -> Option<Reset> {
    let just_passed = just_passed(text, kind);
    phrases(text).find_map(|phrase| resolve(phrase, moment, just_passed))
}

fn just_passed(text: &str, kind: Kind) -> Duration {
    let text = text.to_ascii_lowercase();
    let names = |words: &[&str]| words.iter().any(|words| text.contains(words));
    if names(&["session limit", "5-hour", "five-hour", "hour limit"]) {
        JUST_PASSED_OF_HOURS
    } else if kind == Kind::ModelLimit || names(&["weekly", "credits", "extra usage", "spend"]) {
        JUST_PASSED_OF_DAYS
    } else {
        JUST_PASSED
    }
}

/// Every time in the text that may be the reset's, the surest first.
fn phrases(text: &str) -> impl Iterator<Item = Phrase> {
    // Where a budget and a window stand in one text, this is the window's.
    let windows = after(text, "limit resets").filter_map(phrase::read);
    let resets = api::reset_clauses(text).filter_map(phrase::read);
    let continues = ["continue automatically at", "continuing automatically at"];
    let continues = continues.into_iter().flat_map(|words| after(text, words)).filter_map(phrase::read);
    let delays = ["retry-after", "retry after", "try again", "available again", "retrying", "until"];
    let delays = delays.into_iter().flat_map(|words| after(text, words)).filter_map(phrase::read_delay);
    let epochs = ["|", "resetsat"].into_iter().flat_map(|words| after(text, words)).filter_map(|rest| {
        let digits = rest.trim_start_matches(['"', ':', ' ']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        phrase::epoch(&digits[..end]).map(Phrase::Instant)
    });
    windows.chain(resets).chain(continues).chain(delays).chain(epochs)
}

/// What follows each occurrence of `words` (lower case) in the text.
fn after<'t>(text: &'t str, words: &'t str) -> impl Iterator<Item = &'t str> {
    // Lower case of ASCII keeps every offset.
    let lower = text.to_ascii_lowercase();
    let ends: Vec<usize> = lower.match_indices(words).map(|(at, _)| at + words.len()).collect();
    ends.into_iter().map(move |end| &text[end..])
}

fn resolve(phrase: Phrase, moment: &Moment, just_passed: Duration) -> Option<Reset> {
    let now = moment.now;
    let (at, assumed_zone) = match phrase {
        Phrase::Instant(at) => (at, false),
        Phrase::Span(span) => (now.checked_add_signed(span)?, false),
        Phrase::Local { day, time, zone } => {
            let assumed = zone.is_none();
            let zone = zone.unwrap_or(Zone::Named(moment.host));
            (local(day, time, zone, now, just_passed)?, assumed)
        }
    };
    let plausible = at.timestamp() >= EARLIEST_EPOCH_S && at - now <= FARTHEST;
    plausible.then_some(Reset { at, assumed_zone })
}

fn local(
    day: Option<Day>,
    time: NaiveTime,
    zone: Zone,
    now: DateTime<Utc>,
    just_passed: Duration,
) -> Option<DateTime<Utc>> {
    let today = zone.local(now).date();
    let on = |date: NaiveDate| zone.instant(date.and_time(time));
    let ahead = |days: i64| today.checked_add_signed(TimeDelta::days(days));
    let first_after = |mut dates: Box<dyn Iterator<Item = NaiveDate> + '_>, margin: Duration| {
        dates.find_map(|date| on(date).filter(|at| *at >= now - margin))
    };
    match day {
        Some(Day::Date(date)) => on(date),
        Some(Day::Ahead(days)) => on(ahead(days)?),
        Some(Day::Weekday(weekday)) => {
            let dates = (-2..=8).filter_map(ahead).filter(move |date| date.weekday() == weekday);
            first_after(Box::new(dates), JUST_PASSED_OF_HOURS)
        }
        // A date without its year is near: the client adds the year when it is another one than now.
        Some(Day::Yearly(month, day)) => (today.year() - 1..=today.year() + 1)
            .filter_map(|year| on(NaiveDate::from_ymd_opt(year, month, day)?))
            .min_by_key(|at| (*at - now).abs()),
        None => first_after(Box::new((-2..=2).filter_map(ahead)), just_passed),
    }
}
