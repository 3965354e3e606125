//! `recovery-claim.json` beside a record: who recovers the run. Ours; the engine keeps its own claim in a place that is
//! not public, so neither its record nor its repairs are touched.
//!
//! The file appears whole under its name and never over another one: of many who claim at once exactly one wins. It
//! moves with the folder when the engine takes the run up again.

use std::io;

use rules::liveness::Process;
use serde::{Deserialize, Serialize};
use session_state::process::ProcessId;
use session_state::{Now, fact_id, times};

use super::record::Stage;
use super::registry::{RECORD, Registry, Run};
use super::shown;

pub use session_state::layout::RUN_CLAIM as FILE;
const LIMIT: usize = 64 * 1024;
/// The version written; a newer one is read as taken and never removed.
const VERSION: u64 = 1;

/// Who claims.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Session of the client, if any.
    pub session_id: Option<String>,
    /// The process that stands behind the claim: the client, or the shell.
    pub process: Option<ProcessId>,
}

/// A claim of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Version of the file.
    pub schema_version: u64,
    /// Its id: whoever knows it may give it back.
    pub claim_id: String,
    /// When it was taken, RFC 3339.
    pub claimed_at: String,
    /// Session of the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_session_id: Option<String>,
    /// Process of the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_process: Option<ProcessId>,
    /// Generation of the run it was taken for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Size of the events when it was taken, in bytes: what comes after is new.
    #[serde(default)]
    pub progress_bytes: u64,
}

impl Claim {
    /// When it was taken, seconds since 1970.
    #[must_use]
    pub fn claimed_s(&self) -> Option<i64> {
        times::parse(&self.claimed_at)
    }

    /// Whether the process behind it is proven gone.
    #[must_use]
    pub fn owner_is_gone(&self) -> bool {
        self.owner_process.as_ref().is_some_and(|process| process.presence() == Process::Gone)
    }
}

/// Whether somebody recovers a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// Nobody we know of.
    No,
    /// The claim file says who.
    Ours(Claim),
    /// The claim file cannot be read, or is of a newer version: taken, and not ours to remove.
    Unreadable(String),
    /// The record says so.
    Recorded {
        /// Id of the claim.
        id: String,
        /// Its owner.
        owner: Option<String>,
    },
}

/// Looks whether a run is claimed.
#[must_use]
pub fn of(run: &Run) -> Claimed {
    match read(run) {
        Claimed::No => match run.record.as_ref().ok().and_then(|record| record.claim.as_ref()) {
            Some(claim) => Claimed::Recorded {
                id: shown::line(&claim.id, 80),
                owner: claim.owner.as_ref().map(|owner| shown::line(owner, 80)),
            },
            None => Claimed::No,
        },
        claimed => claimed,
    }
}

fn read(run: &Run) -> Claimed {
    if !run.dir.has(FILE) {
        return Claimed::No;
    }
    match run.dir.read(FILE, LIMIT) {
        Ok(bytes) => parse(&bytes),
        // Given back this very moment.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Claimed::No,
        Err(error) => Claimed::Unreadable(error.to_string()),
    }
}

/// Reads a claim file.
#[must_use]
pub fn parse(bytes: &[u8]) -> Claimed {
    match serde_json::from_slice::<Claim>(bytes) {
        Ok(claim) if claim.schema_version > VERSION => {
            Claimed::Unreadable(format!("its version {} is newer", claim.schema_version))
        }
        Ok(claim) if claim.claim_id.is_empty() => Claimed::Unreadable("it has no id".to_owned()),
        Ok(claim) => Claimed::Ours(claim),
        Err(_) => Claimed::Unreadable("it is damaged".to_owned()),
    }
}

/// Why a claim was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotClaimed {
    /// Somebody else has it.
    #[error("is claimed already")]
    Already(Box<Claimed>),
    /// The run was moved or rewritten meanwhile.
    #[error("changed while it was being claimed")]
    Moved,
    /// The file could not be written.
    #[error("cannot be claimed: {0}")]
    NotWritten(#[source] io::Error),
}

/// Takes the claim.
///
/// # Errors
/// Somebody has it, the run changed since it was read, or the file cannot be written; then nothing is left behind.
pub fn take(registry: &Registry, run: &Run, owner: &Owner, now: Now) -> Result<Claim, NotClaimed> {
    match of(run) {
        Claimed::No => {}
        claimed => return Err(NotClaimed::Already(claimed.into())),
    }
    let claim = Claim {
        schema_version: VERSION,
        claim_id: fact_id(None, now),
        claimed_at: times::rfc3339_utc(now),
        owner_session_id: owner.session_id.clone(),
        owner_process: owner.process.clone(),
        run_id: run.record.as_ref().ok().and_then(|record| record.run_id.clone()),
        progress_bytes: run.dir.stat(super::registry::PROGRESS).map_or(0, |stat| stat.size),
    };
    let mut bytes =
        serde_json::to_vec_pretty(&claim).map_err(|error| NotClaimed::NotWritten(error.into()))?;
    bytes.push(b'\n');
    let temporary = temporary(&claim.claim_id);
    run.dir.create_new_synced(&temporary, &bytes).map_err(NotClaimed::NotWritten)?;
    if let Err(error) = run.dir.rename_new(&temporary, FILE) {
        // Nothing more can be done about a temporary file that cannot be removed.
        let _ = run.dir.remove_file(&temporary);
        return Err(match error.kind() {
            io::ErrorKind::AlreadyExists => NotClaimed::Already(of(run).into()),
            _ => NotClaimed::NotWritten(error),
        });
    }
    // The engine may have taken the run up between the look and the claim.
    if !is_still_there(registry, run) {
        give_back(run, &claim.claim_id).map_err(NotClaimed::NotWritten)?;
        return Err(NotClaimed::Moved);
    }
    Ok(claim)
}

fn is_still_there(registry: &Registry, run: &Run) -> bool {
    let found = registry.find(&run.key, Some(&run.workspace));
    let mut same = found.iter().filter(|found| found.stage == run.stage && found.stage == Stage::Error);
    same.any(|found| found.stat.is_some() && found.stat == run.dir.stat(RECORD) && found.stat == run.stat)
}

/// Why a claim was not given back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotReleased {
    /// There is none of ours.
    #[error("is not claimed")]
    NotClaimed,
    /// It is somebody else's.
    #[error("is claimed by somebody else")]
    NotYours(Box<Claimed>),
    /// The file cannot be removed.
    #[error("cannot be released: {0}")]
    NotRemoved(#[source] io::Error),
}

/// Gives a claim back: its owner may, whoever knows its id, and everybody once its process is proven gone.
///
/// # Errors
/// There is none, it is not yours, or the file cannot be removed.
pub fn release(run: &Run, id: Option<&str>, owner: &Owner) -> Result<Claim, NotReleased> {
    let claim = match of(run) {
        Claimed::No => return Err(NotReleased::NotClaimed),
        Claimed::Ours(claim) => claim,
        other => return Err(NotReleased::NotYours(other.into())),
    };
    let may = match id {
        Some(id) => claim.claim_id == id,
        None => is_of(&claim, owner) || claim.owner_is_gone(),
    };
    if !may {
        return Err(NotReleased::NotYours(Claimed::Ours(claim).into()));
    }
    match give_back(run, &claim.claim_id) {
        Ok(true) => Ok(claim),
        Ok(false) => Err(NotReleased::NotYours(of(run).into())),
        Err(error) => Err(NotReleased::NotRemoved(error)),
    }
}

/// The same session; without one, the same process.
fn is_of(claim: &Claim, owner: &Owner) -> bool {
    match (&claim.owner_session_id, &owner.session_id) {
        (Some(then), Some(now)) => then == now,
        (None, None) => claim.owner_process.is_some() && claim.owner_process == owner.process,
        _ => false,
    }
}

/// Removes the claim with this id: set aside, looked at again, removed; another one is put back, never over a newer.
fn give_back(run: &Run, id: &str) -> io::Result<bool> {
    let aside = temporary(id);
    match run.dir.rename_new(FILE, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    let same = run
        .dir
        .read(&aside, LIMIT)
        .is_ok_and(|bytes| matches!(parse(&bytes), Claimed::Ours(claim) if claim.claim_id == id));
    if !same {
        run.dir.rename_new(&aside, FILE)?;
        return Ok(false);
    }
    run.dir.remove_file(&aside)?;
    Ok(true)
}

/// A name as the left-overs of a killed process have them everywhere in the suite: no state.
fn temporary(id: &str) -> String {
    format!(".{FILE}.{}.recovery-tmp", session_state::file_name(id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_claim_that_cannot_be_read_is_taken_all_the_same() {
        let good = r#"{"schemaVersion":1,"claimId":"c","claimedAt":"2026-03-02T09:00:00Z","more":[1]}"#;
        assert!(
            matches!(parse(good.as_bytes()), Claimed::Ours(claim) if claim.claimed_s() == Some(1_772_442_000))
        );
        for text in ["", "{", "[]", "{}", &good.replace(":1,", ":2,"), &good.replace("\"c\"", "\"\"")] {
            assert!(matches!(parse(text.as_bytes()), Claimed::Unreadable(_)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(!matches!(parse(&bytes), Claimed::No));
        }
    }
}
