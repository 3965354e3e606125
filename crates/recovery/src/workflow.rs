//! `recovery workflow`: where an agent-studio workflow stopped, and how it goes on.

mod list;
mod resume;
mod show;

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde::Serialize;
use session_state::Now;
use systems::workflow::{CannotMark, Marked, Step, StepStatus, WorkflowError, Workflows, ranges};

use crate::{
    environment::Environment,
    exit_status::ExitStatus,
    hint::{Hinted, Remedy, hinted},
    printer::Printer,
    scope::Scope,
};

/// The folder that a project with workflows has.
const CONTEXT: &str = ".claude/context";
/// Ids that a hint lists.
const HINTED_IDS: usize = 10;
/// The form of what `mark --json` prints.
const MARK_SCHEMA: &str = "recovery.workflow-mark.v1";

/// Show where a workflow stopped, and resume it there
///
/// Reads gates, registry, plan, phase plans, reasoning and runs below .claude/context. Only `resume` and `mark` write.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  recovery workflow list                          every workflow, the newest first
  recovery workflow show wf-1                     what is done, what is next, what is wrong
  recovery workflow resume wf-1                   write the recovery state, print checklist and prompt
  recovery workflow mark wf-1 3 completed         the status of a step in the plan
  recovery workflow export wf-1 --output x.json   state and digests of all files, to compare elsewhere")]
pub(crate) struct WorkflowArguments {
    #[command(subcommand)]
    action: Action,
    /// The project in this folder [default: the one around the current folder]
    #[arg(long, value_name = "DIR", global = true)]
    project: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the workflows, the newest first
    List {
        /// Print one JSON object (schemas/workflow-list.v1.json)
        #[arg(long)]
        json: bool,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show what is done, what is next, what is wrong
    Show {
        /// Id of the workflow, or of one of its runs
        id: String,
        /// Print one JSON object (schemas/workflow.v1.json)
        #[arg(long)]
        json: bool,
    },
    /// Write the recovery state document; print the checklist and the prompt for the next agent
    ///
    /// The document is .claude/context/artifacts/recovery-state-ID.json.
    Resume {
        /// Id of the workflow, or of one of its runs
        id: String,
        /// Also note the recovery in the reasoning folder
        #[arg(long)]
        log: bool,
        /// Print the document (schemas/workflow-recovery-state.v1.json)
        #[arg(long)]
        json: bool,
    },
    /// Set the status of a step in the plan; every other byte but the time of the last change stays
    Mark {
        /// Id of the workflow, or of one of its runs
        id: String,
        /// Number of the step, such as 3 or 0.1
        step: String,
        /// pending, in_progress, completed or blocked
        status: String,
        /// Print one JSON object (schemas/workflow-mark.v1.json)
        #[arg(long)]
        json: bool,
    },
    /// Print the state with the digests of all its files as JSON (schemas/workflow-export.v1.json)
    Export {
        /// Id of the workflow, or of one of its runs
        id: String,
        /// Write it into this new file instead
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Runs the verb.
pub(crate) fn run(
    arguments: &WorkflowArguments,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let root = root(arguments.project.as_deref(), environment)?;
    let workflows =
        Workflows::open(&root).with_context(|| format!("cannot open the project {}", root.display()))?;
    let now = Now::read();
    match &arguments.action {
        Action::List { json, limit } => {
            let found = workflows.list(*limit, now);
            if *json { printer.json(&found)? } else { list::print(&found, now, printer) }
        }
        Action::Show { id, json } => {
            let state = workflows.read(id, now).map_err(hinted)?;
            if *json { printer.json(&state)? } else { show::print(&state, printer) }
        }
        Action::Resume { id, log, json } => {
            let resumed = workflows.resume(id, *log, now).map_err(hinted)?;
            if *json { printer.json(&resumed)? } else { resume::print(&resumed, printer) }
        }
        Action::Mark { id, step, status, json } => {
            let (step, status) = match (parse_step(step), parse_status(status)) {
                (Ok(step), Ok(status)) => (step, status),
                (Err(error), _) | (_, Err(error)) => {
                    printer.error(&error);
                    return Ok(ExitStatus::Usage);
                }
            };
            let marked = workflows.mark(id, step, status, now).map_err(hinted)?;
            if *json {
                printer.json(&MarkAnswer::new(id, step, status, &marked))?;
            } else {
                let done = if marked.changed { "is now" } else { "was already" };
                printer.line(format_args!("step {step} {done} {} in {}", status.word(), marked.path));
            }
            if let Some(contradicted) = &marked.contradicted {
                printer.note(contradicted);
            }
        }
        Action::Export { id, output } => {
            let export = workflows.export(id, now).map_err(hinted)?;
            match output {
                None => printer.json(&export)?,
                Some(file) => {
                    let path = environment.current_dir.join(file);
                    let text = serde_json::to_string_pretty(&export)?;
                    write_new(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
                    printer.line(format_args!(
                        "{} files of {id} described in {}",
                        export.files.len(),
                        path.display()
                    ));
                }
            }
        }
    }
    Ok(ExitStatus::Success)
}

/// The nearest folder with workflows, else the project around the current folder.
fn root(given: Option<&Path>, environment: &Environment) -> anyhow::Result<PathBuf> {
    if let Some(dir) = given {
        return Ok(project_of(Scope::project(dir, environment).map_err(hinted)?));
    }
    let around = project_of(Scope::around_current_dir(environment).map_err(hinted)?);
    let home = environment.home.as_deref();
    let above = environment.current_dir.ancestors().take_while(|dir| Some(*dir) != home);
    let with_context = above.into_iter().find(|dir| dir.join(CONTEXT).is_dir());
    Ok(with_context.map_or(around, Path::to_owned))
}

fn project_of(scope: Scope) -> PathBuf {
    match scope {
        Scope::Project(dir) | Scope::User(dir) => dir,
    }
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = crate::platform::only_for_owner(&mut options).open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

fn parse_step(text: &str) -> anyhow::Result<Step> {
    Step::parse(text).ok_or_else(|| {
        Hinted::attach(
            anyhow::anyhow!("{text:?} is no number of a step"),
            "give a number such as 3, or 0.1 for a sub-step",
        )
    })
}

fn parse_status(text: &str) -> anyhow::Result<StepStatus> {
    StepStatus::ALL.into_iter().find(|status| status.word() == text).ok_or_else(|| {
        let words = StepStatus::ALL.map(StepStatus::word).join(", ");
        Hinted::attach(anyhow::anyhow!("{text:?} is no status of a step"), format!("give one of: {words}"))
    })
}

/// What `mark --json` prints.
#[derive(Serialize)]
struct MarkAnswer<'m> {
    schema: &'static str,
    id: &'m str,
    step: Step,
    status: &'static str,
    path: &'m str,
    changed: bool,
    contradicted: Option<&'m str>,
}

impl<'m> MarkAnswer<'m> {
    fn new(id: &'m str, step: Step, status: StepStatus, marked: &'m Marked) -> Self {
        Self {
            schema: MARK_SCHEMA,
            id,
            step,
            status: status.word(),
            path: &marked.path,
            changed: marked.changed,
            contradicted: marked.contradicted.as_deref(),
        }
    }
}

impl Remedy for WorkflowError {
    fn remedy(&self) -> String {
        match self {
            Self::NotAnId(_) => "`recovery workflow list` shows the ids".to_owned(),
            Self::Unknown { known, .. } if known.is_empty() => {
                "no workflow is kept below .claude/context of this project; name another one with --project DIR"
                    .to_owned()
            }
            Self::Unknown { known, .. } => {
                let first = known.iter().take(HINTED_IDS).cloned().collect::<Vec<_>>().join(", ");
                match known.len().saturating_sub(HINTED_IDS) {
                    0 => format!("there are: {first}"),
                    more => format!("there are: {first} and {more} more"),
                }
            }
            Self::NoPlan { .. } => "ask planner to make a plan from the requirements".to_owned(),
            Self::CannotMark { why: CannotMark::NoSuchStep { known, .. }, .. } if !known.is_empty() => {
                format!("its steps are {}", ranges(known))
            }
            Self::CannotMark { why: CannotMark::Repeated { .. }, .. } => {
                "give each step of the plan a number of its own".to_owned()
            }
            Self::CannotMark { .. } => "ask planner to make the plan again from the requirements".to_owned(),
            Self::Busy { .. } => "try again".to_owned(),
            Self::Taken { .. } => "move it away and try again".to_owned(),
            _ => "look at the permissions of .claude/context".to_owned(),
        }
    }
}
