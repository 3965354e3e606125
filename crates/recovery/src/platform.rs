//! What differs between operating systems.

use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    path::Path,
};

/// Tells whether the path is a file that can be started.
#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Tells whether the path is a file that can be started.
#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Returns the permissions of an installed program: everybody may start it, its owner may replace it.
#[cfg(unix)]
pub(crate) fn program_permissions(_source: &fs::Metadata) -> Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    Permissions::from_mode(0o755)
}

/// Returns the permissions of an installed program: those of its source.
#[cfg(not(unix))]
pub(crate) fn program_permissions(source: &fs::Metadata) -> Permissions {
    source.permissions()
}

/// Makes the file readable for its owner alone, from its first moment on.
#[cfg(unix)]
pub(crate) fn only_for_owner(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600)
}

/// Leaves the file to the permissions of its folder.
#[cfg(not(unix))]
pub(crate) fn only_for_owner(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Asks a process to end.
#[cfg(unix)]
pub(crate) fn ask_to_end(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(pid, rustix::process::Signal::TERM)?)
}

/// Asks a process to end.
#[cfg(not(unix))]
pub(crate) fn ask_to_end(_pid: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Leaves the terminal: its end is no longer ours.
#[cfg(unix)]
pub(crate) fn leave_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Leaves the terminal: its end is no longer ours.
#[cfg(not(unix))]
pub(crate) fn leave_terminal() -> io::Result<()> {
    Ok(())
}

/// Returns the number of the process that started this one.
#[cfg(unix)]
pub(crate) fn parent_process() -> Option<u32> {
    Some(std::os::unix::process::parent_id())
}

/// Returns nothing: the standard library does not tell.
#[cfg(not(unix))]
pub(crate) fn parent_process() -> Option<u32> {
    None
}
