//! The programs that people install: static, one file each.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::tool::Tool;
use crate::workspace::{COMMAND, HOOKS, Workspace};

/// A release build with link-time optimisation from nothing, on two busy cores.
const BUILD_LIMIT: Duration = Duration::from_secs(1200);
/// A target is some 50 MB to fetch; without a way to it the attempt must not hang.
const TARGET_LIMIT: Duration = Duration::from_secs(90);

/// How the programs are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Statically with musl: the form that is measured and gated.
    Musl,
    /// Statically with the host's glibc, because the musl target cannot be had.
    StaticGlibc,
    /// As the host does it (macOS has no static programs).
    Host,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Musl => "static, musl",
            Self::StaticGlibc => "static, glibc (+crt-static; the musl target is not here)",
            Self::Host => "linked as the host does it",
        })
    }
}

/// One way to build, and where the outcome lies.
pub(crate) struct Release {
    /// How the programs are linked.
    pub(crate) link: Link,
    /// The folder that holds them.
    pub(crate) dir: PathBuf,
    triple: String,
}

impl Release {
    /// Picks the target: musl if it is here or can be added, else what `Link` says.
    pub(crate) fn choose(workspace: &Workspace) -> Result<Self> {
        let host = host_triple()?;
        let (link, triple) = match musl_of(&host) {
            None => (Link::Host, host),
            Some(musl) if have_target(&musl) || add_target(&musl) => (Link::Musl, musl),
            Some(_) => (Link::StaticGlibc, host),
        };
        let dir = workspace.target.join(&triple).join("release");
        Ok(Self { link, dir, triple })
    }

    /// Builds the hooks and the command.
    pub(crate) fn build(&self, workspace: &Workspace) -> Result<()> {
        println!("Building the release programs: {} ({}).", self.link, self.triple);
        // Apart from each other: in one call cargo would compile the crates they share with the features of both,
        // and a hook would carry what only the command needs.
        let hooks = HOOKS.iter().flat_map(|hook| ["--package", hook]);
        self.cargo_build(workspace).args(hooks).run()?;
        self.cargo_build(workspace).args(["--package", COMMAND]).run()
    }

    /// Builds one of the yardsticks of the measurements (an example of this package) and returns its path.
    pub(crate) fn build_yardstick(&self, workspace: &Workspace, name: &str) -> Result<PathBuf> {
        self.cargo_build(workspace).args(["--package", "xtask", "--example", name]).run()?;
        Ok(self.dir.join("examples").join(name))
    }

    /// The path of one of the programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn cargo_build(&self, workspace: &Workspace) -> Tool {
        let tool = Tool::cargo()
            .args(["build", "--release", "--quiet", "--locked", "--target", &self.triple])
            .cwd(&workspace.root)
            .limit(BUILD_LIMIT)
            .next_step("the compiler's messages are above");
        match self.link {
            Link::StaticGlibc => {
                let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
                flags.push_str(" -C target-feature=+crt-static");
                tool.env("RUSTFLAGS", flags)
            }
            Link::Musl | Link::Host => tool,
        }
    }
}

fn host_triple() -> Result<String> {
    let text = Tool::new("rustc").arg("-vV").read()?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}

/// The musl target of a Linux host's own processor.
fn musl_of(host: &str) -> Option<String> {
    let (processor, rest) = host.split_once('-')?;
    rest.contains("linux").then(|| format!("{processor}-unknown-linux-musl"))
}

/// Asks the compiler, not rustup: a toolchain of a distribution may have the target without rustup.
fn have_target(triple: &str) -> bool {
    let asked = Tool::new("rustc").args(["--print", "target-libdir", "--target", triple]).read();
    asked.is_ok_and(|dir| holds_std(Path::new(dir.trim_end())))
}

fn holds_std(libdir: &Path) -> bool {
    std::fs::read_dir(libdir).is_ok_and(|mut entries| {
        entries
            .any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("libstd-")))
    })
}

fn add_target(triple: &str) -> bool {
    for _ in 0..2 {
        match Tool::new("rustup").args(["target", "add", triple]).limit(TARGET_LIMIT).read() {
            Ok(_) => return have_target(triple),
            Err(error) => println!("{error:#}"),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_musl_target_is_that_of_the_hosts_processor() {
        assert_eq!(musl_of("x86_64-unknown-linux-gnu").as_deref(), Some("x86_64-unknown-linux-musl"));
        assert_eq!(musl_of("aarch64-unknown-linux-gnu").as_deref(), Some("aarch64-unknown-linux-musl"));
        assert_eq!(musl_of("aarch64-apple-darwin"), None);
    }

    #[test]
    fn a_target_without_its_standard_library_is_not_there() {
        assert!(have_target(&host_triple().expect("rustc is here")));
        assert!(!have_target("no-such-target"));
    }
}
