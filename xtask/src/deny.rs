//! `cargo xtask deny`: licences, sources and banned crates; known weaknesses where their database can be reached.

use std::time::Duration;

use anyhow::Result;

use crate::cargo_tools::DENY;
use crate::tool::Tool;
use crate::workspace::Workspace;

/// Runs cargo-deny with `deny.toml`.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let program = DENY.get_or_build(workspace)?;
    let deny = |checks: &[&str]| {
        Tool::new(&program)
            .args(["--workspace", "--locked", "check", "--hide-inclusion-graph"])
            .args(checks)
            .cwd(&workspace.root)
            .limit(Duration::from_secs(120))
    };
    deny(&["bans", "licenses", "sources"]).next_step("deny.toml says what is allowed and why").run()?;
    advisories(deny(&["advisories"]))
}

/// The database of weaknesses comes from outside: not reaching it is said, a weakness found is an error.
fn advisories(tool: Tool) -> Result<()> {
    let said = tool.capture(b"")?;
    if said.status.success() {
        println!("Advisories: none.");
    } else if unreachable(&said.stderr) {
        println!("Advisories: not checked, the database cannot be reached from here.");
    } else {
        anyhow::bail!("a dependency has a known weakness:\n{}", said.stderr);
    }
    Ok(())
}

/// Whether cargo-deny failed before it had a database to look into.
fn unreachable(stderr: &str) -> bool {
    stderr.contains("failed to fetch advisory database")
}
