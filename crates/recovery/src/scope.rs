//! Whose settings are edited: a project's or the person's own.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{environment::Environment, hint::Remedy};

/// The client's folder in a project.
const CLAUDE_FOLDER: &str = ".claude";
/// Settings that a team may share.
pub(crate) const SETTINGS: &str = "settings.json";
/// Settings of one person in a project.
pub(crate) const LOCAL_SETTINGS: &str = "settings.local.json";

/// Time git has to say whether it tracks a file.
const GIT_TIME_LIMIT: Duration = Duration::from_secs(5);

/// Whose settings are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The project in this folder.
    Project(PathBuf),
    /// Every project of the person; the client's configuration folder.
    User(PathBuf),
}

/// Why no scope could be told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScopeError {
    #[error("there is no folder {}", .0.display())]
    FolderMissing(PathBuf),
    #[error("the current folder is {}, which is no project", .0.display())]
    NotAProject(PathBuf),
    #[error("there is no home folder: neither HOME nor CLAUDE_CONFIG_DIR is set")]
    ConfigFolderUnknown,
}

impl Remedy for ScopeError {
    fn remedy(&self) -> String {
        let remedy = match self {
            Self::FolderMissing(_) => "give the folder in which you start `claude`",
            Self::NotAProject(_) => {
                "name the project with --project DIR, or use --user for all your projects"
            }
            Self::ConfigFolderUnknown => "set HOME and run the command again",
        };
        remedy.to_owned()
    }
}

impl Scope {
    /// Returns the project in `dir`.
    pub(crate) fn project(dir: &Path, environment: &Environment) -> Result<Self, ScopeError> {
        let dir = environment.current_dir.join(dir);
        if !dir.is_dir() {
            return Err(ScopeError::FolderMissing(dir));
        }
        Ok(Self::Project(dir.canonicalize().unwrap_or(dir)))
    }

    /// Returns the person's own settings.
    pub(crate) fn user(environment: &Environment) -> Result<Self, ScopeError> {
        environment.config_dir().map(Self::User).ok_or(ScopeError::ConfigFolderUnknown)
    }

    /// Returns the project around the current folder: the nearest folder with `.claude` or `.git`, else the current
    /// one. The search ends below the home folder; the home folder itself is no project.
    pub(crate) fn around_current_dir(environment: &Environment) -> Result<Self, ScopeError> {
        let current =
            environment.current_dir.canonicalize().unwrap_or_else(|_| environment.current_dir.clone());
        let home = environment.home.as_ref().map(|home| home.canonicalize().unwrap_or_else(|_| home.clone()));
        let is_limit = |dir: &Path| dir.parent().is_none() || home.as_deref() == Some(dir);
        if is_limit(&current) {
            return Err(ScopeError::NotAProject(current));
        }
        let root = current
            .ancestors()
            .take_while(|dir| !is_limit(dir))
            .find(|dir| dir.join(CLAUDE_FOLDER).is_dir() || dir.join(".git").exists());
        Ok(Self::Project(root.unwrap_or(&current).to_owned()))
    }

    /// Returns the folder that holds the settings.
    pub(crate) fn folder(&self) -> PathBuf {
        match self {
            Self::Project(dir) => dir.join(CLAUDE_FOLDER),
            Self::User(config_dir) => config_dir.clone(),
        }
    }

    /// Returns the settings files of this scope, the first choice first.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let folder = self.folder();
        match self {
            Self::Project(_) => vec![folder.join(SETTINGS), folder.join(LOCAL_SETTINGS)],
            Self::User(_) => vec![folder.join(SETTINGS)],
        }
    }

    /// Returns the scope as part of a sentence.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Project(dir) => format!("the project {}", dir.display()),
            Self::User(_) => "all your projects".to_owned(),
        }
    }

    /// Returns the arguments that name this scope again.
    pub(crate) fn arguments(&self) -> String {
        match self {
            Self::Project(dir) => format!("--project {}", dir.display()),
            Self::User(_) => "--user".to_owned(),
        }
    }
}

/// Whether git keeps a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tracked {
    Yes,
    No,
    /// There is a repository, but no answer; why.
    Unknown(String),
}

/// Asks git whether it tracks a file of the project.
pub(crate) fn tracked_by_git(project: &Path, file: &Path) -> Tracked {
    let mut git = Command::new("git");
    git.arg("-C").arg(project).args(["ls-files", "--error-unmatch", "--"]).arg(file);
    // Set inside of a git hook, these would speak of another repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(name);
    }
    git.env("GIT_OPTIONAL_LOCKS", "0");
    let answer = bounded_command::run(&mut git, GIT_TIME_LIMIT);
    match answer {
        Ok(answer) if answer.status.success() => Tracked::Yes,
        // 1: the repository does not know the file.
        Ok(answer) if answer.status.code() == Some(1) => Tracked::No,
        _ if !project.ancestors().any(|dir| dir.join(".git").exists()) => Tracked::No,
        Ok(_) => Tracked::Unknown("git could not read the repository".to_owned()),
        Err(why) => Tracked::Unknown(format!("git {why}")),
    }
}
