//! Unix: everything below an open folder goes through `openat` without following links.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags};

use crate::dir::{FileKind, FileStat};

const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o700);
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
// A pipe in the place of a file must not stop us: NONBLOCK, then looked at.
const BASE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

#[derive(Debug)]
pub(crate) struct DirHandle(OwnedFd);

impl DirHandle {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(fs::open(path, FOLDER, Mode::empty())?))
    }

    pub(crate) fn folder(&self, name: &str) -> io::Result<Self> {
        Ok(Self(fs::openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
    }

    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        Ok(fs::mkdirat(&self.0, name, FOLDER_MODE)?)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    pub(crate) fn stat(&self, name: &str) -> io::Result<FileStat> {
        let stat = fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = match fs::FileType::from_raw_mode(stat.st_mode) {
            fs::FileType::RegularFile => FileKind::File,
            fs::FileType::Directory => FileKind::Folder,
            fs::FileType::Symlink => FileKind::Link,
            _ => FileKind::Special,
        };
        #[expect(clippy::useless_conversion, reason = "the field types differ between systems")]
        Ok(FileStat {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_s: stat.st_mtime.into(),
            mtime_ns: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
            ino: stat.st_ino.into(),
            dev: stat.st_dev.into(),
        })
    }

    pub(crate) fn changed_s(&self, name: &str) -> Option<i64> {
        #[expect(clippy::useless_conversion, reason = "the field types differ between systems")]
        fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| stat.st_ctime.into())
    }

    pub(crate) fn mode(&self, name: &str) -> Option<u32> {
        Some(fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?.st_mode & 0o7777)
    }

    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        Ok(File::from(fs::openat(&self.0, name, BASE | OFlags::RDONLY, Mode::empty())?))
    }

    pub(crate) fn open_append(&self, name: &str) -> io::Result<File> {
        let flags = BASE | OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        Ok(File::from(fs::openat(&self.0, name, flags, FILE_MODE)?))
    }

    pub(crate) fn create_new(&self, name: &str) -> io::Result<File> {
        let flags = BASE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        Ok(File::from(fs::openat(&self.0, name, flags, FILE_MODE)?))
    }

    pub(crate) fn write_in_place(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let file = fs::openat(&self.0, name, BASE | OFlags::WRONLY | OFlags::CREATE, FILE_MODE)?;
        let written = rustix::io::pwrite(&file, bytes, 0)?;
        if written == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.0, from, &self.0, to)?)
    }

    pub(crate) fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        match fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            // Some file systems cannot do it in one step.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
                if self.has(to) { Err(io::ErrorKind::AlreadyExists.into()) } else { self.rename(from, to) }
            }
            done => Ok(done?),
        }
    }

    pub(crate) fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Calls `each` for every name that is UTF-8 until it returns false.
    #[cfg(target_os = "linux")]
    pub(crate) fn list(&self, each: &mut dyn FnMut(&str) -> bool) -> io::Result<()> {
        // Straight from the system's buffer: a folder of sessions is listed at every start.
        let mut buffer = [std::mem::MaybeUninit::uninit(); 16 * 1024];
        fs::seek(&self.0, fs::SeekFrom::Start(0))?;
        let mut entries = fs::RawDir::new(&self.0, &mut buffer);
        while let Some(entry) = entries.next() {
            match entry?.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) if each(name) => {}
                Ok(_) => break,
            }
        }
        Ok(())
    }

    /// Calls `each` for every name that is UTF-8 until it returns false.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn list(&self, each: &mut dyn FnMut(&str) -> bool) -> io::Result<()> {
        for entry in fs::Dir::read_from(&self.0)? {
            match entry?.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) if each(name) => {}
                Ok(_) => break,
            }
        }
        Ok(())
    }
}

pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

/// Makes a folder, and the missing ones above it, for its owner alone.
pub(crate) fn make_private_folders(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether this user may make files there.
pub(crate) fn writable(path: &Path) -> bool {
    fs::access(path, fs::Access::WRITE_OK | fs::Access::EXEC_OK).is_ok()
}

/// The device a path lies on.
pub(crate) fn device(path: &Path) -> Option<u64> {
    #[expect(clippy::useless_conversion, reason = "the field types differ between systems")]
    fs::stat(path).ok().map(|stat| stat.st_dev.into())
}

/// Where the last append through this handle ended.
pub(crate) fn end_of_append(file: &File) -> io::Result<u64> {
    use std::io::Seek;
    let mut file = file;
    file.stream_position()
}

/// Reads at a position without moving.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// A number no other process or call uses at the moment.
pub(crate) fn nonce() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let pid = u64::from(std::process::id());
    (pid << 40) ^ ((time.as_nanos() as u64) << 8) ^ CALLS.fetch_add(1, Ordering::Relaxed)
}

/// Reads a small text file of the system.
#[cfg(target_os = "linux")]
fn system_text(path: &str) -> Option<String> {
    use std::io::Read;
    // These files have no size: room for all of them saves a dozen small reads.
    let mut text = String::with_capacity(4096);
    File::open(path).ok()?.take(4095).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Identity of the running system, new at every boot.
#[cfg(target_os = "linux")]
pub(crate) fn boot_id() -> Option<String> {
    Some(system_text("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Identity of the space in which process ids are counted.
#[cfg(target_os = "linux")]
pub(crate) fn pid_namespace() -> Option<String> {
    std::fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok()
}

/// Start of a process in clock ticks since boot, and its state letter.
#[cfg(target_os = "linux")]
pub(crate) fn process_start(pid: u32) -> Option<(u64, char)> {
    // The program's name, in parentheses, may itself hold spaces and parentheses.
    let stat = system_text(&format!("/proc/{pid}/stat"))?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.nth(18)?.parse().ok()?, state))
}

/// The process that started a process, or that took it over.
#[cfg(target_os = "linux")]
pub(crate) fn process_parent(pid: u32) -> Option<u32> {
    let stat = system_text(&format!("/proc/{pid}/stat"))?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Start of a process in seconds since 1970.
#[cfg(target_os = "linux")]
pub(crate) fn process_start_epoch_s(pid: u32) -> Option<i64> {
    let (ticks, _) = process_start(pid)?;
    let up: f64 = system_text("/proc/uptime")?.split_ascii_whitespace().next()?.parse().ok()?;
    let started = ticks as f64 / rustix::param::clock_ticks_per_second().max(1) as f64;
    Some(crate::Now::read().seconds() - (up - started) as i64)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn boot_id() -> Option<String> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pid_namespace() -> Option<String> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn process_start(_pid: u32) -> Option<(u64, char)> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn process_parent(_pid: u32) -> Option<u32> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn process_start_epoch_s(_pid: u32) -> Option<i64> {
    None
}

/// Whether a process of this number exists: Some(false) is a proof.
pub(crate) fn process_exists(pid: u32) -> Option<bool> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(rustix::io::Errno::PERM) => Some(true),
        Err(rustix::io::Errno::SRCH) => Some(false),
        Err(_) => None,
    }
}

/// This host's name.
pub(crate) fn host_name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}
