//! Every environment variable the suite reads. Nowhere else is the environment read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::layout;

/// Folder the client was started in.
pub const CLAUDE_PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
/// Moves `sessions/` and `logs/` to another folder.
pub const RECOVERY_STATE_DIR: &str = "RECOVERY_STATE_DIR";
/// Any value but `0`: all hooks are silent and write nothing.
pub const RECOVERY_OFF: &str = "RECOVERY_OFF";
/// Process id of the client; the hook's parent may be a shell.
pub const CLAUDE_PID: &str = "CLAUDE_PID";
/// Replaces `~/.claude`.
pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// Session id of the client a command runs in.
pub const CLAUDE_CODE_SESSION_ID: &str = "CLAUDE_CODE_SESSION_ID";
/// How the client was started: `cli` for a person, `sdk-cli` for one answer.
pub const CLAUDE_CODE_ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";
/// Home of the user.
pub const HOME: &str = "HOME";
/// Folders that are searched for programs.
pub const PATH: &str = "PATH";
/// Which diagnostics the watcher prints.
pub const RUST_LOG: &str = "RUST_LOG";
/// Socket, pid and session of the tmux server around us.
pub const TMUX: &str = "TMUX";
/// Pane of the client.
pub const TMUX_PANE: &str = "TMUX_PANE";
/// Folder of tmux's sockets.
pub const TMUX_TMPDIR: &str = "TMUX_TMPDIR";
/// The zone of this host.
pub const TZ: &str = "TZ";
/// Replaces `~/.workflow-mcp`, the registry of another system's runs.
pub const WORKFLOW_MCP_HOME: &str = "WORKFLOW_MCP_HOME";
/// Folder of the user's configuration.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Folder of what programs remember for the user.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// Folder of the user's programs' data.
pub const XDG_DATA_HOME: &str = "XDG_DATA_HOME";

/// Reads variables; the tests hand over a list instead.
#[derive(Clone, Debug, Default)]
pub struct Env(Option<Vec<(String, OsString)>>);

impl Env {
    /// The environment of this process.
    #[must_use]
    pub const fn process() -> Self {
        Self(None)
    }

    /// An environment of exactly these variables.
    #[must_use]
    pub fn of(variables: &[(&str, &std::ffi::OsStr)]) -> Self {
        Self(Some(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()))
    }

    /// A variable that is set and not empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<OsString> {
        let value = match &self.0 {
            #[expect(clippy::disallowed_methods, reason = "this is the one place")]
            None => std::env::var_os(name),
            Some(list) => list.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
        };
        value.filter(|value| !value.is_empty())
    }

    /// A variable that is set, not empty and text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.into_string().ok()
    }

    /// An absolute path.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// Whether the hooks are switched off.
    #[must_use]
    pub fn off(&self) -> bool {
        self.get(RECOVERY_OFF).is_some_and(|value| value != "0")
    }

    /// The client's configuration folder.
    #[must_use]
    pub fn client_config_dir(&self) -> Option<PathBuf> {
        self.path(CLAUDE_CONFIG_DIR).or_else(|| Some(self.path(HOME)?.join(".claude")))
    }

    /// Our folder of what is remembered for the user over all projects.
    #[must_use]
    pub fn user_state_dir(&self) -> Option<PathBuf> {
        let state = self.path(XDG_STATE_HOME).or_else(|| Some(self.path(HOME)?.join(".local/state")))?;
        Some(state.join("recovery"))
    }

    /// Our folder of the user's configuration.
    #[must_use]
    pub fn user_config_dir(&self) -> Option<PathBuf> {
        let config = self.path(XDG_CONFIG_HOME).or_else(|| Some(self.path(HOME)?.join(".config")))?;
        Some(config.join("recovery"))
    }

    /// The folder of workflow-mcp. A relative path is meant from the current folder, as the engine takes it.
    #[must_use]
    pub fn workflow_mcp_home(&self, current_dir: &Path) -> Option<PathBuf> {
        match self.get(WORKFLOW_MCP_HOME) {
            Some(path) => Some(current_dir.join(path)),
            None => Some(self.path(HOME)?.join(layout::RUN_HOME)),
        }
    }

    /// Process id of the client.
    #[must_use]
    pub fn client_pid(&self) -> Option<u32> {
        self.text(CLAUDE_PID)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_the_variable_or_the_default() {
        let env = |list: &[(&str, &str)]| {
            let list: Vec<_> =
                list.iter().map(|(name, value)| (*name, std::ffi::OsStr::new(*value))).collect();
            Env::of(&list)
        };
        let at = |list: &[(&str, &str)]| env(list).workflow_mcp_home(Path::new("/now"));
        assert_eq!(at(&[("HOME", "/h")]), Some("/h/.workflow-mcp".into()));
        assert_eq!(at(&[("HOME", "/h"), ("WORKFLOW_MCP_HOME", "")]), Some("/h/.workflow-mcp".into()));
        assert_eq!(at(&[("HOME", "/h"), ("WORKFLOW_MCP_HOME", "/w")]), Some("/w".into()));
        assert_eq!(at(&[("WORKFLOW_MCP_HOME", "w")]), Some("/now/w".into()));
        assert_eq!(at(&[]), None);
    }
}
