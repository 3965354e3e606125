//! Questions to git, read-only: bounded in time, without the network, and without running anything a repository has
//! configured to be run (hooks, a file system monitor).

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bounded_command::{Answer, NoAnswer};

/// Set inside of a git hook, these would speak of another repository.
const OTHER_REPOSITORY: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_EXTERNAL_DIFF",
    "GIT_TRACE",
];

/// Asks one question in a folder.
///
/// Errors: git did not start, or did not answer in time.
pub fn ask(folder: &Path, arguments: &[&str], limit: Duration) -> Result<Answer, NoAnswer> {
    let mut git = Command::new("git");
    git.args(["-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=true"])
        .args(["--no-optional-locks", "-C"])
        .arg(folder)
        .args(arguments);
    for name in OTHER_REPOSITORY {
        git.env_remove(name);
    }
    // Nothing is fetched, refreshed, locked or asked of a person.
    git.env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    bounded_command::run(&mut git, limit)
}
