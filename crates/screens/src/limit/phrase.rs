//! What a message says about a time, as written: `3:45pm (Europe/Oslo)`, `Dec 3, 9pm`, `Mon 12:00am`, `in 2h 15m`.

use chrono::{DateTime, Duration, NaiveDate, NaiveTime, Utc, Weekday};

use super::zone::{self, Zone};

/// A time as a message names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phrase {
    /// An instant, complete in itself.
    Instant(DateTime<Utc>),
    /// A span from now on.
    Span(Duration),
    /// A reading of a calendar and a clock.
    Local {
        /// The day, if the text names one.
        day: Option<Day>,
        /// The time of day; a day alone begins at midnight.
        time: NaiveTime,
        /// The zone, if the text names one that is known.
        zone: Option<Zone>,
    },
}

/// The day of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Day {
    /// With its year.
    Date(NaiveDate),
    /// Month (1 to 12) and day of the month, in the year that fits.
    Yearly(u32, u32),
    /// The next such day.
    Weekday(Weekday),
    /// So many days after today.
    Ahead(i64),
}

/// The text names a time that no clock or calendar has: `13pm`, `Feb 30`.
struct Impossible;

/// Reads the time at the start of `text`; what follows it is ignored. None: there is none, or an impossible one.
pub(super) fn read(text: &str) -> Option<Phrase> {
    Words::of(text).phrase().ok()?
}

/// Reads what follows `Retry-After:`: a number of seconds, or anything that [`read`] takes.
pub(super) fn read_delay(text: &str) -> Option<Phrase> {
    let words = Words::of(text);
    let unit = words.peek(1).is_some_and(|word| unit_s(bare(word)).is_some());
    match whole_number(bare(words.peek(0)?)) {
        Some(seconds) if seconds < 1_000_000_000 && !unit => {
            Some(Phrase::Span(Duration::try_seconds(seconds)?))
        }
        _ => read(text),
    }
}

/// Reads Unix time in seconds (10 digits) or milliseconds (13 digits), cut to the second.
pub(super) fn epoch(digits: &str) -> Option<DateTime<Utc>> {
    let number = whole_number(digits)?;
    match digits.len() {
        10 => DateTime::from_timestamp(number, 0),
        13 => DateTime::from_timestamp(number / 1000, 0),
        _ => None,
    }
}

/// No time takes more words; the rest of a long text is not looked at.
const MOST_WORDS: usize = 16;

/// The words of one sentence, and how far they are read.
struct Words<'t> {
    words: Vec<&'t str>,
    at: usize,
}

impl<'t> Words<'t> {
    /// Splits at blanks and commas, up to the end of the sentence; what stands in brackets is one word.
    fn of(text: &'t str) -> Self {
        let mut words = Vec::new();
        let mut rest = text.trim_start_matches([' ', ',', ':']);
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '(' | '[' => rest.find([')', ']']).map_or(rest.len(), |at| at + 1),
                _ => rest.find([' ', ',', '(', '[']).unwrap_or(rest.len()),
            };
            let (word, after) = rest.split_at(end);
            words.push(word);
            if ends_a_sentence(word) || words.len() == MOST_WORDS {
                break;
            }
            rest = after.trim_start_matches([' ', ',']);
        }
        Self { words, at: 0 }
    }

    fn peek(&self, ahead: usize) -> Option<&'t str> {
        self.words.get(self.at + ahead).copied()
    }

    fn phrase(&mut self) -> Result<Option<Phrase>, Impossible> {
        self.skip_fillers();
        if let Some(instant) = self.instant() {
            return Ok(Some(Phrase::Instant(instant)));
        }
        if let Some(span) = self.span() {
            return Ok(Some(Phrase::Span(span)));
        }
        let (mut day, mut time, mut zone, mut zone_named) = (None, None, None, false);
        loop {
            self.skip_fillers();
            if time.is_none()
                && let Some((read, its_zone)) = self.time()?
            {
                time = Some(read);
                (zone, zone_named) = (zone.or(its_zone), zone_named || its_zone.is_some());
                continue;
            }
            // A date after a weekday says more than the weekday.
            if matches!(day, None | Some(Day::Weekday(_)))
                && let Some(read) = self.day()?
            {
                day = Some(read);
                continue;
            }
            if (time.is_some() || day.is_some()) && !zone_named && self.zone(&mut zone) {
                zone_named = true;
                continue;
            }
            break;
        }
        if time.is_none() && day.is_none() {
            return Ok(None);
        }
        Ok(Some(Phrase::Local { day, time: time.unwrap_or(NaiveTime::MIN), zone }))
    }

    fn skip_fillers(&mut self) {
        const FILLERS: [&str; 9] =
            ["at", "on", "the", "around", "about", "approximately", "again", "after", "~"];
        while self.peek(0).is_some_and(|word| is_one_of(bare(word), &FILLERS)) {
            self.at += 1;
        }
    }

    /// `1795215600`, `2026-08-09T00:00:00Z`.
    fn instant(&mut self) -> Option<DateTime<Utc>> {
        let word = bare(self.peek(0)?);
        let read = epoch(word).or_else(|| {
            DateTime::parse_from_rfc3339(&word.to_ascii_uppercase()).ok().map(|at| at.with_timezone(&Utc))
        })?;
        self.at += 1;
        Some(read)
    }

    /// `in 2h 15m`, `in 3 hours and 5 minutes`, `2h15m`, `in an hour`.
    fn span(&mut self) -> Option<Duration> {
        let start = self.at;
        if self.peek(0).is_some_and(|word| word.eq_ignore_ascii_case("in")) {
            self.at += 1;
            self.skip_fillers();
        }
        let mut seconds = None;
        while let Some(word) = self.peek(0).map(bare) {
            let next = self.peek(1).map(bare).unwrap_or_default();
            let (part, used) = if let Some(part) = glued_span_s(word) {
                (part, 1)
            } else if let (Some(count), Some(unit)) = (count(word), unit_s(next)) {
                (count.saturating_mul(unit), 2)
            } else if seconds.is_some() && word.eq_ignore_ascii_case("and") {
                (0, 1)
            } else {
                break;
            };
            seconds = Some(seconds.unwrap_or(0_i64).saturating_add(part));
            self.at += used;
        }
        let span = seconds.and_then(Duration::try_seconds);
        if span.is_none() {
            self.at = start;
        }
        span
    }

    /// `3pm`, `3:45 PM`, `9 p.m.`, `15:30`, `15:30:00Z`, `noon`.
    fn time(&mut self) -> Result<Option<(NaiveTime, Option<Zone>)>, Impossible> {
        let Some(word) = self.peek(0).map(bare) else { return Ok(None) };
        if let Some((_, hour)) =
            [("noon", 12), ("midnight", 0)].into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name))
        {
            self.at += 1;
            return Ok(NaiveTime::from_hms_opt(hour, 0, 0).map(|time| (time, None)));
        }
        let end = word.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(word.len());
        let (digits, suffix) = word.split_at(end);
        let mut used = 1;
        let mut its_zone = None;
        let half = if let Some(half) = half_of_day(suffix) {
            Some(half)
        } else if suffix.is_empty() {
            let next = self.peek(1).and_then(half_of_day);
            used += usize::from(next.is_some());
            next
        } else {
            its_zone = zone::read(suffix);
            if its_zone.is_none() {
                return Ok(None);
            }
            None
        };
        if digits.is_empty() || (half.is_none() && !digits.contains(':')) {
            return Ok(None);
        }
        self.at += used;
        clock(digits, half).map(|time| Some((time, its_zone))).ok_or(Impossible)
    }

    /// `Dec 3`, `Jan 29, 2027`, `3 December`, `2026-08-09`, `Monday`, `tomorrow`.
    fn day(&mut self) -> Result<Option<Day>, Impossible> {
        let Some(word) = self.peek(0).map(bare) else { return Ok(None) };
        let next = self.peek(1).map(bare).unwrap_or_default();
        let ahead = if is_one_of(word, &["today", "tonight"]) {
            Some(Day::Ahead(0))
        } else if word.eq_ignore_ascii_case("tomorrow") {
            Some(Day::Ahead(1))
        } else {
            weekday(word).map(Day::Weekday)
        };
        if let Some(day) = ahead {
            self.at += 1;
            return Ok(Some(day));
        }
        if let Some(date) = iso_date(word) {
            self.at += 1;
            return date.map(|date| Some(Day::Date(date)));
        }
        let (Some((month, day)), used) = (match (month(word), month(next)) {
            (Some(month), _) => (day_of_month(next).map(|day| (month, day)), 2),
            (None, Some(month)) => (day_of_month(word).map(|day| (month, day)), 2),
            (None, None) => (None, 0),
        }) else {
            return Ok(None);
        };
        self.at += used;
        let year = self.peek(0).map(bare).filter(|word| word.len() == 4).and_then(whole_number);
        let Some(year) = year.and_then(|year| i32::try_from(year).ok()) else {
            // Any day that some year has.
            let exists = NaiveDate::from_ymd_opt(2024, month, day).is_some();
            return if exists { Ok(Some(Day::Yearly(month, day))) } else { Err(Impossible) };
        };
        self.at += 1;
        NaiveDate::from_ymd_opt(year, month, day).map(|date| Some(Day::Date(date))).ok_or(Impossible)
    }

    /// `(Europe/Oslo)`, `UTC`, `+02:00`. An unknown name in brackets is passed over.
    fn zone(&mut self, zone: &mut Option<Zone>) -> bool {
        let Some(word) = self.peek(0) else { return false };
        let read = zone::read(bare(word));
        if read.is_none() && !word.starts_with(['(', '[']) {
            return false;
        }
        *zone = read;
        self.at += 1;
        true
    }
}

/// A word without the signs around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| {
        matches!(c, '.' | ';' | ':' | '!' | '"' | '\'' | '(' | ')' | '[' | ']' | '|' | '*' | '`')
    })
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn ends_a_sentence(word: &str) -> bool {
    let bracket = word.starts_with(['(', '[']);
    // `p.m.`, `Dec.`, `Mon.`; but `pm.` and `Monday.` end one.
    let abbreviation = || {
        let letters = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':').trim_end_matches('.');
        let half = letters.contains('.') && half_of_day(letters).is_some();
        let name = letters.len() <= 5 && (month(letters).is_some() || weekday(letters).is_some());
        half || name
    };
    match word.chars().next_back() {
        Some('.') if !bracket => !abbreviation(),
        Some(')' | ']') => !bracket,
        Some(';' | '!' | '"' | '|') => true,
        _ => false,
    }
}

/// Reads a number of digits alone.
fn whole_number(digits: &str) -> Option<i64> {
    let number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if number { digits.parse().ok() } else { None }
}

/// `am` (false) or `pm` (true), also `A.M.`.
fn half_of_day(word: &str) -> Option<bool> {
    let letters: String = word.chars().filter(|c| *c != '.').collect();
    match bare(&letters).to_ascii_lowercase().as_str() {
        "am" => Some(false),
        "pm" => Some(true),
        _ => None,
    }
}

/// Reads `h`, `h:mm`, `h:mm:ss` of a clock of 12 hours (with `half`) or of 24.
fn clock(digits: &str, half: Option<bool>) -> Option<NaiveTime> {
    let mut parts = digits.split(':');
    let mut part = |lengths: std::ops::RangeInclusive<usize>| match parts.next() {
        None => Some(None),
        Some(text) if lengths.contains(&text.len()) => text.parse::<u32>().ok().map(Some),
        Some(_) => None,
    };
    let (hour, minute, second) = (part(1..=2)??, part(2..=2)?, part(2..=2)?);
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
        None => hour,
    };
    if parts.next().is_some() {
        return None;
    }
    NaiveTime::from_hms_opt(hour, minute.unwrap_or(0), second.unwrap_or(0))
}

/// Reads a name or its beginning: three letters at least, no other ones.
fn begins_name(word: &str, names: &[&str]) -> Option<usize> {
    let fits = |name: &&str| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if word.len() < 3 { None } else { names.iter().position(fits) }
}

fn month(word: &str) -> Option<u32> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    u32::try_from(begins_name(word, &NAMES)? + 1).ok()
}

fn weekday(word: &str) -> Option<Weekday> {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    u8::try_from(begins_name(word, &NAMES)?).ok()?.try_into().ok()
}

/// `3`, `3rd`, `03`.
fn day_of_month(word: &str) -> Option<u32> {
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let (digits, suffix) = word.split_at(end);
    let ordinal = suffix.is_empty() || is_one_of(suffix, &["st", "nd", "rd", "th"]);
    digits.parse().ok().filter(|_| ordinal && digits.len() <= 2)
}

/// `2026-08-09`, `2026/08/09`.
fn iso_date(word: &str) -> Option<Result<NaiveDate, Impossible>> {
    let mut parts = word.split(['-', '/']);
    let mut part = |length: usize| parts.next().filter(|part| part.len() == length).and_then(whole_number);
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    if parts.next().is_some() {
        return None;
    }
    let date = || {
        NaiveDate::from_ymd_opt(
            i32::try_from(year).ok()?,
            u32::try_from(month).ok()?,
            u32::try_from(day).ok()?,
        )
    };
    Some(date().ok_or(Impossible))
}

fn count(word: &str) -> Option<i64> {
    if is_one_of(word, &["a", "an", "one"]) { Some(1) } else { whole_number(word) }
}

/// Seconds in a unit.
fn unit_s(word: &str) -> Option<i64> {
    const UNITS: [(&[&str], i64); 5] = [
        (&["s", "sec", "secs", "second", "seconds"], 1),
        (&["m", "min", "mins", "minute", "minutes"], 60),
        (&["h", "hr", "hrs", "hour", "hours"], 3600),
        (&["d", "day", "days"], 86_400),
        (&["w", "week", "weeks"], 604_800),
    ];
    UNITS.into_iter().find(|(names, _)| is_one_of(word, names)).map(|(_, seconds)| seconds)
}

/// `2h`, `45min`, `2h15m`.
fn glued_span_s(word: &str) -> Option<i64> {
    let mut rest = word;
    let mut seconds = 0_i64;
    while !rest.is_empty() {
        let letters = rest.find(|c: char| !c.is_ascii_digit())?;
        let (digits, after) = rest.split_at(letters);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        seconds = seconds.saturating_add(whole_number(digits)?.saturating_mul(unit_s(unit)?));
        rest = next;
    }
    (!word.is_empty()).then_some(seconds)
}
