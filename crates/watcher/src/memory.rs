//! What the watcher remembers of panes: on disk, so that a new one does not do again what the old one did.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use session_state::{Dir, Now};

use crate::pane::Target;

const FILE: &str = "panes.json";
/// A newer version is read and never written.
const VERSION: u32 = 1;
const LIMIT: usize = 8 * 1024 * 1024;
/// A pane that was not seen for this long is forgotten, in seconds.
const FORGET_S: i64 = 2 * DAY_S;
const DAY_S: i64 = 86_400;

/// What is remembered of one pane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Remembered {
    /// What the reading of screens wants to remember.
    pub(crate) screen: Option<screens::Memory>,
    /// The limit event the numbers below are about.
    pub(crate) event: String,
    /// How often this event was answered by a text. Counted before it is typed.
    pub(crate) resumed: u32,
    /// How often its dialogs were answered by a lone Enter. Counted before it is pressed.
    pub(crate) entered: u32,
    /// Keys of the last day, seconds since 1970.
    pub(crate) acts: Vec<i64>,
    /// What was last reported about the event, so that it is reported once.
    pub(crate) reported: String,
    /// When the pane was last seen, seconds since 1970.
    pub(crate) seen_s: i64,
}

impl Remembered {
    /// Begins a new event; what is known of the last one is forgotten, the day's keys are not.
    pub(crate) fn turn_to(&mut self, event: &str) {
        if self.event != event {
            self.event = event.to_owned();
            self.resumed = 0;
            self.entered = 0;
            self.reported.clear();
        }
    }

    /// Keys within the last 24 hours.
    pub(crate) fn acts_today(&self, now: Now) -> usize {
        // A clock that was set back does not empty the count.
        self.acts.iter().filter(|at| now.seconds() - **at < DAY_S).count()
    }

    /// Counts a key.
    pub(crate) fn count(&mut self, now: Now) {
        self.acts.retain(|at| now.seconds() - *at < DAY_S);
        self.acts.push(now.seconds());
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    v: u32,
    panes: BTreeMap<String, Remembered>,
}

/// The memory of all panes.
#[derive(Debug)]
pub(crate) struct Memory {
    /// None: nothing is kept beyond this process (`--dry-run`).
    dir: Option<Dir>,
    /// Written by a newer version: read, never written, and so no key is sent.
    is_newer: bool,
    panes: BTreeMap<String, Remembered>,
    /// What is on disk, to write only what changed.
    written: Vec<u8>,
}

impl Memory {
    /// Reads what is remembered. A damaged file is set aside, and nothing is due before it was seen anew.
    pub(crate) fn read(dir: Dir) -> Self {
        let bytes = dir.read(FILE, LIMIT).unwrap_or_default();
        let file = match serde_json::from_slice::<File>(&bytes) {
            Ok(file) => file,
            Err(_) if bytes.is_empty() => File::default(),
            Err(_) => {
                let _ = dir.rename(FILE, &format!("{FILE}.damaged"));
                File::default()
            }
        };
        Self { dir: Some(dir), is_newer: file.v > VERSION, panes: file.panes, written: bytes }
    }

    /// A memory of this process alone.
    pub(crate) const fn fleeting() -> Self {
        Self { dir: None, is_newer: false, panes: BTreeMap::new(), written: Vec::new() }
    }

    /// The same memory, written nowhere any more.
    pub(crate) fn detached(self) -> Self {
        Self { dir: None, ..self }
    }

    /// What is remembered of a pane.
    pub(crate) fn of(&mut self, target: &Target) -> &mut Remembered {
        self.panes.entry(target.word()).or_default()
    }

    /// Whether a pane was seen before.
    pub(crate) fn knows(&self, target: &Target) -> bool {
        self.panes.contains_key(&target.word())
    }

    /// Forgets panes that are gone for long.
    pub(crate) fn forget(&mut self, now: Now) {
        self.panes.retain(|_, pane| now.seconds() - pane.seen_s < FORGET_S);
    }

    /// How many panes are remembered.
    pub(crate) fn len(&self) -> usize {
        self.panes.len()
    }

    /// Writes the memory down. `before_a_key`: it is on disk when this returns.
    ///
    /// # Errors
    /// It could not be written: no key may be sent.
    pub(crate) fn keep(&mut self, before_a_key: bool) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        if self.is_newer {
            return if before_a_key { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) };
        }
        let file = File { v: VERSION, panes: std::mem::take(&mut self.panes) };
        let bytes = serde_json::to_vec(&file).map_err(io::Error::other);
        self.panes = file.panes;
        let bytes = bytes?;
        if bytes != self.written {
            dir.replace(FILE, &bytes, before_a_key)?;
            self.written = bytes;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target { server: crate::pane::Server::default(), pane: "%1".into() }
    }

    #[test]
    fn what_was_counted_is_known_to_the_next_one() {
        let top = tempfile::tempdir().unwrap();
        let open = || Memory::read(Dir::open(top.path()).unwrap());
        let mut memory = open();
        let pane = memory.of(&target());
        pane.turn_to("a");
        pane.resumed = 1;
        pane.count(Now(1_000_000));
        pane.seen_s = 1_000;
        memory.keep(true).unwrap();
        let mut again = open();
        assert_eq!((again.of(&target()).resumed, again.of(&target()).acts_today(Now(1_000_000))), (1, 1));
        again.of(&target()).turn_to("b");
        assert_eq!((again.of(&target()).resumed, again.of(&target()).acts.len()), (0, 1));
        again.forget(Now((1_000 + FORGET_S) * 1_000));
        assert_eq!(again.len(), 0);
    }

    #[test]
    fn a_damaged_memory_is_set_aside_and_a_newer_one_is_left_alone() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join(FILE), "{\"v\":1,\"pan").unwrap();
        assert_eq!(Memory::read(Dir::open(top.path()).unwrap()).len(), 0);
        assert!(top.path().join("panes.json.damaged").exists());
        std::fs::write(top.path().join(FILE), "{\"v\":2,\"panes\":{}}").unwrap();
        let mut newer = Memory::read(Dir::open(top.path()).unwrap());
        newer.of(&target()).resumed = 1;
        newer.keep(false).unwrap();
        assert!(newer.keep(true).is_err());
        assert_eq!(std::fs::read(top.path().join(FILE)).unwrap(), b"{\"v\":2,\"panes\":{}}");
    }

    #[test]
    fn a_day_has_so_many_keys() {
        let mut pane = Remembered::default();
        pane.count(Now(0));
        pane.count(Now(10_000));
        assert_eq!(pane.acts_today(Now(86_399_000)), 2);
        assert_eq!(pane.acts_today(Now(86_400_000)), 1);
        assert_eq!(pane.acts_today(Now(-5_000)), 2, "a clock set back");
        pane.count(Now(86_400_000));
        assert_eq!(pane.acts.len(), 2);
    }
}
