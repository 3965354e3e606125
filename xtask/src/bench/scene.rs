//! The projects that hooks are measured in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::payloads::{Call, PROMPT, READ_MISSING, READ_OK, Recorded, SESSION_START};
use crate::tool::Tool;

/// The session that is measured.
const SESSION: &str = "00000000-0000-4000-8000-000000000001";

/// A number for the measured call that no call of the preparation has.
const MEASURED_CALL: u32 = 900_000;

/// Other sessions of the project.
pub(super) enum Sessions {
    /// So many that run: started by the hook, their client is this process.
    Running(u32),
    /// So many folders that are just there.
    Folders(u32),
}

/// A project of its own, and a home of its own.
#[derive(Clone)]
pub(super) struct Scene {
    dir: PathBuf,
    project: PathBuf,
    home: PathBuf,
}

impl Scene {
    /// An empty project.
    pub(super) fn new(dir: &Path) -> Result<Self> {
        let scene = Self { dir: dir.to_owned(), project: dir.join("project"), home: dir.join("home") };
        for folder in [&scene.project.join(".claude"), &scene.home] {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        Ok(scene)
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// What the client would set, and nothing else.
    fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", self.home.to_string_lossy().into_owned()),
            ("CLAUDE_PROJECT_DIR", self.project.to_string_lossy().into_owned()),
            ("CLAUDE_CODE_SESSION_ID", SESSION.to_owned()),
            ("CLAUDE_PID", std::process::id().to_string()),
        ]
    }

    /// The command in this project.
    pub(super) fn inside(&self, tool: Tool) -> Tool {
        self.environment()
            .iter()
            .fold(tool.clean_env().cwd(&self.project), |tool, (name, value)| tool.env(name, value))
    }

    /// The command in this project.
    pub(super) fn inside_command(&self, command: &mut Command) {
        command.env_clear().envs(self.environment()).current_dir(&self.project);
    }

    /// The payload of the measured call.
    pub(super) fn payload(&self, recorded: Recorded, bytes: usize) -> Vec<u8> {
        self.payload_of(recorded, SESSION, MEASURED_CALL, bytes)
    }

    /// The payload of another call.
    pub(super) fn payload_of(&self, recorded: Recorded, session: &str, number: u32, bytes: usize) -> Vec<u8> {
        recorded.fill(&Call { session, project: &self.project, number, bytes })
    }

    /// Begins the measured session as the client would: what is measured is a call in the middle of it.
    pub(super) fn warm_up(&self, hook: &Path) -> Result<()> {
        for recorded in [SESSION_START, PROMPT] {
            self.fire(hook, &self.payload_of(recorded, SESSION, 1, 0))?;
        }
        self.fire(hook, &self.payload_of(READ_OK, SESSION, 2, 0))
    }

    fn fire(&self, hook: &Path, payload: &[u8]) -> Result<()> {
        let said = self.inside(Tool::new(hook)).capture(payload)?;
        if !said.status.success() {
            bail!("{} ended with {}: {}", hook.display(), said.status, said.stderr.trim_end());
        }
        Ok(())
    }

    fn session(&self) -> PathBuf {
        self.project.join("sessions").join(SESSION)
    }

    /// Whether the measured session left a sign of life.
    pub(super) fn has_beat(&self) -> bool {
        self.session().join("heartbeat").is_file()
    }

    /// A session with a journal of at least so many facts, written by the hook itself: a file that is read in vain
    /// and then found, over and over, which leads to no advice. Returns how many lines the journal has.
    pub(super) fn with_facts(&self, hook: &Path, facts: usize) -> Result<usize> {
        self.warm_up(hook)?;
        let journal = self.session().join("journal.jsonl");
        let lines =
            || fs::read(&journal).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count());
        let mut number = 10;
        // Two calls a turn and a fact a call; what writes none in a while never will.
        while lines() < facts && (number < 200 || lines() > 0) && number < MEASURED_CALL {
            for _ in 0..50 {
                for recorded in [READ_MISSING, READ_OK] {
                    self.fire(hook, &self.payload_of(recorded, SESSION, number, 0))?;
                    number += 1;
                }
            }
        }
        Ok(lines())
    }

    pub(super) fn with_sessions(&self, sessions: Sessions, hook: &Path) -> Result<()> {
        match sessions {
            Sessions::Running(count) => {
                for number in 0..count {
                    let session = format!("00000000-0000-4000-c000-{number:012}");
                    self.fire(hook, &self.payload_of(SESSION_START, &session, number, 0))?;
                    self.fire(hook, &self.payload_of(READ_OK, &session, number, 0))?;
                }
            }
            Sessions::Folders(count) => {
                for number in 0..count {
                    let folder =
                        self.project.join("sessions").join(format!("00000000-0000-4000-d000-{number:012}"));
                    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
                    fs::write(folder.join("status"), "ended\n").context("writing a session's status")?;
                }
            }
        }
        Ok(())
    }

    /// The table of replacements that the fail counter reads.
    pub(super) fn with_fallback_row(&self) -> Result<()> {
        let folder = self.project.join(".working-state");
        fs::create_dir_all(&folder).context("making .working-state")?;
        let table = "| tool | replacement | difference |\n|---|---|---|\n| mcp__docsearch__query | WebFetch | static pages |\n";
        fs::write(folder.join("fallback-tools.md"), table).context("writing the table of replacements")
    }

    /// Remembers the measured session's folder as it is now.
    pub(super) fn keep_session(&self) -> Result<()> {
        let kept = self.dir.join("kept");
        fs::create_dir_all(self.session()).context("making the session's folder")?;
        copy_folder(&self.session(), &kept)
    }

    /// Puts the remembered folder back.
    pub(super) fn restore_session(&self) -> Result<()> {
        fs::remove_dir_all(self.session()).context("removing the session's folder")?;
        copy_folder(&self.dir.join("kept"), &self.session())
    }

    /// Removes what a session left that nobody ended.
    pub(super) fn forget(&self, session: &str) {
        // Most hooks leave nothing: then there is nothing to remove.
        let sessions = self.project.join("sessions");
        let _ = fs::remove_dir_all(sessions.join(session));
        // The mark too: hundreds of marks without a session would be what is measured.
        let _ = fs::remove_file(sessions.join(".open").join(session));
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry.with_context(|| format!("reading {}", from.display()))?;
        let target = to.join(entry.file_name());
        if entry.file_type().context("reading a kind of file")?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("writing {}", target.display()))?;
        }
    }
    Ok(())
}
