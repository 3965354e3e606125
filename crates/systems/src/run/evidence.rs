//! What a run that ended left behind: every file that tells of it, its end, cleaned.

use std::io;

use serde::Serialize;
use serde_json::Value;
use session_state::{Dir, FileKind};

use super::record::Record;
use crate::bounded::is_residue;

use super::registry::{PROGRESS, RECORD, Run, is_key, read_from};
use super::{shown, withheld};

/// The end of a file that is shown, in bytes (FORMATS 7).
pub const TAIL: u64 = 64 * 1024;
/// Files shown; more are named.
const MAX_FILES: usize = 64;
/// Names looked at below a run's folder.
const MAX_NAMES: usize = 2_000;
/// Folders below a run's folder.
const MAX_DEPTH: usize = 3;
const REPAIRS: &str = "repairs";
const CHANGELOG: &str = "changelog.md";
const CONTEXT: &str = "context.md";
const WRITES: &str = "writes.ndjson";

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Path in the run's folder.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Only its end is shown.
    pub truncated: bool,
    /// What it says.
    pub text: String,
}

/// A file that was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftAlone {
    /// Path in the run's folder.
    pub name: String,
    /// Why.
    pub why: String,
}

/// The repair `activeRepairId` names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// Its id.
    pub id: String,
    /// Whether it is there.
    pub state: RepairState,
    /// What is in it; its schema is not public.
    pub files: Vec<Shown>,
}

/// Whether the active repair is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairState {
    /// It is.
    Present,
    /// There are repairs, but not this one.
    Missing,
    /// There is no folder of repairs; where else they could be is not public.
    NotKnown,
    /// The id would lead elsewhere.
    Escapes,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The files, the record first.
    pub files: Vec<Shown>,
    /// What was left alone.
    pub left_alone: Vec<LeftAlone>,
    /// The active repair.
    pub repair: Option<Repair>,
    /// Fields of the record that are not shown.
    pub withheld: Vec<String>,
}

impl Evidence {
    /// Whether anything tells of the run besides its record.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.files.len() <= 1 && self.repair.as_ref().is_none_or(|repair| repair.files.is_empty())
    }
}

/// Where the active repair is, without opening anything in it.
#[must_use]
pub fn repair_state(run: &Run, id: &str) -> RepairState {
    if !is_key(id) {
        return RepairState::Escapes;
    }
    match run.dir.folder(REPAIRS) {
        Ok(repairs) if repairs.folder(id).is_ok() => RepairState::Present,
        Ok(_) => RepairState::Missing,
        Err(_) => RepairState::NotKnown,
    }
}

/// Reads what a run left. Links and special files are named and not opened; other repairs than the active one are not
/// looked at.
#[must_use]
pub fn of(run: &Run, record: &Record) -> Evidence {
    let mut gather = Gather { evidence: Evidence::default(), values: withheld::Values::of(record) };
    gather.evidence.withheld = withheld::left_out(record);
    let visible = serde_json::to_string_pretty(&Value::from(withheld::visible(record))).unwrap_or_default();
    let (text, truncated) = last(visible.as_bytes(), visible.len() as u64 > TAIL);
    let text = gather.values.out_of(text);
    gather.evidence.files.push(Shown {
        name: RECORD.to_owned(),
        bytes: run.stat.map_or(0, |stat| stat.size),
        truncated,
        text,
    });
    for name in [CHANGELOG, CONTEXT, PROGRESS] {
        gather.file(&run.dir, name, name);
    }
    let mut logs = Vec::new();
    let mut names_left = MAX_NAMES;
    find_logs(&run.dir, "", MAX_DEPTH, &mut names_left, &mut logs);
    if names_left == 0 {
        gather.left_alone("", format!("more than {MAX_NAMES} names: the rest was not looked at"));
    }
    for listed in &record.listed_logs {
        if !logs.contains(listed) && !is_plain_path(listed) {
            gather.left_alone(listed, "leads out of the run's folder".to_owned());
        } else if !logs.contains(listed) && !listed.starts_with(REPAIRS) {
            logs.push(listed.clone());
        }
    }
    // A file the record keeps its secrets in is neither read nor named, whatever it is called.
    let secret =
        record.all.get("secretFile").and_then(Value::as_str).and_then(|path| path.rsplit(['/', '\\']).next());
    logs.retain(|log| {
        ![RECORD, CHANGELOG, CONTEXT, PROGRESS].contains(&log.as_str()) && log.rsplit('/').next() != secret
    });
    logs.sort();
    for log in logs {
        gather.path(&run.dir, &log);
    }
    if let Some(id) = &record.active_repair {
        let repair = gather.repair(run, id);
        gather.evidence.repair = Some(repair);
    }
    gather.evidence
}

/// Every name that ends in `.log`, and the writes, in this folder and those below it.
fn find_logs(dir: &Dir, prefix: &str, depth: usize, names_left: &mut usize, found: &mut Vec<String>) {
    let names = dir.names(*names_left);
    *names_left = names_left.saturating_sub(names.len());
    for name in names.iter().filter(|name| !is_residue(name)) {
        let path = format!("{prefix}{name}");
        if name.to_ascii_lowercase().ends_with(".log") || (prefix.is_empty() && name == WRITES) {
            found.push(path);
        } else if depth > 0
            && *names_left > 0
            && path != REPAIRS
            && dir.stat(name).is_some_and(|stat| stat.kind == FileKind::Folder)
            && let Ok(inner) = dir.folder(name)
        {
            find_logs(&inner, &format!("{path}/"), depth - 1, names_left, found);
        }
    }
}

/// A relative path of plain names.
fn is_plain_path(path: &str) -> bool {
    path.len() < 1_000 && path.split('/').all(is_key)
}

struct Gather {
    evidence: Evidence,
    values: withheld::Values,
}

impl Gather {
    fn left_alone(&mut self, name: &str, why: String) {
        self.evidence.left_alone.push(LeftAlone { name: shown::line(name, 120), why });
    }

    fn path(&mut self, dir: &Dir, path: &str) {
        match path.split_once('/') {
            None => self.file(dir, path, path),
            Some(_) => {
                let mut parts: Vec<&str> = path.split('/').collect();
                let name = parts.pop().unwrap_or_default();
                let mut here: Option<Dir> = None;
                for part in parts {
                    match here.as_ref().unwrap_or(dir).folder(part) {
                        Ok(inner) => here = Some(inner),
                        Err(error) => return self.not_opened(path, &error),
                    }
                }
                self.file(here.as_ref().unwrap_or(dir), name, path);
            }
        }
    }

    fn file(&mut self, dir: &Dir, name: &str, path: &str) {
        if self.evidence.files.len() >= MAX_FILES {
            return self.left_alone(path, format!("more than {MAX_FILES} files"));
        }
        match self.read(dir, name, path) {
            Ok(Some(file)) => self.evidence.files.push(file),
            Ok(None) => {}
            Err(error) => self.not_opened(path, &error),
        }
    }

    fn not_opened(&mut self, path: &str, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.left_alone(path, shown::line(&format!("not opened ({error})"), 120));
        }
    }

    fn read(&self, dir: &Dir, name: &str, path: &str) -> io::Result<Option<Shown>> {
        match dir.stat(name).map(|stat| stat.kind) {
            None => return Ok(None),
            Some(FileKind::File) => {}
            Some(FileKind::Link) => return Err(io::Error::other("it is a link")),
            Some(_) => return Err(io::Error::other("it is no ordinary file")),
        }
        let mut file = dir.open_file(name)?;
        let bytes = file.metadata()?.len();
        // One byte more tells whether the end begins with a whole line.
        let end = read_from(&mut file, bytes.saturating_sub(TAIL + 1), TAIL + 1, bytes)?;
        let (text, truncated) = last(&end, bytes > TAIL);
        // Before the lines are cleaned, and again: an escape may stand inside a value.
        let text = self.values.out_of(shown::block(&self.values.out_of(text)));
        Ok(Some(Shown { name: shown::line(path, 200), bytes, truncated, text }))
    }

    fn repair(&mut self, run: &Run, id: &str) -> Repair {
        let state = repair_state(run, id);
        let mut repair = Repair { id: shown::line(id, 80), state, files: Vec::new() };
        if state != RepairState::Present {
            return repair;
        }
        let Ok(dir) = run.dir.folder(REPAIRS).and_then(|repairs| repairs.folder(id)) else { return repair };
        let mut names = dir.names(MAX_FILES);
        names.retain(|name| !is_residue(name) && !withheld::is_withheld(name));
        names.sort();
        for name in names {
            let path = format!("{REPAIRS}/{id}/{name}");
            match self.read(&dir, &name, &path) {
                Ok(Some(mut file)) => {
                    if let Some(clean) = visible_json(&dir, &name) {
                        file.text = self.values.out_of(clean);
                    }
                    repair.files.push(file);
                }
                Ok(None) => {}
                Err(error) => self.not_opened(&path, &error),
            }
        }
        repair
    }
}

/// A small JSON object of others, without the fields that are never shown.
fn visible_json(dir: &Dir, name: &str) -> Option<String> {
    if !name.ends_with(".json") {
        return None;
    }
    let bytes = dir.read(name, usize::try_from(TAIL).ok()?).ok()?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let fields = serde_json::from_slice::<serde_json::Map<String, Value>>(bytes).ok()?;
    let mut text = serde_json::to_string_pretty(&Value::from(withheld::visible_map(&fields))).ok()?;
    text.push('\n');
    Some(text)
}

/// The end of a file as text: at most [`TAIL`] bytes of those given, which are one more if it was cut. A line that was
/// cut is dropped: half a secret is not recognised as one.
fn last(bytes: &[u8], cut: bool) -> (String, bool) {
    let start = bytes.len().saturating_sub(usize::try_from(TAIL).unwrap_or(usize::MAX));
    let mut end = &bytes[start..];
    let at_line_start = start > 0 && bytes[start - 1] == b'\n';
    if cut && !at_line_start {
        let at = |wanted: fn(&u8) -> bool| end.iter().position(wanted).map(|at| at + 1);
        let whole = at(|byte| *byte == b'\n').or_else(|| at(u8::is_ascii_whitespace)).unwrap_or(end.len());
        end = &end[whole..];
    }
    (String::from_utf8_lossy(end).into_owned(), cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_begins_with_a_whole_line() {
        for (text, cut, expected) in [
            ("a\nb\n", false, "a\nb\n"),
            ("half\nb\n", true, "b\n"),
            ("half of one line", true, "of one line"),
            ("halfofoneword", true, ""),
        ] {
            assert_eq!(last(text.as_bytes(), cut), (expected.to_owned(), cut), "{text}");
        }
        let limit = usize::try_from(TAIL).unwrap();
        for (before, expected) in [(limit - 1, limit - 1), (limit, limit), (limit + 1, 0)] {
            // A first line, and a second one of which as much fits as the limit allows.
            let text = format!("first\n{}", "x".repeat(before));
            let from = text.len().saturating_sub(limit + 1);
            assert_eq!(last(&text.as_bytes()[from..], true).0.len(), expected, "{before}");
        }
    }

    #[test]
    fn a_listed_path_is_plain_or_left_alone() {
        for path in ["a.log", "logs/a.log"] {
            assert!(is_plain_path(path), "{path}");
        }
        for path in ["", "/etc/passwd", "../a.log", "logs/../../a", "a//b", "a/./b", "a\\b", "a\0"] {
            assert!(!is_plain_path(path), "{path:?}");
        }
    }
}
