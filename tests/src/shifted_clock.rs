//! A wall clock that a test sets for one program: a machine that slept, without sleeping.

use std::{
    fs,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{process, repository};

const SOURCE: &str = "tests/fixtures/shifted_clock.c";
const FILE_VARIABLE: &str = "SHIFTED_CLOCK_FILE";
const BUILD_LIMIT: Duration = Duration::from_secs(60);

/// A clock, for programs that ask their C library for the time (Linux).
#[derive(Debug)]
pub struct ShiftedClock {
    library: PathBuf,
    file: PathBuf,
}

impl ShiftedClock {
    /// Builds it in `folder`, set right. None: there is no C compiler, or another system.
    pub fn build(folder: &Path) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let clock = Self { library: folder.join("shifted_clock.so"), file: folder.join("shift") };
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&clock.library).arg(repository().join(SOURCE));
        let finished = process::run(&mut command, BUILD_LIMIT).ok()?;
        assert!(finished.is_success(), "the clock is not built: {}", finished.stderr);
        fs::write(&clock.file, 0_i64.to_ne_bytes()).expect("the folder is writable");
        Some(clock)
    }

    /// The environment of a program that is to live by it.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        [("LD_PRELOAD", self.library.display().to_string()), (FILE_VARIABLE, self.file.display().to_string())]
    }

    /// Sets it, in seconds from the true time; running programs see it at once.
    pub fn shift(&self, seconds: i64) {
        // In place: the file is mapped by those who read it.
        let file = fs::OpenOptions::new().write(true).open(&self.file).expect("the file was made");
        file.write_all_at(&seconds.to_ne_bytes(), 0).expect("the file is writable");
    }
}
