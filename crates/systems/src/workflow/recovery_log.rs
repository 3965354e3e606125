//! A note of a recovery in the reasoning folder, for those who read it later.

use std::io;

use serde_json::json;
use session_state::{Now, times};

use super::WorkflowError;
use super::places::{self, Keys};
use super::state::State;
use super::tree::Tree;

/// Names of our notes begin with this: they are no reasoning of a step.
pub(crate) const PREFIX: &str = "recovery-";

/// Writes a note and returns its path from the project's root.
pub(crate) fn write(tree: &Tree, keys: &Keys, state: &State, now: Now) -> Result<String, WorkflowError> {
    let folders = keys.reasoning();
    let existing = folders.iter().find(|folder| matches!(tree.folder(folder), Ok(Some(_))));
    // A run keeps its own reasoning; a workflow has a folder among the others.
    let of_run = keys.run_folders().into_iter().find(|run| matches!(tree.folder(run), Ok(Some(_))));
    let new = of_run
        .map_or_else(|| format!("{}/{}", places::REASONING, state.id), |run| format!("{run}/reasoning"));
    let folder = existing.unwrap_or(&new);
    let failed = |path: &str, source: io::Error| WorkflowError::Io {
        operation: "write",
        path: path.to_owned(),
        source,
    };
    let dir = tree.make_folder(folder).map_err(|error| failed(folder, error))?;
    let text =
        serde_json::to_string_pretty(&note(state, now)).map_err(|error| failed(folder, error.into()))?;
    for number in 0..1000 {
        let name = match number {
            0 => format!("{PREFIX}{}.json", now.seconds()),
            number => format!("{PREFIX}{}-{number}.json", now.seconds()),
        };
        let path = format!("{folder}/{name}");
        let bytes = format!("{text}\n");
        // Never over the note of another recovery of the same second.
        match dir.put_new(&name, bytes.as_bytes(), || true) {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, error)),
        }
    }
    Err(failed(folder, io::ErrorKind::AlreadyExists.into()))
}

fn note(state: &State, now: Now) -> serde_json::Value {
    let decision = match (state.next_step, &state.next.agent) {
        (Some(step), Some(agent)) => format!("resume at step {step} with {agent}"),
        (Some(step), None) => format!("resume at step {step}"),
        (None, _) => "nothing to resume".to_owned(),
    };
    let rationale = match state.last_completed_step {
        Some(step) => format!("the last completed step is {step}"),
        None => "no step is completed".to_owned(),
    };
    json!({
        "agent": "recovery",
        "event": "recovery",
        "workflow_id": state.workflow_id.as_ref().unwrap_or(&state.id),
        "timestamp": times::rfc3339_utc(now),
        "last_completed_step": state.last_completed_step,
        "next_step": state.next_step,
        "decisions": [{ "decision": decision, "rationale": rationale }],
        "missing_artifacts": state.missing_artifacts,
        "damaged": state.damaged,
    })
}
