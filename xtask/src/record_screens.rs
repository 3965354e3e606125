//! `cargo xtask record-screens`: the client's screens, provoked and recorded once more, and how they are read.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::tool::Tool;
use crate::workspace::Workspace;

/// Some twenty scenes of up to a minute, and perhaps the installation of a client.
const LIMIT: Duration = Duration::from_secs(1500);
const BUILD_LIMIT: Duration = Duration::from_secs(900);
/// Below the repository; not among the tests' own, so that trying changes nothing.
const FOLDER: &str = "target/screens";

/// Records the screens of the client, or of one version of it, into a folder.
pub(crate) fn run(workspace: &Workspace, client: Option<&str>, out: Option<&Path>) -> Result<()> {
    let folder = match out {
        Some(out) => std::path::absolute(out)?,
        None => PathBuf::from(&workspace.root).join(FOLDER),
    };
    Tool::cargo()
        .args(["build", "--quiet", "--locked", "--package", "recovery", "--package", "end-to-end", "--bins"])
        .cwd(&workspace.root)
        .limit(BUILD_LIMIT)
        .run()?;
    Tool::cargo()
        .args(["run", "--quiet", "--locked", "--package", "end-to-end", "--bin", "record-screens", "--"])
        .arg(&folder)
        .args(client)
        .cwd(&workspace.root)
        .limit(LIMIT)
        .next_step("look at the screens that differ: mend what reads them, or what is right for them")
        .run()?;
    println!("Recorded into {}.", folder.display());
    Ok(())
}
