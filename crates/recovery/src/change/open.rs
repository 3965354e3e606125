//! The project and the change a command is about, and why one is refused.

use std::path::{Path, PathBuf};

use systems::change::{
    coordination,
    lock::LockError,
    plan::SyncError,
    project::{ChangeError, ChangeFolder, CometProject, Layout, find_root},
    tasks::CompleteError,
    writing::WriteFault,
};

use crate::{
    environment::Environment,
    hint::{Remedy, hinted},
};

/// Where a command looks.
pub(crate) struct Place<'a> {
    /// The folder that was given.
    pub(crate) project: Option<&'a Path>,
    /// The surroundings.
    pub(crate) environment: &'a Environment,
}

/// Why there is no project or no change.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("no Comet project is in or above {}", .0.display())]
    NoProject(PathBuf),
    #[error("{} cannot be opened ({why})", .dir.display())]
    Unreadable { dir: PathBuf, why: std::io::Error },
    #[error("{}", .0.problem.as_deref().unwrap_or("the changes cannot be read"))]
    Layout(Box<Layout>),
    #[error(transparent)]
    Change(ChangeError),
    #[error("{0:?} is no phase")]
    Phase(String),
}

impl Remedy for OpenError {
    fn remedy(&self) -> String {
        match self {
            Self::NoProject(_) | Self::Unreadable { .. } => {
                "go to a project with .comet/config.yaml, or name it with --project DIR".to_owned()
            }
            Self::Layout(layout) => layout.hint.clone().unwrap_or_default(),
            Self::Change(ChangeError::NotFound { known, .. }) if known.is_empty() => {
                "there is no active change; `recovery change check` lists archived ones that are not delivered".to_owned()
            }
            Self::Change(ChangeError::NotFound { known, .. } | ChangeError::NotOne(known)) if !known.is_empty() => {
                format!("name one of: {}", known.join(", "))
            }
            Self::Change(ChangeError::Ambiguous { folders, .. }) => format!("name one of: {}", folders.join(", ")),
            Self::Change(_) => "`recovery change check` lists the changes".to_owned(),
            Self::Phase(_) => "it is one of open, design, build, verify, archive".to_owned(),
        }
    }
}

impl Place<'_> {
    /// Opens the project around the folder, whatever its layout says.
    pub(crate) fn open_any(&self) -> Result<CometProject, OpenError> {
        let given = self.project.map_or_else(
            || self.environment.current_dir.clone(),
            |dir| self.environment.current_dir.join(dir),
        );
        let start = given.canonicalize().map_err(|why| OpenError::Unreadable { dir: given.clone(), why })?;
        let home =
            self.environment.home.as_ref().map(|home| home.canonicalize().unwrap_or_else(|_| home.clone()));
        let root = find_root(&start, home.as_deref()).ok_or(OpenError::NoProject(start))?;
        CometProject::open(&root).map_err(|why| OpenError::Unreadable { dir: root, why })
    }

    /// Opens a project whose changes can be read.
    pub(crate) fn open(&self) -> anyhow::Result<CometProject> {
        let project = self.open_any().map_err(hinted)?;
        if project.layout.problem.is_some() {
            return Err(hinted(OpenError::Layout(Box::new(project.layout))));
        }
        Ok(project)
    }

    /// Opens a change: the named one, else the only active one.
    pub(crate) fn open_change(&self, name: Option<&str>) -> anyhow::Result<(CometProject, ChangeFolder)> {
        let project = self.open()?;
        let change = match name {
            Some(name) => project.change(name),
            None => project.only_change(),
        };
        let change = change.map_err(|error| hinted(OpenError::Change(error)))?;
        Ok((project, change))
    }
}

impl Remedy for WriteFault {
    fn remedy(&self) -> String {
        let remedy = match self {
            Self::Lock(LockError::Held { .. } | LockError::Busy) => {
                "wait until that command has ended, then run this one again; nothing was changed"
            }
            Self::Lock(LockError::Unreadable) => {
                "make sure that no Comet command runs, then let `comet doctor` repair it; nothing was changed"
            }
            Self::Lock(_) | Self::Io { .. } => "see whether the folder may be written; nothing was changed",
            Self::Archived => {
                "an archived change stays as it is; `recovery change delivery` says what is left of it"
            }
            Self::Interrupted(_) => {
                "let Comet end it first (`comet state check`, `comet doctor`); nothing was changed"
            }
            Self::Complete(CompleteError::Changed { .. }) => {
                "see the list again with `recovery change tasks` and judge whether the task still means the same"
            }
            Self::Complete(CompleteError::NeedsIds) => {
                "run `recovery change tasks --assign-ids`, then use the revision it prints"
            }
            Self::Complete(CompleteError::UnknownId { .. }) => "`recovery change tasks` lists the ids",
            Self::Sync { why: SyncError::MappingRequired { .. }, .. } => {
                "give each box of the plan the id of its task, or add its work to tasks.md; `recovery change check --details` lists them"
            }
            Self::Tasks { .. } | Self::Complete(_) | Self::Sync { .. } => {
                "correct that line; nothing was changed"
            }
            Self::Given(_) => {
                "it needs schemaVersion, taskIds, revision, stage, sessionId, evidence, unresolved, reviewRounds; nothing was changed"
            }
            Self::Recorded { .. } => {
                "set that file aside after holding the work against tasks.md; it was left alone"
            }
            Self::Refused(coordination::WriteError::Stale { .. }) => {
                "see the tasks again with `recovery change tasks`, then write the checkpoint for them; nothing was changed"
            }
            Self::Refused(_) => {
                "`recovery change checkpoint` shows the one that is there; nothing was changed"
            }
            Self::Overtaken(_) => "run the command again; nothing was changed",
            _ => "`recovery change check` says how the change stands; nothing was changed",
        };
        remedy.to_owned()
    }
}
