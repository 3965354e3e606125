//! A machine in a temporary folder: a home, a project, and a folder with freshly built programs.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The five hook programs.
const HOOKS: [&str; 5] =
    ["recovery-hooks", "crash-recovery-check", "error-tracker", "tool-degradation", "heartbeat-write"];

/// A machine of its own.
pub(crate) struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

/// What a run said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home", "home/project", "build", "path"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        // Linked, not copied: a debug build is large.
        let command = root.join("build/recovery");
        if fs::hard_link(env!("CARGO_BIN_EXE_recovery"), &command).is_err() {
            fs::copy(env!("CARGO_BIN_EXE_recovery"), &command).unwrap();
        }
        for name in HOOKS {
            program(&root.join("build").join(name), &format!("#!/bin/sh\necho {name}\n"));
        }
        Self { home: root.join("home"), project: root.join("home/project"), root, _dir: dir }
    }

    /// A world whose project has this settings file.
    pub(crate) fn with_settings(text: impl AsRef<[u8]>) -> Self {
        let world = Self::new();
        world.write(".claude/settings.json", text);
        world
    }

    pub(crate) fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.project.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.project.join(file)).unwrap()
    }

    pub(crate) fn settings(&self) -> serde_json::Value {
        serde_json::from_str(&self.read(".claude/settings.json")).unwrap()
    }

    /// Puts a client on the `PATH`.
    pub(crate) fn install_client(&self, script: &str) {
        program(&self.root.join("path/claude"), script);
    }

    pub(crate) fn build(&self) -> PathBuf {
        self.root.join("build")
    }

    pub(crate) fn bin_dir(&self) -> PathBuf {
        self.home.join(".local/share/recovery-hooks/bin")
    }

    /// Prepares `recovery` in the project, without running it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.prepared(&self.build().join("recovery"), arguments)
    }

    /// Prepares another copy of the command.
    pub(crate) fn prepared(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.project)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.root.join("path").display()));
        command
    }

    /// Runs `recovery` in the project.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.said(self.command(arguments).output().unwrap())
    }

    /// Runs it and insists on success.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> Said {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {}{}", said.stdout, said.stderr);
        said
    }

    /// Returns an output in which folders of this world have short names.
    pub(crate) fn said(&self, output: Output) -> Said {
        let short = |bytes: Vec<u8>| {
            String::from_utf8(bytes)
                .unwrap()
                .replace(&*self.project.to_string_lossy(), "[PROJECT]")
                .replace(&*self.home.to_string_lossy(), "[HOME]")
                .replace(&*self.root.to_string_lossy(), "[ROOT]")
        };
        Said { code: output.status.code(), stdout: short(output.stdout), stderr: short(output.stderr) }
    }

    /// Every file of the home folder with its bytes and mode, and every folder.
    pub(crate) fn snapshot(&self) -> Vec<(PathBuf, Option<Vec<u8>>, u32)> {
        let mut found = Vec::new();
        let mut folders = vec![self.home.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let bytes = meta.is_file().then(|| fs::read(&path).unwrap());
                if meta.is_dir() {
                    folders.push(path.clone());
                }
                found.push((path, bytes, meta.permissions().mode()));
            }
        }
        found.sort();
        found
    }

    /// Runs git in the project.
    pub(crate) fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e@example.org"])
            .args(arguments)
            .current_dir(&self.project)
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
}

/// Writes a script that can be started.
pub(crate) fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
