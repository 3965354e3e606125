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
const LINE_COUNTS: u64 = 128 * 1024;
/// However long the lines are, not more than so many times the bytes asked for are looked at.
const REACH: u64 = 8;
/// The first prompt stands among so many lines: the client's own notes before it are a few.
const FIRST_LINES: usize = 512;
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
        Some(Stamp { size: metadata.len(), mtime_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX) })
    }

    /// What its last `end` bytes tell, and the first prompt within the first `start` bytes. Of long lines only a part
    /// counts, so that one of them does not hide what was before it; at most eight times as many bytes are looked at.
    #[must_use]
    pub fn knowledge(&self, end: u64, start: u64, whose: Conversation) -> Knowledge {
        let mut fold = Fold::default();
        let from = self.start_of(end);
        self.each_line(from, self.size, |line| {
            fold.take(line, whose == Conversation::Subagent);
            ControlFlow::Continue(())
        });
        let mut found = fold.finish();
        found.is_whole = from == 0;
        if !found.is_whole {
            found.first_prompt = self.first_prompt(start, whose).or(found.first_prompt);
        }
        found
    }

    /// The first prompt: a person's, or what a subagent was asked.
    fn first_prompt(&self, limit: u64, whose: Conversation) -> Option<String> {
        let (mut first, mut looked_at) = (None, 0);
        self.each_line(0, limit.min(self.size), |line| {
            if whose == Conversation::Subagent || line.value("isSidechain") != Some(true) {
                line::pieces(line, |piece| {
                    if let (Piece::Prompt(text), None) = (piece, &first) {
                        first = Some(text);
                    }
                });
            }
            looked_at += 1;
            if first.is_some() || looked_at >= FIRST_LINES {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        first
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
    /// Where the text begins in what was collected, and how many bytes of it were kept so far.
    text_at: usize,
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
                        self.text_at = self.out.len();
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
            self.drop_half_a_word();
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

    /// Half a secret would not be recognised as one. An escape that loses a part goes whole.
    fn drop_half_a_word(&mut self) {
        let is_of_a_word = |byte: &u8| byte.is_ascii_graphic() && *byte != b'\\';
        let text = &self.out[self.text_at.min(self.out.len())..];
        let mut kept = text.len() - text.iter().rev().take_while(|byte| is_of_a_word(byte)).count();
        kept -= text[..kept].iter().rev().take_while(|byte| **byte == b'\\').count() % 2;
        self.out.truncate(self.text_at + kept);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn source(bytes: &[u8]) -> (tempfile::NamedTempFile, Source) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let source = Source::open(file.path()).unwrap();
        (file, source)
    }

    /// The lines as they come out, from `from` on.
    fn lines(source: &Source, from: u64) -> Vec<Value> {
        let mut found = Vec::new();
        source.each_line(from, source.size(), |line| {
            found.push(json!({"n": line.value::<Value>("n"), "x": line.text("x")}));
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn the_end_is_counted_in_lines_and_a_long_one_counts_little() {
        // A hundred lines of 1,000 bytes, the newline included.
        let line = |n: usize| {
            let text = json!({"n": n}).to_string();
            format!("{}{}\n", text, " ".repeat(999 - text.len()))
        };
        let text: String = (0..100).map(line).collect();
        let (_file, whole) = source(text.as_bytes());
        for (window, from) in [(1_000, 99), (2_999, 98), (3_000, 97), (3_001, 97), (u64::MAX, 0)] {
            let first = whole.start_of(window);
            assert!(first == 0 || text.as_bytes()[usize::try_from(first).unwrap() - 1] == b'\n');
            assert_eq!(lines(&whole, first).len(), 100 - from, "{window}");
        }
        let long = format!("{text}{{\"n\":7,\"x\":\"{}\"}}\n", "y".repeat(600_000));
        let (_file, with_long) = source(long.as_bytes());
        assert_eq!(lines(&with_long, with_long.start_of(150_000)).len(), 19);
        // As far as eight times the window, and not into the middle of a line.
        assert_eq!(lines(&with_long, with_long.start_of(70_000)).len(), 0);
    }

    #[test]
    fn texts_lose_their_middle_and_no_half_a_word_stays() {
        let word = |n: usize| format!("word{n:06} ");
        let long: String = (0..10_000).map(word).collect();
        let (_file, one) = source(json!({"x": long, "n": 1}).to_string().as_bytes());
        let found = lines(&one, 0).remove(0);
        let text = found["x"].as_str().unwrap();
        assert!(text.len() <= TEXT_START + TEXT_END + 8, "{}", text.len());
        assert!(text.starts_with("word000000 word000001 ") && text.ends_with("word009999 "));
        assert_eq!(found["n"], 1, "what follows it is still read");
        assert!(text.split_whitespace().all(|word| word == "…" || word.len() == 10), "whole words only");
    }

    #[test]
    fn a_line_of_many_texts_is_given_up_and_the_next_is_read() {
        let many: Vec<String> = (0..200).map(|n| format!("{n} {}", "y".repeat(10_000))).collect();
        let text = format!("{}\n{}\n", json!({"n": 1, "many": many}), json!({"n": 2}));
        let (_file, both) = source(text.as_bytes());
        assert_eq!(lines(&both, 0), [json!({"n": 2, "x": null})]);
    }

    #[test]
    fn memory_is_bounded_whatever_streams_by() {
        let mut line = Squeezer::default();
        for chunk in [&b"{\"x\":\""[..], &[b'y'; 100_000], &br#"\""#.repeat(50_000), &[b'z'; 700_000]] {
            for _ in 0..40 {
                line.push(chunk);
                assert!(line.out.capacity() <= 4 * MAX_LINE && line.end.capacity() <= 2 * MAX_LINE);
            }
        }
    }

    proptest! {
        #[test]
        fn short_texts_stay_as_they_are_wherever_blocks_end(texts in prop::collection::vec("(?s).{0,60}", 1..6), cut in 1..40_usize) {
            let text = json!({"x": texts, "deep": {"y": texts}}).to_string();
            let mut line = Squeezer::default();
            text.as_bytes().chunks(cut).for_each(|chunk| line.push(chunk));
            prop_assert_eq!(String::from_utf8(line.out).unwrap(), text);
        }

        #[test]
        fn long_texts_stay_texts(unit in "(?s).{1,9}", cut in 1..9_000_usize) {
            let text = json!({"x": unit.repeat(40_000 / unit.len()), "n": 1}).to_string();
            let mut line = Squeezer::default();
            text.as_bytes().chunks(cut).for_each(|chunk| line.push(chunk));
            let squeezed = String::from_utf8_lossy(&line.out).into_owned();
            prop_assert!(squeezed.len() < 20_000, "{}", squeezed.len());
            let members = Members::of(&squeezed);
            prop_assert!(members.is_some_and(|members| members.value("n") == Some(1) && members.text("x").is_some()), "{}", squeezed);
        }
    }
}
