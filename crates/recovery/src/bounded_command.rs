//! Other programs, asked for a short answer within a time limit.

use std::{
    io::{self, Read as _},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// How often an unfinished program is looked at.
const POLL: Duration = Duration::from_millis(5);

/// More of an answer is never read.
pub(crate) const LONGEST_ANSWER: u64 = 64 * 1024;

/// Why a program gave no answer; the texts go after the program's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("could not be started ({0})")]
    NotStarted(#[source] io::Error),
    #[error("did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("could not be waited for ({0})")]
    NotWaitedFor(#[source] io::Error),
}

/// What a program that ended had to say.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
}

/// Runs the program with nothing on its standard input and ends it at the time limit.
pub(crate) fn run(command: &mut Command, time_limit: Duration) -> Result<Answer, NoAnswer> {
    let deadline = Instant::now() + time_limit;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(NoAnswer::NotStarted)?;
    // The pipe may outlive the program in the hands of a grandchild, so that a thread of its own reads it.
    let (sender, answer) = mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(LONGEST_ANSWER).read_to_end(&mut bytes);
            // Nobody listens any more after the time limit.
            let _ = sender.send(read.map(|_| bytes));
        });
    }
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
    let left = deadline.saturating_duration_since(Instant::now());
    match answer.recv_timeout(left.max(POLL)) {
        Ok(Ok(stdout)) => Ok(Answer { status, stdout }),
        Ok(Err(error)) => Err(NoAnswer::NotWaitedFor(error)),
        Err(_) => Err(NoAnswer::TimedOut(time_limit)),
    }
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
