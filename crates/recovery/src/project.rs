//! Which project a verb is about.

use std::path::{Path, PathBuf};

use session_state::{
    Project,
    env::{self, Env},
};

use crate::{environment::Environment, hint::Remedy};

/// Variables that count for a project named on the command line: not the folder a client was started in.
const VARIABLES: [&str; 3] = [env::HOME, env::RECOVERY_STATE_DIR, env::CLAUDE_CONFIG_DIR];

/// There is no such project.
#[derive(Debug, thiserror::Error)]
#[error("{} is no project whose state can be written", .0.display())]
pub(crate) struct NoProject(PathBuf);

impl Remedy for NoProject {
    fn remedy(&self) -> String {
        "name the project with --project DIR".to_owned()
    }
}

/// Finds the project around a folder; around the current one if none is given.
pub(crate) fn find(environment: &Environment, folder: Option<&Path>) -> Result<Project, NoProject> {
    let folder = match folder {
        Some(folder) => environment.current_dir.join(folder),
        None => environment.current_dir.clone(),
    };
    let variables: Vec<_> =
        VARIABLES.iter().filter_map(|name| Some((*name, environment.variables.get(name)?))).collect();
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    let found = folder.to_str().and_then(|folder| Project::find(&Env::of(&variables), Some(folder)));
    found.ok_or(NoProject(folder))
}
