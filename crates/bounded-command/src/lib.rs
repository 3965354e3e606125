//! Other programs, asked for a short answer within a time limit.
//!
//! They get nothing on standard input, and what they leave running is not waited for.

use std::{
    io::{self, Read as _},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// How often an unfinished program is looked at.
const POLL: Duration = Duration::from_millis(5);

/// More than this of standard output is not read, in bytes, unless the caller says so.
pub const SHORT: u64 = 64 * 1024;

/// More than this of standard error is not read, in bytes.
const LONGEST_COMPLAINT: u64 = 4 * 1024;

/// Why a program gave no answer; the texts go after the program's name.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It is missing, or may not be started.
    #[error("could not be started ({0})")]
    NotStarted(#[source] io::Error),
    /// It was ended at the time limit.
    #[error("did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The system lost it.
    #[error("could not be waited for ({0})")]
    NotWaitedFor(#[source] io::Error),
}

/// What a program that ended had to say.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub status: ExitStatus,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
}

/// Runs the program with nothing on its standard input and ends it at the time limit; reads [`SHORT`] of its answer.
///
/// # Errors
/// It gave no answer; whatever it did meanwhile is done.
pub fn run(command: &mut Command, time_limit: Duration) -> Result<Answer, NoAnswer> {
    run_long(command, time_limit, SHORT)
}

/// The same for an answer of at most `longest` bytes.
///
/// # Errors
/// It gave no answer; whatever it did meanwhile is done.
pub fn run_long(command: &mut Command, time_limit: Duration, longest: u64) -> Result<Answer, NoAnswer> {
    let deadline = Instant::now() + time_limit;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(NoAnswer::NotStarted)?;
    let stdout = child.stdout.take().map(|pipe| read_beside(pipe, longest));
    let stderr = child.stderr.take().map(|pipe| read_beside(pipe, LONGEST_COMPLAINT));
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
            Ok(None) => {
                // It may have ended this very moment; either way it is waited for, so that nothing is left behind.
                let _ = child.kill();
                let _ = child.wait();
                return Err(NoAnswer::TimedOut(time_limit));
            }
            Err(error) => return Err(NoAnswer::NotWaitedFor(error)),
        }
    };
    let left = || deadline.saturating_duration_since(Instant::now()).max(POLL);
    let received = |pipe: Option<mpsc::Receiver<io::Result<Vec<u8>>>>| match pipe
        .map(|pipe| pipe.recv_timeout(left()))
    {
        None => Ok(Vec::new()),
        Some(Ok(Ok(bytes))) => Ok(bytes),
        Some(Ok(Err(error))) => Err(NoAnswer::NotWaitedFor(error)),
        Some(Err(_)) => Err(NoAnswer::TimedOut(time_limit)),
    };
    Ok(Answer { status, stdout: received(stdout)?, stderr: received(stderr)? })
}

/// Reads a pipe in a thread of its own: it may outlive the program in the hands of a grandchild.
fn read_beside(pipe: impl io::Read + Send + 'static, longest: u64) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut pipe = pipe.take(longest);
        let read = pipe.read_to_end(&mut bytes);
        // What is too long is drained, so that the program is not stopped by it.
        let _ = io::copy(pipe.get_mut(), &mut io::sink());
        // Nobody listens any more after the time limit.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn the_answer_and_the_status_come_back() {
        let answer = run(&mut shell("echo 2.1.332; exit 3"), Duration::from_secs(60)).unwrap();
        assert_eq!((answer.stdout.as_slice(), answer.status.code()), (b"2.1.332\n".as_slice(), Some(3)));
    }

    #[test]
    fn neither_a_slow_program_nor_a_child_that_keeps_the_pipe_is_waited_for() {
        for line in ["exec sleep 600", "sleep 20 & exit 0"] {
            let started = Instant::now();
            let outcome = run(&mut shell(line), Duration::from_millis(200));
            assert!(matches!(outcome, Err(NoAnswer::TimedOut(_))), "{line}: {outcome:?}");
            assert!(started.elapsed() < Duration::from_secs(10), "{line}");
        }
    }

    #[test]
    fn a_missing_program_is_said() {
        let outcome = run(&mut Command::new("/no/such/program"), Duration::from_secs(1));
        assert!(matches!(outcome, Err(NoAnswer::NotStarted(_))));
    }
}
