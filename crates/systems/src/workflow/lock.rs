//! A lock on a file of another program while it is changed. It is held on the file itself: nothing is left beside it.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use session_state::{Dir, FileStat};

use crate::file_lock::lock_until;

/// How long the lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A lock, released with it.
#[derive(Debug)]
pub(crate) struct FileLock(#[expect(dead_code, reason = "held for its lock")] File);

impl FileLock {
    /// Takes the lock of a file that stays the one of this name, and returns what the system tells of it. `TimedOut`:
    /// somebody else held it all the time.
    pub(crate) fn take(dir: &Dir, name: &str) -> io::Result<(Self, FileStat)> {
        let until = Instant::now() + PATIENCE;
        loop {
            let before = dir.stat(name);
            let file = dir.open_file(name)?;
            lock_until(&file, until)?;
            match dir.stat(name) {
                // Whoever held the lock has put another file in its place: that one is to be locked.
                Some(stat) if before.is_some_and(|before| same_file(before, stat)) => {
                    return Ok((Self(file), stat));
                }
                _ if Instant::now() >= until => return Err(io::ErrorKind::TimedOut.into()),
                _ => {}
            }
        }
    }
}

fn same_file(one: FileStat, other: FileStat) -> bool {
    (one.ino, one.dev) == (other.ino, other.dev)
}
