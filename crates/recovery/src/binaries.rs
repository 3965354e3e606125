//! The programs on disk: copied from beside the running command into the folder that the settings name.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use crate::{
    environment::Environment,
    hint::Remedy,
    platform,
    programs::{COMMAND, Program, file_name},
    settings::file::{FileError, replace_file},
};

/// Default folder for the programs, inside our folder for data.
const BIN: &str = "bin";

/// The sign that the programs in a folder are copies of ours, which may be removed again.
///
/// Without it, `--bin-dir target/release` followed by a purge would take away what somebody has built.
const MARK: &str = ".installed-by-recovery";

/// Why the programs cannot be installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BinariesError {
    #[error("{} is not in {}, the folder of this `recovery`", missing.join(", "), folder.display())]
    NotBuilt { missing: Vec<String>, folder: PathBuf },
    #[error("the folder {} cannot be written into a settings file: its name is not Unicode", .0.display())]
    NameNotUnicode(PathBuf),
    #[error("there is no home folder to install into")]
    NoHome,
    #[error(transparent)]
    File(#[from] FileError),
}

impl Remedy for BinariesError {
    fn remedy(&self) -> String {
        match self {
            Self::NotBuilt { .. } => {
                "build all programs with `cargo build --release` and run `target/release/recovery` again"
                    .to_owned()
            }
            Self::NameNotUnicode(_) => "choose another folder with --bin-dir DIR".to_owned(),
            Self::NoHome => "set HOME and run the command again".to_owned(),
            Self::File(error) => error.remedy(),
        }
    }
}

/// What has to be copied where.
#[derive(Clone, Debug)]
pub(crate) struct BinariesPlan {
    bin_dir: PathBuf,
    /// From, to; programs that are in place already are not here.
    copies: Vec<(PathBuf, PathBuf)>,
    is_own_folder: bool,
}

impl BinariesPlan {
    /// Compares the programs beside the running command with those in `bin_dir` (default: in our folder for data).
    pub(crate) fn new(bin_dir: Option<&Path>, environment: &Environment) -> Result<Self, BinariesError> {
        let bin_dir = match bin_dir {
            Some(dir) => environment.current_dir.join(dir),
            None => environment.data_dir().ok_or(BinariesError::NoHome)?.join(BIN),
        };
        // A doubled or final separator would make two names of one folder, and two wirings of one hook.
        let bin_dir: PathBuf = bin_dir.components().collect();
        if bin_dir.to_str().is_none() {
            return Err(BinariesError::NameNotUnicode(bin_dir));
        }
        let source = environment.current_exe.parent().unwrap_or(Path::new("/"));
        let is_own_folder = same_folder(source, &bin_dir);
        let mut missing = Vec::new();
        let mut copies = Vec::new();
        for name in all_names() {
            let (from, to) = (source.join(&name), bin_dir.join(&name));
            if !platform::is_executable(&from) {
                missing.push(name);
            } else if !is_own_folder && !is_copy_of(&to, &from) {
                copies.push((from, to));
            }
        }
        if missing.is_empty() {
            Ok(Self { bin_dir, copies, is_own_folder })
        } else {
            Err(BinariesError::NotBuilt { missing, folder: source.to_owned() })
        }
    }

    /// Returns the folder that the settings name.
    pub(crate) fn bin_dir(&self) -> &Path {
        &self.bin_dir
    }

    /// Returns how many programs are new or newer.
    pub(crate) fn count(&self) -> usize {
        self.copies.len()
    }

    /// Copies the programs, each in one step: a running one keeps its file.
    pub(crate) fn carry_out(&self) -> Result<(), BinariesError> {
        if self.is_own_folder {
            return Ok(());
        }
        if !self.copies.is_empty() {
            fs::create_dir_all(&self.bin_dir).map_err(FileError::io("make", &self.bin_dir))?;
        }
        for (from, to) in &self.copies {
            let mut source = File::open(from).map_err(FileError::io("read", from))?;
            let permissions =
                platform::program_permissions(&source.metadata().map_err(FileError::io("read", from))?);
            let copy = |target: &mut File| io::copy(&mut source, target).map(|_| ());
            replace_file(to, Some(permissions), copy, || Ok(()))?;
        }
        let mark = self.bin_dir.join(MARK);
        if !self.copies.is_empty() && !mark.exists() {
            let text = "The programs of recovery-hooks in this folder are copies; `recovery uninstall --purge` removes them.\n";
            fs::write(&mark, text).map_err(FileError::io("write", &mark))?;
        }
        Ok(())
    }
}

/// Removes our programs from a folder into which we copied them, and the folder if nothing else is in it.
///
/// Returns the names of the removed programs; none from a folder that is not ours.
pub(crate) fn remove_copies(bin_dir: &Path) -> io::Result<Vec<String>> {
    let mark = bin_dir.join(MARK);
    if !mark.is_file() {
        return Ok(Vec::new());
    }
    let mut removed = Vec::new();
    for name in all_names() {
        match fs::remove_file(bin_dir.join(&name)) {
            Ok(()) => removed.push(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    fs::remove_file(&mark)?;
    // The folder stays if somebody else uses it.
    let _ = fs::remove_dir(bin_dir);
    Ok(removed)
}

/// Returns the default folder for the programs.
pub(crate) fn default_bin_dir(environment: &Environment) -> Option<PathBuf> {
    environment.data_dir().map(|data| data.join(BIN))
}

fn all_names() -> impl Iterator<Item = String> {
    Program::ALL.into_iter().map(Program::name).chain([COMMAND]).map(file_name)
}

fn is_copy_of(copy: &Path, original: &Path) -> bool {
    platform::is_executable(copy)
        && matches!((fs::read(copy), fs::read(original)), (Ok(copy), Ok(original)) if copy == original)
}

fn same_folder(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
