//! The workflows, a line each.

use session_state::{Now, times};
use systems::workflow::{List, Readiness, Summary};

use crate::printer::Printer;

pub(super) fn print(list: &List, now: Now, printer: &Printer) {
    if list.workflows.is_empty() {
        printer.line("no workflow is kept below .claude/context");
        return;
    }
    let width = list.workflows.iter().map(|workflow| workflow.id.chars().count()).max().unwrap_or(0);
    for workflow in &list.workflows {
        printer.line(format_args!("{:width$}  {}", workflow.id, in_a_line(workflow, now)));
    }
    if list.left_out > 0 {
        printer.line(format_args!("and {} older: --limit N shows more", list.left_out));
    }
}

fn in_a_line(workflow: &Summary, now: Now) -> String {
    let mut parts = Vec::new();
    match workflow.last_completed_step {
        Some(step) => parts.push(format!("done up to {step}")),
        None => parts.push("nothing done".to_owned()),
    }
    let agent = workflow.agent.as_deref().map(|agent| format!(" {agent}")).unwrap_or_default();
    parts.push(match (workflow.state, workflow.next_step) {
        (Readiness::Complete, _) => "complete".to_owned(),
        (Readiness::Ready, Some(step)) => format!("next {step}{agent}"),
        (_, Some(step)) => format!("next {step}{agent} (blocked)"),
        (_, None) => "next not known".to_owned(),
    });
    if workflow.interrupted {
        parts.push("interrupted".to_owned());
    } else if let Some(status) = &workflow.run_status {
        parts.push(status.replace('_', " "));
    }
    if workflow.damaged > 0 {
        parts.push(format!("{} damaged", workflow.damaged));
    }
    if let Some(changed_s) = workflow.changed.as_deref().and_then(times::parse) {
        parts.push(format!("{} ago", rules::text::age(now.age_s(changed_s))));
    }
    parts.join(", ")
}
