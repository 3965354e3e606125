//! The table of a measurement: limit, measured, verdict.

use std::fmt;

/// How far over its limit a time must be to fail: what a busy machine adds to the best of three series is less.
const TOLERANCE: f64 = 1.25;

/// What a row means for the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Within its limit.
    Holds,
    /// A time over its limit, within the tolerance: seen, not decided.
    Over,
    /// Fails the run.
    Fails,
    /// Has no limit.
    Told,
}

impl Verdict {
    /// The verdict of a gate that decides.
    pub(super) fn decides(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    fn of_time(measured: f64, limit: f64) -> Self {
        if measured <= limit {
            Self::Holds
        } else if measured <= limit * TOLERANCE {
            Self::Over
        } else {
            Self::Fails
        }
    }
}

/// One line of the table.
#[derive(Debug)]
pub(super) struct Row {
    what: String,
    limit: String,
    measured: String,
    verdict: Verdict,
    /// It fails for its time alone.
    is_slow: bool,
}

impl Row {
    pub(super) fn new(
        what: impl Into<String>,
        limit: impl Into<String>,
        measured: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        Self { what: what.into(), limit: limit.into(), measured: measured.into(), verdict, is_slow: false }
    }

    /// A time or a ratio with a limit; `fault`: the program did not do what was to be timed.
    pub(super) fn timed(what: &str, limit: f64, value: Option<f64>, unit: &str, fault: Option<&str>) -> Self {
        let limit_text = format!("{limit}{unit}");
        let mut row = match value {
            Some(value) => {
                let verdict = Verdict::of_time(value, limit);
                let is_slow = verdict == Verdict::Fails;
                Self { is_slow, ..Self::new(what, limit_text, format!("{value:.2}{unit}"), verdict) }
            }
            None => Self::new(what, limit_text, "nothing", Verdict::Fails),
        };
        if let Some(fault) = fault {
            row.spoil(fault);
        }
        row
    }

    /// A ratio without a limit. A program that did not do its work is told, not failed: nothing depends on it.
    pub(super) fn untimed(what: &str, value: Option<f64>, unit: &str, fault: Option<&str>) -> Self {
        let measured = value.map_or_else(|| "nothing".to_owned(), |value| format!("{value:.2}{unit}"));
        let mut row = Self::new(what, "", measured, Verdict::Told);
        if let Some(fault) = fault {
            row.add(fault);
        }
        row
    }

    /// Whether it fails the run.
    pub(super) fn fails(&self) -> bool {
        self.verdict == Verdict::Fails
    }

    /// The figure is worth nothing: the program did something else.
    pub(super) fn spoil(&mut self, why: &str) {
        self.add(why);
        self.verdict = Verdict::Fails;
        self.is_slow = false;
    }

    /// Adds a remark to what was measured.
    pub(super) fn add(&mut self, remark: &str) {
        self.measured.push_str(", ");
        self.measured.push_str(remark);
    }
}

/// All rows.
pub(super) struct Table {
    title: String,
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn new(title: String) -> Self {
        Self { title, rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// How many rows fail the run; `times_decide`: times that are far over their limit among them.
    pub(super) fn failures(&self, times_decide: bool) -> usize {
        self.rows.iter().filter(|row| row.fails() && (times_decide || !row.is_slow)).count()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width =
            |cell: fn(&Row) -> &str| self.rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0);
        let what = width(|row| &row.what);
        let limit = width(|row| &row.limit).max("limit".len());
        let measured = width(|row| &row.measured).max("measured".len());
        writeln!(f, "\n{}\n", self.title)?;
        writeln!(f, "{:what$}  {:limit$}  {:measured$}  verdict", "", "limit", "measured")?;
        for row in &self.rows {
            let verdict = match row.verdict {
                Verdict::Holds => "holds",
                Verdict::Over => "over (told)",
                Verdict::Fails if row.is_slow => "FAR OVER",
                Verdict::Fails => "FAILS",
                Verdict::Told => "",
            };
            let line =
                format!("{:what$}  {:limit$}  {:measured$}  {verdict}", row.what, row.limit, row.measured);
            writeln!(f, "{}", line.trim_end())?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_fails_only_past_the_tolerance() {
        assert_eq!(Verdict::of_time(1.4, 1.4), Verdict::Holds);
        assert_eq!(Verdict::of_time(1.41, 1.4), Verdict::Over);
        assert_eq!(Verdict::of_time(1.75, 1.4), Verdict::Over);
        assert_eq!(Verdict::of_time(1.76, 1.4), Verdict::Fails);
    }

    #[test]
    fn a_figure_of_something_else_fails_however_small_it_is() {
        let row = Row::timed("x", 2.0, Some(1.0), " x empty", Some("gave no advice"));
        assert_eq!(row.verdict, Verdict::Fails);
        assert_eq!(row.measured, "1.00 x empty, gave no advice");
        assert_eq!(Row::timed("x", 2.0, None, " ms", None).verdict, Verdict::Fails);
    }

    #[test]
    fn the_table_counts_what_fails_and_lines_up() {
        let mut table = Table::new("T".to_owned());
        table.push(Row::new("a", "1", "22", Verdict::decides(true)));
        table.push(Row::new("long name", "1", "3", Verdict::decides(false)));
        assert_eq!(table.failures(true), 1);
        let text = table.to_string();
        let columns: Vec<_> = text.lines().filter_map(|line| line.find("1  ")).collect();
        assert_eq!(columns.len(), 2);
        assert_eq!(columns[0], columns[1]);
        assert!(text.contains("FAILS"));
    }
}
