//! The plan in work.

use rules::advice;
use session_state::Session;
use session_state::plans::{self, Plan};

use crate::{Finding, Repair, Scan, Weight};

/// A plan that did not change for longer is history, in seconds.
const FRESH_S: i64 = 14 * 86_400;

pub(crate) fn find(scan: &Scan<'_>) -> Option<Finding> {
    let plan = plans::read(&scan.project.open_root()?)?;
    is_current(&plan, scan.now.age_s(plan.mtime_s))
        .then(|| Finding::mended(Weight::Pointer, "plan", Tell(plan)))
}

/// With an open box, or none at all; changed within fourteen days.
fn is_current(plan: &Plan, age_s: i64) -> bool {
    (plan.open > 0 || plan.done == 0) && age_s <= FRESH_S
}

/// Telling it is noted: the plan itself is never touched.
struct Tell(Plan);

impl Repair for Tell {
    fn mend(&self, _: &Scan<'_>, teller: &Session) -> std::io::Result<Option<String>> {
        let told = plans::tell(&self.0, teller)?;
        Ok(told.then(|| advice::plan_open(&plans::path(), self.0.open, self.0.done)))
    }
}
