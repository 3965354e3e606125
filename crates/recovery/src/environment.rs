//! What the command takes from its surroundings: the one place that reads environment variables.

use std::{env, ffi::OsString, io, path::PathBuf};

/// Home folder of the person.
const HOME: &str = "HOME";
/// Folder for data of programs, `~/.local/share` where it is not set.
const XDG_DATA_HOME: &str = "XDG_DATA_HOME";
/// The client's configuration folder, `~/.claude` where it is not set.
const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// Folders that are searched for programs.
const PATH: &str = "PATH";

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
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn read() -> io::Result<Self> {
        // A relative path in one of these means nothing; the specification of XDG_DATA_HOME says to ignore it.
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute(HOME).or_else(|| env::home_dir().filter(|path| path.is_absolute()));
        let current_exe = env::current_exe()?;
        Ok(Self {
            data_home: absolute(XDG_DATA_HOME)
                .or_else(|| home.as_ref().map(|home| home.join(".local/share"))),
            config_dir: absolute(CLAUDE_CONFIG_DIR)
                .or_else(|| home.as_ref().map(|home| home.join(".claude"))),
            search_path: env::var_os(PATH),
            current_dir: env::current_dir()?,
            current_exe: current_exe.canonicalize().unwrap_or(current_exe),
            home,
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
