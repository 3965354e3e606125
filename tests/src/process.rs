//! Child processes with a time limit, in process groups of their own.

use std::{
    fs, io,
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::wait::try_wait_for;

/// What a bounded run gave.
#[derive(Debug)]
pub struct Finished {
    /// Exit status; none when the limit passed and the process group was killed.
    pub status: Option<ExitStatus>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Whether it ended in time with exit code 0.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Exit code; none when it was killed.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }
}

/// Runs a command to its end, without standard input. Output goes through files, so that a grandchild which holds
/// the streams open does not prolong the run.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    let stdout = tempfile::NamedTempFile::new()?;
    let stderr = tempfile::NamedTempFile::new()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout.reopen()?)
        .stderr(stderr.reopen()?)
        .process_group(0)
        .spawn()?;
    let status = wait(&mut child, limit);
    if status.is_none() {
        kill_group(&mut child);
    }
    let text = |file: &tempfile::NamedTempFile| {
        fs::read(file.path()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Finished { status, stdout: text(&stdout)?, stderr: text(&stderr)? })
}

/// Waits for a child, at most `limit`.
pub fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    try_wait_for(limit, || child.try_wait().ok().flatten())
}

/// Kills a child that leads a process group with SIGKILL, with its group, and collects it.
pub fn kill_group(child: &mut Child) {
    // Not collected yet, so the id is still the child's.
    if let (Ok(None), Some(pid)) = (child.try_wait(), pid_of(child.id())) {
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = child.wait();
    }
}

/// A process, told apart from a later one with the same id by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessMark {
    pid: u32,
    /// Field 22 of `/proc/PID/stat`, in clock ticks since the boot.
    start: u64,
    parent: u32,
}

impl ProcessMark {
    /// The running process with this id.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold blanks and parentheses itself.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        if fields.first() == Some(&"Z") {
            return None;
        }
        Some(Self { pid, parent: fields.get(1)?.parse().ok()?, start: fields.get(19)?.parse().ok()? })
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now.start == self.start)
    }

    /// Kills it with SIGKILL if it still runs.
    pub fn kill(&self) {
        if let Some(pid) = pid_of(self.pid).filter(|_| self.is_alive()) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The running children of a process, their children and so on.
pub fn descendants(pid: u32) -> Vec<ProcessMark> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<ProcessMark> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(ProcessMark::of)
        .collect();
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        parents.extend(children.clone().map(|child| child.pid));
        found.extend(children);
    }
    found
}

fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_over_its_limit_is_killed() {
        let finished =
            run(Command::new("sh").args(["-c", "echo begun; sleep 300"]), Duration::from_millis(300))
                .unwrap();
        assert!(finished.status.is_none());
        assert_eq!(finished.stdout, "begun\n");
    }

    #[test]
    fn grandchildren_are_found_and_killed() {
        let mut child =
            Command::new("sh").args(["-c", "sh -c 'sleep 300; :'; :"]).process_group(0).spawn().unwrap();
        let family = try_wait_for(Duration::from_secs(10), || {
            let family = descendants(child.id());
            (family.len() == 2).then_some(family)
        })
        .unwrap();
        family.iter().for_each(ProcessMark::kill);
        kill_group(&mut child);
        assert!(
            try_wait_for(Duration::from_secs(10), || family.iter().all(|p| !p.is_alive()).then_some(()))
                .is_some()
        );
    }
}
