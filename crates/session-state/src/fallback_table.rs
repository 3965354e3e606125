//! `.working-state/fallback-tools.md`: the project's own replacements. Only read, and only after a failure.

use rules::fallback::{self, FallbackTable, Row};

use crate::layout;
use crate::root::Project;

const LIMIT: usize = 256 * 1024;

/// Reads the table. None: missing, too large or no text.
#[must_use]
pub fn read(project: &Project) -> Option<FallbackTable> {
    let folder = project.open_root()?.folder(layout::WORKING_STATE).ok()?;
    let bytes = folder.read(layout::FALLBACK_TOOLS, LIMIT).ok()?;
    Some(FallbackTable::parse(&String::from_utf8_lossy(&bytes)))
}

/// The replacement of a tool: the project's row, else the built-in one.
#[must_use]
pub fn row_for(project: &Project, tool: &str) -> Option<Row> {
    read(project).and_then(|table| table.for_tool(tool).cloned()).or_else(|| fallback::builtin(tool))
}

/// The replacement of a shell program or command prefix: its own row, else the one for Bash as a whole.
#[must_use]
pub fn row_for_bash(project: &Project, name: &str) -> Option<Row> {
    let table = read(project)?;
    table.for_command(name).or_else(|| table.plain_bash()).cloned()
}
