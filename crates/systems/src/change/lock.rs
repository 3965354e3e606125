//! The lock of a change: `.comet-state.lock`, as its own system takes it.
//!
//! Whoever made the file holds the lock; it names the process, the host and a nonce. It is published whole, under a name
//! that must be free, so that every version of that system and we exclude each other. A lock whose process is gone from
//! this host is taken over, anything else is waited for and then left alone. Among our own processes the folder itself
//! is locked first, which the system undoes when a process dies in whatever way.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use rules::liveness::Process;
use serde::{Deserialize, Serialize};
use session_state::{Dir, FileKind, Now, process};

use super::project::LOCK;
use crate::bounded;
use crate::file_lock::lock_until;

/// How long a lock is waited for.
pub const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);
/// A lock that does not say whose it is may still be written for so long, in seconds.
const UNWRITTEN_S: i64 = 10;
/// More is no lock.
const LIMIT: usize = 16 * 1024;
/// Newer versions of the system settle here who may remove a lock.
const CONTENDERS: &str = ".comet-state.lock.contenders";

/// Who holds a lock. Other fields of the file are theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    pid: u32,
    nonce: String,
    /// Milliseconds since 1970.
    created_at: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
}

/// How a lock stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LockState {
    /// Nobody holds it.
    Free,
    /// A process that lives, or that cannot be judged from here, holds it.
    Held,
    /// Its process is gone.
    Stale,
    /// It does not say whose it is.
    Unreadable,
}

/// Why the lock was not taken; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody holds it.
    #[error("{LOCK} is held by process {pid}{}", .host.as_ref().map_or_else(String::new, |host| format!(" on {host}")))]
    Held {
        /// Process number.
        pid: u32,
        /// Host, where it is another one.
        host: Option<String>,
    },
    /// It does not say whose it is.
    #[error("{LOCK} does not say who holds it")]
    Unreadable,
    /// Others were faster for all of the time.
    #[error("{LOCK} was not free for {} s", PATIENCE.as_secs())]
    Busy,
    /// The folder cannot be written.
    #[error("{LOCK} cannot be made")]
    Io(#[from] io::Error),
}

/// The lock, held until it is dropped.
#[derive(Debug)]
pub struct ChangeLock<'d> {
    dir: &'d Dir,
    nonce: String,
    /// The folder, locked among our own processes; None where folders cannot be opened as files.
    _gate: Option<File>,
}

/// Says how the lock of a change stands, without touching it.
#[must_use]
pub fn look(dir: &Dir) -> LockState {
    match read_owner(dir) {
        None => LockState::Free,
        Some(None) => LockState::Unreadable,
        Some(Some((owner, _))) if is_gone(&owner) => LockState::Stale,
        Some(Some(_)) => LockState::Held,
    }
}

/// None: there is no lock; Some(None): it cannot be read.
fn read_owner(dir: &Dir) -> Option<Option<(Owner, Vec<u8>)>> {
    match bounded::read(dir, LOCK, LIMIT) {
        Ok(None) => None,
        Ok(Some(bytes)) => {
            let owner: Option<Owner> = serde_json::from_slice(&bytes).ok();
            Some(owner.filter(|o| o.pid > 0 && !o.nonce.is_empty()).map(|owner| (owner, bytes)))
        }
        Err(_) => Some(None),
    }
}

/// Whether the process that holds a lock is known to be gone: only this host's processes can be judged.
fn is_gone(owner: &Owner) -> bool {
    let here = process::host_name();
    let same_host = here.is_some() && owner.hostname == here;
    same_host && process::presence(owner.pid, None) == Process::Gone
}

impl<'d> ChangeLock<'d> {
    /// Takes the lock of the change in this folder, waiting for it.
    pub fn take(dir: &'d Dir) -> Result<Self, LockError> {
        Self::take_within(dir, PATIENCE)
    }

    /// The same with another patience.
    pub fn take_within(dir: &'d Dir, patience: Duration) -> Result<Self, LockError> {
        let until = Instant::now() + patience;
        let gate = gate(dir, until)?;
        let owner = Owner {
            pid: std::process::id(),
            nonce: uuid::Uuid::new_v4().to_string(),
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age are exact")]
            created_at: Now::read().0 as f64,
            hostname: process::host_name(),
        };
        let bytes = serde_json::to_vec(&owner).map_err(io::Error::from)?;
        let temporary = format!("{LOCK}.{}.tmp", owner.nonce);
        dir.create_new(&temporary, &bytes)?;
        let taken = publish(dir, &temporary, until);
        if taken.is_err() {
            // A left-over of this name is no state; the next one has another name.
            let _ = dir.remove_file(&temporary);
        }
        taken.map(|()| Self { dir, nonce: owner.nonce, _gate: gate })
    }
}

/// Gives the finished lock its name as soon as that is free.
fn publish(dir: &Dir, temporary: &str, until: Instant) -> Result<(), LockError> {
    loop {
        match dir.rename_new(temporary, LOCK) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        let blocked = match read_owner(dir) {
            None => continue,
            Some(None) if is_old(dir) => return Err(LockError::Unreadable),
            Some(None) => LockError::Unreadable,
            Some(Some((owner, bytes))) if is_gone(&owner) && !contended(dir) => {
                take_away(dir, &owner, &bytes)?;
                continue;
            }
            Some(Some((owner, _))) => LockError::Held {
                pid: owner.pid,
                host: owner.hostname.filter(|host| process::host_name().as_ref() != Some(host)),
            },
        };
        if Instant::now() >= until {
            return Err(blocked);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether a lock is older than the moment in which its owner writes into it.
fn is_old(dir: &Dir) -> bool {
    dir.stat(LOCK).is_some_and(|stat| Now::read().seconds() - stat.mtime_s > UNWRITTEN_S)
}

/// Whether the owning system is settling who removes a lock; then it is theirs to do.
fn contended(dir: &Dir) -> bool {
    dir.folder(CONTENDERS).is_ok_and(|folder| {
        let mut any = false;
        folder.each_name(|name| {
            any = name.ends_with(".ticket") || name.ends_with(".choosing");
            !any
        });
        any
    })
}

/// Removes the lock of a process that is gone, after a second look at what was taken aside.
fn take_away(dir: &Dir, owner: &Owner, bytes: &[u8]) -> io::Result<()> {
    let aside = format!("{LOCK}.{}.removed", uuid::Uuid::new_v4());
    match dir.rename(LOCK, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    if dir.read(&aside, LIMIT).is_ok_and(|now| now == bytes) && is_gone(owner) {
        return dir.remove_file(&aside);
    }
    // Somebody else's lock came in between: it gets its name back, unless that is taken again.
    dir.rename_new(&aside, LOCK)
}

/// Locks the folder among our own processes.
fn gate(dir: &Dir, until: Instant) -> Result<Option<File>, LockError> {
    // Only a lock is taken on it: what is read and written goes through the open folder.
    let Ok(file) = File::open(dir.path()) else { return Ok(None) };
    match lock_until(&file, until) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(LockError::Busy),
        Err(_) => Ok(None),
    }
}

impl Drop for ChangeLock<'_> {
    fn drop(&mut self) {
        let ours = matches!(read_owner(self.dir), Some(Some((owner, _))) if owner.nonce == self.nonce);
        if ours && self.dir.stat(LOCK).is_some_and(|stat| stat.kind == FileKind::File) {
            // What was done is done; a lock that stays is one whose process is gone.
            let _ = self.dir.remove_file(LOCK);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const NO_TIME: Duration = Duration::ZERO;

    fn lock_file(pid: u32, host: Option<&str>) -> String {
        serde_json::json!({"pid": pid, "nonce": "n", "createdAt": 1, "hostname": host, "processIdentity": "x"})
            .to_string()
            .replace("\"hostname\":null,", "")
    }

    /// The number of a process that has ended and was waited for.
    fn dead_pid() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn taken_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        assert_eq!(look(&dir), LockState::Free);
        let lock = ChangeLock::take(&dir).unwrap();
        assert_eq!(look(&dir), LockState::Held);
        let owner: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.path().join(LOCK)).unwrap()).unwrap();
        assert_eq!(owner["pid"], std::process::id());
        assert!(owner["createdAt"].is_number() && owner["nonce"].is_string());
        assert!(ChangeLock::take_within(&dir, NO_TIME).is_err());
        drop(lock);
        assert_eq!(dir.names(10), Vec::<String>::new(), "nothing is left");
    }

    #[test]
    fn whose_lock_is_taken_over() {
        let here = process::host_name();
        for (text, state, taken) in [
            (lock_file(std::process::id(), here.as_deref()), LockState::Held, false),
            (lock_file(dead_pid(), here.as_deref()), LockState::Stale, true),
            (lock_file(dead_pid(), Some("elsewhere.example")), LockState::Held, false),
            (lock_file(dead_pid(), None), LockState::Held, false),
            ("{".to_owned(), LockState::Unreadable, false),
            (String::new(), LockState::Unreadable, false),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(LOCK), &text).unwrap();
            let dir = Dir::open(folder.path()).unwrap();
            assert_eq!(look(&dir), state, "{text}");
            let lock = ChangeLock::take_within(&dir, NO_TIME);
            assert_eq!(lock.is_ok(), taken, "{text} {lock:?}");
            drop(lock);
            if !taken {
                assert_eq!(std::fs::read_to_string(folder.path().join(LOCK)).unwrap(), text);
            }
            assert_eq!(dir.names(10).len(), usize::from(!taken));
        }
    }

    #[test]
    fn a_lock_the_system_is_settling_is_left_to_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(LOCK), lock_file(dead_pid(), process::host_name().as_deref()))
            .unwrap();
        std::fs::create_dir(folder.path().join(CONTENDERS)).unwrap();
        std::fs::write(folder.path().join(CONTENDERS).join("a.ticket"), "{}").unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        assert!(ChangeLock::take_within(&dir, NO_TIME).is_err());
        assert!(folder.path().join(LOCK).exists());
    }
}
