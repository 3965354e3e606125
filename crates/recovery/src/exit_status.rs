//! The exit codes of the command.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// 0: done, or there was nothing to do.
    Success,
    /// 1: it could not be done; the message says why and what to do.
    Failure,
    /// 2: the command line or the question on standard input makes no sense.
    Usage,
    /// 3: somebody else has claimed the run; nothing was done, and trying again is no answer.
    Claimed,
    /// 4: the progress that was asked for is not confirmed.
    NotConfirmed,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => Self::SUCCESS,
            ExitStatus::Failure => Self::from(1),
            ExitStatus::Usage => Self::from(2),
            ExitStatus::Claimed => Self::from(3),
            ExitStatus::NotConfirmed => Self::from(4),
        }
    }
}
