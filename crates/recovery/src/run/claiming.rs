//! `recovery run claim` and `recovery run release`.

use clap::Args;
use rules::text;
use serde::Serialize;
use session_state::process::ProcessId;
use session_state::{Now, env};
use systems::run::branch;
use systems::run::claim::{self, Claim, Claimed, NotClaimed, NotReleased, Owner};
use systems::run::judgement::{self, Outcome, Row, shell_word};
use systems::run::pass::{Pass, Told};
use systems::run::record::Stage;
use systems::run::registry::{Registry, Run};

use super::{Selection, select};
use crate::{environment::Environment, exit_status::ExitStatus, hint::Hinted, printer::Printer};

/// Longest session id that is written down.
const LONGEST_SESSION: usize = 256;

/// Say that you recover a run, before doing so
///
/// Makes recovery-claim.json beside the record: where the engine keeps its own claim is not public, so the record is
/// not touched. Of many who claim at once one wins; the others end with exit 3, and nothing is tried again.
#[derive(Debug, Args)]
pub(super) struct ClaimArguments {
    #[command(flatten)]
    selection: Selection,
    /// Session that recovers it [default: the one around the command]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON (schemas/run-claim.v1.json)
    #[arg(long)]
    json: bool,
}

/// Give a claim back
///
/// Its owner may, whoever knows the id of the claim, and everybody once the owner's process is proven gone.
#[derive(Debug, Args)]
pub(super) struct ReleaseArguments {
    #[command(flatten)]
    selection: Selection,
    /// Id of the claim, as `claim` printed it
    #[arg(long, value_name = "ID")]
    claim: Option<String>,
    /// Session that claimed it [default: the one around the command]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print JSON (schemas/run-release.v1.json)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer {
    run_key: String,
    workspace: String,
    result: &'static str,
    reason: String,
    claim_id: Option<String>,
    claimed_at: Option<String>,
    owner_session_id: Option<String>,
    owner_pid: Option<u32>,
    owner_gone: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
}

impl Answer {
    fn of(run: &Run, result: &'static str, reason: String, claimed: Option<&Claimed>) -> Self {
        let line = |text: &str| text::one_line(text, LONGEST_SESSION);
        let (ours, recorded) = match claimed {
            Some(Claimed::Ours(claim)) => (Some(claim), None),
            Some(Claimed::Recorded { id, owner }) => (None, Some((id, owner))),
            _ => (None, None),
        };
        Self {
            run_key: line(&run.key),
            workspace: line(&run.workspace),
            result,
            reason,
            claim_id: ours.map(|claim| line(&claim.claim_id)).or_else(|| recorded.map(|(id, _)| line(id))),
            claimed_at: ours.map(|claim| line(&claim.claimed_at)),
            owner_session_id: ours
                .and_then(|claim| claim.owner_session_id.as_deref().map(line))
                .or_else(|| recorded.and_then(|(_, owner)| owner.as_deref().map(line))),
            owner_pid: ours.and_then(|claim| Some(claim.owner_process.as_ref()?.pid)),
            owner_gone: ours.map(Claim::owner_is_gone),
            outcome: None,
        }
    }
}

pub(super) fn claim(
    arguments: &ClaimArguments,
    registry: &Registry,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let run = select::find(registry, &arguments.selection, &[Stage::Error])?;
    select::ended(&run, &[Stage::Error])?;
    select::record(&run)?;
    if let Some(mismatch) = run.mismatch() {
        return Err(Hinted::attach(
            anyhow::anyhow!("{} is not to be claimed: {mismatch}", run.path()),
            "the engine may be moving it: look again with `recovery run list`",
        ));
    }
    let judgement = Pass::new(Told { blocked: Vec::new(), far: branch::FAR }).judge(&run);
    if judgement.row == Row::Alive {
        return Err(Hinted::attach(
            anyhow::anyhow!("{} is not to be claimed: {}", run.path(), judgement.reason),
            "wait until nothing of the run is alive",
        ));
    }
    let owner = owner(arguments.session.as_deref(), environment)?;
    let answer = match claim::take(registry, &run, &owner, Now::read()) {
        Ok(claim) => {
            let reason = format!("claimed as {}", claim.claim_id);
            Answer::of(&run, "claimed", reason, Some(&Claimed::Ours(claim)))
        }
        Err(NotClaimed::Already(claimed)) => {
            Answer::of(&run, "already_claimed", claimed_words(&claimed), Some(&claimed))
        }
        Err(error @ NotClaimed::Moved) => {
            return Err(Hinted::attach(
                anyhow::anyhow!("{} {error}", run.path()),
                "somebody is at work on it: look again with `recovery run list`",
            ));
        }
        Err(error) => return Err(anyhow::Error::new(error).context(run.path())),
    };
    let answer = Answer { outcome: Some(judgement.outcome), ..answer };
    let taken = answer.result == "claimed";
    if arguments.json {
        printer.json_of("run-claim.v1", &answer)?;
    } else if taken {
        printer.line(format_args!("{} in {}: {}", answer.run_key, answer.workspace, answer.reason));
        if let Some(command) = &judgement.command {
            printer.fact("command", command);
        }
        let (key, workspace) = (shell_word(&run.key), shell_word(&run.workspace));
        let id = shell_word(answer.claim_id.as_deref().unwrap_or_default());
        printer.fact("then", format_args!("recovery run verify {key} --workspace {workspace}"));
        printer.fact(
            "give back",
            format_args!("recovery run release {key} --workspace {workspace} --claim {id}"),
        );
    } else {
        printer.line(format_args!("{} in {}: {}", answer.run_key, answer.workspace, answer.reason));
    }
    if taken && !judgement.outcome.is_launch() {
        printer.note(format_args!(
            "the judgement on it is to {}: {}",
            judgement.outcome.words(),
            judgement.reason
        ));
    }
    Ok(if taken { ExitStatus::Success } else { ExitStatus::Claimed })
}

pub(super) fn release(
    arguments: &ReleaseArguments,
    registry: &Registry,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let run = select::find_claimed(registry, &arguments.selection)?;
    let owner = owner(arguments.session.as_deref(), environment)?;
    let released = claim::release(&run, arguments.claim.as_deref(), &owner);
    let answer = match released {
        Ok(claim) => {
            let reason = format!("claim {} given back", text::one_line(&claim.claim_id, 80));
            Answer::of(&run, "released", reason, Some(&Claimed::Ours(claim)))
        }
        Err(NotReleased::NotClaimed) => {
            Answer::of(&run, "not_claimed", "nobody has claimed it".to_owned(), None)
        }
        Err(NotReleased::NotYours(claimed)) => {
            Answer::of(&run, "already_claimed", claimed_words(&claimed), Some(&claimed))
        }
        Err(error) => return Err(anyhow::Error::new(error).context(run.path())),
    };
    if arguments.json {
        printer.json_of("run-release.v1", &answer)?;
    } else {
        printer.line(format_args!("{} in {}: {}", answer.run_key, answer.workspace, answer.reason));
    }
    Ok(if answer.result == "already_claimed" { ExitStatus::Claimed } else { ExitStatus::Success })
}

fn claimed_words(claimed: &Claimed) -> String {
    match claimed {
        Claimed::No => "claimed already, and given back meanwhile".to_owned(),
        Claimed::Ours(claim) => format!("claimed already: {}", judgement::claim_words(claim)),
        Claimed::Unreadable(why) => format!("claimed by a file that cannot be read ({why}): left alone"),
        Claimed::Recorded { id, .. } => format!("claimed by the engine, as its record says ({id})"),
    }
}

/// Who stands behind this command: the session, and the client or the shell it runs in.
fn owner(session: Option<&str>, environment: &Environment) -> anyhow::Result<Owner> {
    let session =
        session.map(str::to_owned).or_else(|| environment.variables.text(env::CLAUDE_CODE_SESSION_ID));
    if session.as_ref().is_some_and(|id| id.len() > LONGEST_SESSION || id.chars().any(char::is_control)) {
        return Err(Hinted::attach(
            anyhow::anyhow!("the session has no usable id"),
            "give one with --session",
        ));
    }
    Ok(Owner {
        session_id: session.filter(|id| !id.is_empty() && id != "null"),
        process: environment
            .variables
            .client_pid()
            .or_else(crate::platform::parent_process)
            .map(ProcessId::of),
    })
}
