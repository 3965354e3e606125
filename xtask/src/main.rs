//! The task runner of this repository: `cargo xtask --help`.
#![expect(clippy::print_stdout, reason = "a task runner speaks to the person who started it")]

mod binaries;
mod callgrind;
mod cargo_tools;
mod deny;
mod deps;
mod programs;
mod ratios;
mod tool;
mod workspace;

fn main() -> anyhow::Result<()> {
    let workspace = workspace::Workspace::find()?;
    match std::env::args().nth(1).as_deref() {
        Some("deps") => deps::check(&workspace),
        Some("deny") => deny::check(&workspace),
        _ => Ok(()),
    }
}
