//! Where the workspace and its build folder are, and what it builds.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::tool::Tool;

/// The hook programs; the last one is what the default wiring starts.
pub(crate) const HOOKS: [&str; 5] =
    ["crash-recovery-check", "error-tracker", "tool-degradation", "heartbeat-write", DEFAULT_HOOK];

/// The one program of the default wiring: all four hooks in one process.
pub(crate) const DEFAULT_HOOK: &str = "recovery-hooks";

/// The command beside the hooks.
pub(crate) const COMMAND: &str = "recovery";

/// The folders that everything here starts from.
pub(crate) struct Workspace {
    /// The repository.
    pub(crate) root: PathBuf,
    /// Cargo's build folder, `CARGO_TARGET_DIR` respected.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn find() -> Result<Self> {
        let text =
            Tool::cargo().args(["metadata", "--no-deps", "--format-version", "1", "--offline"]).read()?;
        let metadata: Value = serde_json::from_str(&text).context("`cargo metadata` did not print JSON")?;
        let folder = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .with_context(|| format!("`cargo metadata` names no {key}"))
        };
        Ok(Self { root: folder("workspace_root")?, target: folder("target_directory")? })
    }

    /// A folder under the build folder that is empty now.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf> {
        let dir = self.target.join(name);
        match std::fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("emptying {}", dir.display()));
            }
            _ => {}
        }
        std::fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
        Ok(dir)
    }
}

/// Whether this is a run in which nothing may be left out (`CI=true`).
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}
