//! A stdio MCP server that fails on demand; see `end_to_end::mcp_server`.

use std::{env, io, path::Path, process::ExitCode};

use end_to_end::mcp_server::{CONTROL_VARIABLE, End, serve};

fn main() -> ExitCode {
    let Some(orders) = env::var_os(CONTROL_VARIABLE) else { return ExitCode::from(2) };
    match serve(Path::new(&orders), io::stdin().lock(), io::stdout().lock()) {
        Ok(End::Input) => ExitCode::SUCCESS,
        Ok(End::Ordered) | Err(_) => ExitCode::FAILURE,
    }
}
