//! The files of a project and of its changes, opened without following a link out of it. Nothing here writes.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use session_state::{Dir, FileKind};

use rules::change::is_change_name;

use crate::bounded;

use super::config::{self, ArtifactLayout, Config};
use super::shown::clean;
use super::state::is_relative_path;

use session_state::layout::ARCHIVED_CHANGES as ARCHIVE;
pub use session_state::layout::{
    CHANGE_STATE as STATE, CHANGE_TASKS as TASKS, COMET, COMET_CONFIG as CONFIG,
};

/// A move of the artefacts that is not finished.
const ROOT_MOVE: &str = "classic-root-move.json";
/// Receipts of deliveries, below [`COMET`] of the project.
pub const RECEIPTS: &str = "classic-deliveries";
/// What a change without state is known by.
const OPENSPEC_FILES: [&str; 3] = ["proposal.md", "design.md", TASKS];
/// Lock of a change.
pub const LOCK: &str = ".comet-state.lock";
/// A write of the state that is not finished.
pub const TRANSACTION: &str = ".comet-state-transaction.json";
/// Checkpoint of a change, below its [`COMET`].
pub const COORDINATION: &str = "coordination.json";
/// The same for people.
pub const PROGRESS: &str = "subagent-progress.md";
/// Authorised delivery, below a change's [`COMET`].
pub const DELIVERY: &str = "delivery.json";
/// Where plans lie.
pub const PLANS: &str = "docs/superpowers/plans";
/// Longest description of what is wrong, in characters.
const PROBLEM_CHARS: usize = 300;
/// More names in one folder are not looked at.
const MAX_NAMES: usize = 100_000;
/// More is no text of a change.
pub(crate) const TEXT_LIMIT: usize = 4 * 1024 * 1024;

/// What stands under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Missing,
    /// A text.
    Text(String),
    /// Something that is not read; why, which goes after the name of the file.
    Unusable(String),
}

impl Found {
    /// The text, if there is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Why it is not read, if so.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        match self {
            Self::Unusable(why) => Some(why),
            _ => None,
        }
    }
}

/// Reads an ordinary file of a folder as text.
#[must_use]
pub fn read_text(dir: &Dir, name: &str, limit: usize) -> Found {
    match bounded::read(dir, name, limit) {
        Ok(None) => Found::Missing,
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Ok(text) => Found::Text(text),
            Err(_) => Found::Unusable("is not UTF-8 text".to_owned()),
        },
        Err(why) => Found::Unusable(why),
    }
}

/// Opens the folder that holds a path of the project, which must stay inside. Returns it with the last name.
///
/// Err: why it is not opened, which goes after the path; Ok(None): a folder on the way does not exist.
pub fn open_parent(root: &Dir, path: &str) -> Result<Option<(Dir, String)>, String> {
    if !is_relative_path(path) {
        return Err("leads out of the project".to_owned());
    }
    let mut parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let Some(name) = parts.pop() else { return Err("names no file".to_owned()) };
    match bounded::folder(root, parts.into_iter()) {
        Ok(dir) => Ok(dir.map(|dir| (dir, name.to_owned()))),
        Err(barred) => Err(format!("leads through {}, which is a link or no folder", barred.step)),
    }
}

/// Reads a file by its path from the project's root.
#[must_use]
pub fn read_path(root: &Dir, path: &str, limit: usize) -> Found {
    match open_parent(root, path) {
        Ok(Some((dir, name))) => read_text(&dir, &name, limit),
        Ok(None) => Found::Missing,
        Err(why) => Found::Unusable(why),
    }
}

/// The name of an archived change: that of its folder without `YYYY-MM-DD-`.
#[must_use]
pub fn archived_name(folder: &str) -> Option<&str> {
    let (day, name) = (folder.get(..10)?, folder.get(11..)?);
    let digits = day
        .bytes()
        .enumerate()
        .all(|(at, b)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() });
    (digits && folder.as_bytes()[10] == b'-' && is_change_name(name)).then_some(name)
}

/// Finds the project around a folder: the nearest one upwards with `.comet/config.yaml` or `.git`, else with a folder
/// of changes. The walk stops below `home`, whose `.comet/` holds settings for all projects. None: there is none.
#[must_use]
pub fn find_root(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let upwards = || start.ancestors().take_while(|here| Some(*here) != home && here.parent().is_some());
    let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
    let marked = |here: &&Path| is_there(here.join(COMET).join(CONFIG)) || is_there(here.join(".git"));
    // `docs` of a project looks like a project itself: the farther one counts.
    let with_changes = |here: &&Path| {
        [ArtifactLayout::Docs, ArtifactLayout::Legacy]
            .iter()
            .any(|layout| is_there(here.join(open_spec_root(*layout)).join("changes")))
    };
    upwards().find(marked).or_else(|| upwards().filter(with_changes).last()).map(Path::to_owned)
}

/// Whether the changes of a project can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutStatus {
    /// They can.
    Ready,
    /// Both places exist.
    Conflict,
    /// The configured place does not exist.
    Missing,
    /// The configuration cannot be used.
    Unavailable,
    /// The place is a link, or something that is no folder.
    Escaping,
    /// Nothing here belongs to this system.
    Absent,
}

/// Where the changes of a project lie. Paths start at its root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Layout {
    schema: &'static str,
    /// Whether they can be read.
    pub status: LayoutStatus,
    /// `docs` or `legacy`; None when the configuration does not tell.
    pub artifact_layout: Option<&'static str>,
    /// Folder of all of it.
    pub open_spec_root: Option<String>,
    /// Folder of the changes.
    pub changes_root: Option<String>,
    /// Folder of the archived ones.
    pub archive_root: Option<String>,
    /// Folder of the specifications.
    pub specs_root: Option<String>,
    /// Folder of plans, designs and reports.
    pub superpowers_root: &'static str,
    /// What is wrong, in words.
    pub problem: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

fn open_spec_root(layout: ArtifactLayout) -> &'static str {
    match layout {
        ArtifactLayout::Docs => "docs/openspec",
        ArtifactLayout::Legacy => "openspec",
    }
}

impl Layout {
    fn of(layout: Option<ArtifactLayout>, status: LayoutStatus, fault: Option<(String, &str)>) -> Self {
        let root = layout.map(open_spec_root);
        let below = |name: &str| root.map(|root| format!("{root}/{name}"));
        let (problem, hint) = match fault {
            Some((problem, hint)) => (Some(problem), Some(hint.to_owned())),
            None => (None, None),
        };
        Self {
            schema: "comet.classic-layout.v1",
            status,
            artifact_layout: layout.map(ArtifactLayout::name),
            open_spec_root: root.map(str::to_owned),
            changes_root: below("changes"),
            archive_root: below("changes/archive"),
            specs_root: below("specs"),
            superpowers_root: "docs/superpowers",
            problem,
            hint,
        }
    }
}

/// A project and what of it can be read.
#[derive(Debug)]
pub struct CometProject {
    /// Its root.
    pub root: Dir,
    /// Where the changes lie.
    pub layout: Layout,
    /// Its configuration; None when there is none or it cannot be used.
    pub config: Option<Config>,
    /// Something that is worth knowing although the changes can be read.
    pub note: Option<String>,
    changes: Option<Dir>,
}

/// A change that lies among the active ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Whether it has a state.
    pub has_state: bool,
    /// When that was last written, seconds since 1970.
    state_written_s: i64,
    /// Whether it is a link, which is not followed.
    pub is_link: bool,
}

/// A change's folder, open.
#[derive(Debug)]
pub struct ChangeFolder {
    /// Its name.
    pub name: String,
    /// Name of its folder in the archive, if it lies there.
    pub archived_as: Option<String>,
    /// Its path from the project's root.
    pub path: String,
    /// The folder.
    pub dir: Dir,
}

impl ChangeFolder {
    /// Path of one of its files from the project's root.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// Its own folder of `.comet`. Ok(None): there is none.
    pub fn comet(&self) -> Result<Option<Dir>, String> {
        match self.dir.folder(COMET) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) => Err("is a link or no folder".to_owned()),
        }
    }
}

/// Why a change is not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The changes cannot be read at all; see the layout.
    #[error("{0}")]
    Layout(String),
    /// It is no name of a change.
    #[error("{0:?} is no name of a change (lower-case words with - between them)")]
    BadName(String),
    /// There is none of this name.
    #[error("there is no change {name}")]
    NotFound {
        /// The name.
        name: String,
        /// Those that are there, a few.
        known: Vec<String>,
    },
    /// Several archived ones have this name.
    #[error("several archived changes are called {name}")]
    Ambiguous {
        /// The name.
        name: String,
        /// Their folders.
        folders: Vec<String>,
    },
    /// It is a link or no folder.
    #[error("{0} is a link or no folder and is left alone")]
    Escaping(String),
    /// None was named and there is not exactly one.
    #[error("{}", match .0.len() { 0 => "there is no active change", _ => "there are several active changes" })]
    NotOne(Vec<String>),
}

impl CometProject {
    /// Opens a project. Error: its root cannot be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = Dir::open(root)?;
        let mut note = None;
        let exists = |layout: ArtifactLayout| {
            let open_spec = bounded::folder(&root, open_spec_root(layout).split('/'));
            open_spec.map(|dir| dir.is_some()).map_err(|barred| barred.step)
        };
        let config = match read_path(&root, &format!("{COMET}/{CONFIG}"), config::LIMIT) {
            Found::Text(text) => config::parse(&text).map(Some).map_err(|error| error.to_string()),
            Found::Missing => Ok(None),
            Found::Unusable(why) => Err(why),
        };
        let file = format!("{COMET}/{CONFIG}");
        let (layout, config) = match config {
            Err(why) => {
                let hint =
                    "correct .comet/config.yaml (or let Comet do it: `comet doctor`); it was not changed";
                let fault = Some((format!("{file} {}", clean(&why, PROBLEM_CHARS)), hint));
                (Layout::of(None, LayoutStatus::Unavailable, fault), None)
            }
            Ok(None) => {
                let docs = !matches!(exists(ArtifactLayout::Docs), Ok(false));
                let legacy = !matches!(exists(ArtifactLayout::Legacy), Ok(false));
                match (docs, legacy) {
                    (false, false) => {
                        let fault = (
                            "no Comet project is here".to_owned(),
                            "go to a project with .comet/config.yaml, or name it with --project DIR",
                        );
                        (Layout::of(None, LayoutStatus::Absent, Some(fault)), None)
                    }
                    (true, true) => (checked(&root, ArtifactLayout::Legacy, exists), None),
                    (true, false) => {
                        let hint =
                            "set classic.artifact_layout in .comet/config.yaml: `comet init` writes one";
                        let fault = (
                            format!(
                                "there is no {file}, and without it the changes under docs/openspec are not those in use"
                            ),
                            hint,
                        );
                        (Layout::of(None, LayoutStatus::Unavailable, Some(fault)), None)
                    }
                    (false, true) => {
                        note = Some(format!("there is no {file}: the legacy layout is read"));
                        (checked(&root, ArtifactLayout::Legacy, exists), None)
                    }
                }
            }
            Ok(Some(config)) => (checked(&root, config.layout, exists), Some(config)),
        };
        let changes = match (&layout.status, &layout.changes_root) {
            (LayoutStatus::Ready, Some(path)) => bounded::folder(&root, path.split('/')).ok().flatten(),
            _ => None,
        };
        Ok(Self { root, layout, config, note, changes })
    }

    /// Whether a move of the artefacts was interrupted; then nothing may be written.
    #[must_use]
    pub fn root_move_pending(&self) -> bool {
        self.root.folder(COMET).is_ok_and(|dir| dir.has(ROOT_MOVE))
    }

    /// Returns the changes that are not archived, in alphabetical order.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate> {
        let Some(changes) = &self.changes else { return Vec::new() };
        let mut found: Vec<Candidate> = changes
            .names(MAX_NAMES)
            .into_iter()
            .filter(|name| name != ARCHIVE && is_change_name(name))
            .filter_map(|name| {
                // One look at most names: a path below a name is only asked whether it exists, never opened.
                let state = changes.stat(&format!("{name}/{STATE}"));
                let is_link = changes.stat(&name).is_some_and(|stat| stat.kind == FileKind::Link);
                let known = state.is_some()
                    || is_link
                    || OPENSPEC_FILES.iter().any(|file| changes.has(&format!("{name}/{file}")));
                known.then_some(Candidate {
                    name,
                    has_state: state.is_some(),
                    state_written_s: state.map_or(0, |stat| stat.mtime_s),
                    is_link,
                })
            })
            .collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }

    /// When the state or the tasks of an active change were last written, seconds since 1970; 0 when that cannot be told.
    #[must_use]
    pub fn last_written_s(&self, candidate: &Candidate) -> i64 {
        let tasks = format!("{}/{TASKS}", candidate.name);
        let tasks = self.changes.as_ref().and_then(|changes| changes.stat(&tasks));
        tasks.map_or(0, |stat| stat.mtime_s).max(candidate.state_written_s)
    }

    /// Returns the folders of archived changes, the newest first.
    #[must_use]
    pub fn archived(&self) -> Vec<String> {
        let Some(archive) = self.archive() else { return Vec::new() };
        let mut names: Vec<String> =
            archive.names(MAX_NAMES).into_iter().filter(|name| archived_name(name).is_some()).collect();
        names.sort_by(|one, other| other.cmp(one));
        names
    }

    /// Returns the folders of archived changes that have an authorised delivery, the newest first.
    #[must_use]
    pub fn archived_with_delivery(&self) -> Vec<String> {
        let Some(archive) = self.archive() else { return Vec::new() };
        let mut names = self.archived();
        names.retain(|name| archive.has(&format!("{name}/{COMET}/{DELIVERY}")));
        names
    }

    fn archive(&self) -> Option<Dir> {
        self.changes.as_ref()?.folder(ARCHIVE).ok()
    }

    /// Opens a change: an active one, else an archived one, by its name or by the name of its folder in the archive.
    pub fn change(&self, name: &str) -> Result<ChangeFolder, ChangeError> {
        let (Some(changes), Some(root)) = (&self.changes, &self.layout.changes_root) else {
            return Err(ChangeError::Layout(self.layout.problem.clone().unwrap_or_default()));
        };
        if archived_name(name).is_some() {
            return self.archived_change(name);
        }
        if !is_change_name(name) || name == ARCHIVE {
            return Err(ChangeError::BadName(name.to_owned()));
        }
        match changes.folder(name) {
            Ok(dir) => Ok(ChangeFolder {
                name: name.to_owned(),
                archived_as: None,
                path: format!("{root}/{name}"),
                dir,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folders: Vec<String> = self
                    .archived()
                    .into_iter()
                    .filter(|folder| archived_name(folder) == Some(name))
                    .collect();
                match folders.as_slice() {
                    [] => Err(ChangeError::NotFound {
                        name: name.to_owned(),
                        known: a_few_names(self.candidates()),
                    }),
                    [one] => self.archived_change(one),
                    _ => Err(ChangeError::Ambiguous { name: name.to_owned(), folders }),
                }
            }
            Err(_) => Err(ChangeError::Escaping(format!("{root}/{name}"))),
        }
    }

    /// Opens the only active change.
    pub fn only_change(&self) -> Result<ChangeFolder, ChangeError> {
        if self.changes.is_none() {
            return Err(ChangeError::Layout(self.layout.problem.clone().unwrap_or_default()));
        }
        let candidates = self.candidates();
        match candidates.as_slice() {
            [one] => self.change(&one.name),
            _ => Err(ChangeError::NotOne(a_few_names(candidates))),
        }
    }

    fn archived_change(&self, folder: &str) -> Result<ChangeFolder, ChangeError> {
        let (Some(root), Some(name)) = (&self.layout.archive_root, archived_name(folder)) else {
            return Err(ChangeError::BadName(folder.to_owned()));
        };
        let path = format!("{root}/{folder}");
        let missing =
            || ChangeError::NotFound { name: folder.to_owned(), known: a_few_names(self.candidates()) };
        match self.archive().ok_or_else(missing)?.folder(folder) {
            Ok(dir) => {
                Ok(ChangeFolder { name: name.to_owned(), archived_as: Some(folder.to_owned()), path, dir })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(_) => Err(ChangeError::Escaping(path)),
        }
    }
}

/// Names to choose from.
fn a_few_names(candidates: Vec<Candidate>) -> Vec<String> {
    candidates.into_iter().map(|candidate| candidate.name).take(8).collect()
}

/// Judges a layout that is configured.
fn checked(
    root: &Dir,
    layout: ArtifactLayout,
    exists: impl Fn(ArtifactLayout) -> Result<bool, String>,
) -> Layout {
    let here = open_spec_root(layout);
    let there = open_spec_root(layout.other());
    let hint = "`comet classic root show` tells which one counts; nothing was changed";
    let own = exists(layout);
    let other = exists(layout.other());
    if let Err(part) = &own {
        let fault = (format!("{here} leads through {part}, which is a link or no folder"), hint);
        return Layout::of(Some(layout), LayoutStatus::Escaping, Some(fault));
    }
    // Whatever stands in the other place, a link too, means that two places claim the changes.
    let other_exists = !matches!(other, Ok(false));
    match (own == Ok(true), other_exists) {
        (true, true) => {
            let fault = (format!("both {here}/ and {there}/ exist, and changes may be in either"), hint);
            return Layout::of(Some(layout), LayoutStatus::Conflict, Some(fault));
        }
        (false, other_exists) => {
            let other =
                if other_exists { format!("{there}/ is there") } else { format!("nor is there {there}/") };
            let fault = (format!("{here}/ is configured and does not exist; {other}"), hint);
            return Layout::of(Some(layout), LayoutStatus::Missing, Some(fault));
        }
        (true, false) => {}
    }
    let changes = format!("{here}/changes");
    match bounded::folder(root, changes.split('/')) {
        Ok(Some(_)) => Layout::of(Some(layout), LayoutStatus::Ready, None),
        Ok(None) => {
            let fault =
                (format!("{changes}/ does not exist"), "`openspec init` makes it; nothing was changed");
            Layout::of(Some(layout), LayoutStatus::Missing, Some(fault))
        }
        Err(barred) => {
            let step = barred.step;
            let fault = (format!("{changes} leads through {step}, which is a link or no folder"), hint);
            Layout::of(Some(layout), LayoutStatus::Escaping, Some(fault))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_changes() {
        for (name, valid) in [
            ("a", true),
            ("add-export2", true),
            ("a-1", true),
            ("", false),
            ("1a", false),
            ("a--b", false),
            ("a-", false),
            ("-a", false),
            ("A", false),
            ("a_b", false),
            ("..", false),
            ("a/b", false),
            ("ä", false),
        ] {
            assert_eq!(is_change_name(name), valid, "{name}");
        }
        for (folder, name) in [
            ("2026-02-28-old-one", Some("old-one")),
            ("2026-02-28-", None),
            ("2026-2-28-old", None),
            ("old-one", None),
            ("2026-02-28-Old", None),
            ("2026-02-28", None),
            ("äääää-02-28-x", None),
        ] {
            assert_eq!(archived_name(folder), name, "{folder}");
        }
    }
}
