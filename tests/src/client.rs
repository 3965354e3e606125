//! The real client: found in a cache folder, or installed there once.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{process, repository, wait::try_wait_for};

/// The version these tests were written against.
pub const PINNED_VERSION: &str = "2.1.332";

const PACKAGE: &str = "@anthropic-ai/claude-code";
/// About 400 MB are fetched.
const INSTALL_LIMIT: Duration = Duration::from_secs(300);
/// Another process installs meanwhile.
const LOCK_LIMIT: Duration = Duration::from_secs(330);
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// An installed client.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its program.
    pub program: PathBuf,
    /// What `--version` says.
    pub version: String,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The cache folder cannot be used.
    #[error("cannot use the cache folder {path}")]
    Cache {
        /// The folder, or the file in it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has been installing for too long.
    #[error("another process held {path} for {} s", LOCK_LIMIT.as_secs())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// npm did not start.
    #[error("npm does not start; the client is an npm package")]
    NoNpm {
        /// What the system said.
        source: io::Error,
    },
    /// npm ran and failed, or took too long.
    #[error("npm {} of {package} failed:\n{output}", if *.timed_out { "ran out of time at the installation" } else { "installation" })]
    Install {
        /// Package and version.
        package: String,
        /// It did not end in time.
        timed_out: bool,
        /// What npm said.
        output: String,
    },
    /// What was installed does not run, or is another version.
    #[error("the installed client does not answer `--version` with {expected}: {answer}")]
    Broken {
        /// The version asked for.
        expected: String,
        /// What came instead.
        answer: String,
    },
}

impl Client {
    /// Returns the client of the wanted version, installed first if need be.
    pub fn find_or_install() -> Result<Self, ClientError> {
        let wanted = env::var("RECOVERY_TEST_CLIENT_VERSION").ok().filter(|version| !version.is_empty());
        let version = match wanted.as_deref() {
            None => PINNED_VERSION.to_owned(),
            Some("latest") => latest_version()?,
            Some(version) => version.to_owned(),
        };
        Self::of_version(&version)
    }

    /// Returns the client of one version, installed first if need be.
    pub fn of_version(version: &str) -> Result<Self, ClientError> {
        let cache = env::var_os("RECOVERY_TEST_CACHE")
            .map_or_else(|| repository().join("target/client"), PathBuf::from);
        Self::from_cache(&cache, version)
    }

    fn from_cache(cache: &Path, version: &str) -> Result<Self, ClientError> {
        let home = cache.join(version);
        if let Some(client) = Self::in_folder(&home, version) {
            return Ok(client);
        }
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| ClientError::Cache { path, source }
        };
        fs::create_dir_all(cache).map_err(at(cache))?;
        let lock_path = cache.join(format!("{version}.lock"));
        let lock = File::create(&lock_path).map_err(at(&lock_path))?;
        try_wait_for(LOCK_LIMIT, || fs2::FileExt::try_lock_exclusive(&lock).ok())
            .ok_or_else(|| ClientError::Locked { path: lock_path.clone() })?;
        if let Some(client) = Self::in_folder(&home, version) {
            return Ok(client);
        }
        // Installed beside and renamed when it works: a run that was cut off leaves nothing that looks installed.
        let fresh = cache.join(format!("{version}.new"));
        for stale in [&fresh, &home] {
            if stale.exists() {
                fs::remove_dir_all(stale).map_err(at(stale))?;
            }
        }
        fs::create_dir_all(&fresh).map_err(at(&fresh))?;
        install(&fresh, version)?;
        let program = program_in(&fresh);
        if version_of(&program).as_deref() != Some(version) {
            let answer =
                version_of(&program).unwrap_or_else(|| format!("{} does not run", program.display()));
            return Err(ClientError::Broken { expected: version.to_owned(), answer });
        }
        fs::rename(&fresh, &home).map_err(at(&home))?;
        Ok(Self { program: program_in(&home), version: version.to_owned() })
    }

    fn in_folder(home: &Path, version: &str) -> Option<Self> {
        let program = program_in(home);
        (version_of(&program).as_deref() == Some(version))
            .then(|| Self { program, version: version.to_owned() })
    }
}

/// The program: the native one of the platform's own package, which needs no installation script and no Node; else
/// what the main package links.
fn program_in(home: &Path) -> PathBuf {
    let modules = home.join("node_modules");
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let native = modules.join(format!("{PACKAGE}-{system}-{processor}/claude"));
    if native.is_file() { native } else { modules.join(".bin/claude") }
}

fn version_of(program: &Path) -> Option<String> {
    let home = tempfile::tempdir().ok()?;
    let mut command = Command::new(program);
    command.arg("--version").env_clear().env("HOME", home.path());
    // The older releases are scripts and need `node`.
    if let Some(path) = env::var_os("PATH") {
        command.env("PATH", path);
    }
    let finished = process::run(&mut command, VERSION_LIMIT).ok()?;
    finished.is_success().then(|| finished.stdout.split_whitespace().next().unwrap_or_default().to_owned())
}

fn install(folder: &Path, version: &str) -> Result<(), ClientError> {
    let package = format!("{PACKAGE}@{version}");
    npm(
        &["install", "--no-audit", "--no-fund", "--no-save", "--prefix", &folder.to_string_lossy(), &package],
        &package,
    )
    .map(drop)
}

fn latest_version() -> Result<String, ClientError> {
    npm(&["view", PACKAGE, "version"], PACKAGE).map(|output| output.trim().to_owned())
}

fn npm(args: &[&str], package: &str) -> Result<String, ClientError> {
    let finished = process::run(Command::new("npm").args(args), INSTALL_LIMIT)
        .map_err(|source| ClientError::NoNpm { source })?;
    if finished.is_success() {
        return Ok(finished.stdout);
    }
    Err(ClientError::Install {
        package: package.to_owned(),
        timed_out: finished.status.is_none(),
        output: finished.stdout + &finished.stderr,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_cannot_be_made_is_a_typed_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Client::from_cache(&file.path().join("below-a-file"), "0.0.0").unwrap_err();
        assert!(matches!(error, ClientError::Cache { .. }), "{error}");
    }
}
