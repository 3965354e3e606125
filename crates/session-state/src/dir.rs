//! A folder held open: every state file is reached through one, so a link put in its place later leads nowhere.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::{layout, platform};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; never followed.
    Link,
    /// A pipe, socket or device; never opened.
    Special,
}

/// What the system tells of a name without following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// What it is.
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// Last change, seconds since 1970.
    pub mtime_s: i64,
    /// Nanoseconds of it.
    pub mtime_ns: u32,
    /// Identity together with `dev`; 0 where the system has none.
    pub ino: u64,
    /// Device.
    pub dev: u64,
}

/// An open folder.
#[derive(Debug)]
pub struct Dir {
    pub(crate) handle: platform::DirHandle,
    path: PathBuf,
}

impl Dir {
    /// Opens a folder; a link to one is followed here (the root of a project may be a link), never below.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: platform::DirHandle::open(path)?, path: path.to_owned() })
    }

    /// Opens a folder of the user's own, made with the missing ones above it for its owner alone.
    pub fn make_all(path: &Path) -> io::Result<Self> {
        platform::make_private_folders(path)?;
        Self::open(path)
    }

    /// Where it is, for people.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a folder in this one. A link is an error.
    pub fn folder(&self, name: &str) -> io::Result<Self> {
        Ok(Self { handle: self.handle.folder(name)?, path: self.path.join(name) })
    }

    /// Opens a folder in this one, made if missing (mode 0700). Also tells whether it was made here.
    pub fn make_folder(&self, name: &str) -> io::Result<(Self, bool)> {
        match self.folder(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = match self.handle.make_folder(name) {
                    Ok(()) => true,
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                    Err(error) => return Err(error),
                };
                Ok((self.folder(name)?, made))
            }
            found => Ok((found?, false)),
        }
    }

    /// Whether the name exists, as whatever.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.handle.has(name)
    }

    /// What the name is; None when there is nothing or it cannot be told.
    #[must_use]
    pub fn stat(&self, name: &str) -> Option<FileStat> {
        self.handle.stat(name).ok()
    }

    /// When the name or what it stands for last changed in any way (a rename included), seconds since 1970. None where
    /// the system does not tell.
    #[must_use]
    pub fn changed_s(&self, name: &str) -> Option<i64> {
        self.handle.changed_s(name)
    }

    /// Opens an ordinary file for reading. Links and special files are errors; a pipe does not block.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        Ok(self.open_sized(name)?.0)
    }

    /// The same, with its size in bytes.
    fn open_sized(&self, name: &str) -> io::Result<(File, u64)> {
        let file = self.handle.open_file(name)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
        }
        Ok((file, found.len()))
    }

    /// Reads an ordinary file of at most `limit` bytes; a larger one is an error.
    pub fn read(&self, name: &str, limit: usize) -> io::Result<Vec<u8>> {
        let (file, size) = self.open_sized(name)?;
        // With room for all of it and one byte more, it is one call and one that says there is no more.
        let size = usize::try_from(size).unwrap_or(limit);
        let mut bytes = Vec::with_capacity(size.min(limit) + 1);
        file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > limit {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than expected"));
        }
        Ok(bytes)
    }

    /// Opens an ordinary file for appending and reading, made if missing (mode 0600).
    pub fn open_append(&self, name: &str) -> io::Result<File> {
        let file = self.handle.open_append(name)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
        }
        Ok(file)
    }

    /// Writes bytes at the start of a file without truncating it; made if missing (mode 0600). One system call to
    /// write, so a reader sees the old bytes or the new ones.
    pub fn write_in_place(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.handle.write_in_place(name, bytes)
    }

    /// Makes a file (mode 0600) with these bytes. Error `AlreadyExists` when the name is taken.
    pub fn create_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.handle.create_new(name)?;
        file.write_all(bytes)
    }

    /// Makes a file (mode 0600) whose bytes are on disk when this returns: for what is about to be given up elsewhere.
    pub fn create_new_synced(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.handle.create_new(name)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Replaces a file by a new one, in one step for readers. `sync`: the bytes are on disk before the name changes
    /// (for files of others and for what is work to rebuild). The mode of an old file is kept.
    pub fn replace(&self, name: &str, bytes: &[u8], sync: bool) -> io::Result<()> {
        self.replace_when(name, bytes, sync, || true).map(|_| ())
    }

    /// Replaces a file of another program, synced, if `unchanged` still says so right before. Returns whether it was
    /// done.
    pub fn replace_if(&self, name: &str, bytes: &[u8], unchanged: impl FnOnce() -> bool) -> io::Result<bool> {
        self.replace_when(name, bytes, true, unchanged)
    }

    fn replace_when(
        &self,
        name: &str,
        bytes: &[u8],
        sync: bool,
        go: impl FnOnce() -> bool,
    ) -> io::Result<bool> {
        let temporary = layout::temporary(name, platform::nonce());
        let written = (|| {
            let mut file = self.handle.create_new(&temporary)?;
            if let Some(mode) = self.handle.mode(name) {
                platform::set_mode(&file, mode)?;
            }
            file.write_all(bytes)?;
            if sync {
                file.sync_all()?;
            }
            if !go() {
                return Ok(false);
            }
            self.handle.rename(&temporary, name)?;
            Ok(true)
        })();
        if !matches!(written, Ok(true)) {
            // Nothing more can be done about a temporary file that cannot be removed.
            let _ = self.handle.remove_file(&temporary);
        }
        written
    }

    /// Makes a whole file (mode 0600, on disk) in one step, if `unchanged` still says so right before. Returns whether it
    /// was done. Error `AlreadyExists` when the name is taken, by whatever: nothing is ever replaced.
    pub fn put_new(&self, name: &str, bytes: &[u8], unchanged: impl FnOnce() -> bool) -> io::Result<bool> {
        let temporary = layout::temporary(name, platform::nonce());
        let written = self.create_new_synced(&temporary, bytes).and_then(|()| {
            if !unchanged() {
                return Ok(false);
            }
            self.handle.rename_new(&temporary, name).map(|()| true)
        });
        if !matches!(written, Ok(true)) {
            // Nothing more can be done about a temporary file that cannot be removed.
            let _ = self.handle.remove_file(&temporary);
        }
        written
    }

    /// Renames within the folder.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.handle.rename(from, to)
    }

    /// Renames within the folder, never over another file.
    pub fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.handle.rename_new(from, to)
    }

    /// Removes a file or link.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        self.handle.remove_file(name)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.handle.remove_folder(name)
    }

    /// Calls `each` with every name in the folder until it returns false; names that are not UTF-8 are left out.
    pub fn each_name(&self, mut each: impl FnMut(&str) -> bool) {
        // A folder that cannot be listed has nothing to find.
        let _ = self.handle.list(&mut each);
    }

    /// Names in the folder, at most `limit` of them; names that are not UTF-8 are left out.
    #[must_use]
    pub fn names(&self, limit: usize) -> Vec<String> {
        let mut names = Vec::new();
        self.each_name(|name| {
            names.push(name.to_owned());
            names.len() < limit
        });
        names
    }
}
