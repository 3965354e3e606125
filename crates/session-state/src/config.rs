//! Configuration: built-in, then the user's file, then the project's, then the environment.
//!
//! A project's file comes with a repository, so it may only make the suite quieter. The quiet path reads none of this.

use std::path::Path;

use serde::Deserialize;

use crate::dir::Dir;
use crate::env::Env;
use crate::root::Project;

const LIMIT: usize = 256 * 1024;
/// The user's file, in [`Env::user_config_dir`].
pub const USER_FILE: &str = "config.json";
const PROJECT_FOLDER: &str = ".claude";
const PROJECT_FILE: &str = "recovery.json";

/// What can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Says what a crash left.
    pub crash_recovery: bool,
    /// Speaks of MCP servers.
    pub mcp: bool,
    /// Names replacements of failing tools.
    pub degradation: bool,
    /// Speaks of edits that keep missing.
    pub edits: bool,
    /// Speaks of API errors.
    pub api: bool,
    /// Failures in a row before a replacement is named.
    pub degradation_at: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            crash_recovery: true,
            mcp: true,
            degradation: true,
            edits: true,
            api: true,
            degradation_at: rules::streak::DEGRADATION_AT,
        }
    }
}

/// One file; what it leaves out stays as it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    crash_recovery: Option<bool>,
    mcp: Option<bool>,
    degradation: Option<bool>,
    edits: Option<bool>,
    api: Option<bool>,
    degradation_at: Option<u64>,
}

impl Config {
    /// Reads the files. A file that is missing, damaged or of a wrong shape changes nothing.
    #[must_use]
    pub fn read(env: &Env, project: &Project) -> Self {
        let mut config = Self::default();
        if let Some(file) = env.user_config_dir().and_then(|folder| read(&folder, USER_FILE)) {
            config.take_user(&file);
        }
        if let Some(file) = read(&project.root.join(PROJECT_FOLDER), PROJECT_FILE) {
            config.take_project(&file);
        }
        config
    }

    fn take_user(&mut self, file: &File) {
        self.crash_recovery = file.crash_recovery.unwrap_or(self.crash_recovery);
        self.mcp = file.mcp.unwrap_or(self.mcp);
        self.degradation = file.degradation.unwrap_or(self.degradation);
        self.edits = file.edits.unwrap_or(self.edits);
        self.api = file.api.unwrap_or(self.api);
        self.degradation_at = file.degradation_at.unwrap_or(self.degradation_at).max(1);
    }

    /// Only what makes us quieter counts.
    fn take_project(&mut self, file: &File) {
        self.crash_recovery &= file.crash_recovery.unwrap_or(true);
        self.mcp &= file.mcp.unwrap_or(true);
        self.degradation &= file.degradation.unwrap_or(true);
        self.edits &= file.edits.unwrap_or(true);
        self.api &= file.api.unwrap_or(true);
        self.degradation_at = self.degradation_at.max(file.degradation_at.unwrap_or(0));
    }
}

fn read(folder: &Path, name: &str) -> Option<File> {
    let bytes = Dir::open(folder).ok()?.read(name, LIMIT).ok()?;
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_project_can_only_make_it_quieter() {
        let mut config = Config::default();
        config.take_user(&file(r#"{"mcp": false, "degradation_at": 3, "unknown": 1}"#));
        config.take_project(&file(r#"{"mcp": true, "degradation_at": 2, "edits": false}"#));
        assert!(!config.mcp && !config.edits && config.api);
        assert_eq!(config.degradation_at, 3);
        config.take_project(&file(r#"{"degradation_at": 9}"#));
        assert_eq!(config.degradation_at, 9);
    }
}
