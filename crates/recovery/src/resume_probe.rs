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
    summary::clean,
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
        printer.line(serde_json::to_string_pretty(&answer)?);
    } else {
        words(printer, &answer);
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

fn words(printer: &Printer, answer: &Answer) {
    if !answer.speaks() {
        return;
    }
    match (&answer.question, &answer.change_name) {
        (Some(question), _) => {
            printer.line(question);
            for option in &answer.options {
                match &option.command {
                    Some(command) => printer.line(format_args!("  - {}: {command}", option.label)),
                    None => printer.line(format_args!("  - {}", option.label)),
                }
            }
        }
        (None, Some(name)) => {
            printer
                .line(format_args!("the request belongs to {name} ({})", answer.phase.unwrap_or("invalid")));
            for evidence in &answer.evidence {
                printer.fact(evidence.source, clean(&evidence.quote, 100));
            }
            printer.fact(
                "go on",
                format_args!("{} {name}", answer.next_command.unwrap_or("recovery change check")),
            );
        }
        (None, None) => {}
    }
}
