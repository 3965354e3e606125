//! Who a process number means, and whether it lives.

use std::sync::OnceLock;

use rules::liveness::Process;
use serde::{Deserialize, Serialize};

use crate::platform;

/// A process, told apart from later ones with the same number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Identity of the boot; absent where the system has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Process-number space (containers have their own).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_ns: Option<String>,
    /// Process number.
    pub pid: u32,
    /// Start in clock ticks since boot, as in the client's `procStart`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
}

impl ProcessId {
    /// Describes a process that lives now.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        Self {
            boot_id: here().boot_id.clone(),
            pid_ns: here().pid_ns.clone(),
            pid,
            start: platform::process_start(pid).map(|(start, _)| start),
        }
    }

    /// Judges it from here: same machine but another boot is gone, another process-number space cannot be judged.
    #[must_use]
    pub fn presence(&self) -> Process {
        let differs = |then: &Option<String>, now: &Option<String>| match (then, now) {
            (Some(then), Some(now)) => then != now,
            _ => false,
        };
        if differs(&self.boot_id, &here().boot_id) {
            return Process::Gone;
        }
        if differs(&self.pid_ns, &here().pid_ns) {
            return Process::Unknown;
        }
        presence(self.pid, self.start)
    }
}

/// Where this process runs: the same for as long as it lives.
struct Here {
    boot_id: Option<String>,
    pid_ns: Option<String>,
}

fn here() -> &'static Here {
    static HERE: OnceLock<Here> = OnceLock::new();
    HERE.get_or_init(|| Here { boot_id: platform::boot_id(), pid_ns: platform::pid_namespace() })
}

/// Judges a process number of this machine, with its start if that is known.
#[must_use]
pub fn presence(pid: u32, start: Option<u64>) -> Process {
    match platform::process_exists(pid) {
        Some(false) => Process::Gone,
        Some(true) => match (start, platform::process_start(pid)) {
            // A zombie has ended; its parent has not looked yet.
            (_, Some((_, 'Z' | 'X'))) => Process::Gone,
            (Some(then), Some((now, _))) if then != now => Process::Gone,
            (None, _) | (Some(_), None) => Process::Alive,
            _ => Process::Alive,
        },
        None => Process::Unknown,
    }
}

/// Start of a process in seconds since 1970; None where it cannot be told.
#[must_use]
pub fn start_epoch_s(pid: u32) -> Option<i64> {
    platform::process_start_epoch_s(pid)
}

/// Whether a process was started by another one, or by its descendants. None: cannot be told, or one of them ended.
#[must_use]
pub fn descends(pid: u32, ancestor: u32) -> Option<bool> {
    /// Nobody nests deeper than this.
    const DEPTH: usize = 64;
    let mut here = pid;
    for _ in 0..DEPTH {
        if here == ancestor {
            return Some(true);
        }
        here = match platform::process_parent(here)? {
            0 | 1 => return Some(ancestor <= 1),
            parent => parent,
        };
    }
    None
}

/// This host's name.
#[must_use]
pub fn host_name() -> Option<String> {
    platform::host_name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_number_with_another_start_does_not() {
        let me = ProcessId::of(std::process::id());
        assert_eq!(me.presence(), Process::Alive);
        if let Some(start) = me.start {
            assert_eq!(presence(me.pid, Some(start + 1)), Process::Gone);
        }
    }

    #[test]
    fn a_child_descends_from_us_and_not_the_other_way_round() {
        let me = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        if platform::process_parent(me).is_some() {
            assert_eq!(descends(child.id(), me), Some(true));
            assert_eq!(descends(me, child.id()), Some(false));
            assert_eq!(descends(me, me), Some(true));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(descends(child.id(), me), None);
    }

    #[test]
    fn an_ended_child_is_gone_before_and_after_it_is_waited_for() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = ProcessId::of(child.id());
        child.wait().unwrap();
        assert_eq!(id.presence(), Process::Gone);
    }

    #[test]
    fn another_boot_is_gone_and_another_space_unknown() {
        let me = ProcessId::of(std::process::id());
        if me.boot_id.is_some() {
            assert_eq!(ProcessId { boot_id: Some("other".into()), ..me.clone() }.presence(), Process::Gone);
        }
        if me.pid_ns.is_some() {
            assert_eq!(ProcessId { pid_ns: Some("pid:[1]".into()), ..me }.presence(), Process::Unknown);
        }
    }
}
