//! Standard input, taken no further than needed.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use crate::event::Event;
use crate::head::{self, Head};
use crate::platform::{Ready, read_some, wait_readable};
use crate::text;

/// The most that is read of one payload, in bytes. A larger one is drained and not used.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;

/// How long a caller that never closes the pipe is waited for.
const DEADLINE: Duration = Duration::from_secs(2);

/// A payload that looks complete is taken as such after this much silence on the pipe.
const SILENCE: Duration = Duration::from_millis(25);

/// One read takes what a pipe holds by default on Linux.
const CHUNK: usize = 64 * 1024;

/// The first read takes this much.
const FIRST_CHUNK: usize = 8 * 1024;
/// Room below which the buffer grows: growing copies what is there.
const MIN_SPARE: usize = 1024;

/// The head is looked for in this much of the payload.
const HEAD_BYTES: usize = 4 * 1024;

/// The payload on standard input.
#[derive(Debug)]
pub struct Intake {
    bytes: Vec<u8>,
    deadline: Instant,
    ended: bool,
    oversized: bool,
}

/// Why reading stopped.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    /// End of the stream.
    End,
    /// More bytes came.
    More,
    /// Nothing came for the silence that follows a closing brace.
    Silent,
    /// The deadline passed.
    Late,
}

impl Intake {
    /// Starts the clock; nothing is read yet.
    #[must_use]
    pub fn stdin() -> Self {
        Self { bytes: Vec::new(), deadline: Instant::now() + DEADLINE, ended: false, oversized: false }
    }

    /// Takes a payload that is already in memory.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes, deadline: Instant::now(), ended: true, oversized: false }
    }

    /// Returns session, event and tool as soon as the first bytes tell them.
    ///
    /// None: they are not within the first 4 KiB in the order in which the client sends them, or need decoding. That
    /// says nothing about the payload; parse all of it.
    pub fn head(&mut self) -> Option<Head<'_>> {
        while self.bytes.len() < HEAD_BYTES && head::scan(&self.bytes).is_none() {
            if self.read_more() != Stop::More {
                break;
            }
        }
        head::scan(&self.bytes[..self.bytes.len().min(HEAD_BYTES)])
    }

    /// Reads and forgets what is left, so that the client's write never meets a closed pipe.
    pub fn drain(&mut self) {
        let kept = self.bytes.len();
        while self.read_more() == Stop::More {
            // The tail byte stays: it tells a finished payload on a pipe that is never closed.
            if self.bytes.len() > kept + CHUNK {
                let last = self.bytes[self.bytes.len() - 1];
                self.bytes.truncate(kept);
                self.bytes.push(last);
            }
        }
    }

    /// Reads the whole payload and returns its bytes; they need not be a complete or valid one.
    pub fn bytes(&mut self) -> &[u8] {
        loop {
            match self.read_more() {
                Stop::More => {}
                Stop::Silent if !self.parses() => {
                    // Looked complete and was not: the rest is still to come.
                    if wait_readable(self.deadline.saturating_duration_since(Instant::now()))
                        == Ready::TimedOut
                    {
                        break;
                    }
                }
                _ => break,
            }
        }
        &self.bytes
    }

    /// Reads the whole payload and parses it. None when it is no usable event: too large, cut, not an object.
    pub fn event(&mut self) -> Option<Event<'_>> {
        self.bytes();
        if self.oversized {
            return None;
        }
        let text = match text::utf8(&self.bytes) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(text),
        };
        if let Some(text) = text {
            self.bytes = text.into_bytes();
        }
        // Valid by the step above: a failure here only ever means silence.
        let text = std::str::from_utf8(&self.bytes).ok()?;
        Event::parse(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    fn parses(&self) -> bool {
        Event::parse(&text::utf8(&self.bytes)).is_some()
    }

    fn read_more(&mut self) -> Stop {
        if self.ended {
            return Stop::End;
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        let looks_complete = self.bytes.iter().rev().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'}');
        let limit = if looks_complete { left.min(SILENCE) } else { left };
        if wait_readable(limit) == Ready::TimedOut {
            return if looks_complete { Stop::Silent } else { Stop::Late };
        }
        if self.bytes.len() > MAX_BYTES {
            self.oversized = true;
            self.bytes.clear();
        }
        if self.bytes.capacity() - self.bytes.len() < MIN_SPARE {
            // Most payloads fit into the first piece; a buffer for a whole pipe costs pages that are never used.
            self.bytes.reserve(if self.bytes.is_empty() { FIRST_CHUNK } else { CHUNK });
        }
        if read_some(&mut self.bytes) == 0 {
            self.ended = true;
            return Stop::End;
        }
        Stop::More
    }
}
