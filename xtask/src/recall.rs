//! `cargo xtask bench-recall`: what killed sessions knew, and how much of it the next session is told.

use std::time::Duration;

use anyhow::Result;

use crate::binaries::Release;
use crate::test::PROGRAMS_VARIABLE;
use crate::tool::Tool;
use crate::workspace::Workspace;

/// Ten sessions and their successors, the build of the measuring program included.
const LIMIT: Duration = Duration::from_secs(900);

/// Measures with the release programs; fails below the limits that the measuring program knows.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let release = Release::choose(workspace)?;
    release.build(workspace)?;
    Tool::cargo()
        .args(["run", "--quiet", "--locked", "--package", "end-to-end", "--bin", "recall"])
        .cwd(&workspace.root)
        .env(PROGRAMS_VARIABLE, &release.dir)
        .limit(LIMIT)
        .run()
}
