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
/// A pane that got a key and was not seen for this long is forgotten, in seconds.
const FORGET_S: i64 = 2 * DAY_S;
/// The same for a pane that got none. Panes come and go; one whose server did not answer for a while is not gone.
const FORGET_UNTOUCHED_S: i64 = 3_600;
/// When a pane was seen is noted this exactly, in seconds: a file that changes at each tick is written at each.
const SEEN_STEP_S: u64 = 600;
/// What was reported about one event; more is not told apart.
const MAX_REPORTED: usize = 8;
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
    /// What was reported about the event, so that it is reported once.
    pub(crate) reported: Vec<String>,
    /// When the pane was last seen, seconds since 1970, within ten minutes.
    pub(crate) seen_s: i64,
    /// What was done about the event it may show was forgotten: the event counts as answered.
    pub(crate) is_doubtful: bool,
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

    /// Whether a report is new; from then on it is not.
    pub(crate) fn is_news(&mut self, reason: &str) -> bool {
        let is_new = self.reported.len() < MAX_REPORTED && !self.reported.iter().any(|old| old == reason);
        if is_new {
            self.reported.push(reason.to_owned());
        }
        is_new
    }

    /// Notes that the pane is there.
    pub(crate) fn is_seen(&mut self, now: Now) {
        if self.seen_s.abs_diff(now.seconds()) >= SEEN_STEP_S {
            self.seen_s = now.seconds();
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
    /// None: nothing is kept beyond this process, and so no key is sent.
    dir: Option<Dir>,
    /// Why the file is never written, and so no key is sent: a newer version wrote it, or it cannot be read.
    is_sealed: Option<io::ErrorKind>,
    /// A damaged file was set aside: what was done about the panes that are found first is not known.
    is_lost: bool,
    panes: BTreeMap<String, Remembered>,
    /// What is on disk, to write only what changed.
    written: Vec<u8>,
}

impl Memory {
    /// Reads what is remembered. A damaged file is set aside; limits that panes show then count as answered.
    pub(crate) fn read(dir: Dir) -> Self {
        let mut memory = Self { dir: None, ..Self::fleeting() };
        match dir.read(FILE, LIMIT) {
            Ok(bytes) => match serde_json::from_slice::<File>(&bytes) {
                Ok(file) => {
                    memory.is_sealed = (file.v > VERSION).then_some(io::ErrorKind::Unsupported);
                    memory.panes = file.panes;
                    memory.written = bytes;
                }
                Err(_) => {
                    memory.is_lost = true;
                    let _ = dir.rename(FILE, &format!("{FILE}.damaged"));
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // It is there, and nobody knows what it says.
            Err(error) => memory.is_sealed = Some(error.kind()),
        }
        memory.dir = Some(dir);
        memory
    }

    /// A memory of this process alone.
    pub(crate) const fn fleeting() -> Self {
        Self { dir: None, is_sealed: None, is_lost: false, panes: BTreeMap::new(), written: Vec::new() }
    }

    /// The same memory, written nowhere any more.
    pub(crate) fn detached(self) -> Self {
        Self { dir: None, ..self }
    }

    /// What is remembered of a pane.
    pub(crate) fn of(&mut self, target: &Target) -> &mut Remembered {
        let is_doubtful = self.is_lost;
        self.panes.entry(target.word()).or_insert_with(|| Remembered { is_doubtful, ..Remembered::default() })
    }

    /// All panes were looked at once: those that are found from now on are new.
    pub(crate) fn settle(&mut self) {
        self.is_lost = false;
    }

    /// Forgets panes that are gone for long.
    pub(crate) fn forget(&mut self, now: Now) {
        self.panes.retain(|_, pane| {
            let is_untouched = pane.acts.is_empty() && pane.resumed == 0 && pane.entered == 0;
            let limit_s = if is_untouched { FORGET_UNTOUCHED_S } else { FORGET_S };
            now.seconds() - pane.seen_s < limit_s
        });
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
        let dir = match (&self.dir, self.is_sealed) {
            (Some(dir), None) => dir,
            (Some(_), Some(kind)) if before_a_key => return Err(kind.into()),
            (None, _) if before_a_key => return Err(io::ErrorKind::NotFound.into()),
            _ => return Ok(()),
        };
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
        again.forget(Now((1_000 + FORGET_S - 1) * 1_000));
        assert_eq!(again.len(), 1);
        again.forget(Now((1_000 + FORGET_S) * 1_000));
        assert_eq!(again.len(), 0);
        again.of(&target()).seen_s = 1_000;
        again.forget(Now((1_000 + FORGET_UNTOUCHED_S - 1) * 1_000));
        assert_eq!(again.len(), 1, "no key was sent to it");
        again.forget(Now((1_000 + FORGET_UNTOUCHED_S) * 1_000));
        assert_eq!(again.len(), 0);
    }

    #[test]
    fn a_reason_is_news_once_for_each_event() {
        let mut pane = Remembered::default();
        assert!(pane.is_news("a draft") && pane.is_news("not idle"));
        assert!(!pane.is_news("a draft") && !pane.is_news("not idle"));
        pane.turn_to("the next");
        assert!(pane.is_news("a draft"));
    }

    #[test]
    fn what_cannot_be_read_is_neither_written_nor_forgotten() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join(FILE)).unwrap();
        let mut memory = Memory::read(Dir::open(top.path()).unwrap());
        memory.of(&target()).resumed = 1;
        memory.keep(false).unwrap();
        assert!(memory.keep(true).is_err());
        assert!(Memory::fleeting().keep(true).is_err());
    }

    #[test]
    fn a_damaged_memory_is_set_aside_and_a_newer_one_is_left_alone() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join(FILE), "{\"v\":1,\"pan").unwrap();
        let mut damaged = Memory::read(Dir::open(top.path()).unwrap());
        assert_eq!(damaged.len(), 0);
        assert!(damaged.of(&target()).is_doubtful);
        damaged.settle();
        let later = Target { pane: "%2".into(), ..target() };
        assert!(!damaged.of(&later).is_doubtful);
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
