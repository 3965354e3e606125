//! Who writes views (`.state.lock`), and who may mend a file of another program.
//!
//! `.state.lock` is made once, never renamed and never removed, so that everybody locks the same file. Locks are released by the system when the
//! holder ends in whatever way.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use crate::dir::Dir;
use crate::layout;

/// How long the lock is waited for where another program's file is mended.
const PATIENCE: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(5);

/// The lock of a session's folder, held.
#[derive(Debug)]
pub struct StateLock(#[expect(dead_code, reason = "held for its lock")] File);

impl StateLock {
    /// Takes the lock if it is free. None: somebody holds it, who will see our facts too.
    pub fn try_take(dir: &Dir) -> io::Result<Option<Self>> {
        let file = dir.open_append(layout::STATE_LOCK)?;
        // By full path: std has inherent methods of the same names.
        match fs2::FileExt::try_lock_exclusive(&file) {
            Ok(()) => Ok(Some(Self(file))),
            Err(error) if error.kind() == fs2::lock_contended_error().kind() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A file of ours that one process holds for as long as it lives, whatever way it ends, and that says who that is.
#[derive(Debug)]
pub struct SoleLock(File);

impl SoleLock {
    /// Takes the lock on the file, made if missing. None: another process holds it.
    ///
    /// # Errors
    /// The file cannot be made or locked.
    pub fn take(dir: &Dir, name: &str) -> io::Result<Option<Self>> {
        let file = dir.open_append(name)?;
        match fs2::FileExt::try_lock_exclusive(&file) {
            Ok(()) => Ok(Some(Self(file))),
            Err(error) if error.kind() == fs2::lock_contended_error().kind() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether another process holds the lock on the file.
    #[must_use]
    pub fn is_held(dir: &Dir, name: &str) -> bool {
        dir.open_file(name).is_ok_and(|file| is_locked(&file))
    }

    /// Replaces what the file says. It stays the same file: everybody locks this one.
    ///
    /// # Errors
    /// The file was emptied and not written.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.set_len(0)?;
        io::Write::write_all(&mut self.0, bytes)
    }
}

/// A lock on another program's file, held on the file itself: nothing is left beside it.
#[derive(Debug)]
pub(crate) struct FileLock<'f>(&'f File);

impl<'f> FileLock<'f> {
    /// Takes the lock, waiting a little. None: then nothing is changed.
    pub(crate) fn take(file: &'f File) -> io::Result<Option<Self>> {
        let until = Instant::now() + PATIENCE;
        loop {
            match fs2::FileExt::try_lock_exclusive(file) {
                Ok(()) => return Ok(Some(Self(file))),
                Err(error) if error.kind() != fs2::lock_contended_error().kind() => return Err(error),
                Err(_) if Instant::now() >= until => return Ok(None),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }
}

impl Drop for FileLock<'_> {
    fn drop(&mut self) {
        // Released at close in any case.
        let _ = fs2::FileExt::unlock(self.0);
    }
}

/// Whether somebody holds an exclusive lock on this open file (a claim that is in use).
///
/// Asked with a shared lock: two processes that ask at once do not take each other for the holder.
#[must_use]
pub(crate) fn is_locked(file: &File) -> bool {
    match fs2::FileExt::try_lock_shared(file) {
        Ok(()) => {
            // Released at close in any case.
            let _ = fs2::FileExt::unlock(file);
            false
        }
        Err(error) => error.kind() == fs2::lock_contended_error().kind(),
    }
}
