//! Reading a transcript of any size: its end, and its beginning for the first prompt, in bounded time and memory.
//!
//! A transcript may have a gigabyte, and one line of it thirty megabytes. It is read forward through one block; long
//! texts inside a line are cut in the middle while they stream by, which keeps the line whole JSON ([`Squeezer`]).

use std::cell::Cell;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::knowledge::{Fold, Knowledge};
use super::line::{self, Piece};
use crate::json_members::Members;
use crate::platform;

/// What is read at once, in bytes.
const BLOCK: usize = 256 * 1024;
/// A line counts for at most this much when it is told how far back to read, in bytes.
const LINE_COUNTS: u64 = 64 * 1024;
/// However long the lines are, not more than so many times the bytes asked for are looked at.
const REACH: u64 = 4;
/// A text inside a line keeps this much of its start and of its end, in bytes.
const TEXT_START: usize = 12 * 1024;
const TEXT_END: usize = 4 * 1024;
/// A line with its texts cut that is still longer than this is passed over, in bytes.
const MAX_LINE: usize = 1024 * 1024;

/// Whose conversation a transcript is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// The main one: lines of subagents among it are passed over.
    Main,
    /// A subagent's own transcript.
    Subagent,
}

/// How a file looked: another look with another stamp means that somebody writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Last change, milliseconds since 1970.
    pub mtime_ms: i64,
}

/// An open transcript.
#[derive(Debug)]
pub struct Source {
    file: File,
    size: u64,
    read: Cell<u64>,
}

impl Source {
    /// Opens a transcript. None: no such file, or no ordinary one; a link is none.
    #[must_use]
    pub fn open(path: &Path) -> Option<Self> {
        let file = super::open(path)?;
        let size = file.metadata().ok()?.len();
        Some(Self { file, size, read: Cell::new(0) })
    }

    /// Its size when it was opened, in bytes; what comes later is not read.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// How many bytes were read so far.
    #[must_use]
    pub const fn bytes_read(&self) -> u64 {
        self.read.get()
    }

    /// How it looks now. None: the system does not tell.
    #[must_use]
    pub fn stamp(&self) -> Option<Stamp> {
        let metadata = self.file.metadata().ok()?;
        let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(Stamp {
            size: metadata.len(),
            mtime_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        })
    }

    /// The first prompt a person wrote, within the first `limit` bytes.
    #[must_use]
    pub fn first_prompt(&self, limit: u64) -> Option<String> {
        let mut first = None;
        self.each_line(0, limit.min(self.size), |line| {
            if line.value("isSidechain") != Some(true) {
                line::pieces(line, |piece| {
                    if let (Piece::Prompt(text), None) = (piece, &first) {
                        first = Some(text);
                    }
                });
            }
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        first
    }

    /// What its last `window` bytes tell. Of long lines only a part counts, so that one of them does not hide what was
    /// before it; at most four times as many bytes are looked at.
    #[must_use]
    pub fn knowledge(&self, window: u64, whose: Conversation) -> Knowledge {
        let mut fold = Fold::default();
        self.each_line(self.start_of(window), self.size, |line| {
            fold.take(line, whose == Conversation::Subagent);
            ControlFlow::Continue(())
        });
        fold.finish()
    }

    /// Where the lines begin that count for `window` bytes.
    fn start_of(&self, window: u64) -> u64 {
        if self.size <= window {
            return 0;
        }
        let least = self.size.saturating_sub(window.saturating_mul(REACH));
        let mut block = vec![0; BLOCK];
        let (mut end, mut line_end, mut counted) = (self.size, self.size, 0);
        while end > least {
            let from = end.saturating_sub(BLOCK as u64).max(least);
            let length = usize::try_from(end - from).unwrap_or(BLOCK);
            if self.read_at(&mut block[..length], from) != length {
                break;
            }
            for at in memchr::memrchr_iter(b'\n', &block[..length]) {
                let start = from + at as u64 + 1;
                counted += (line_end - start).min(LINE_COUNTS);
                if counted > window && line_end < self.size {
                    return line_end;
                }
                line_end = start;
            }
            end = from;
        }
        // Nothing stands before the first line; else the reach ended inside a line, which is left out.
        if least == 0 && end == 0 { 0 } else { line_end }
    }

    /// Calls `each` with every line from `from` on that is a JSON object.
    fn each_line(&self, from: u64, to: u64, mut each: impl FnMut(&Members<'_>) -> ControlFlow<()>) {
        let mut block = vec![0; BLOCK];
        let mut line = Squeezer::default();
        let mut at = from;
        while at < to {
            let length = usize::try_from(to - at).map_or(BLOCK, |left| left.min(BLOCK));
            let read = self.read_at(&mut block[..length], at);
            if read == 0 {
                break;
            }
            at += read as u64;
            let mut rest = &block[..read];
            while let Some(end) = memchr::memchr(b'\n', rest) {
                line.push(&rest[..end]);
                rest = &rest[end + 1..];
                if line.take(&mut each).is_break() {
                    return;
                }
            }
            line.push(rest);
        }
        let _ = line.take(&mut each);
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        let mut filled = 0;
        while filled < buffer.len() {
            match platform::read_at(&self.file, &mut buffer[filled..], offset + filled as u64) {
                Ok(read) if read > 0 => filled += read,
                // Shorter than it was, or not readable: what is there counts.
                _ => break,
            }
        }
        self.read.set(self.read.get() + filled as u64);
        filled
    }
}

/// Collects a line and cuts its long texts in the middle while they stream by.
#[derive(Default)]
struct Squeezer {
    out: Vec<u8>,
    place: Place,
    /// Bytes of the text kept so far.
    kept: usize,
    /// The end of a text that is being cut; empty while nothing was cut.
    end: Vec<u8>,
    is_cutting: bool,
    /// A multi-byte escape in the making.
    escape: Vec<u8>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    InText,
    InEscape,
}

impl Squeezer {
    fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.place {
                Place::Outside => {
                    let quote = memchr::memchr(b'"', bytes);
                    let (head, rest) = bytes.split_at(quote.map_or(bytes.len(), |at| at + 1));
                    self.keep_outside(head);
                    if quote.is_some() {
                        (self.place, self.kept, self.is_cutting) = (Place::InText, 0, false);
                        self.end.clear();
                    }
                    bytes = rest;
                }
                Place::InText => {
                    let special = memchr::memchr2(b'"', b'\\', bytes);
                    let (plain, rest) = bytes.split_at(special.unwrap_or(bytes.len()));
                    self.keep_text(plain);
                    bytes = rest;
                    match bytes.first() {
                        Some(b'"') => {
                            self.close_text();
                            bytes = &bytes[1..];
                        }
                        Some(_) => {
                            self.escape.clear();
                            self.escape.push(b'\\');
                            self.place = Place::InEscape;
                            bytes = &bytes[1..];
                        }
                        None => {}
                    }
                }
                Place::InEscape => {
                    self.escape.push(bytes[0]);
                    bytes = &bytes[1..];
                    if self.escape[1] != b'u' || self.escape.len() == 6 {
                        let unit = std::mem::take(&mut self.escape);
                        self.keep_text(&unit);
                        self.escape = unit;
                        self.place = Place::InText;
                    }
                }
            }
        }
    }

    fn keep_outside(&mut self, bytes: &[u8]) {
        // Beyond the limit the line is given up anyway: it must only be known that it is.
        let room = (MAX_LINE + 1).saturating_sub(self.out.len());
        self.out.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Keeps a part of a text: an escape whole, or as much of plain bytes as there is room for.
    fn keep_text(&mut self, bytes: &[u8]) {
        if !self.is_cutting {
            let mut fits = (TEXT_START - self.kept.min(TEXT_START)).min(bytes.len());
            if fits < bytes.len() {
                fits = if bytes[0] == b'\\' { 0 } else { boundary(bytes, fits) };
                self.is_cutting = true;
            }
            self.kept += fits;
            self.keep_outside(&bytes[..fits]);
            if self.is_cutting {
                self.end.extend_from_slice(&bytes[fits..]);
            }
        } else if bytes.len() >= 2 * TEXT_END {
            self.end.clear();
            self.end.extend_from_slice(&bytes[bytes.len() - TEXT_END..]);
        } else {
            self.end.extend_from_slice(bytes);
        }
        if self.end.len() > 4 * TEXT_END {
            self.end.drain(..self.end.len() - TEXT_END);
        }
    }

    fn close_text(&mut self) {
        if self.is_cutting {
            let end = std::mem::take(&mut self.end);
            let tail = &end[end.len().saturating_sub(TEXT_END)..];
            self.keep_outside(" … ".as_bytes());
            // A blank is never inside an escape or a character.
            let from = memchr::memchr(b' ', tail).map_or(tail.len(), |at| at + 1);
            self.keep_outside(&tail[from..]);
            self.end = end;
            self.is_cutting = false;
        }
        self.keep_outside(b"\"");
        self.place = Place::Outside;
    }

    /// Hands the line on and begins a new one.
    fn take(&mut self, each: &mut impl FnMut(&Members<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        self.place = Place::Outside;
        let flow = if self.out.len() > MAX_LINE {
            ControlFlow::Continue(())
        } else {
            match Members::of(&String::from_utf8_lossy(&self.out)) {
                Some(members) => each(&members),
                None => ControlFlow::Continue(()),
            }
        };
        self.out.clear();
        flow
    }
}

/// The last place at or before `at` where a character begins.
fn boundary(bytes: &[u8], at: usize) -> usize {
    (0..=at).rev().find(|&at| bytes.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)).unwrap_or(0)
}
