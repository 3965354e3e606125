//! Claims nobody holds any more.

use rules::advice;
use rules::liveness::{Process, Verdict};
use session_state::claims::{self, Claim};
use session_state::{Dir, Session, file_name, process, times};

use crate::owners::{Owners, shows_life};
use crate::{Finding, HISTORY_S, Repair, Scan, Weight};

/// A claim older than this may be stale, in seconds (strictly more).
pub(crate) const STALE_S: i64 = 900;
/// A process that started this much after the claim was written is another one with the same number, in seconds.
const CLOCK_SLACK_S: i64 = 2;

/// What is known about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimFacts {
    /// Seconds since it was written.
    pub age_s: i64,
    /// It has not run out by its own word.
    pub unexpired: bool,
    /// A process holds a lock on it.
    pub in_use: bool,
    /// The process it names; None: it names none.
    pub process: Option<Process>,
    /// The session it names; None: it names none.
    pub session: Option<Verdict>,
    /// It names a holder that cannot be judged from here.
    pub elsewhere: bool,
}

/// What is to be done about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// It is young, or held.
    Leave,
    /// It is old, and a holder cannot be ruled out.
    Stays,
    /// Nobody holds it.
    Remove,
}

/// Judges a claim: its age alone proves nothing when it names somebody.
#[must_use]
pub fn judge_claim(facts: &ClaimFacts) -> ClaimVerdict {
    if facts.age_s <= STALE_S || facts.unexpired || facts.in_use {
        return ClaimVerdict::Leave;
    }
    let held = facts.process == Some(Process::Alive) || facts.session.is_some_and(shows_life);
    if held {
        return ClaimVerdict::Leave;
    }
    if facts.elsewhere || facts.process == Some(Process::Unknown) {
        return ClaimVerdict::Stays;
    }
    ClaimVerdict::Remove
}

pub(crate) fn find(scan: &Scan<'_>, owners: &Owners, root: &Dir) -> Vec<Finding> {
    let (mut stale, mut stay) = (Vec::new(), Vec::new());
    for claim in claims::older_than(root, STALE_S, scan.now) {
        let facts = facts(scan, owners, &claim);
        match judge_claim(&facts) {
            // Nobody acts on it, and nobody wants to hear of it in every session for years.
            ClaimVerdict::Stays if facts.age_s > HISTORY_S => {}
            ClaimVerdict::Leave => {}
            ClaimVerdict::Stays => stay.push(claim.name),
            ClaimVerdict::Remove => stale.push(claim),
        }
    }
    let mut found = Vec::new();
    if !stale.is_empty() {
        found.push(Finding::mended(Weight::Mended, "claims", Remove(stale)));
    }
    if !stay.is_empty() {
        let names: Vec<&str> = stay.iter().map(String::as_str).collect();
        found.push(Finding::told(Weight::Report, "claims", advice::claims_stay(&names)));
    }
    found
}

fn facts(scan: &Scan<'_>, owners: &Owners, claim: &Claim) -> ClaimFacts {
    let holder = &claim.holder;
    let here = holder.host.as_deref().is_none_or(|host| process::host_name().as_deref() == Some(host));
    let process = holder.pid.filter(|_| here).map(|pid| {
        // Some write the start in clock ticks, some as a time.
        let as_time = holder.start.is_some_and(|start| is_start_time(pid, start));
        let id = process::ProcessId {
            boot_id: holder.boot_id.clone(),
            pid_ns: holder.pid_ns.clone(),
            pid,
            start: holder.start.filter(|_| !as_time),
        };
        match id.presence() {
            Process::Alive if holder.start.is_none() && started_after(pid, claim.stat.mtime_s) => {
                Process::Gone
            }
            presence => presence,
        }
    });
    let session = holder
        .session
        .as_deref()
        .map(|id| if file_name(id) == scan.session_name { Verdict::Alive } else { owners.verdict(id) });
    ClaimFacts {
        age_s: scan.now.age_s(claim.stat.mtime_s),
        unexpired: holder.expires_s.is_some_and(|at| at > scan.now.seconds()),
        in_use: claim.in_use,
        process,
        session,
        elsewhere: !here || holder.unreadable,
    }
}

/// Whether a start a claim names is this process's as seconds or milliseconds since 1970.
fn is_start_time(pid: u32, named: u64) -> bool {
    let named = times::of_json(&named.into());
    named
        .zip(process::start_epoch_s(pid))
        .is_some_and(|(named, is)| named.abs_diff(is) <= CLOCK_SLACK_S as u64)
}

fn started_after(pid: u32, mtime_s: i64) -> bool {
    process::start_epoch_s(pid).is_some_and(|started| started > mtime_s + CLOCK_SLACK_S)
}

struct Remove(Vec<Claim>);

impl Repair for Remove {
    fn mend(&self, scan: &Scan<'_>, _: &Session) -> std::io::Result<Vec<String>> {
        let Some(root) = scan.project.open_root() else { return Ok(Vec::new()) };
        // One that cannot be removed (a read-only tree) does not keep the others.
        let removed: Vec<&str> = self
            .0
            .iter()
            .filter(|claim| claims::remove(&root, claim).unwrap_or(false))
            .map(|claim| claim.name.as_str())
            .collect();
        Ok(if removed.is_empty() { Vec::new() } else { vec![advice::claims_removed(&removed)] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_goes_only_when_nobody_can_hold_it() {
        let bare = ClaimFacts {
            age_s: STALE_S + 1,
            unexpired: false,
            in_use: false,
            process: None,
            session: None,
            elsewhere: false,
        };
        use ClaimVerdict::{Leave, Remove, Stays};
        for (facts, verdict) in [
            (bare, Remove),
            (ClaimFacts { age_s: STALE_S, ..bare }, Leave),
            (ClaimFacts { age_s: 0, ..bare }, Leave),
            (ClaimFacts { unexpired: true, ..bare }, Leave),
            (ClaimFacts { in_use: true, ..bare }, Leave),
            (ClaimFacts { process: Some(Process::Alive), ..bare }, Leave),
            (ClaimFacts { process: Some(Process::Gone), ..bare }, Remove),
            (ClaimFacts { process: Some(Process::Unknown), ..bare }, Stays),
            (ClaimFacts { elsewhere: true, ..bare }, Stays),
            (ClaimFacts { session: Some(Verdict::Idle), process: Some(Process::Gone), ..bare }, Leave),
            (ClaimFacts { session: Some(Verdict::NotYet), ..bare }, Leave),
            (ClaimFacts { session: Some(Verdict::Dead), ..bare }, Remove),
            (ClaimFacts { session: Some(Verdict::Unknown), ..bare }, Remove),
        ] {
            assert_eq!(judge_claim(&facts), verdict, "{facts:?}");
        }
    }
}
