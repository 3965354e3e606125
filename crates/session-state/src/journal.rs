//! `journal.jsonl`: the facts of a session, appended by many processes at once.
//!
//! No lock. A process appends its facts in one write and folds the file up to and including them: what it decides is
//! a function of that prefix, so load and order of arrival cannot change an answer, only who gives it. Lines that do
//! not parse are skipped, nothing is compacted; a `carry` line now and then keeps the fold bounded.

use std::fs::File;
use std::io::{self, Write};

use rules::fact::{Fact, VERSION, What};
use rules::streak::{Applied, State};

use crate::clock::Now;
use crate::dir::Dir;
use crate::{layout, platform};

/// The longest line of a fact, in bytes, its newline included.
pub const MAX_LINE: usize = 1_024;
/// How much of the file is read first: the last state carried on is nearly always within it, in bytes.
const NEAR: u64 = 16 * 1024;
/// How much is read when it is not.
const WINDOW: u64 = 64 * 1024;
/// A state is carried on after this many lines, by the one process whose line is that many behind the last. A line
/// costs as much to read as the state of eight.
const CARRY_AFTER: usize = 16;

/// The journal of a session, folded as far as it was read.
#[derive(Debug)]
pub struct Journal {
    file: File,
    state: State,
    /// Offset up to which `state` holds everything.
    upto: u64,
    /// The file's size when it was last looked at: a torn last line is seen and not folded.
    seen: u64,
    /// Whether the last fold ended with a whole line.
    tail_is_empty: bool,
    /// Lines folded behind the last state carried on.
    lines: usize,
    /// Whether the facts appended here make it time to carry the state on.
    carries: bool,
}

impl Journal {
    /// Opens the journal and folds what stands in it. None: there is none.
    pub fn open(dir: &Dir) -> io::Result<Option<Self>> {
        match dir.open_file(layout::JOURNAL) {
            Ok(_) => Self::open_or_make(dir).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the journal, made if missing, and folds what stands in it.
    pub fn open_or_make(dir: &Dir) -> io::Result<Self> {
        let file = dir.open_append(layout::JOURNAL)?;
        let size = file.metadata()?.len();
        let mut journal = Self {
            file,
            state: State::default(),
            upto: 0,
            seen: size,
            tail_is_empty: true,
            lines: 0,
            carries: false,
        };
        journal.fold_from_carry(size)?;
        Ok(journal)
    }

    /// What the lines read so far amount to.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Appends facts in one write and folds the file up to and including them. Returns for each whether it was new.
    ///
    /// Errors: the facts did not get in (whole); nothing was decided.
    pub fn append(&mut self, facts: &[Fact<'_>]) -> io::Result<Vec<Applied>> {
        let mut lines = Vec::with_capacity(facts.len() * 256);
        for fact in facts {
            write_line(&mut lines, fact)?;
        }
        let Some((first, rest)) = facts.split_first() else { return Ok(Vec::new()) };
        if self.append_behind(&lines)? {
            return Ok(facts.iter().map(|fact| self.state.apply(fact)).collect());
        }
        // A line was torn between the look and the write, and swallowed our first one: that one once more.
        let rest: Vec<Applied> = rest.iter().map(|fact| self.state.apply(fact)).collect();
        lines.clear();
        lines.push(b'\n');
        write_line(&mut lines, first)?;
        self.append_behind(&lines)?;
        let first = self.state.apply(first);
        Ok(std::iter::once(first).chain(rest).collect())
    }

    /// Appends lines in one write and folds all before them. Returns whether the first begins on a line of its own.
    fn append_behind(&mut self, lines: &[u8]) -> io::Result<bool> {
        let lead = if self.ends_in_newline()? { "" } else { "\n" };
        let end = self.write_once(lead, lines)?;
        self.fold_to(end - lines.len() as u64)?;
        let own_line = !lead.is_empty() || lines.first() == Some(&b'\n');
        if !self.tail_is_empty && own_line {
            // Torn for good. It counts if nothing but its newline is missing.
            let tail = read_range(&self.file, self.upto, end - lines.len() as u64)?;
            self.apply(&tail);
        }
        let clean = self.tail_is_empty || own_line;
        self.upto = end;
        self.seen = end;
        self.tail_is_empty = true;
        // A function of the prefix, like all else: exactly one process sees its own line as the sixteenth.
        let before = self.lines;
        self.lines += memchr::memchr_iter(b'\n', lines).count();
        self.carries |= before / CARRY_AFTER < self.lines / CARRY_AFTER;
        Ok(clean)
    }

    /// Folds what others wrote since; returns whether there was anything.
    pub fn catch_up(&mut self) -> io::Result<bool> {
        let size = self.file.metadata()?.len();
        let grew = size > self.upto;
        if grew {
            self.fold_to(size)?;
        }
        self.seen = size;
        Ok(grew)
    }

    /// Whether others wrote since.
    #[must_use]
    pub fn has_grown(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() != self.seen)
    }

    /// Writes the state down when many facts have come since it was last done. To be called after the answer.
    pub fn carry_on(&mut self, now: Now) -> io::Result<()> {
        if !std::mem::take(&mut self.carries) {
            return Ok(());
        }
        let mut fact = Fact::new(What::Carry, "", "");
        fact.t = now.0;
        fact.up = self.upto;
        fact.s = Some(self.state.clone());
        let mut line = serde_json::to_vec(&fact).map_err(io::Error::other)?;
        line.push(b'\n');
        let lead = if self.ends_in_newline()? { "" } else { "\n" };
        self.write_once(lead, &line)?;
        Ok(())
    }

    fn ends_in_newline(&self) -> io::Result<bool> {
        let size = self.file.metadata()?.len();
        let mut last = [b'\n'];
        if size > 0 {
            platform::read_at(&self.file, &mut last, size - 1)?;
        }
        Ok(last == [b'\n'])
    }

    /// One system call; returns the offset behind the last byte written.
    fn write_once(&mut self, lead: &str, lines: &[u8]) -> io::Result<u64> {
        let whole;
        let bytes = if lead.is_empty() {
            lines
        } else {
            whole = [lead.as_bytes(), lines].concat();
            &whole
        };
        if self.file.write(bytes)? < bytes.len() {
            // Cut by a full disk: the next writer begins a new line behind it.
            return Err(io::ErrorKind::WriteZero.into());
        }
        platform::end_of_append(&self.file)
    }

    /// Folds everything before `size`, from the last state carried on within reach.
    fn fold_from_carry(&mut self, size: u64) -> io::Result<()> {
        let mut from = size.saturating_sub(NEAR);
        let mut bytes = read_range(&self.file, from, size)?;
        let mut carried = last_carry(&bytes);
        if carried.is_none() && from > 0 {
            from = size.saturating_sub(WINDOW);
            bytes = read_range(&self.file, from, size)?;
            carried = last_carry(&bytes);
        }
        if let Some((state, upto)) = carried {
            self.state = state;
            if upto < from {
                bytes = read_range(&self.file, upto, size)?;
            } else {
                bytes.drain(..usize::try_from(upto - from).unwrap_or(usize::MAX).min(bytes.len()));
            }
            from = upto;
        } else if from > 0 {
            // The window begins inside a line.
            let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
            bytes.drain(..first);
            from += first as u64;
        }
        self.upto = from;
        self.fold_lines(&bytes);
        Ok(())
    }

    /// Folds the whole lines between here and `to`. What follows the last newline may still be in the writing: the
    /// system shows a long write page by page.
    fn fold_to(&mut self, to: u64) -> io::Result<()> {
        if to > self.upto {
            let bytes = read_range(&self.file, self.upto, to)?;
            self.fold_lines(&bytes);
        }
        Ok(())
    }

    fn fold_lines(&mut self, bytes: &[u8]) {
        let whole = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
            self.apply(line);
        }
        self.upto += whole as u64;
        self.tail_is_empty = whole == bytes.len();
    }

    fn apply(&mut self, line: &[u8]) {
        self.lines += 1;
        // One look at the bytes as text is cheaper than one for each of its strings.
        if let Ok(line) = std::str::from_utf8(line)
            && let Ok(fact) = serde_json::from_str::<Fact<'_>>(line)
            && fact.v <= VERSION
        {
            if fact.k == What::Carry {
                self.lines = 0;
            }
            self.state.apply(&fact);
        }
    }
}

/// Reads a range; a file that was cut meanwhile gives less.
fn read_range(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(to.saturating_sub(from)).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    let mut read = 0;
    while read < length {
        match platform::read_at(file, &mut bytes[read..], from + read as u64)? {
            0 => break,
            count => read += count,
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// The last state carried on, and the offset up to which it holds everything.
fn last_carry(bytes: &[u8]) -> Option<(State, u64)> {
    const MARK: &[u8] = br#""k":"carry""#;
    let mut end = bytes.len();
    loop {
        let at = memchr::memmem::rfind(&bytes[..end], MARK)?;
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |before| before + 1);
        let stop = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |after| at + after);
        let line = serde_json::from_slice::<Fact<'_>>(&bytes[start..stop]).ok();
        if let Some(fact) = line.filter(|fact| fact.k == What::Carry && fact.v <= VERSION)
            && let Some(state) = fact.s
        {
            return Some((state, fact.up));
        }
        end = start;
    }
}

/// Appends one line of at most [`MAX_LINE`] bytes; evidence gives way first.
fn write_line(lines: &mut Vec<u8>, fact: &Fact<'_>) -> io::Result<()> {
    let start = lines.len();
    lines.extend(serde_json::to_vec(fact).map_err(io::Error::other)?);
    lines.push(b'\n');
    if lines.len() - start > MAX_LINE {
        lines.truncate(start);
        let mut short = fact.clone();
        short.txt = "".into();
        lines.extend(serde_json::to_vec(&short).map_err(io::Error::other)?);
        lines.push(b'\n');
        if lines.len() - start > MAX_LINE {
            lines.truncate(start);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a fact longer than a line"));
        }
    }
    Ok(())
}
