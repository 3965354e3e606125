//! `recovery resume-probe`: does a request belong to a change that was interrupted?

use std::{
    io::{self, IsTerminal as _, Read as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::Args;
use systems::change::{
    active::{self, gather},
    delivery,
    probe::{self, Active, Answer, LIMIT, Surroundings, read_request},
    project::{CometProject, LayoutStatus},
};

use crate::{
    change::{git::Git, open_project},
    environment::Environment,
    exit_status::ExitStatus,
    hint::Hinted,
    printer::Printer,
};

/// Say whether a request belongs to an interrupted change of Comet Classic
///
/// Reads the request from standard input: a plain text, or an object with `schema_version` "comet.resume_probe.v1", `utterance`, `locale` and `agent_context` {`non_trivial_work`, `already_in_comet_flow`}. The answer is one JSON object; on a terminal it is said in words, and nothing is said where there is nothing to resume. Nothing is written.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo 'continue the export' | recovery resume-probe --stdin
  recovery resume-probe ~/shop --stdin < request.json")]
pub(crate) struct ResumeProbeArguments {
    /// The project in or around this folder [default: the current folder]
    dir: Option<PathBuf>,
    /// Read the request from standard input
    #[arg(long, required = true)]
    stdin: bool,
    /// Answer with the JSON object on a terminal too
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &ResumeProbeArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let mut bytes = Vec::new();
    // One byte more tells a request that is too long.
    let limit = LIMIT as u64 + 1;
    io::stdin().lock().take(limit).read_to_end(&mut bytes).context("cannot read standard input")?;
    let request = match read_request(&bytes) {
        Ok(request) => request,
        Err(error) => {
            let hint = "give a text, or the object that `recovery resume-probe --help` describes";
            printer.error(&Hinted::attach(error, hint));
            return Ok(ExitStatus::Usage);
        }
    };
    let mut status = ExitStatus::Success;
    let answer = match probe::answer_without_changes(&request) {
        Some(answer) => answer,
        None => match open_project(arguments.dir.as_deref(), environment)? {
            // Where nothing belongs to Comet there is nothing to resume.
            None => probe::answer(&request, &[], 0, &mut Nothing),
            Some(project) if project.config.is_some_and(|config| !config.ambient_resume) => {
                Answer::turned_off()
            }
            Some(project) => match (&project.layout.status, &project.layout.problem) {
                (LayoutStatus::Absent, _) => probe::answer(&request, &[], 0, &mut Nothing),
                (_, Some(problem)) => {
                    let hint = project.layout.hint.clone().unwrap_or_default();
                    printer.error(&Hinted::attach(anyhow::anyhow!(problem.clone()), hint));
                    status = ExitStatus::Failure;
                    Answer::unreadable(problem)
                }
                (_, None) => look(&project, &request),
            },
        },
    };
    if arguments.json || !io::stdout().is_terminal() {
        printer.json(&answer)?;
    } else {
        in_words(&answer).iter().for_each(|line| printer.line(line));
    }
    Ok(status)
}

fn look(project: &CometProject, request: &probe::Request) -> Answer {
    let git = Git::at(project.root.path());
    let gathered = gather(project, &request.utterance, &mut |change, _, delivery| {
        delivery::is_open(delivery, &git.facts(change, delivery))
    });
    probe::answer(request, &gathered.changes, gathered.others, &mut Around { project, git: &git })
}

/// A project's files and its repository.
struct Around<'a> {
    project: &'a CometProject,
    git: &'a Git,
}

impl Surroundings for Around<'_> {
    fn dirty_files(&mut self) -> usize {
        self.git.dirty_files()
    }

    fn texts(&mut self, change: &Active) -> Vec<String> {
        active::texts(self.project, &change.name)
    }
}

/// Where there are no changes nothing is asked.
struct Nothing;

impl Surroundings for Nothing {
    fn dirty_files(&mut self) -> usize {
        0
    }

    fn texts(&mut self, _change: &Active) -> Vec<String> {
        Vec::new()
    }
}

/// The answer for a person; nothing where there is nothing to resume.
fn in_words(answer: &Answer) -> Vec<String> {
    if !answer.speaks() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if let Some(question) = &answer.question {
        lines.push(question.clone());
        lines.extend(answer.options.iter().map(|option| match &option.command {
            Some(command) => format!("  - {}: {command}", option.label),
            None => format!("  - {}", option.label),
        }));
    } else if let Some(name) = &answer.change_name {
        lines.push(format!("the request belongs to {name} ({})", answer.phase.unwrap_or("invalid")));
        lines.extend(
            answer.evidence.iter().map(|evidence| format!("  {}: {}", evidence.source, evidence.quote)),
        );
        lines.push(format!("  go on: {} {name}", answer.next_command.unwrap_or("recovery change check")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use systems::change::probe::{Request, Standing};

    use super::*;

    fn said(utterance: &str, non_trivial_work: bool, standing: Option<Standing>) -> Vec<String> {
        let request = Request { utterance: utterance.to_owned(), non_trivial_work, already_in_flow: false };
        let changes: Vec<Active> = standing
            .map(|standing| Active { name: "sort-labels".to_owned(), standing, tasks: None, next_task: None })
            .into_iter()
            .collect();
        in_words(&probe::answer(&request, &changes, 0, &mut Nothing))
    }

    fn building() -> Standing {
        let text = "workflow: full\nphase: build\nbuild_mode:\nisolation:\nverify_mode:\nverify_result: pending\n\
            archived: false\ndesign_doc:\nplan:\nverified_at:\n";
        Standing::Valid(Box::new(systems::change::state::parse(text).unwrap()))
    }

    #[test]
    fn what_a_person_reads() {
        assert!(said("continue", true, None).is_empty());
        assert!(said("skip comet", true, Some(building())).is_empty());
        assert!(said("what is that", false, Some(building())).is_empty());
        assert_eq!(
            said("continue", true, Some(building())),
            [
                "the request belongs to sort-labels (build)",
                "  state: phase: build",
                "  go on: /comet-build sort-labels"
            ]
        );
        let asked = said("continue", true, Some(Standing::NoState));
        assert!(asked[0].ends_with('?') && asked.len() == 4, "{asked:?}");
        assert_eq!(asked[1], "  - take it into Comet from its beginning: /comet-open");
    }
}
