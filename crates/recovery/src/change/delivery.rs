//! `recovery change delivery`.

use serde::Serialize;
use systems::change::{
    delivery::{self, GitFacts, RemoteStatus, Status},
    state::State,
    summary::{self, DeliveryView},
};

use super::{DeliveryArguments, git::Git, open::Place, view::Output};
use crate::{
    exit_status::ExitStatus,
    hint::{Hinted, Remedy, hinted},
    printer::Printer,
};

/// What `delivery` prints.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    change: String,
    delivery: DeliveryView,
    verification: Verification,
}

/// What git says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verification {
    status: Status,
    /// Whether git was asked.
    verified: bool,
    current_branch: Option<String>,
    commit: Option<String>,
    commit_exists: Option<bool>,
    archive_committed: Option<bool>,
    remote_status: RemoteStatus,
    /// Pull requests are not in the repository.
    pr_status: &'static str,
}

/// Why there is nothing to say about a delivery.
#[derive(Debug, thiserror::Error)]
enum DeliveryFault {
    #[error("{file} {why}")]
    State { file: String, why: String },
}

impl Remedy for DeliveryFault {
    fn remedy(&self) -> String {
        "put .comet.yaml right first; nothing was changed".to_owned()
    }
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &DeliveryArguments,
    place: &Place<'_>,
    out: &Output<'_>,
) -> anyhow::Result<ExitStatus> {
    let (project, change) = place.open_change(arguments.change.change.as_deref())?;
    let fault = |why: String| {
        hinted(DeliveryFault::State { file: change.file(systems::change::project::STATE), why })
    };
    let state: State = summary::state_of(&change)
        .map_err(|faults| fault(faults.in_words()))?
        .ok_or_else(|| fault("does not exist".to_owned()))?;
    let files = summary::delivery_files(&project, &change, &state).map_err(|(file, why)| {
        Hinted::attach(
            anyhow::anyhow!("{file} {}", rules::text::safe_line(&why, 300)),
            "ask the person what may be delivered; the file was left alone",
        )
    })?;
    let view = summary::delivery_view(&change, &files);
    let open = files.delivery.as_ref().filter(|_| !files.invalidated);
    let facts: Option<GitFacts> = match open {
        Some(delivery) if arguments.verify && state.archived => {
            Some(Git::at(project.root.path()).facts(&change, delivery))
        }
        _ => None,
    };
    let status = match (open, &facts) {
        (None, _) => Status::NeedsAuthorization,
        (Some(delivery), Some(facts)) => delivery::judge(delivery, state.bound_branch.as_deref(), facts),
        (Some(_), None) => Status::NeedsVerification,
    };
    let report = Report {
        schema: "recovery.change-delivery.v1",
        change: change.name.clone(),
        delivery: DeliveryView { status: Some(status), ..view },
        verification: Verification {
            status,
            verified: facts.is_some(),
            current_branch: facts
                .as_ref()
                .and_then(|f| f.current_branch.as_deref())
                .map(|b| rules::text::safe_line(b, 200)),
            commit: facts.as_ref().and_then(|facts| facts.commit.clone()),
            commit_exists: facts.as_ref().map(|facts| facts.commit_exists),
            archive_committed: facts.as_ref().map(|facts| facts.archive_committed),
            remote_status: facts.as_ref().map_or(RemoteStatus::NotChecked, |facts| facts.remote),
            pr_status: "notChecked",
        },
    };
    out.result(&report, |printer| words(printer, &report, &state))?;
    Ok(ExitStatus::Success)
}

fn words(printer: &Printer, report: &Report, state: &State) {
    let verification = &report.verification;
    let status = match verification.status {
        Status::Complete => "delivered",
        Status::NeedsVerification => "authorised, not proven",
        Status::NeedsAuthorization if report.delivery.invalidated => "the authorisation was taken back",
        Status::NeedsAuthorization => "nothing is authorised",
    };
    printer.line(format_args!("delivery of {}: {status}", report.change));
    let Some(action) = report.delivery.action else {
        printer.fact("go on", "ask the person what may be delivered (/comet-archive)");
        return;
    };
    let branch = report.delivery.target_branch.as_deref().unwrap_or_default();
    let remote = report.delivery.remote.as_deref().map_or_else(String::new, |remote| format!(" on {remote}"));
    printer.fact("may", format_args!("{} {branch}{remote}", format!("{action:?}").to_lowercase()));
    if let Some(url) = &report.delivery.pr_url {
        printer.fact("recorded", url);
    }
    if !verification.verified {
        let go_on = if state.archived {
            format!("recovery change delivery {} --verify", report.change)
        } else {
            format!("recovery change check {} (it is not archived yet)", report.change)
        };
        printer.fact("go on", go_on);
        return;
    }
    let archive = match (verification.archive_committed, &verification.commit) {
        (Some(true), Some(commit)) => format!("committed in {}", commit.get(..12).unwrap_or(commit)),
        (_, Some(_)) => "the recorded commit does not hold the archive as it is now".to_owned(),
        _ => "not committed".to_owned(),
    };
    printer.fact("archive", archive);
    printer.fact("branch", verification.current_branch.as_deref().unwrap_or("none is checked out"));
    printer.fact(
        "remote",
        match verification.remote_status {
            RemoteStatus::NotChecked => "not checked",
            RemoteStatus::Verified => "has the commit, as last seen here",
            RemoteStatus::Missing => "does not have the commit, as last seen here",
            RemoteStatus::Unavailable => "another address than authorised, or never seen here",
        },
    );
    if action == delivery::Action::Pr {
        printer.fact("pull req.", "not known: it is not in the repository");
    }
    let go_on = match verification.status {
        Status::Complete => "nothing: it is done".to_owned(),
        _ => format!("/comet-archive {}", report.change),
    };
    printer.fact("go on", go_on);
}
