//! `recovery reset`: set a streak back, as a success would.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use rules::fact::{Fact, What};
use session_state::{Now, Session, env, fact_id, ledger::Ledger};

use crate::{
    environment::Environment,
    exit_status::ExitStatus,
    hint::{Remedy, hinted},
    printer::Printer,
    project,
};

/// Sessions looked at.
const MAX_SESSIONS: usize = 10_000;

/// Set a streak back, as a success would
///
/// Counters that other programs read are brought up to date with it. What was already said is not forgotten.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  recovery reset docsearch                     the streak of a server or tool, by its name
  recovery reset mcp:docsearch                 the same by its whole key
  recovery reset '*'                           everything that is open
  recovery reset Bash --session 3f2a9c1e       in one session only")]
pub(crate) struct ResetArguments {
    /// Name of a server, tool or program, or a whole key such as `mcp:docsearch`; `*` for all
    key: String,
    /// Only this session; the beginning of its id is enough [default: the one around the command, else all]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The project in this folder [default: the one around the current folder]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &ResetArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let project = project::find(environment, arguments.project.as_deref()).map_err(hinted)?;
    let wanted =
        arguments.session.clone().or_else(|| environment.variables.text(env::CLAUDE_CODE_SESSION_ID));
    let mut done = 0;
    let mut open = Vec::new();
    for name in project.sessions().map(|sessions| sessions.names(MAX_SESSIONS)).unwrap_or_default() {
        if name.starts_with('.') || wanted.as_deref().is_some_and(|id| !name.starts_with(id)) {
            continue;
        }
        let Some(session) = Session::open(&project, &name) else { continue };
        let Some(ledger) =
            Ledger::open(&session).with_context(|| format!("cannot read the journal of {name}"))?
        else {
            continue;
        };
        let keys: Vec<String> = ledger
            .state()
            .streaks()
            .iter()
            .filter(|streak| streak.open)
            .map(|streak| streak.key.clone())
            .collect();
        let chosen: Vec<&String> = keys.iter().filter(|key| means(&arguments.key, key)).collect();
        if chosen.is_empty() {
            open.extend(keys);
            continue;
        }
        for key in &chosen {
            printer.line(format_args!("{key} set back in session {name}"));
        }
        done += chosen.len();
        set_back(ledger, &chosen).with_context(|| format!("cannot write the journal of {name}"))?;
    }
    if done > 0 {
        return Ok(ExitStatus::Success);
    }
    open.sort();
    open.dedup();
    Err(hinted(ResetError::NoSuchStreak { asked: arguments.key.clone(), open }))
}

/// Why nothing was set back.
#[derive(Debug, thiserror::Error)]
enum ResetError {
    #[error("no open streak is called {asked}")]
    NoSuchStreak { asked: String, open: Vec<String> },
}

impl Remedy for ResetError {
    fn remedy(&self) -> String {
        match self {
            Self::NoSuchStreak { open, .. } if open.is_empty() => {
                "no streak is open there: nothing has to be set back".to_owned()
            }
            Self::NoSuchStreak { open, .. } => format!("open are: {}", open.join(", ")),
        }
    }
}

/// A whole key, or the name in it: `docsearch` means `mcp:docsearch`, `Read` means `tool:Read`.
fn means(asked: &str, key: &str) -> bool {
    let name = key.split_once(':').map_or(key, |(_, name)| name);
    let without_agent = name.split('@').next().unwrap_or(name);
    asked == "*" || asked == key || asked == name || asked == without_agent
}

fn set_back(mut ledger: Ledger, keys: &[&String]) -> std::io::Result<()> {
    let now = Now::read();
    let facts = keys
        .iter()
        .map(|key| {
            let mut fact = Fact::new(What::Reset, key.as_str(), fact_id(None, now));
            fact.t = now.0;
            fact.by = "recovery".into();
            fact
        })
        .collect();
    ledger.record(facts)?;
    ledger.finish(Vec::new(), "recovery", now)
}

#[cfg(test)]
mod tests {
    use super::means;

    #[test]
    fn a_name_stands_for_its_key() {
        for asked in ["*", "mcp:docs", "docs"] {
            assert!(means(asked, "mcp:docs"), "{asked}");
        }
        for asked in ["tool:docs", "doc", "", "mcp"] {
            assert!(!means(asked, "mcp:docs"), "{asked}");
        }
        assert!(means("Read", "tool:Read@agent-1") && means("Read@agent-1", "tool:Read@agent-1"));
    }
}
