//! `recovery change check`.

use systems::change::{
    state::Phase,
    summary::{self, Wanted},
};

use super::{
    CheckArguments, list,
    open::{OpenError, Place},
    view::{self, Output},
};
use crate::{exit_status::ExitStatus, hint::hinted};

/// Runs the verb.
pub(crate) fn run(
    arguments: &CheckArguments,
    place: &Place<'_>,
    out: &Output<'_>,
) -> anyhow::Result<ExitStatus> {
    let mut phase = match arguments.phase.as_deref() {
        None => None,
        Some(word) => Some(Phase::of(word).ok_or_else(|| hinted(OpenError::Phase(word.to_owned())))?),
    };
    let mut name = arguments.change.change.as_deref();
    // A phase alone means the only change, unless a change has that name.
    if let (Some(word), None) = (name, phase)
        && let Some(named) = Phase::of(word)
        && place.open()?.change(word).is_err()
    {
        (name, phase) = (None, Some(named));
    }
    let wanted = Wanted { recover: arguments.recover, details: arguments.details, phase };
    let (project, change) = match name {
        Some(name) => place.open_change(Some(name))?,
        None => {
            let project = place.open()?;
            let candidates = project.candidates();
            let only = match candidates.as_slice() {
                [one] => project.change(&one.name).ok(),
                _ => None,
            };
            match only {
                Some(change) => (project, change),
                None => return list::run(&project, candidates, out),
            }
        }
    };
    let summary = summary::read(&project, &change, wanted);
    out.result(&summary, |printer| view::summary(printer, &summary))?;
    Ok(if summary.is_sound() { ExitStatus::Success } else { ExitStatus::Failure })
}
