//! Installs the client the tests need, or says why it cannot be had; prints its path and version.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use end_to_end::client::Client;

fn main() -> ExitCode {
    match Client::find_or_install() {
        Ok(client) => {
            let line = writeln!(io::stdout(), "{} {}", client.program.display(), client.version);
            if line.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            // Nobody is left to tell when standard error is gone too.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}
