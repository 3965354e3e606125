//! The checklist and the prompt.

use systems::workflow::{Answer, Resumed};

use crate::printer::Printer;

pub(super) fn print(resumed: &Resumed, printer: &Printer) {
    for point in &resumed.checklist {
        let mark = match point.answer {
            Answer::Yes => "[x]",
            Answer::Partly => "[~]",
            Answer::No => "[ ]",
        };
        printer.line(format_args!("{mark} {}: {}", point.point, point.why));
    }
    printer.line(format_args!("\n{}", resumed.prompt.trim_end()));
    printer.line(format_args!("\nwritten to {}", resumed.path));
    if let Some(logged) = &resumed.logged {
        printer.line(format_args!("noted in {logged}"));
    }
}
