//! What the command takes from its surroundings, read once.

use std::{env, ffi::OsString, io, path::PathBuf};

use session_state::env::{self as variables, Env};

/// Our folder inside the folder for data.
const OUR_FOLDER: &str = "recovery-hooks";

/// The surroundings of one run, read once.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// Absolute, or `None` where it is not set.
    pub(crate) home: Option<PathBuf>,
    data_home: Option<PathBuf>,
    config_dir: Option<PathBuf>,
    search_path: Option<OsString>,
    /// The folder the command was started in.
    pub(crate) current_dir: PathBuf,
    /// The program that runs, links followed.
    pub(crate) current_exe: PathBuf,
    /// The variables the hooks read as well.
    pub(crate) variables: Env,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn read() -> io::Result<Self> {
        // A relative path in one of these means nothing; the specification of XDG_DATA_HOME says to ignore it.
        let variables = Env::process();
        let home =
            variables.path(variables::HOME).or_else(|| env::home_dir().filter(|path| path.is_absolute()));
        let current_exe = env::current_exe()?;
        Ok(Self {
            data_home: variables
                .path(variables::XDG_DATA_HOME)
                .or_else(|| home.as_ref().map(|home| home.join(".local/share"))),
            config_dir: variables
                .path(variables::CLAUDE_CONFIG_DIR)
                .or_else(|| home.as_ref().map(|home| home.join(".claude"))),
            search_path: variables.get(variables::PATH),
            current_dir: env::current_dir()?,
            current_exe: current_exe.canonicalize().unwrap_or(current_exe),
            home,
            variables,
        })
    }

    /// Returns our folder for data (programs and backups), or `None` without a home.
    pub(crate) fn data_dir(&self) -> Option<PathBuf> {
        self.data_home.as_ref().map(|data| data.join(OUR_FOLDER))
    }

    /// Returns the client's configuration folder, or `None` without a home.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        self.config_dir.clone()
    }

    /// Returns the file that a shell would start for the bare name.
    pub(crate) fn find_on_path(&self, name: &str) -> Option<PathBuf> {
        let file = crate::programs::file_name(name);
        let folders = env::split_paths(self.search_path.as_ref()?).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(&file)).find(|path| crate::platform::is_executable(path))
    }
}
