//! What earlier sessions left: found cheaply, judged by rules, mended where that is safe, told in one sentence each.
//!
//! A system joins with a module that gives [`Finding`]s. A finding says what it is in words that stand alone, and
//! carries its [`Repair`] if there is one: finding never changes anything, repairing always looks again first.

mod change;
mod claims;
mod commits;
mod foreign;
mod handoffs;
mod loops;
mod once;
mod owners;
mod plan;
mod previous;
mod run;
mod workflow;

use std::fmt;

use session_state::env::Env;
use session_state::{Dir, Now, Project, Session};

pub use change::asked_for as change_asked_for;
pub use claims::{ClaimFacts, ClaimVerdict, judge_claim};
pub use loops::{LoopFacts, LoopVerdict, is_paused, judge_loop};
pub use once::Once;

/// What somebody is told of again and again although nothing happens to it is left out after this long, in seconds.
pub(crate) const HISTORY_S: i64 = 14 * 86_400;

/// What a scan looks at.
#[derive(Debug)]
pub struct Scan<'a> {
    /// The project.
    pub project: &'a Project,
    /// The environment.
    pub env: &'a Env,
    /// The id of the session that starts; it is not told of itself.
    pub session_id: &'a str,
    /// The name of its folder, which need not exist.
    pub session_name: &'a str,
    /// The folder of all sessions; None: there is none yet.
    pub sessions: Option<&'a Dir>,
    /// What a person asks for, if the scan is made at a prompt.
    pub request: Option<&'a str>,
    /// The present.
    pub now: Now,
}

/// How much a finding matters: of several the first are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Work was cut off.
    Interrupted,
    /// Another program's state was mended.
    Mended,
    /// Something to look at.
    Pointer,
    /// Something that stays as it is.
    Report,
}

/// Something an earlier session left.
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// What it is, for the log: `loop`, `claims`, `plan`, `session`, `workflow`, `run`, `change`.
    pub what: &'static str,
    /// The sentence, when there is nothing to mend or it could not be done.
    sentence: Option<String>,
    repair: Option<Box<dyn Repair>>,
}

impl fmt::Debug for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Finding")
            .field("what", &self.what)
            .field("sentence", &self.sentence)
            .finish_non_exhaustive()
    }
}

/// A change that mends a finding.
pub trait Repair {
    /// Looks again and mends, for the session that will tell of it. Returns the sentences that say so, the weightiest first; none when there was nothing left
    /// to do or to say.
    ///
    /// Errors: nothing was changed.
    fn mend(&self, scan: &Scan<'_>, teller: &Session) -> std::io::Result<Vec<String>>;
}

impl Finding {
    /// A finding that is only told.
    #[must_use]
    pub fn told(weight: Weight, what: &'static str, sentence: String) -> Self {
        Self { weight, what, sentence: Some(sentence), repair: None }
    }

    /// A finding that is mended; told only if it was.
    #[must_use]
    pub fn mended(weight: Weight, what: &'static str, repair: impl Repair + 'static) -> Self {
        Self { weight, what, sentence: None, repair: Some(Box::new(repair)) }
    }

    /// A finding that is mended, and told in other words if that could not be done.
    #[must_use]
    pub fn mended_or_told(
        weight: Weight,
        what: &'static str,
        repair: impl Repair + 'static,
        sentence: String,
    ) -> Self {
        Self { sentence: Some(sentence), ..Self::mended(weight, what, repair) }
    }

    /// Mends what can be mended and returns the sentences to tell: each stands alone, the weightiest first.
    #[must_use]
    pub fn resolve(&self, scan: &Scan<'_>, teller: &Session) -> Vec<String> {
        let said = self.repair.as_ref().and_then(|repair| repair.mend(scan, teller).ok()).unwrap_or_default();
        if said.is_empty() { self.sentence.iter().cloned().collect() } else { said }
    }
}

/// Finds everything, the weightiest first. Changes nothing but the name of a claim that a killed process had set aside.
#[must_use]
pub fn scan(scan: &Scan<'_>) -> Vec<Finding> {
    let owners = owners::Owners::read(scan);
    let root = scan.project.open_root();
    let of_systems = [
        root.as_ref().and_then(|root| workflow::find(scan, root)),
        run::find(scan),
        root.as_ref().and_then(|root| change::find(scan, &owners, root)),
    ];
    let room = of_systems.iter().flatten().map(Once::units).sum();
    let mut found = previous::find(scan, &owners, room);
    found.extend(of_systems.into_iter().flatten().map(Once::finding));
    found.extend(loops::find(scan, &owners, root.as_ref()));
    if let Some(root) = &root {
        found.extend(claims::find(scan, &owners, root));
        found.extend(plan::find(scan, root));
    }
    found.sort_by_key(|finding| finding.weight);
    found
}
