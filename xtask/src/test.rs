//! `cargo xtask test`: all tests, and nothing left out unsaid.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::binaries::Release;
use crate::cargo_tools::NEXTEST;
use crate::programs;
use crate::tool::{Kept, Stream, Tool};
use crate::workspace::{Workspace, in_ci};

/// All tests, the build of them included.
const TESTS_LIMIT: Duration = Duration::from_secs(1800);

/// Where the end-to-end tests find the programs that people install.
pub(crate) const PROGRAMS_VARIABLE: &str = "RECOVERY_BIN_DIR";
/// The version of the client that the end-to-end tests use instead of their own choice.
const CLIENT_VARIABLE: &str = "RECOVERY_TEST_CLIENT_VERSION";

/// Runs all tests; with `latest` those with the real client once more, with its newest version, as a report.
pub(crate) fn run(workspace: &Workspace, latest: bool) -> Result<()> {
    let started = Instant::now();
    let mut left_out = Vec::new();
    for need in programs::ensure(&programs::FOR_TESTS)? {
        left_out.push(format!("{}: {} is missing", need.serves, need.program));
    }
    let runner = Runner::choose(workspace);
    let release = Release::choose(workspace)?;
    release.build(workspace)?;
    if cfg!(target_os = "linux") {
        println!("The tests of processes use the release programs: {}.", release.link);
    }

    println!("Documentation tests.");
    Tool::cargo()
        .args(["test", "--quiet", "--workspace", "--doc", "--locked"])
        .cwd(&workspace.root)
        .limit(TESTS_LIMIT)
        .run()?;

    let Kept { outcome, lines } = runner.run(workspace, &["--workspace"], &release.dir, None)?;
    let closing = Closing::read(&lines);
    if !client_is_here(workspace) {
        left_out.push("the tests with the real client: it could not be installed (npm)".to_owned());
    }
    if closing.skipped > 0 {
        left_out.push(format!("{} tests that the runner skipped", closing.skipped));
    }
    if latest {
        report_latest(workspace, &runner, &release.dir)?;
    }

    println!("\nAfter {} s:", started.elapsed().as_secs());
    for what in &left_out {
        println!("  left out: {what}");
    }
    // Last of all, so that nobody has to look for it.
    for line in &lines {
        println!("{line}");
    }
    outcome?;
    judge(&closing, &left_out, in_ci())
}

/// Whether this run counts: something ran, and under CI nothing was left out.
fn judge(closing: &Closing, left_out: &[String], ci: bool) -> Result<()> {
    if closing.run == 0 {
        bail!("no test ran");
    }
    if ci && !left_out.is_empty() {
        bail!("under CI=true nothing may be left out: {}", left_out.join("; "));
    }
    Ok(())
}

fn report_latest(workspace: &Workspace, runner: &Runner, programs: &Path) -> Result<()> {
    println!("\nThe end-to-end tests with the newest client (a report: it decides nothing).");
    let kept = runner.run(workspace, &["--package", "end-to-end"], programs, Some("latest"))?;
    match kept.outcome {
        Ok(()) => println!("newest client: {}", kept.lines.join(" ")),
        Err(error) => println!("newest client: {error:#}"),
    }
    Ok(())
}

/// Whether the end-to-end tests have a client in their cache: a folder named by its version.
fn client_is_here(workspace: &Workspace) -> bool {
    let cache = std::env::var_os("RECOVERY_TEST_CACHE")
        .map_or_else(|| workspace.root.join("target/client"), PathBuf::from);
    std::fs::read_dir(cache).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.path().join("node_modules").is_dir() && !is_unfinished(&entry.path()))
    })
}

/// An installation that was cut off.
fn is_unfinished(folder: &Path) -> bool {
    folder.extension().is_some_and(|extension| extension == "new")
}

/// What runs the tests.
enum Runner {
    /// A process a test, with time limits.
    Nextest(PathBuf),
    /// Where nextest cannot be had: the same tests, without its limits and groups.
    Cargo,
}

impl Runner {
    fn choose(workspace: &Workspace) -> Self {
        match NEXTEST.get(workspace) {
            Ok(program) => Self::Nextest(program),
            Err(why) => {
                println!("{why:#}\nAll tests run with `cargo test` instead: without time limits a test.");
                Self::Cargo
            }
        }
    }

    fn run(
        &self,
        workspace: &Workspace,
        which: &[&str],
        programs: &Path,
        client: Option<&str>,
    ) -> Result<Kept> {
        let (tool, stream) = match self {
            Self::Nextest(program) => {
                (Tool::new(program).args(["nextest", "run", "--no-fail-fast", "--locked"]), Stream::Stderr)
            }
            Self::Cargo => {
                (Tool::cargo().args(["test", "--no-fail-fast", "--locked", "--all-targets"]), Stream::Stdout)
            }
        };
        let tool = tool.args(which).cwd(&workspace.root).env(PROGRAMS_VARIABLE, programs).limit(TESTS_LIMIT);
        let tool = match client {
            Some(version) => tool.env(CLIENT_VARIABLE, version),
            None => tool,
        };
        tool.run_keeping(stream, |line| Closing::of_line(line).is_some())
    }
}

/// What the runner counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Closing {
    run: u64,
    skipped: u64,
}

impl Closing {
    fn read(lines: &[String]) -> Self {
        let each = lines.iter().filter_map(|line| Self::of_line(line));
        each.fold(Self::default(), |sum, one| Self {
            run: sum.run + one.run,
            skipped: sum.skipped + one.skipped,
        })
    }

    /// The closing line of nextest (`Summary [1.2s] 5 tests run: 5 passed, 0 skipped`) or one of cargo test
    /// (`test result: ok. 5 passed; 0 failed; 0 ignored; ...`).
    fn of_line(line: &str) -> Option<Self> {
        let line = line.trim_start();
        if line.starts_with("Summary [") {
            let rest = line.split_once(']')?.1.trim_start();
            // `2/5 tests run` after a run that was broken off.
            let run = rest.split([' ', '/']).next()?.parse().ok()?;
            return Some(Self { run, skipped: count_before(rest, " skipped").unwrap_or(0) });
        }
        let rest = line.strip_prefix("test result: ")?;
        let run = count_before(rest, " passed")? + count_before(rest, " failed")?;
        Some(Self { run, skipped: count_before(rest, " ignored")? })
    }
}

/// The number right before these words.
fn count_before(text: &str, words: &str) -> Option<u64> {
    let before = text.split_once(words)?.0;
    before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_of_nextest_is_read() {
        let of = Closing::of_line;
        let line = "     Summary [   4.012s] 212 tests run: 211 passed (1 slow), 1 failed, 3 skipped";
        assert_eq!(of(line), Some(Closing { run: 212, skipped: 3 }));
        assert_eq!(
            of("Summary [ 0.1s] 1 test run: 1 passed, 0 skipped"),
            Some(Closing { run: 1, skipped: 0 })
        );
        assert_eq!(
            of("Summary [ 0.1s] 2/5 tests run: 1 passed, 1 failed"),
            Some(Closing { run: 2, skipped: 0 })
        );
        assert_eq!(of("        PASS [   0.004s] xtask tests::a_summary"), None);
    }

    #[test]
    fn the_lines_of_cargo_test_are_added_up() {
        let lines = [
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s"
                .to_owned(),
            "test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out".to_owned(),
        ];
        assert_eq!(Closing::read(&lines), Closing { run: 10, skipped: 1 });
    }

    #[test]
    fn a_run_without_tests_never_counts_and_one_with_gaps_not_under_ci() {
        let ran = Closing { run: 1, skipped: 0 };
        let gap = ["the tests with terminals: tmux is missing".to_owned()];
        assert!(judge(&ran, &[], true).is_ok());
        assert!(judge(&ran, &gap, false).is_ok());
        assert!(judge(&ran, &gap, true).is_err());
        assert!(judge(&Closing::default(), &[], false).is_err());
    }
}
