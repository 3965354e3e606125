//! Other systems: the same by paths, with what the standard library knows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use crate::dir::{FileKind, FileStat};

#[derive(Debug)]
pub(crate) struct DirHandle(PathBuf);

impl DirHandle {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self(path.to_owned()))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
        let path = self.0.join(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            Ok(Self(path))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.0.join(name)).is_ok()
    }

    pub(crate) fn stat(&self, name: &str) -> io::Result<FileStat> {
        let found = fs::symlink_metadata(self.0.join(name))?;
        let since = found.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let kind = match found.file_type() {
            kind if kind.is_file() => FileKind::File,
            kind if kind.is_dir() => FileKind::Folder,
            kind if kind.is_symlink() => FileKind::Link,
            _ => FileKind::Special,
        };
        let mtime_s = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        Ok(FileStat { kind, size: found.len(), mtime_s, mtime_ns: since.subsec_nanos(), ino: 0, dev: 0 })
    }

    pub(crate) fn changed_s(&self, _name: &str) -> Option<i64> {
        None
    }

    pub(crate) fn mode(&self, _name: &str) -> Option<u32> {
        None
    }

    fn plain(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => Err(io::ErrorKind::InvalidInput.into()),
            _ => Ok(path),
        }
    }

    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        File::open(self.plain(name)?)
    }

    pub(crate) fn open_append(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create(true).open(self.plain(name)?)
    }

    pub(crate) fn create_new(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.0.join(name))
    }

    pub(crate) fn write_in_place(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().write(true).create(true).truncate(false).open(self.plain(name)?)?.write_all(bytes)
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    pub(crate) fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        if self.has(to) { Err(io::ErrorKind::AlreadyExists.into()) } else { self.rename(from, to) }
    }

    pub(crate) fn remove_file(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.0.join(name))
    }

    pub(crate) fn list(&self, each: &mut dyn FnMut(&str) -> bool) -> io::Result<()> {
        for entry in fs::read_dir(&self.0)? {
            if entry?.file_name().to_str().is_some_and(|name| !each(name)) {
                break;
            }
        }
        Ok(())
    }
}

pub(crate) fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub(crate) fn make_private_folders(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

pub(crate) fn writable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.permissions().readonly())
}

pub(crate) fn device(_path: &Path) -> Option<u64> {
    None
}

pub(crate) fn end_of_append(file: &File) -> io::Result<u64> {
    let mut file = file;
    file.stream_position()
}

pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut file = file;
    let before = file.stream_position()?;
    file.seek(SeekFrom::Start(offset))?;
    let count = file.read(buffer);
    file.seek(SeekFrom::Start(before))?;
    count
}

pub(crate) fn nonce() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let time = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (u64::from(std::process::id()) << 40)
        ^ ((time.as_nanos() as u64) << 8)
        ^ CALLS.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn boot_id() -> Option<String> {
    None
}

pub(crate) fn pid_namespace() -> Option<String> {
    None
}

pub(crate) fn process_start(_pid: u32) -> Option<(u64, char)> {
    None
}

pub(crate) fn process_parent(_pid: u32) -> Option<u32> {
    None
}

pub(crate) fn process_start_epoch_s(_pid: u32) -> Option<i64> {
    None
}

pub(crate) fn process_exists(_pid: u32) -> Option<bool> {
    None
}

pub(crate) fn host_name() -> Option<String> {
    crate::env::Env::process().text("COMPUTERNAME")
}
