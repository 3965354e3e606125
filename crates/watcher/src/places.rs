//! Where each session was last seen in tmux, by names: pane ids do not outlive their server.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use session_state::{Dir, Now};

use crate::pane::Pane;

const FILE: &str = "places.json";
const LIMIT: usize = 4 * 1024 * 1024;
/// A place that was not seen for this long is forgotten, in seconds: sessions are kept no longer.
const FORGET_S: i64 = 30 * DAY_S;
/// Places kept at most, the latest ones: more sessions than anybody brings back, and the file stays readable.
const MAX_PLACES: usize = 2_000;
/// The time of a place is brought up to date this often, in seconds: not at every tick.
const DAY_S: i64 = 86_400;

/// A window of tmux, by names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// Name of the tmux session.
    pub session: String,
    /// Name of the window.
    pub window: String,
    /// When it was last seen there, seconds since 1970, to the day.
    pub seen_s: i64,
}

/// The places of all sessions, by the client's session id.
#[derive(Debug, Default)]
pub struct Places {
    places: BTreeMap<String, Place>,
    is_changed: bool,
}

impl Places {
    /// Reads them. A missing or damaged file is none.
    #[must_use]
    pub fn read(dir: &Dir) -> Self {
        let bytes = dir.read(FILE, LIMIT).unwrap_or_default();
        Self { places: serde_json::from_slice(&bytes).unwrap_or_default(), is_changed: false }
    }

    /// Where a session was last seen.
    #[must_use]
    pub fn of(&self, session: &str) -> Option<&Place> {
        self.places.get(session)
    }

    /// How many are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// A session is seen in a pane.
    pub(crate) fn note(&mut self, session: &str, pane: &Pane, now: Now) {
        let known = self.places.get(session);
        let is_same = known.is_some_and(|place| {
            place.session == pane.session
                && place.window == pane.window
                && now.seconds() - place.seen_s < DAY_S
        });
        if !is_same {
            let place =
                Place { session: pane.session.clone(), window: pane.window.clone(), seen_s: now.seconds() };
            self.places.insert(session.to_owned(), place);
            self.is_changed = true;
        }
    }

    /// Writes them down, if they changed.
    pub(crate) fn keep(&mut self, dir: &Dir, now: Now) -> io::Result<()> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        self.places.retain(|_, place| now.seconds() - place.seen_s < FORGET_S);
        if self.places.len() > MAX_PLACES {
            let mut times: Vec<i64> = self.places.values().map(|place| place.seen_s).collect();
            times.sort_unstable();
            let oldest = times[times.len() - MAX_PLACES];
            self.places.retain(|_, place| place.seen_s >= oldest);
        }
        dir.replace(FILE, &serde_json::to_vec(&self.places).map_err(io::Error::other)?, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_places_are_kept() {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open(top.path()).unwrap();
        let mut places = Places::default();
        for number in 0..=MAX_PLACES {
            let now = Now(i64::try_from(number).unwrap() * 1_000);
            places.note(&format!("s-{number}"), &Pane::default(), now);
        }
        places.keep(&dir, Now(9_000_000)).unwrap();
        assert_eq!(places.len(), MAX_PLACES);
        assert!(places.of("s-0").is_none() && places.of("s-1").is_some());
    }

    #[test]
    fn a_place_is_known_after_its_server_is_gone() {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open(top.path()).unwrap();
        let pane = |window: &str| Pane { session: "api_v2".into(), window: window.into(), ..Pane::default() };
        let mut places = Places::read(&dir);
        places.note("s-1", &pane("build"), Now(0));
        places.keep(&dir, Now(0)).unwrap();
        assert_eq!(Places::read(&dir).of("s-1").map(|place| place.window.as_str()), Some("build"));
        let before = std::fs::metadata(top.path().join(FILE)).unwrap().modified().unwrap();
        places.note("s-1", &pane("build"), Now(60_000));
        places.keep(&dir, Now(60_000)).unwrap();
        assert_eq!(std::fs::metadata(top.path().join(FILE)).unwrap().modified().unwrap(), before);
        places.note("s-2", &pane("docs"), Now(FORGET_S * 1_000));
        places.keep(&dir, Now(FORGET_S * 1_000)).unwrap();
        let kept = Places::read(&dir);
        assert!(kept.of("s-1").is_none() && kept.of("s-2").is_some() && kept.len() == 1);
    }
}
