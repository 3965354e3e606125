//! Plays a client in a pane: draws what a file says, takes keys, and writes down what it received.
//!
//! `pane-player FOLDER` shows `FOLDER/screen` with `{draft}` replaced by what was typed. Enter with something typed adds
//! a line to `FOLDER/prompts` and shows `FOLDER/after` from then on, if there is one; Enter alone adds an empty line. The
//! number of bytes handled so far stands in `FOLDER/handled`. `FOLDER/end` ends it.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::Command,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

const POLL: Duration = Duration::from_millis(10);

fn main() -> io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_default());
    // Keys come one by one and are not echoed.
    Command::new("stty").args(["raw", "-echo"]).status()?;
    let (sender, keys) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = [0; 256];
        while let Ok(count @ 1..) = io::stdin().read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut draft = String::new();
    let mut handled = 0;
    let mut drawn = String::new();
    let mut file = "screen";
    while !folder.join("end").exists() {
        let screen = fs::read_to_string(folder.join(file)).unwrap_or_default().replace("{draft}", &draft);
        if screen != drawn {
            let lines: Vec<&str> = screen.lines().collect();
            let mut out = io::stdout().lock();
            write!(out, "\u{1b}[?25l\u{1b}[2J\u{1b}[H{}", lines.join("\r\n"))?;
            out.flush()?;
            drawn = screen;
        }
        fs::write(folder.join("handled"), format!("{handled}"))?;
        match keys.recv_timeout(POLL) {
            Ok(bytes) => {
                handled += bytes.len();
                for key in String::from_utf8_lossy(&bytes).chars() {
                    if key != '\r' {
                        draft.push(key);
                        continue;
                    }
                    let mut prompts =
                        fs::OpenOptions::new().create(true).append(true).open(folder.join("prompts"))?;
                    writeln!(prompts, "{draft}")?;
                    draft.clear();
                    if folder.join("after").exists() {
                        file = "after";
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}
