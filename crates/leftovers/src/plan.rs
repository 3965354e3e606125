//! The plan in work.

use rules::advice;
use session_state::plans::{self, Plan};
use session_state::{Dir, Session};

use crate::{Finding, HISTORY_S, Repair, Scan, Weight};

pub(crate) fn find(scan: &Scan<'_>, root: &Dir) -> Option<Finding> {
    let plan = plans::read(root)?;
    is_current(plan.open, plan.done, scan.now.age_s(plan.mtime_s))
        .then(|| Finding::mended(Weight::Pointer, "plan", Tell(plan)))
}

/// With an open box, or none at all; changed within fourteen days.
const fn is_current(open: usize, done: usize, age_s: i64) -> bool {
    (open > 0 || done == 0) && age_s <= HISTORY_S
}

/// Telling it is noted: the plan itself is never touched.
struct Tell(Plan);

impl Repair for Tell {
    fn mend(&self, _: &Scan<'_>, teller: &Session) -> std::io::Result<Vec<String>> {
        let told = plans::tell(&self.0, teller)?;
        Ok(told.then(|| advice::plan_open(&plans::path(), self.0.open, self.0.done)).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_while_it_has_something_open_and_is_not_history() {
        for (open, done, age_s, told) in [
            (1, 3, 0, true),
            (0, 0, 0, true),
            (0, 3, 0, false),
            (1, 0, HISTORY_S - 1, true),
            (1, 0, HISTORY_S, true),
            (1, 0, HISTORY_S + 1, false),
        ] {
            assert_eq!(is_current(open, done, age_s), told, "{open} {done} {age_s}");
        }
    }
}
