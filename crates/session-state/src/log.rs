//! `error-recovery.log`: one line for each thing done, for people.

use std::io::{self, Write};

use crate::clock::Now;
use crate::dir::Dir;
use crate::root::Project;
use crate::session::Session;
use crate::{layout, times};

/// The log is set aside at this size, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;
/// Older logs kept: `.1` is the newest.
pub const GENERATIONS: u32 = 3;

const MAX_LINE: usize = 512;

/// One thing done.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The session it was done for.
    pub session: &'a str,
    /// The pane of it; `-` when unknown.
    pub pane: &'a str,
    /// What was found.
    pub error: &'a str,
    /// What was done about it.
    pub action: &'a str,
    /// How it went.
    pub result: &'a str,
}

/// Appends a line. The folder and the file are made by the first one.
pub fn write(project: &Project, session: Option<&Session>, entry: Entry<'_>, now: Now) -> io::Result<()> {
    let Some(dir) = project.log_folder(session)? else { return Ok(()) };
    append(&dir, entry, now)
}

/// Appends a line to the log in a folder; the oldest generation goes when it grows too long.
///
/// # Errors
/// The line was not written.
pub fn append(dir: &Dir, entry: Entry<'_>, now: Now) -> io::Result<()> {
    rotate(dir);
    let clean = |text: &str| rules::text::one_line(text, 160);
    let mut line = format!(
        "{} session={} pane={} error={} action={} result={}",
        times::rfc3339_utc(now),
        clean(entry.session),
        clean(entry.pane),
        clean(entry.error),
        clean(entry.action),
        clean(entry.result),
    );
    let mut end = line.len().min(MAX_LINE);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.truncate(end);
    line.push('\n');
    dir.open_append(layout::LOG)?.write_all(line.as_bytes())
}

/// Two at once may both rename; what is lost then is one generation's name, never a line.
fn rotate(dir: &Dir) {
    if dir.stat(layout::LOG).is_none_or(|stat| stat.size < MAX_BYTES) {
        return;
    }
    for generation in (1..GENERATIONS).rev() {
        let _ = dir
            .rename(&format!("{}.{generation}", layout::LOG), &format!("{}.{}", layout::LOG, generation + 1));
    }
    let _ = dir.rename(layout::LOG, &format!("{}.1", layout::LOG));
}
