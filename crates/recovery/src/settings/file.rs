//! Settings files on disk: links followed, replaced in one step, never torn and never lost.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::hint::Remedy;

/// More than any settings file: a larger one is not read into memory.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Why a file could not be read or replaced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("cannot {operation} {}", path.display())]
    Io { operation: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is a link to {}, which does not exist", path.display(), target.display())]
    DanglingLink { path: PathBuf, target: PathBuf },
    #[error("{} is not an ordinary file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} is larger than {} MiB", path.display(), LARGEST / 1024 / 1024)]
    TooLarge { path: PathBuf },
    #[error("{} was changed by another program at the same moment", path.display())]
    Changed { path: PathBuf },
}

impl FileError {
    /// Returns what turns an I/O error into ours.
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { operation, path, source }
    }
}

impl Remedy for FileError {
    fn remedy(&self) -> String {
        match self {
            Self::Io { path, source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    format!("make {} writable for you and run the command again", folder_of(path).display())
                }
                io::ErrorKind::StorageFull => "free some disk space and run the command again".to_owned(),
                _ => format!("look at {} and run the command again", path.display()),
            },
            Self::DanglingLink { path, .. } => format!("remove {} or mend its target", path.display()),
            Self::NotAFile { path } | Self::TooLarge { path } => {
                format!("move {} away and run the command again", path.display())
            }
            Self::Changed { .. } => "run the command again".to_owned(),
        }
    }
}

/// Returns the folder a file stands in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file as it was when it was looked at.
#[derive(Clone, Debug)]
pub(crate) struct SettingsFile {
    /// The path the client reads.
    pub(crate) path: PathBuf,
    /// The file behind it, where the path is a link; else the same.
    target: PathBuf,
    /// `None`: there is no such file.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl SettingsFile {
    /// Reads the file, through a link if it is one. No file is fine.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        let target = match path.canonicalize() {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
                Ok(target) => return Err(FileError::DanglingLink { path: path.to_owned(), target }),
                Err(_) => real_place_of_missing(path),
            },
            Err(error) => return Err(FileError::io("read", path)(error)),
        };
        let bytes = read_if_there(&target)?;
        Ok(Self { path: path.to_owned(), target, bytes })
    }

    /// Returns the real file that is edited.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Puts other bytes in the place of the file.
    ///
    /// # Errors
    ///
    /// [`FileError::Changed`] if the file is no longer what was read; then nothing was written.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<(), FileError> {
        let permissions = match fs::metadata(&self.target) {
            Ok(meta) => Some(meta.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(FileError::io("read", &self.target)(error)),
        };
        replace_file(
            &self.target,
            permissions,
            |temporary| temporary.write_all(bytes),
            || self.check_unchanged(),
        )
    }

    /// Removes the file.
    ///
    /// # Errors
    ///
    /// [`FileError::Changed`] if the file is no longer what was read; then it is still there.
    pub(crate) fn remove(&self) -> Result<(), FileError> {
        self.check_unchanged()?;
        fs::remove_file(&self.target).map_err(FileError::io("remove", &self.target))
    }

    /// Compares the file with what was read.
    ///
    /// # Errors
    ///
    /// [`FileError::Changed`] if it is no longer the same.
    pub(crate) fn check_unchanged(&self) -> Result<(), FileError> {
        if read_if_there(&self.target)? == self.bytes {
            Ok(())
        } else {
            Err(FileError::Changed { path: self.path.clone() })
        }
    }
}

/// Returns where a missing file would really be: with the links of its folders followed, as far as those exist.
///
/// So it has the same name now as later, when it is there.
fn real_place_of_missing(path: &Path) -> PathBuf {
    let real_folder = path.ancestors().skip(1).find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    match real_folder.and_then(|(folder, real)| Some(real.join(path.strip_prefix(folder).ok()?))) {
        Some(real) => real,
        None => path.to_owned(),
    }
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    // A look before the open: opening a pipe would wait for its other end.
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Err(FileError::NotAFile { path: path.to_owned() }),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::io("read", path)(error)),
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::io("read", path)(error)),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(FileError::io("read", path))?;
    if bytes.len() as u64 > LARGEST {
        return Err(FileError::TooLarge { path: path.to_owned() });
    }
    Ok(Some(bytes))
}

/// Replaces a file in one step: written beside it, synced, given its permissions, renamed.
///
/// `last_look` runs right before the rename and can still call it off. Whatever goes wrong, nothing is left beside the
/// file but by a kill in the middle.
pub(crate) fn replace_file(
    path: &Path,
    permissions: Option<fs::Permissions>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    last_look: impl FnOnce() -> Result<(), FileError>,
) -> Result<(), FileError> {
    let (temporary, mut file) = create_beside(path, permissions.is_some())?;
    let outcome = write(&mut file)
        .and_then(|()| permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions)))
        // Synced first: a rename may reach the disk before the bytes do.
        .and_then(|()| file.sync_all())
        .map_err(FileError::io("write", path))
        .and_then(|()| last_look())
        .and_then(|()| fs::rename(&temporary, path).map_err(FileError::io("replace", path)));
    if outcome.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    outcome
}

/// Makes a new file in the folder of `path`; private until it gets permissions, where it will get some.
fn create_beside(path: &Path, private: bool) -> Result<(PathBuf, File), FileError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        // A name that is taken belongs to a killed run or to another process with the same id in a container.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = folder_of(path).join(format!(".{name}.{}-{count}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if private {
            crate::platform::only_for_owner(&mut options);
        }
        match options.open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(FileError::io("write into", folder_of(path))(error)),
        }
    }
}

#[cfg(test)]
mod tests;
