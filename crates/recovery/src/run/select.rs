//! Which run a key means.

use systems::run::claim::{self, Claimed};
use systems::run::record::{Record, Stage};
use systems::run::registry::{Registry, Run, is_key};

use super::Selection;
use crate::hint::{Remedy, hinted};

/// Why no run was found. The two texts about failed runs are those of the system's own command.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotFound {
    #[error("{:?} is no run key", rules::text::one_line(.0, 80))]
    NoKey(String),
    #[error("No failed workflow run matches {:?}.", rules::text::one_line(.0, 80))]
    NoMatch(String),
    #[error("Failed workflow run key {:?} exists in more than one workspace.", rules::text::one_line(.key, 80))]
    Ambiguous { key: String, workspaces: Vec<String> },
    #[error("{path} is at stage {}: this is for runs that have ended", .stage.word())]
    NotEnded { path: String, stage: Stage },
    #[error("{path}/run.json {problem}")]
    NoRecord { path: String, problem: String },
}

impl Remedy for NotFound {
    fn remedy(&self) -> String {
        match self {
            Self::NoKey(_) => "a key is the name of one folder, without `/` or `..`".to_owned(),
            Self::NoMatch(_) => "`recovery run list --all` shows every run".to_owned(),
            Self::Ambiguous { workspaces, .. } => {
                format!("name one with --workspace: {}", workspaces.join(", "))
            }
            Self::NotEnded { .. } => "wait until the engine has moved it to error or completed".to_owned(),
            Self::NoRecord { .. } => "the file is left alone; look at it by hand".to_owned(),
        }
    }
}

/// Finds the run, the stages in order of preference.
pub(super) fn find(registry: &Registry, selection: &Selection, preferred: &[Stage]) -> anyhow::Result<Run> {
    let found = all(registry, selection)?;
    choose(found, selection, |run| {
        preferred.iter().position(|stage| *stage == run.stage).unwrap_or(preferred.len())
    })
}

/// Finds the run that is claimed, at whatever stage: the claim moves with the folder when the engine takes the run up.
pub(super) fn find_claimed(registry: &Registry, selection: &Selection) -> anyhow::Result<Run> {
    let found = all(registry, selection)?;
    choose(found, selection, |run| usize::from(claim::of(run) == Claimed::No))
}

fn all(registry: &Registry, selection: &Selection) -> anyhow::Result<Vec<Run>> {
    let workspace = selection.workspace.as_deref();
    if !is_key(&selection.key) || workspace.is_some_and(|name| !is_key(name)) {
        let wrong = if is_key(&selection.key) { workspace.unwrap_or_default() } else { &selection.key };
        return Err(hinted(NotFound::NoKey(wrong.to_owned())));
    }
    Ok(registry.find(&selection.key, workspace))
}

fn choose(mut found: Vec<Run>, selection: &Selection, rank: impl Fn(&Run) -> usize) -> anyhow::Result<Run> {
    let Some(best) = found.iter().map(&rank).min() else {
        return Err(hinted(NotFound::NoMatch(selection.key.clone())));
    };
    found.retain(|run| rank(run) == best);
    let mut workspaces: Vec<String> =
        found.iter().map(|run| rules::text::one_line(&run.workspace, 80)).collect();
    workspaces.dedup();
    if workspaces.len() > 1 {
        return Err(hinted(NotFound::Ambiguous { key: selection.key.clone(), workspaces }));
    }
    found.into_iter().next().ok_or_else(|| hinted(NotFound::NoMatch(selection.key.clone())))
}

/// The record of a run that is needed for what follows.
pub(super) fn record(run: &Run) -> anyhow::Result<&Record> {
    run.record
        .as_ref()
        .map_err(|problem| hinted(NotFound::NoRecord { path: run.path(), problem: problem.to_string() }))
}

/// Insists that a run has ended.
pub(super) fn ended(run: &Run, allowed: &[Stage]) -> anyhow::Result<()> {
    let stage = run.record.as_ref().map_or(run.stage, |record| record.stage);
    match [run.stage, stage].into_iter().find(|stage| !allowed.contains(stage)) {
        None => Ok(()),
        Some(stage) => Err(hinted(NotFound::NotEnded { path: run.path(), stage })),
    }
}
