//! The recovery state document: what `recovery workflow resume` leaves for those who go on.

use std::io;

use serde::Serialize;
use session_state::{Now, times};

use super::WorkflowError;
use super::checklist::{Point, checklist};
use super::json::{self, Fields as _};
use super::lock::FileLock;
use super::places;
use super::prompt::prompt;
use super::state::State;
use super::tree::Tree;

/// The name and version of the form of [`Resumed`].
pub const SCHEMA: &str = "recovery.workflow-recovery-state.v1";
/// All versions of it.
const FAMILY: &str = "recovery.workflow-recovery-state.v";
/// A document larger than this is none, in bytes: it holds a line for every file of the workflow.
const LIMIT: usize = 64 * 1024 * 1024;

/// A workflow made ready to go on; this is the document.
#[derive(Clone, Debug, Serialize)]
pub struct Resumed {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// RFC 3339.
    pub written_at: String,
    /// Where it was written, from the project's root.
    pub path: String,
    /// Where the recovery was noted, from the project's root.
    pub logged: Option<String>,
    /// The eight questions.
    pub checklist: Vec<Point>,
    /// What to tell the next agent.
    pub prompt: String,
    /// The state.
    pub state: State,
}

/// Writes the document in the place of an older one of ours, and reads it again.
pub(crate) fn write(
    tree: &Tree,
    state: State,
    logged: Option<String>,
    now: Now,
) -> Result<Resumed, WorkflowError> {
    let folder = places::ARTIFACTS[0];
    let name = format!("recovery-state-{}.json", state.id);
    let path = format!("{folder}/{name}");
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::TimedOut => WorkflowError::Busy { path: path.clone() },
        _ => WorkflowError::Io { operation: "write", path: path.clone(), source },
    };
    let taken = |why: String| WorkflowError::Taken { path: path.clone(), why };
    let document = Resumed {
        schema: SCHEMA,
        written_at: times::rfc3339_utc(now),
        path: path.clone(),
        checklist: checklist(&state, logged.as_deref()),
        prompt: prompt(&state),
        logged,
        state,
    };
    let mut bytes = serde_json::to_vec_pretty(&document).map_err(|error| failed(error.into()))?;
    bytes.push(b'\n');
    let dir = tree.make_folder(folder).map_err(failed)?;
    let is_new = match dir.put_new(&name, &bytes, || true) {
        Ok(made) => made,
        // An older one, or the one of a recovery at the same moment.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(failed(error)),
    };
    if !is_new {
        let (_lock, judged) = FileLock::take(&dir, &name).map_err(failed)?;
        is_ours(&dir.read(&name, LIMIT).map_err(failed)?).map_err(taken)?;
        if !dir.replace_if(&name, &bytes, || dir.stat(&name) == Some(judged)).map_err(failed)? {
            return Err(WorkflowError::Busy { path });
        }
    }
    // What cannot be read again is of no use to anybody. Another recovery may have taken its place by now.
    let again = dir.read(&name, LIMIT).map_err(failed)?;
    if again != bytes {
        is_ours(&again).map_err(taken)?;
    }
    Ok(document)
}

/// Whether bytes are a document of this version; if not, why, in words that stand after the name.
fn is_ours(bytes: &[u8]) -> Result<(), String> {
    let object = json::object(bytes).map_err(|why| why.to_string())?;
    match object.text("schema").and_then(|schema| schema.strip_prefix(FAMILY)) {
        Some("1") => Ok(()),
        Some(_) => Err("is of a newer version".to_owned()),
        None => Err("is not ours".to_owned()),
    }
}
