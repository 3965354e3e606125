//! Waiting for standard input: the only thing here that differs between systems.

use std::time::Duration;

/// What a wait for input ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// A read will not block (bytes, or the end of the stream).
    Yes,
    /// Nothing came in the given time.
    TimedOut,
}

#[cfg(unix)]
pub(crate) use unix::{read_some, wait_readable};

#[cfg(unix)]
mod unix {
    use super::{Duration, Ready};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// Waits until standard input can be read, for at most `limit`.
    pub(crate) fn wait_readable(limit: Duration) -> Ready {
        let stdin = rustix::stdio::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => Ready::TimedOut,
            // An interrupted wait is tried again by the caller's loop: a read that follows may block at most once.
            Err(rustix::io::Errno::INTR) => Ready::TimedOut,
            _ => Ready::Yes,
        }
    }

    /// Appends what one read gives; 0 at the end of the stream or on an error (both end the input).
    pub(crate) fn read_some(buffer: &mut Vec<u8>) -> usize {
        loop {
            match rustix::io::read(rustix::stdio::stdin(), rustix::buffer::spare_capacity(buffer)) {
                Ok(count) => return count,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return 0,
            }
        }
    }
}

#[cfg(not(unix))]
pub(crate) use portable::{read_some, wait_readable};

/// Elsewhere a read simply blocks: a caller that never closes the pipe is ended by the client's own time limit.
#[cfg(not(unix))]
mod portable {
    use super::{Duration, Ready};
    use std::io::Read;

    pub(crate) fn wait_readable(_limit: Duration) -> Ready {
        Ready::Yes
    }

    pub(crate) fn read_some(buffer: &mut Vec<u8>) -> usize {
        let mut chunk = [0_u8; 16 * 1024];
        let count = std::io::stdin().read(&mut chunk).unwrap_or(0);
        buffer.extend_from_slice(&chunk[..count]);
        count
    }
}
