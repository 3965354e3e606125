//! The registry on disk: `<home>/workspaces/<workspace>/<stage>/<run key>/run.json`.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use serde::Serialize;
use session_state::{Dir, FileKind, FileStat};

use super::progress::{self, Progress};
use super::record::{self, NoRecord, Record, Stage};
use super::shown;
use crate::bounded::is_residue;

pub use session_state::layout::RUN_RECORD as RECORD;
use session_state::layout::RUN_WORKSPACES as WORKSPACES;
/// The events in a run's folder.
pub const PROGRESS: &str = "progress.ndjson";
/// Workspaces, and runs of one stage of a workspace, looked at.
const MAX_NAMES: usize = 20_000;
/// Problems that are listed one by one.
const MAX_PROBLEMS: usize = 50;
/// More than this of the events is not folded; then it is the end of the file.
const PROGRESS_LIMIT: u64 = 8 * 1024 * 1024;
const LONGEST_KEY: usize = 255;

/// Whether a run key or a workspace may be a folder's name: never a way out.
#[must_use]
pub fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= LONGEST_KEY
        && !key.starts_with('.')
        && !key.contains(['/', '\\'])
        && !key.chars().any(char::is_control)
}

/// Something in the registry that is no run, and was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Below the folder of the workspaces.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

/// One folder of a run.
#[derive(Debug)]
pub struct Run {
    /// Folder of the workspace.
    pub workspace: String,
    /// Folder of the stage.
    pub stage: Stage,
    /// Folder of the run.
    pub key: String,
    /// The folder, open.
    pub dir: Dir,
    /// The file of the record, as it was read.
    pub stat: Option<FileStat>,
    /// The record.
    pub record: Result<Record, NoRecord>,
    /// The same key lies in the same workspace at another stage where it waits or is at work.
    pub twin: Option<Stage>,
}

impl Run {
    /// Its path below the folder of the workspaces, for people.
    #[must_use]
    pub fn path(&self) -> String {
        below(&[&self.workspace, self.stage.word(), &self.key])
    }

    /// Last change of the record, seconds since 1970.
    #[must_use]
    pub fn written_s(&self) -> i64 {
        self.stat.map_or(0, |stat| stat.mtime_s)
    }

    /// What does not fit between the record and the folders it lies in: then it was caught in a move, or was put there
    /// by hand.
    #[must_use]
    pub fn mismatch(&self) -> Option<String> {
        if let Some(twin) = self.twin {
            return Some(format!("the same run key is also at stage {}", twin.word()));
        }
        let record = self.record.as_ref().ok()?;
        let pairs = [
            ("run key", record.key.as_str(), self.key.as_str()),
            ("workspace", &record.workspace, &self.workspace),
            ("stage", record.stage.word(), self.stage.word()),
        ];
        let (what, says, lies) = pairs.into_iter().find(|(_, says, lies)| says != lies)?;
        Some(format!(
            "its record says {what} {}, its folder {}",
            rules::text::quoted(says, 60),
            rules::text::quoted(lies, 60)
        ))
    }

    /// Reads the events; none: there is no such file. `Err`: it is there and cannot be read.
    ///
    /// # Errors
    /// Not an ordinary file, or not readable.
    pub fn progress(&self) -> io::Result<Option<(Progress, u64)>> {
        self.progress_from(0)
    }

    /// Reads the events after `offset` bytes, and the size of the whole file.
    ///
    /// # Errors
    /// Not an ordinary file, or not readable.
    pub fn progress_from(&self, offset: u64) -> io::Result<Option<(Progress, u64)>> {
        let mut file = match self.dir.open_file(PROGRESS) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let size = file.metadata()?.len();
        let from = offset.max(size.saturating_sub(PROGRESS_LIMIT));
        let bytes = read_from(&mut file, from, PROGRESS_LIMIT, size)?;
        Ok(Some((progress::parse(&bytes), size)))
    }
}

/// Reads at most `limit` bytes from an offset on; `size` is what the file has, as far as is known.
pub(crate) fn read_from(file: &mut File, offset: u64, limit: u64, size: u64) -> io::Result<Vec<u8>> {
    if offset > 0 {
        file.seek(SeekFrom::Start(offset))?;
    }
    // With room for all of it and one byte more, it is one call and one that says there is no more.
    let expected = size.saturating_sub(offset).min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0) + 1);
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a look over the registry found besides runs.
#[derive(Debug, Default)]
pub struct Overview {
    /// What is no run; the first of them.
    pub problems: Vec<Problem>,
    /// Problems that are not listed.
    pub more_problems: usize,
    /// Runs of the other stages, not read.
    pub not_read: usize,
    /// There was more than is looked at.
    pub cut: bool,
}

impl Overview {
    fn problem(&mut self, path: &[&str], problem: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { path: below(path), problem: problem.into() });
        } else {
            self.more_problems += 1;
        }
    }
}

fn below(parts: &[&str]) -> String {
    parts.iter().map(|part| shown::line(part, 80)).collect::<Vec<_>>().join("/")
}

/// The registry.
#[derive(Debug)]
pub struct Registry {
    home: PathBuf,
    workspaces: Option<Dir>,
}

impl Registry {
    /// Opens it; a home without workspaces is an empty registry.
    ///
    /// # Errors
    /// The folder is there and cannot be opened.
    pub fn open(home: &Path) -> io::Result<Self> {
        let workspaces = match Dir::open(home).and_then(|home| home.folder(WORKSPACES)) {
            Ok(dir) => Some(dir),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { home: home.to_owned(), workspaces })
    }

    /// The folder of the system.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Finds the folders with this key, in one workspace or in all, at every stage. A key that could lead elsewhere is
    /// never looked for.
    #[must_use]
    pub fn find(&self, key: &str, workspace: Option<&str>) -> Vec<Run> {
        let (Some(root), true) = (&self.workspaces, is_key(key)) else { return Vec::new() };
        let mut workspaces = match workspace {
            Some(name) if is_key(name) => vec![name.to_owned()],
            Some(_) => Vec::new(),
            None => root.names(MAX_NAMES),
        };
        workspaces.sort();
        let mut runs = Vec::new();
        for name in workspaces {
            let Ok(workspace) = root.folder(&name) else { continue };
            for stage in Stage::ALL {
                let found = workspace.folder(stage.word()).and_then(|stage| stage.folder(key));
                if let Ok(dir) = found {
                    let twin = twin(&workspace, stage, key);
                    runs.push(read(name.clone(), stage, key.to_owned(), dir, twin));
                }
            }
        }
        runs
    }

    /// Reads the runs of some stages, by workspace, stage and key, and hands each over; those of the other stages are
    /// counted only. One folder is open at a time: there may be more runs than a process may open files.
    pub fn visit(&self, workspace: Option<&str>, stages: &[Stage], mut each: impl FnMut(Run)) -> Overview {
        let mut overview = Overview::default();
        let Some(root) = &self.workspaces else { return overview };
        let mut names = root.names(MAX_NAMES);
        overview.cut = names.len() >= MAX_NAMES;
        names.sort();
        for name in names.iter().filter(|name| workspace.is_none_or(|wanted| wanted == name.as_str())) {
            if is_residue(name) {
                continue;
            }
            match root.stat(name).map(|stat| stat.kind) {
                Some(FileKind::Folder) => {}
                Some(FileKind::Link) => {
                    overview.problem(&[name], "is a link: left alone");
                    continue;
                }
                // A file beside the workspaces is nobody's run.
                _ => continue,
            }
            match root.folder(name) {
                Ok(dir) => visit_workspace(&dir, name, stages, &mut overview, &mut each),
                Err(error) => overview.problem(&[name], format!("cannot be opened ({error})")),
            }
        }
        overview
    }
}

fn visit_workspace(
    dir: &Dir,
    workspace: &str,
    stages: &[Stage],
    overview: &mut Overview,
    each: &mut impl FnMut(Run),
) {
    for name in dir.names(64).iter().filter(|name| !is_residue(name)) {
        if Stage::of(name).is_none() && dir.stat(name).is_some_and(|stat| stat.kind == FileKind::Folder) {
            overview.problem(&[workspace, name], "is no stage that is known: left alone");
        }
    }
    for stage in Stage::ALL {
        let folder = match dir.folder(stage.word()) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => {
                overview.problem(&[workspace, stage.word()], "is no folder of its own: left alone");
                continue;
            }
        };
        let mut keys = folder.names(MAX_NAMES);
        overview.cut |= keys.len() >= MAX_NAMES;
        keys.retain(|key| !is_residue(key));
        if !stages.contains(&stage) {
            overview.not_read += keys.len();
            continue;
        }
        keys.sort();
        let at_work = [Stage::Queued, Stage::Running].map(|stage| (stage, dir.folder(stage.word()).ok()));
        for key in keys {
            let there = |(at, folder): &&(Stage, Option<Dir>)| {
                stage.is_terminal() && *at != stage && folder.as_ref().is_some_and(|folder| folder.has(&key))
            };
            let twin = at_work.iter().find(there).map(|(at, _)| *at);
            match folder.folder(&key) {
                Ok(dir) => {
                    let run = read(workspace.to_owned(), stage, key, dir, twin);
                    if let Err(error) = &run.record {
                        let path = [workspace, stage.word(), run.key.as_str(), RECORD];
                        overview.problem(&path, error.to_string());
                    } else if let Some(mismatch) = run.mismatch() {
                        overview.problem(&[workspace, stage.word(), run.key.as_str()], mismatch);
                    }
                    each(run);
                }
                Err(error) => {
                    let what = match folder.stat(&key).map(|stat| stat.kind) {
                        Some(FileKind::Link) => "is a link: left alone",
                        _ if error.kind() == io::ErrorKind::PermissionDenied => "may not be opened",
                        _ => "is no folder: left alone",
                    };
                    overview.problem(&[workspace, stage.word(), &key], what);
                }
            }
        }
    }
}

/// Where else an ended run lies, at a stage that is not an end.
fn twin(workspace: &Dir, stage: Stage, key: &str) -> Option<Stage> {
    if !stage.is_terminal() {
        return None;
    }
    let there = |stage: &Stage| workspace.folder(stage.word()).is_ok_and(|folder| folder.has(key));
    [Stage::Queued, Stage::Running].into_iter().find(there)
}

fn read(workspace: String, stage: Stage, key: String, dir: Dir, twin: Option<Stage>) -> Run {
    let stat = dir.stat(RECORD);
    let record = match stat.map(|stat| stat.kind) {
        Some(FileKind::Link) => Err(NoRecord::Unreadable("it is a link".to_owned())),
        _ => match dir.read(RECORD, record::LIMIT) {
            Ok(bytes) => record::parse(&bytes),
            Err(error) => Err(NoRecord::Unreadable(match error.kind() {
                io::ErrorKind::NotFound => "it is missing".to_owned(),
                io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            })),
        },
    };
    Run { workspace, stage, key, dir, stat, record, twin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_name_and_leads_nowhere() {
        for key in ["shop-101", "a.b_c", "läuft", "with blank"] {
            assert!(is_key(key), "{key}");
        }
        for key in ["", ".", "..", ".hidden", "a/b", "../x", "a\\b", "a\0b", "a\nb", &"k".repeat(256)] {
            assert!(!is_key(key), "{key:?}");
        }
        assert!(is_key(&"k".repeat(255)));
    }
}
