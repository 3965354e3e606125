//! What earlier sessions left: found cheaply, judged by rules, mended where that is safe, told in one sentence each.
//!
//! A system joins with a module that gives [`Finding`]s. A finding says what it is in words that stand alone, and
//! carries its [`Repair`] if there is one: finding never changes anything, repairing always looks again first.

mod claims;
mod commits;
mod handoffs;
mod loops;
mod owners;
mod plan;
mod previous;

use std::fmt;

use session_state::env::Env;
use session_state::{Dir, Now, Project, Session};

pub use claims::{ClaimFacts, ClaimVerdict, judge_claim};
pub use loops::{LoopFacts, LoopVerdict, judge_loop};

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
    /// What it is, for the log: `loop`, `claims`, `plan`, `session`, `hand-off`.
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
    /// Looks again and mends, for the session that will tell of it. Returns the sentence that says so; None when there
    /// was nothing left to do.
    ///
    /// Errors: nothing was changed.
    fn mend(&self, scan: &Scan<'_>, teller: &Session) -> std::io::Result<Option<String>>;
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

    /// Mends what can be mended and returns the sentence to tell.
    #[must_use]
    pub fn resolve(&self, scan: &Scan<'_>, teller: &Session) -> Option<String> {
        match &self.repair {
            Some(repair) => repair.mend(scan, teller).ok().flatten().or_else(|| self.sentence.clone()),
            None => self.sentence.clone(),
        }
    }

    /// Whether resolving changes anything.
    #[must_use]
    pub fn has_repair(&self) -> bool {
        self.repair.is_some()
    }
}

/// Finds everything, the weightiest first. Changes nothing.
#[must_use]
pub fn scan(scan: &Scan<'_>) -> Vec<Finding> {
    let owners = owners::Owners::read(scan);
    let mut found = previous::find(scan, &owners);
    found.extend(loops::find(scan, &owners));
    found.extend(claims::find(scan, &owners));
    found.extend(plan::find(scan));
    found.sort_by_key(|finding| finding.weight);
    found
}
