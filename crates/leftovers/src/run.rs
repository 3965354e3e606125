//! A run of workflow-mcp that was started in this project and cut off (FORMATS 7).

use std::path::Path;

use rules::advice::{self, RunCutOff};
use rules::liveness::{Process, is_later_process};
use serde_json::{Map, Value};
use session_state::{Dir, FileKind, FileStat, layout, process};

use crate::once::Once;
use crate::{Scan, foreign};

/// As long as the system itself shows failed runs, in seconds.
const SHOWN_S: i64 = 24 * 3_600;
/// Workspaces looked at.
const MAX_WORKSPACES: usize = 64;
/// Runs of one stage of a workspace looked at.
const MAX_RUNS: usize = 256;
/// Records read, the last written first: the others may be of other projects.
const MAX_READ: usize = 8;
/// The stages in which a run can have been cut off.
const STAGES: [&str; 2] = ["running", "error"];

pub(crate) fn find(scan: &Scan<'_>) -> Option<Once> {
    // A relative path counts from the folder of the engine, which is that of the project.
    let workspaces = scan.env.workflow_mcp_home(&scan.project.root)?.join(layout::RUN_WORKSPACES);
    if !foreign::is_there(&workspaces) {
        return None;
    }
    let home = Dir::open(workspaces.parent()?).ok()?;
    let mut runs = recent(scan, &home.folder(layout::RUN_WORKSPACES).ok()?);
    runs.sort_by_key(|run| std::cmp::Reverse((run.record.mtime_s, run.record.mtime_ns)));
    runs.iter().take(MAX_READ).find_map(|run| interrupted(scan, run))
}

/// A run whose record was written lately.
struct Run {
    key: String,
    stage: &'static str,
    stage_dir: std::rc::Rc<Dir>,
    record: FileStat,
}

fn recent(scan: &Scan<'_>, workspaces: &Dir) -> Vec<Run> {
    let mut runs = Vec::new();
    for workspace in workspaces.names(MAX_WORKSPACES) {
        let Ok(workspace) = workspaces.folder(&workspace) else { continue };
        for stage in STAGES {
            let Ok(stage_dir) = workspace.folder(stage).map(std::rc::Rc::new) else { continue };
            for key in stage_dir.names(MAX_RUNS).into_iter().filter(|key| foreign::is_plain(key)) {
                let record = stage_dir.folder(&key).ok().and_then(|dir| dir.stat(layout::RUN_RECORD));
                if let Some(record) = record
                    && record.kind == FileKind::File
                    && scan.now.age_s(record.mtime_s) <= SHOWN_S
                {
                    runs.push(Run { key, stage, stage_dir: stage_dir.clone(), record });
                }
            }
        }
    }
    runs
}

fn interrupted(scan: &Scan<'_>, run: &Run) -> Option<Once> {
    let dir = run.stage_dir.folder(&run.key).ok()?;
    let fields = foreign::record(&dir, layout::RUN_RECORD)?;
    let repository = foreign::text(&fields, "originalRepoPath")?;
    if !is_same(Path::new(repository), &scan.project.root) {
        return None;
    }
    let how = cut_off(&fields, run.stage, &run.key, |pid| {
        let later = process::start_epoch_s(pid).is_some_and(|at| is_later_process(at, run.record.mtime_s));
        if later { Process::Gone } else { process::presence(pid, None) }
    })?;
    // Somebody recovers it already.
    if dir.has(layout::RUN_CLAIM) || fields.contains_key("claimId") {
        return None;
    }
    let workflow = ["displayName", "workflowName"].iter().find_map(|name| foreign::text(&fields, name));
    let sentence = advice::run_interrupted(&run.key, workflow, how, scan.now.age_s(run.record.mtime_s));
    // The record moves and is rewritten when the engine notices; that is no news.
    let subject = ["workspace", "runKey", "runId", "startedAt"]
        .map(|name| foreign::text(&fields, name).unwrap_or_default())
        .join(" ");
    Some(Once::new("run", sentence, &subject))
}

/// How a run was cut off. None: it was not, or nobody can prove it, or nothing of it was real.
fn cut_off(
    fields: &Map<String, Value>,
    stage: &str,
    key: &str,
    judge: impl Fn(u32) -> Process,
) -> Option<RunCutOff> {
    // Caught in a move, or put there by hand.
    if foreign::text(fields, "stage") != Some(stage) || foreign::text(fields, "runKey") != Some(key) {
        return None;
    }
    if fields.get("dryRun") == Some(&Value::Bool(true)) {
        return None;
    }
    match stage {
        "running" => {
            let pid = fields.get("pid").and_then(Value::as_u64).and_then(|pid| u32::try_from(pid).ok());
            let gone = pid.is_some_and(|pid| pid > 0 && judge(pid) == Process::Gone);
            gone.then_some(RunCutOff::ProcessGone)
        }
        _ => (foreign::text(fields, "outcome") == Some("interrupted")).then_some(RunCutOff::Recorded),
    }
}

/// Whether two paths are one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    one == other || whole(one).is_some_and(|one| Some(one) == whole(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_run_was_cut_off() {
        use Process::{Alive, Gone, Unknown};
        let gone = Some(RunCutOff::ProcessGone);
        for (stage, more, process, expected) in [
            ("running", r#""pid": 7"#, Gone, gone),
            ("running", r#""pid": 7"#, Alive, None),
            ("running", r#""pid": 7"#, Unknown, None),
            ("running", r#""pid": 0"#, Gone, None),
            ("running", r#""pid": "7""#, Gone, None),
            ("running", r#""pid": 7, "dryRun": true"#, Gone, None),
            ("running", r#""outcome": "interrupted""#, Gone, None),
            ("error", r#""outcome": "interrupted""#, Alive, Some(RunCutOff::Recorded)),
            ("error", r#""outcome": "failed""#, Gone, None),
            ("error", r#""pid": 7"#, Gone, None),
        ] {
            let json = format!(r#"{{"stage": "{stage}", "runKey": "k", {more}}}"#);
            let Value::Object(fields) = serde_json::from_str(&json).unwrap() else { panic!("no object") };
            assert_eq!(cut_off(&fields, stage, "k", |_| process), expected, "{json}");
            assert_eq!(cut_off(&fields, "completed", "k", |_| process), None, "moved: {json}");
            assert_eq!(cut_off(&fields, stage, "other", |_| process), None, "renamed: {json}");
        }
    }
}
