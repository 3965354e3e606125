//! tmux, asked within two seconds. An error is never an answer: only "no server" says that panes are gone.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bounded_command::{Answer, NoAnswer};

use screens::tmux_target::is_pane_id;

use crate::pane::{Pane, Server, Target};
use crate::world::{TerminalError, Terminals};

/// How long tmux may take for one answer.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Screens asked for in one go: one process for many panes.
const BATCH: usize = 32;
/// A screen is at most this long, in bytes, colours included.
const LONGEST_SCREEN: u64 = 256 * 1024;
/// A list of panes is at most this long, in bytes.
const LONGEST_LIST: u64 = 4 * 1024 * 1024;

/// What is asked of each pane. A session's name holds no colon, a window's name may: it comes last.
const FORMAT: &str = "#{pane_id} #{pane_dead} #{pane_in_mode} #{pane_width} #{pane_height} #{pane_pid} \
                      #{pane_active}#{window_active} #{session_attached} \
                      #{session_name}:#{pane_current_command}:#{window_name}";

/// The real tmux.
#[derive(Clone, Debug)]
pub struct Tmux {
    program: PathBuf,
}

impl Default for Tmux {
    fn default() -> Self {
        Self { program: "tmux".into() }
    }
}

impl Tmux {
    /// Another program of the same manners.
    #[must_use]
    pub fn at(program: PathBuf) -> Self {
        Self { program }
    }

    /// Runs one command and takes an orderly end for an answer.
    pub(crate) fn ask(
        &self,
        server: &Server,
        arguments: &[&str],
        longest: u64,
    ) -> Result<Answer, TerminalError> {
        let answer = self.run(server, arguments, longest)?;
        if answer.status.success() { Ok(answer) } else { Err(complaint(&answer)) }
    }

    fn run(&self, server: &Server, arguments: &[&str], longest: u64) -> Result<Answer, TerminalError> {
        let mut command = Command::new(&self.program);
        // Names and screens are UTF-8, whatever the locale of the daemon.
        command.arg("-u");
        if let Some(socket) = &server.socket {
            command.arg("-S").arg(socket);
        }
        bounded_command::run_long(command.args(arguments), TIME_LIMIT, longest).map_err(|error| match error {
            NoAnswer::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => {
                TerminalError::NotInstalled
            }
            other => TerminalError::Failed(format!("it {other}")),
        })
    }
}

/// What tmux says when there is nobody to ask, by version and cause.
fn complaint(answer: &Answer) -> TerminalError {
    let text = String::from_utf8_lossy(&answer.stderr);
    let text = text.lines().next().unwrap_or_default().trim();
    const NOBODY: [&str; 4] =
        ["no server running", "(No such file or directory)", "(Connection refused)", "server exited"];
    if NOBODY.iter().any(|words| text.contains(words)) {
        TerminalError::NoServer
    } else {
        TerminalError::Failed(rules::text::one_line(text, 120))
    }
}

impl Terminals for Tmux {
    fn own_server(&mut self) -> Result<Server, TerminalError> {
        let answer =
            self.ask(&Server::default(), &["display-message", "-p", "#{socket_path}"], LONGEST_LIST)?;
        let path = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
        if path.is_absolute() {
            Ok(Server::at(path))
        } else {
            Err(TerminalError::Failed("it does not tell its socket".into()))
        }
    }

    fn panes(&mut self, server: &Server) -> Result<Vec<Pane>, TerminalError> {
        let answer = self.ask(server, &["list-panes", "-a", "-F", FORMAT], LONGEST_LIST)?;
        Ok(String::from_utf8_lossy(&answer.stdout).lines().filter_map(pane_of_line).collect())
    }

    fn screens(&mut self, server: &Server, panes: &[&str]) -> Vec<Option<String>> {
        panes.chunks(BATCH).flat_map(|batch| self.batch(server, batch)).collect()
    }

    fn folders(&mut self, server: &Server) -> HashMap<String, PathBuf> {
        let question = ["list-panes", "-a", "-F", "#{pane_id} #{pane_current_path}"];
        let Ok(answer) = self.ask(server, &question, LONGEST_LIST) else { return HashMap::new() };
        let text = String::from_utf8_lossy(&answer.stdout);
        let folder = |line: &str| {
            let (pane, path) = line.split_once(' ')?;
            let path = PathBuf::from(path);
            (is_pane_id(pane) && path.is_absolute()).then(|| (pane.to_owned(), path))
        };
        text.lines().filter_map(folder).collect()
    }

    fn type_text(&mut self, target: &Target, text: &str) -> Result<(), TerminalError> {
        // A semicolon at the end of an argument would end the command there.
        let text = match text.strip_suffix(';') {
            Some(rest) => format!("{rest}\\;"),
            None => text.to_owned(),
        };
        self.ask(&target.server, &["send-keys", "-t", &target.pane, "-l", "--", &text], 0).map(drop)
    }

    fn press_enter(&mut self, target: &Target) -> Result<(), TerminalError> {
        self.ask(&target.server, &["send-keys", "-t", &target.pane, "Enter"], 0).map(drop)
    }
}

impl Tmux {
    /// One process for several panes; tmux stops at the first that is gone, and the others are asked one by one.
    fn batch(&self, server: &Server, panes: &[&str]) -> Vec<Option<String>> {
        if !panes.iter().all(|pane| is_pane_id(pane)) {
            return vec![None; panes.len()];
        }
        // A line that no pane can show: it did not exist before this call.
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let started = session_state::Now::read().0;
        // Not with a dash at its beginning: tmux would take it for an option.
        let mark = format!("== {:x}.{call:x}.{started:x} ==", std::process::id());
        let mut arguments: Vec<&str> = Vec::new();
        for pane in panes {
            arguments.extend([
                "capture-pane",
                "-e",
                "-p",
                "-t",
                pane,
                ";",
                "display-message",
                "-p",
                &mark,
                ";",
            ]);
        }
        arguments.pop();
        let longest = LONGEST_SCREEN * panes.len() as u64;
        let Ok(answer) = self.run(server, &arguments, longest) else { return vec![None; panes.len()] };
        if answer.status.success() {
            let text = String::from_utf8_lossy(&answer.stdout);
            let end = format!("{mark}\n");
            let screens: Vec<Option<String>> =
                text.split_terminator(&end).map(|screen| Some(screen.to_owned())).collect();
            if screens.len() == panes.len() {
                return screens;
            }
        }
        if let [_] = panes {
            return vec![None];
        }
        panes.iter().flat_map(|pane| self.batch(server, &[pane])).collect()
    }
}

fn pane_of_line(line: &str) -> Option<Pane> {
    let mut words = line.splitn(9, ' ');
    let mut next = || words.next();
    let id = next()?.to_owned();
    let dead = next()? == "1";
    let in_mode = next()? != "0";
    let width = next()?.parse().ok()?;
    let height = next()?.parse().ok()?;
    let pid = next()?.parse().ok()?;
    let active = next()? == "11";
    let attached = next()? != "0";
    let mut names = next()?.splitn(3, ':');
    let session = names.next()?.to_owned();
    let command = names.next()?.to_owned();
    let window = names.next()?.to_owned();
    is_pane_id(&id).then_some(Pane {
        id,
        dead,
        in_mode,
        width,
        height,
        pid,
        in_front: active && attached,
        command,
        session,
        window,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list() {
        let pane = pane_of_line("%12 0 1 120 40 4711 11 1 api_v2:claude:build: 3 of 4").unwrap();
        assert_eq!((pane.id.as_str(), pane.in_mode, pane.in_front, pane.pid), ("%12", true, true, 4711));
        assert_eq!(
            (pane.session.as_str(), pane.command.as_str(), pane.window.as_str()),
            ("api_v2", "claude", "build: 3 of 4")
        );
        assert!(!pane_of_line("%1 0 0 80 24 1 11 0 a:claude:w").unwrap().in_front, "nobody is attached");
        assert!(!pane_of_line("%1 0 0 80 24 1 01 1 a:claude:w").unwrap().in_front, "another pane is active");
        for other in
            ["", "%1", "x 0 0 80 24 1 11 1 a:b:c", "%1 0 0 wide 24 1 11 1 a:b:c", "%1 0 0 80 24 1 11 1 a:b"]
        {
            assert_eq!(pane_of_line(other), None, "{other}");
        }
    }

    #[test]
    fn only_an_absent_server_says_that_panes_are_gone() {
        use std::os::unix::process::ExitStatusExt as _;
        let says = |text: &str| {
            let status = std::process::ExitStatus::from_raw(256);
            complaint(&Answer { status, stdout: Vec::new(), stderr: text.as_bytes().to_vec() })
        };
        for text in [
            "no server running on /tmp/tmux-1000/default",
            "error connecting to /tmp/tmux-1000/x (No such file or directory)",
            "error connecting to /tmp/tmux-1000/x (Connection refused)",
        ] {
            assert_eq!(says(text), TerminalError::NoServer, "{text}");
        }
        for text in
            ["error connecting to /tmp/tmux-1000/default (Permission denied)", "", "can't find pane: %9"]
        {
            assert!(matches!(says(text), TerminalError::Failed(_)), "{text}");
        }
    }

    #[test]
    fn a_missing_program_is_not_an_answer() {
        let mut tmux = Tmux::at("/no/such/tmux".into());
        assert_eq!(tmux.panes(&Server::default()), Err(TerminalError::NotInstalled));
        assert_eq!(tmux.screens(&Server::default(), &["%1", "%2"]), [None, None]);
    }
}
