//! `heartbeat`: when a session last showed a sign of life.

use std::io;

use crate::clock::Now;
use crate::dir::Dir;
use crate::layout;

/// Writes the present in place: ten digits and a newline, one system call, never truncated. A rename costs more than
/// ten times as much.
pub fn beat(dir: &Dir, now: Now) -> io::Result<()> {
    let mut text = *b"0000000000\n";
    let mut rest = now.seconds();
    for digit in text[..10].iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest.rem_euclid(10)).unwrap_or(0);
        rest = rest.div_euclid(10);
    }
    dir.write_in_place(layout::HEARTBEAT, &text)
}

/// Reads the last beat in seconds since 1970. None: missing, or no number.
#[must_use]
pub fn last(dir: &Dir) -> Option<i64> {
    let bytes = dir.read(layout::HEARTBEAT, 64).ok()?;
    // Another program's longer text may stand behind ours.
    std::str::from_utf8(&bytes).ok()?.lines().next()?.trim().parse().ok()
}

/// Age of the last beat in seconds for the table of the living: negative when it lies in the future.
#[must_use]
pub fn age_s(dir: &Dir, now: Now) -> Option<i64> {
    Some(now.seconds().saturating_sub(last(dir)?))
}
