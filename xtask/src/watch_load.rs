//! `cargo xtask bench-watch`: what a look of the watcher costs, and that nothing grows.

use std::time::Duration;

use anyhow::Result;

use crate::tool::Tool;
use crate::workspace::Workspace;

/// A build with optimisation, a minute of looks.
const LIMIT: Duration = Duration::from_secs(1_200);

/// Runs the tests of the load with optimisation; they print their figures and know their limits.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    Tool::cargo()
        .args(["test", "--quiet", "--locked", "--release", "--package", "watcher", "--test", "nights"])
        .args(["load", "--", "--nocapture", "--test-threads=1"])
        .cwd(&workspace.root)
        // Whole-program optimisation would cost minutes and changes little here.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .limit(LIMIT)
        .run()
}
