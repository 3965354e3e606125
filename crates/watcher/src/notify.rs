//! The user's own command that hears of each act. It is never waited for, and ended if it takes too long.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command that runs longer than this is ended.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Commands that run at once; what more there would be to tell is in the log.
const MAX_RUNNING: usize = 8;

/// Starts the command and looks after it.
#[derive(Debug)]
pub(crate) struct Notifier {
    command: Vec<String>,
    running: Vec<(Child, Instant)>,
}

impl Notifier {
    pub(crate) fn new(command: &[String]) -> Self {
        Self { command: command.to_vec(), running: Vec::new() }
    }

    /// Starts the command with one JSON object on its standard input.
    pub(crate) fn tell(&mut self, act: &serde_json::Value) {
        self.reap();
        let Some((program, arguments)) = self.command.split_first() else { return };
        if self.running.len() >= MAX_RUNNING {
            tracing::warn!(program, "the notify command is still busy; this act is in the log only");
            return;
        }
        let started = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(mut child) => {
                // Shorter than a pipe holds: written at once, read by nobody or not.
                if let Some(mut stdin) = child.stdin.take() {
                    let _ = writeln!(stdin, "{act}");
                }
                self.running.push((child, Instant::now()));
            }
            Err(error) => tracing::warn!(program, %error, "the notify command does not start"),
        }
    }

    /// Forgets those that ended, ends those that hang.
    fn reap(&mut self) {
        self.running.retain_mut(|(child, since)| {
            if since.elapsed() > TIME_LIMIT {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
            matches!(child.try_wait(), Ok(None))
        });
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        // The last word may still be in the telling; a second is given to it.
        let until = Instant::now() + Duration::from_secs(1);
        while !self.running.is_empty() && Instant::now() < until {
            self.running.retain_mut(|(child, _)| matches!(child.try_wait(), Ok(None)));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
