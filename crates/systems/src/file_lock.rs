//! Waiting for the lock on an open file, which the system releases with the process.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(5);

/// Takes the lock of a file. `TimedOut`: somebody else held it all the time.
pub(crate) fn lock_until(file: &File, until: Instant) -> io::Result<()> {
    loop {
        // By full path: std has inherent methods of the same names.
        match fs2::FileExt::try_lock_exclusive(file) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() != fs2::lock_contended_error().kind() => return Err(error),
            Err(_) if Instant::now() >= until => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}
