//! Provokes the states of the client's panes and records them; says of each whether it is read as it should be.
//!
//! `record-screens FOLDER [VERSION]`

use std::{
    io::{self, Write as _},
    panic,
    path::PathBuf,
    process::ExitCode,
};

use end_to_end::{
    client::Client,
    recording::{self, Outcome},
};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(folder) = args.next().map(PathBuf::from) else { return told("a folder is needed") };
    let version = args.next().map(|version| version.to_string_lossy().into_owned());
    let client = match version {
        Some(version) => Client::of_version(&version),
        None => Client::find_or_install(),
    };
    let client = match client {
        Ok(client) => client,
        Err(error) => return told(&error.to_string()),
    };
    // What the harness says when it fails is told below, on one line.
    panic::set_hook(Box::new(|_| {}));
    let mut is_good = true;
    recording::record(&client, &folder, |name, outcome| {
        let said = match outcome {
            Outcome::Ok => "ok".to_owned(),
            Outcome::NotInThisVersion => "not in this version".to_owned(),
            Outcome::NotProvoked(why) => {
                format!("could not be provoked: {}", why.lines().next().unwrap_or_default())
            }
            Outcome::Differs(faults) => format!("differs\n    {}", faults.join("\n    ")),
        };
        is_good &= matches!(outcome, Outcome::Ok | Outcome::NotInThisVersion);
        // Whoever closed the pipe does not want to know.
        let _ = writeln!(io::stdout(), "{} {name:26} {said}", client.version);
    });
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn told(why: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{why}");
    ExitCode::FAILURE
}
