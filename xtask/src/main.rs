//! The task runner of this repository: `cargo xtask help`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task runner speaks to the person who started it"
)]

mod bench;
mod binaries;
mod callgrind;
mod cargo_tools;
mod demo;
mod deny;
mod deps;
mod install;
mod payloads;
mod programs;
mod ratios;
mod recall;
mod record_screens;
mod test;
mod tool;
mod watch_load;
mod wiring;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;

const HELP: &str = "\
cargo xtask VERB

  install [--project DIR]   Build the static release programs, install them, wire the hooks of DIR, run each hook on
                            recorded payloads and show what the agent would hear. Without --project: in a demo
                            project with the left-overs of a killed session.
  test [--latest]           All tests: those with the real client, tmux and strace included. What a machine lacks is
                            installed (root on Debian) or said, with what is skipped; under CI=true a skip is a
                            failure. --latest: afterwards the tests with the newest client, as a report.
  bench [--gates]           Instructions and times of whole hook processes against their limits, beside bash scripts
                            that do the same. --gates: without the bash scripts.
  bench-recall              Ten scripted sessions of the real client, killed: how much of what they knew stands in the
                            hand-off and in the context of the next session. Fails below 95 and 80 percent.
  bench-watch               One look of the watcher over 200 panes and 500 folders, and 10,000 looks in a row: processor time,
                            memory, growth. Fails above 1 s, 40 MiB, or when anything grows.
  record-screens            Provoke the states of the client's panes in tmux, record them at several widths, and compare
    [--client VERSION]      how they are read with what is right. VERSION is installed if need be. DIR: default
    [--out DIR]             target/screens; crates/screens/tests/screens adds them to the tests.
  deps                      The rule of what a hook may be built with, and of who may know whom.
  deny                      Licences, sources and banned crates (cargo-deny).
";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
enum Verb {
    Install { project: Option<PathBuf>, latest: bool },
    Test { latest: bool },
    Bench { gates: bool },
    BenchRecall,
    BenchWatch,
    RecordScreens { client: Option<String>, out: Option<PathBuf> },
    Deps,
    Deny,
    Help,
}

fn main() -> ExitCode {
    let outcome = parse(std::env::args().skip(1)).and_then(run);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The chain alone: a backtrace of the task runner helps nobody.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> Result<()> {
    if verb == Verb::Help {
        print!("{HELP}");
        return Ok(());
    }
    let workspace = Workspace::find()?;
    match verb {
        Verb::Install { project, latest } => install::run(&workspace, project.as_deref(), latest),
        Verb::Test { latest } => test::run(&workspace, latest),
        Verb::Bench { gates } => bench::run(&workspace, gates),
        Verb::BenchRecall => recall::run(&workspace),
        Verb::BenchWatch => watch_load::run(&workspace),
        Verb::RecordScreens { client, out } => {
            record_screens::run(&workspace, client.as_deref(), out.as_deref())
        }
        Verb::Deps => deps::check(&workspace),
        Verb::Deny => deny::check(&workspace),
        Verb::Help => Ok(()),
    }
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Verb> {
    let verb = args.next().unwrap_or_else(|| "help".to_owned());
    let mut project = None;
    let mut client = None;
    let mut out = None;
    let mut flags = Vec::new();
    while let Some(arg) = args.next() {
        let allowed: &[&str] = match verb.as_str() {
            "install" => &["--project", "--latest"],
            "test" => &["--latest"],
            "bench" => &["--gates"],
            "record-screens" => &["--client", "--out"],
            _ => &[],
        };
        if !allowed.contains(&arg.as_str()) {
            bail!("`{verb}` does not know `{arg}`: see `cargo xtask help`");
        }
        match arg.as_str() {
            "--project" => project = Some(PathBuf::from(value_of(&arg, "a folder", &mut args)?)),
            "--out" => out = Some(PathBuf::from(value_of(&arg, "a folder", &mut args)?)),
            "--client" => client = Some(value_of(&arg, "a version", &mut args)?),
            _ => flags.push(arg),
        }
    }
    let flag = |name: &str| flags.iter().any(|flag| flag == name);
    Ok(match verb.as_str() {
        "install" => Verb::Install { project, latest: flag("--latest") },
        "test" => Verb::Test { latest: flag("--latest") },
        "bench" => Verb::Bench { gates: flag("--gates") },
        "bench-recall" => Verb::BenchRecall,
        "bench-watch" => Verb::BenchWatch,
        "record-screens" => Verb::RecordScreens { client, out },
        "deps" => Verb::Deps,
        "deny" => Verb::Deny,
        "help" | "--help" | "-h" => Verb::Help,
        other => bail!("no verb `{other}`: see `cargo xtask help`"),
    })
}

fn value_of(option: &str, what: &str, args: &mut impl Iterator<Item = String>) -> Result<String> {
    args.next().with_context(|| format!("`{option}` needs {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Verb> {
        parse(args.iter().map(|&arg| arg.to_owned()))
    }

    #[test]
    fn verbs_and_their_options() {
        let install = parsed(&["install", "--project", "/p", "--latest"]).expect("known");
        assert_eq!(install, Verb::Install { project: Some("/p".into()), latest: true });
        assert_eq!(parsed(&["install"]).expect("known"), Verb::Install { project: None, latest: false });
        assert_eq!(parsed(&["bench", "--gates"]).expect("known"), Verb::Bench { gates: true });
        assert_eq!(parsed(&["bench-recall"]).expect("known"), Verb::BenchRecall);
        assert_eq!(parsed(&["bench-watch"]).expect("known"), Verb::BenchWatch);
        let record = parsed(&["record-screens", "--client", "2.1.80", "--out", "/o"]).expect("known");
        assert_eq!(record, Verb::RecordScreens { client: Some("2.1.80".into()), out: Some("/o".into()) });
        assert_eq!(parsed(&[]).expect("known"), Verb::Help);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for args in [
            &["frobnicate"][..],
            &["test", "--gates"],
            &["install", "--project"],
            &["deps", "x"],
            &["bench-recall", "x"],
            &["record-screens", "--client"],
            &["deps", "x"],
        ] {
            assert!(parsed(args).is_err(), "{args:?}");
        }
    }
}
