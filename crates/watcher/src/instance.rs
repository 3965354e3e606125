//! One watcher a user: who holds the lock on the pid file watches, for as long as it lives, whatever way it ends.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rules::liveness::Process;
use serde::{Deserialize, Serialize};
use session_state::env::Env;
use session_state::process::ProcessId;
use session_state::{Dir, Now, SoleLock};

/// Folder of the watcher in our folder of the user's state.
const FOLDER: &str = "watch";
/// Locked by the watcher; says who it is.
const PID_FILE: &str = "watch.pid";
const LIMIT: usize = 16 * 1024;
/// How long somebody who holds the lock may take to say who he is.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);

/// Who watches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incumbent {
    /// The process, told apart from a later one of the same number.
    pub process: ProcessId,
    /// Since when, seconds since 1970.
    pub since_s: i64,
    /// Seconds between two ticks.
    pub interval_s: u64,
}

/// The right to watch, held.
#[derive(Debug)]
pub struct Instance {
    _lock: SoleLock,
}

/// The folder of the watcher.
///
/// # Errors
/// There is no home, or the folder cannot be made.
pub fn folder(env: &Env) -> io::Result<Dir> {
    let state = env
        .user_state_dir()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no home folder"))?;
    Dir::make_all(&state.join(FOLDER))
}

/// The folder of the watcher, if there is one already: for those who only look.
#[must_use]
pub fn present_folder(env: &Env) -> Option<Dir> {
    Dir::open(&env.user_state_dir()?.join(FOLDER)).ok()
}

/// Takes the right to watch. `Err` inside: somebody else has it (and has not yet said who, if None).
///
/// # Errors
/// The pid file cannot be made, locked or written.
pub fn take(dir: &Dir, interval_s: u64, now: Now) -> io::Result<Result<Instance, Option<Incumbent>>> {
    let until = Instant::now() + PATIENCE;
    let mut lock = loop {
        if let Some(lock) = SoleLock::take(dir, PID_FILE)? {
            break lock;
        }
        // Whoever only asks who watches holds the lock for a moment, too; and who just took it says so in a moment.
        let named = read(dir).filter(|incumbent| incumbent.process.presence() == Process::Alive);
        if named.is_some() || Instant::now() >= until {
            return Ok(Err(named));
        }
        thread::sleep(PAUSE);
    };
    let me = Incumbent { process: ProcessId::of(std::process::id()), since_s: now.seconds(), interval_s };
    let mut bytes = serde_json::to_vec(&me).map_err(io::Error::other)?;
    bytes.push(b'\n');
    lock.say(&bytes)?;
    Ok(Ok(Instance { _lock: lock }))
}

/// Who watches now: the lock is held, and its holder is the process the file names.
#[must_use]
pub fn incumbent(dir: &Dir) -> Option<Incumbent> {
    if !SoleLock::is_held(dir, PID_FILE) {
        return None;
    }
    read(dir).filter(|incumbent| incumbent.process.presence() == Process::Alive)
}

fn read(dir: &Dir) -> Option<Incumbent> {
    serde_json::from_slice(&dir.read(PID_FILE, LIMIT).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(path: &std::path::Path) -> std::fs::File {
        let file = std::fs::File::open(path).unwrap();
        file.lock_shared().unwrap();
        file
    }

    #[test]
    fn one_at_a_time_and_a_dead_one_is_replaced_at_once() {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open(top.path()).unwrap();
        assert_eq!(incumbent(&dir), None);
        // Left by one that was killed, longer than what comes now.
        std::fs::write(top.path().join(PID_FILE), "{\"process\":{\"pid\":1}}".repeat(40)).unwrap();
        assert_eq!(incumbent(&dir), None);
        let held = take(&dir, 60, Now(5_000)).unwrap().unwrap();
        let other = take(&dir, 60, Now(6_000)).unwrap().unwrap_err().unwrap();
        assert_eq!((other.process.pid, other.since_s), (std::process::id(), 5));
        assert_eq!(incumbent(&dir), Some(other));
        drop(held);
        assert_eq!(incumbent(&dir), None);
        // Somebody who asks holds the lock for a moment: he is not taken for a watcher.
        std::fs::write(top.path().join(PID_FILE), "").unwrap();
        let asking = asking(&top.path().join(PID_FILE));
        let waiting = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(asking);
        });
        drop(take(&dir, 60, Now(6_500)).unwrap().unwrap());
        waiting.join().unwrap();
        assert!(take(&dir, 60, Now(7_000)).unwrap().is_ok());
    }
}
