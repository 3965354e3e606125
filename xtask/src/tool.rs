//! Starting other programs: with a time limit, and with an error that names the command and the next step.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The longest time between two looks at a running program.
const LOOK: Duration = Duration::from_millis(5);
/// The shortest: most programs run here end within a millisecond, and some are run thousands of times.
const FIRST_LOOK: Duration = Duration::from_micros(100);
/// What a program gets to end itself after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// What a program may take when nothing else is said.
const USUAL_LIMIT: Duration = Duration::from_secs(60);

/// One command to run.
pub(crate) struct Tool {
    command: Command,
    shown: String,
    limit: Duration,
    next_step: Option<String>,
}

/// What a captured command said.
pub(crate) struct Said {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// Standard output, invalid UTF-8 replaced.
    pub(crate) stdout: String,
    /// Standard error, invalid UTF-8 replaced.
    pub(crate) stderr: String,
}

impl Tool {
    /// A command without arguments, to be ended after a minute.
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let shown = program.as_ref().to_string_lossy().into_owned();
        Self { command: Command::new(program), shown, limit: USUAL_LIMIT, next_step: None }
    }

    /// The cargo that runs this program.
    pub(crate) fn cargo() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut tool = Self::new(cargo);
        "cargo".clone_into(&mut tool.shown);
        tool
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.shown.push(' ');
        self.shown.push_str(&arg.as_ref().to_string_lossy());
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(self, args: I) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts from an empty environment: what a test or a measurement sees must not depend on the caller's.
    pub(crate) fn clean_env(mut self) -> Self {
        self.command.env_clear();
        self
    }

    pub(crate) fn cwd(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// What a person does when this fails: the end of the error text.
    pub(crate) fn next_step(mut self, text: impl Into<String>) -> Self {
        self.next_step = Some(text.into());
        self
    }

    /// Runs with the caller's output; an exit status other than 0 is an error.
    pub(crate) fn run(mut self) -> Result<()> {
        self.command.stdin(Stdio::null());
        let child = self.spawn()?;
        let status = self.wait(child)?;
        self.judge(status, "")
    }

    /// Runs and returns standard output; an exit status other than 0 is an error that ends with what the program
    /// said last.
    pub(crate) fn read(mut self) -> Result<String> {
        let said = self.listen(b"")?;
        self.judge(said.status, &said.stderr)?;
        Ok(said.stdout)
    }

    /// Runs with this input and returns all of what it said, whatever the exit status.
    pub(crate) fn capture(mut self, input: &[u8]) -> Result<Said> {
        self.listen(input)
    }

    /// Runs with the caller's output and also returns the lines of `stream` that `keep` wants.
    pub(crate) fn run_keeping(
        mut self,
        stream: Stream,
        keep: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<Kept> {
        self.command.stdin(Stdio::null());
        match stream {
            Stream::Stdout => self.command.stdout(Stdio::piped()),
            Stream::Stderr => self.command.stderr(Stdio::piped()),
        };
        if std::io::stderr().is_terminal() {
            self.command.env("CARGO_TERM_COLOR", "always");
        }
        let mut child = self.spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let copy = thread::spawn(move || match stream {
            Stream::Stdout => copy_keeping(stdout, std::io::stdout(), keep),
            Stream::Stderr => copy_keeping(stderr, std::io::stderr(), keep),
        });
        let status = self.wait(child)?;
        let lines = copy.join().unwrap_or_default();
        Ok(Kept { outcome: self.judge(status, ""), lines })
    }

    fn listen(&mut self, input: &[u8]) -> Result<Said> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn()?;
        let stdout = reader(child.stdout.take());
        let stderr = reader(child.stderr.take());
        let mut stdin = child.stdin.take().context("stdin was asked for")?;
        let input = input.to_vec();
        // A program may end without reading all of it: that is its right.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let status = self.wait(child)?;
        let _ = writer.join();
        Ok(Said {
            status,
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    }

    fn spawn(&mut self) -> Result<Child> {
        self.command.spawn().with_context(|| self.failed("could not be started"))
    }

    fn wait(&self, mut child: Child) -> Result<ExitStatus> {
        let started = Instant::now();
        let mut asked = None;
        loop {
            if let Some(status) = child.try_wait().with_context(|| self.failed("could not be waited for"))? {
                return match asked {
                    None => Ok(status),
                    Some(_) => bail!(self.failed(&format!("took more than {} s", self.limit.as_secs()))),
                };
            }
            match asked {
                None if started.elapsed() > self.limit => {
                    ask_to_end(&child);
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() > GRACE => {
                    child.kill().with_context(|| self.failed("could not be ended"))?;
                }
                _ => {}
            }
            thread::sleep((started.elapsed() / 4).clamp(FIRST_LOOK, LOOK));
        }
    }

    fn judge(&self, status: ExitStatus, stderr: &str) -> Result<()> {
        if status.success() {
            return Ok(());
        }
        let mut text = self.failed(&format!("ended with {status}"));
        let tail: Vec<&str> = stderr.lines().rev().take(12).collect();
        for line in tail.iter().rev() {
            text.push_str("\n    ");
            text.push_str(line);
        }
        bail!(text)
    }

    fn failed(&self, how: &str) -> String {
        let mut text = format!("`{}` {how}", self.shown);
        if let Some(next) = &self.next_step {
            text.push_str(". Next: ");
            text.push_str(next);
        }
        text
    }
}

/// One of the two outputs.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Passes lines on and returns those that `keep` wants, without colours.
fn copy_keeping(from: Option<impl Read>, mut to: impl Write, keep: impl Fn(&str) -> bool) -> Vec<String> {
    let mut kept = Vec::new();
    let Some(from) = from else { return kept };
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        // Nobody to read our output is no reason to stop the program.
        let _ = to.write_all(&line).and_then(|()| to.write_all(b"\n"));
        let line = without_colours(&String::from_utf8_lossy(&line));
        if keep(&line) {
            kept.push(line);
        }
    }
    kept
}

/// The end of a command whose output went to the caller.
pub(crate) struct Kept {
    /// Whether it ended well.
    pub(crate) outcome: Result<()>,
    /// The lines that were asked for, without colours.
    pub(crate) lines: Vec<String>,
}

/// Where a program lies on `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| is_program(file))
}

/// Whether this is a file that may be started.
pub(crate) fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn ask_to_end(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // The child is ours and not yet waited for, so the number cannot belong to another.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// Removes terminal colour sequences (`ESC [ ... m`).
fn without_colours(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| c.is_ascii_alphabetic());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_command_the_end_and_the_next_step() {
        let error = Tool::new("sh")
            .args(["-c", "echo worse >&2; exit 3"])
            .next_step("look at the disk")
            .read()
            .expect_err("exit 3 is an error");
        let text = format!("{error:#}");
        assert!(text.starts_with("`sh -c echo worse >&2; exit 3` ended with exit status: 3"), "{text}");
        assert!(text.contains("Next: look at the disk\n    worse"), "{text}");
    }

    #[test]
    fn a_program_over_its_limit_is_ended_and_said() {
        let started = Instant::now();
        let error =
            Tool::new("sleep").arg("600").limit(Duration::from_millis(20)).run().expect_err("too long");
        assert!(format!("{error:#}").contains("took more than 0 s"));
        assert!(started.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_program_that_reads_nothing_is_no_error() {
        let said = Tool::new("true").capture(&[b'x'; 1 << 20]).expect("starts");
        assert!(said.status.success());
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Tool::new("no-such-program-here").read().expect_err("not there");
        assert!(format!("{error:#}").starts_with("`no-such-program-here` could not be started"));
    }

    #[test]
    fn colours_are_removed() {
        assert_eq!(without_colours("\u{1b}[32;1m Summary\u{1b}[0m [1s]"), " Summary [1s]");
        assert_eq!(without_colours("plain"), "plain");
    }
}
