//! Recorded panes of eight client versions, with the verdict and keys that are right for each.

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use screens::{Keys, Memory, Options, Pane, State, StopFailure, Verdict};
use serde::Deserialize;

use super::shown::{instant, look_with};

/// A row of `screens/INDEX.json`. With a list each of it is right; nothing is always right for keys in a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recorded {
    pub(crate) name: String,
    client: String,
    columns: usize,
    lines: usize,
    capture: String,
    pub(crate) now: String,
    zone: String,
    in_mode: bool,
    foreground: String,
    status: Option<String>,
    waiting_for: Option<String>,
    stop_failure: Option<Failure>,
    verdicts: Vec<String>,
    kind: Option<String>,
    reset_at: Option<String>,
    marker_row: Option<String>,
    keys: Vec<String>,
    /// Ten minutes after `reset_at`, the screen being the same.
    keys_after_reset: Vec<String>,
    /// With trying again switched on, after the back-off.
    keys_after_backoff: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Failure {
    error: String,
    last_assistant_message: Option<String>,
    agent_id: Option<String>,
}

/// How much of a pane's facts is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    All,
    /// What tmux tells.
    Tmux,
    /// The text and the zone.
    Text,
}

impl Recorded {
    pub(crate) fn all() -> Vec<Self> {
        let rows = std::fs::read_to_string(folder().join("INDEX.json")).unwrap();
        serde_json::from_str(&rows).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(folder().join(format!("{}.txt", self.name))).unwrap()
    }

    pub(crate) fn pane(&self) -> Pane {
        self.known(Known::All)
    }

    /// Ten minutes after the reset, if the screen shows one.
    pub(crate) fn after_reset(&self) -> Option<DateTime<Utc>> {
        self.reset_at.as_deref().map(|reset| instant(reset) + TimeDelta::minutes(10))
    }

    fn known(&self, known: Known) -> Pane {
        let pane = Pane { pane_id: "%1".to_owned(), host_tz: Some(self.zone.clone()), ..Pane::default() };
        if known == Known::Text {
            return pane;
        }
        let pane = Pane {
            in_mode: Some(self.in_mode),
            foreground: Some(self.foreground.clone()),
            width: Some(self.columns),
            height: Some(self.lines),
            capture: Some(self.capture.clone()),
            ..pane
        };
        if known == Known::Tmux {
            return pane;
        }
        Pane {
            client: Some(self.client.clone()),
            session_status: self.status.clone(),
            waiting_for: self.waiting_for.clone(),
            stop_failure: self.stop_failure.clone().map(|failure| StopFailure {
                error: failure.error,
                last_assistant_message: failure.last_assistant_message,
                agent_id: failure.agent_id,
            }),
            ..pane
        }
    }
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/screens"))
}

/// Faults of the answers to one screen, changed by `change`.
fn faults(row: &Recorded, known: Known, change: &dyn Fn(String) -> String) -> Vec<String> {
    let (text, pane, options) = (change(row.text()), row.known(known), Options::for_a_screen());
    let mut faults = Vec::new();
    let mut demand = |what: &str, seen: String, right: &[String]| {
        if !right.contains(&seen) {
            faults.push(format!("{} ({known:?}): {what} {seen:?}, right: {}", row.name, right.join("/")));
        }
    };
    let answer = look_with(&text, &pane, instant(&row.now), None, &options);
    demand("verdict", answer.verdict.word().to_owned(), &row.verdicts);
    demand("keys", answer.keys.word().to_owned(), &row.keys);
    if let (Some(reset), Verdict::Limited) = (&row.reset_at, answer.verdict) {
        let seen = answer
            .reset_at
            .map_or("none".to_owned(), |at| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
        demand("reset", seen, std::slice::from_ref(reset));
    }
    if let (Some(kind), Some(seen)) = (&row.kind, answer.kind) {
        let seen = serde_json::to_value(seen).unwrap();
        demand("kind", seen.as_str().unwrap().to_owned(), std::slice::from_ref(kind));
    }
    if let (Some(marked), State::Menu { row: seen }) = (&row.marker_row, &answer.state) {
        demand("marked row", seen.clone(), std::slice::from_ref(marked));
    }
    if let Some(later) = row.after_reset() {
        let second = look_with(&text, &pane, later, Some(&answer.memory), &options);
        demand("keys after the reset", second.keys.word().to_owned(), &row.keys_after_reset);
    }
    faults
}

fn demand_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

fn all_faults(known: Known, change: &dyn Fn(String) -> String) -> Vec<String> {
    Recorded::all().iter().flat_map(|row| faults(row, known, change)).collect()
}

#[test]
fn every_recorded_pane_gets_its_verdict_and_keys() {
    assert!(Recorded::all().len() >= 145);
    for known in [Known::All, Known::Tmux, Known::Text] {
        demand_none(all_faults(known, &|text| text));
    }
}

#[test]
fn what_terminals_do_to_blanks_and_colours_changes_nothing() {
    demand_none(all_faults(Known::All, &|text| text.replace('\n', "\r\n")));
    demand_none(all_faults(Known::All, &|text| text.replace('\u{a0}', " ")));
    demand_none(all_faults(Known::All, &|text| text.replace("\n\n", "\n\n\n")));
    demand_none(all_faults(Known::All, &|text| format!("{}{text}{}", "\n".repeat(9), " \n".repeat(40))));
    demand_none(all_faults(Known::All, &without_colours));
}

fn without_colours(text: String) -> String {
    let mut plain = String::new();
    let mut parts = text.split("\u{1b}[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    plain
}

#[test]
fn a_recorded_pane_with_a_menu_gets_enter_after_the_reset() {
    let mut count = 0;
    for row in Recorded::all() {
        if row.keys_after_reset.iter().any(|keys| keys == "enter_on_wait_row") {
            let first =
                look_with(&row.text(), &row.pane(), instant(&row.now), None, &Options::for_a_screen());
            let later = row.after_reset().unwrap();
            let second =
                look_with(&row.text(), &row.pane(), later, Some(&first.memory), &Options::for_a_screen());
            assert_eq!(second.keys, Keys::EnterOnWaitRow, "{}: {}", row.name, second.why);
            count += 1;
        }
    }
    assert!(count >= 12, "{count}");
}

#[test]
fn after_a_back_off_the_panes_with_a_passing_error_are_tried_again() {
    let options = Options { backoff: true, ..Options::for_a_screen() };
    for row in Recorded::all() {
        let start = instant(&row.now);
        let first = look_with(&row.text(), &row.pane(), start, None, &options);
        let later =
            look_with(&row.text(), &row.pane(), start + TimeDelta::minutes(2), Some(&first.memory), &options);
        let is_tried = later.keys == Keys::ResumeOnce && row.reset_at.is_none();
        assert_eq!(is_tried, row.keys_after_backoff.is_some(), "{}: {}", row.name, later.why);
    }
}

#[test]
fn no_recorded_pane_gets_a_second_key_for_the_same_limit() {
    for row in Recorded::all() {
        let options = Options { backoff: true, ..Options::for_a_screen() };
        let mut memory: Option<Memory> = None;
        let mut sent = 0;
        let start = row.after_reset().unwrap_or_else(|| instant(&row.now));
        for look in 0..40 {
            let now = start + TimeDelta::minutes(look * look);
            let answer = look_with(&row.text(), &row.pane(), now, memory.as_ref(), &options);
            sent += usize::from(answer.keys != Keys::None);
            memory = Some(answer.memory);
        }
        assert!(sent <= 1, "{}: {sent}", row.name);
    }
}
