//! The watcher's part of the user's configuration: `"watch": {...}` in `config.json`. A project's file has no say here:
//! whatever types or runs is the user's alone.

use std::io;
use std::time::Duration;

use screens::limit::Wording;
use serde::Deserialize;
use session_state::env::Env;
use session_state::{Dir, config};

const LIMIT: usize = 256 * 1024;
/// The resume text may be at most this long, in characters.
const LONGEST_TEXT: usize = 200;
/// Seconds after a reset; the client itself takes up to 120 s, and earlier would cross it.
const MARGIN_S: u32 = 180;

/// What can be set.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Resume sessions after a limit.
    pub resume: bool,
    /// Save what dead sessions knew.
    pub scavenge: bool,
    /// The text that is typed. One line, no digits, no `j` or `k`: a menu may open between look and key.
    pub resume_text: String,
    /// Close the limit menu by one Enter on the row that waits, after the reset.
    pub menu: bool,
    /// Resume also where a person cancelled the client's own continuation by Esc.
    pub resume_cancelled: bool,
    /// Act without the client's own word that it is idle (versions before 2.1.150).
    pub trust_screen: bool,
    /// Try again after an overload or a request limit: only panes in front, at most three times.
    pub back_off: bool,
    /// Keys into one pane within 24 hours, at most.
    pub acts_a_day: u32,
    /// Seconds after the reset at which a session is due.
    pub margin_s: u32,
    /// Milliseconds between text and Enter; older clients need 1,600.
    pub pause_ms: u64,
    /// A program that hears of each act: its arguments, the program first. One JSON object on standard input.
    pub notify_command: Vec<String>,
    /// Wordings of limits beside those that are built in.
    pub wordings: Vec<Wording>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            resume: true,
            scavenge: true,
            resume_text: "continue".into(),
            menu: false,
            resume_cancelled: false,
            trust_screen: false,
            back_off: false,
            acts_a_day: 12,
            margin_s: MARGIN_S,
            pause_ms: 1_600,
            notify_command: Vec::new(),
            wordings: Vec::new(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    watch: Option<Settings>,
}

/// What is wrong with the watcher's part of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is no JSON, or a value has another type.
    #[error("{path}: {error}")]
    Damaged {
        /// The file.
        path: String,
        /// What the reader said.
        error: serde_json::Error,
    },
    /// The file is there and cannot be read.
    #[error("{path} cannot be read ({error})")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// The resume text could choose something in a menu.
    #[error("{path}: watch.resume_text {reason}")]
    ResumeText {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl Settings {
    /// Reads the user's file. A missing one changes nothing.
    ///
    /// # Errors
    /// The file is there and cannot be used: nothing of it is.
    pub fn read(env: &Env) -> Result<Self, SettingsError> {
        let Some(folder) = env.user_config_dir() else { return Ok(Self::default()) };
        let path = folder.join(config::USER_FILE).display().to_string();
        let bytes = match Dir::open(&folder).and_then(|dir| dir.read(config::USER_FILE, LIMIT)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            // It may say that nothing is to be typed.
            Err(error) => return Err(SettingsError::Unreadable { path, error }),
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let file: File = serde_json::from_slice(bytes)
            .map_err(|error| SettingsError::Damaged { path: path.clone(), error })?;
        let settings = file.watch.unwrap_or_default();
        match fault_of(&settings.resume_text) {
            Some(reason) => Err(SettingsError::ResumeText { path, reason }),
            None => Ok(settings),
        }
    }

    /// The pause between text and Enter, within reason.
    #[must_use]
    pub fn pause(&self) -> Duration {
        Duration::from_millis(self.pause_ms.clamp(100, 10_000))
    }

    /// What the screens are read by.
    #[must_use]
    pub fn options(&self) -> screens::Options {
        screens::Options {
            menu: self.menu,
            resume_cancelled: self.resume_cancelled,
            trust_screen: self.trust_screen,
            backoff: self.back_off,
            margin_s: self.margin_s.clamp(MARGIN_S, 3_600).into(),
            ..screens::Options::default()
        }
    }
}

/// Why a text may not be typed into a pane.
#[must_use]
pub fn fault_of(text: &str) -> Option<&'static str> {
    if text.trim().is_empty() {
        return Some("is empty");
    }
    if text.chars().count() > LONGEST_TEXT {
        return Some("is longer than 200 characters");
    }
    if text.chars().any(char::is_control) {
        return Some("is not one line");
    }
    if text.chars().any(|c| c.is_numeric() || matches!(c, 'j' | 'k')) {
        return Some("holds a digit, a j or a k, which choose a row in a menu");
    }
    if text.trim_start().starts_with(['/', '!', '#', '@', '-', '&', '?']) {
        return Some("begins with a sign that makes it a command");
    }
    if text.trim_end().ends_with('\\') {
        return Some("ends in a backslash, which makes a line break of Enter");
    }
    if screens::Wordings::default().kind(text).is_some() {
        return Some("speaks of a limit or an error, which would be read as one");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use session_state::env;

    fn read(text: &str) -> Result<Settings, SettingsError> {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("recovery")).unwrap();
        std::fs::write(top.path().join("recovery").join(config::USER_FILE), text).unwrap();
        Settings::read(&Env::of(&[(env::XDG_CONFIG_HOME, top.path().as_os_str())]))
    }

    #[test]
    fn what_is_left_out_stays_as_it_is() {
        assert_eq!(Settings::read(&Env::of(&[])).unwrap().resume_text, "continue");
        assert_eq!(read("{}").unwrap().acts_a_day, 12);
        let set = read("\u{feff}{\"mcp\": false, \"watch\": {\"menu\": true, \"margin_s\": 5, \"new\": 1}}")
            .unwrap();
        assert!(set.menu && !set.back_off && set.resume);
        assert_eq!(set.options().margin_s, i64::from(MARGIN_S), "never earlier than the client itself");
    }

    #[test]
    fn a_text_that_could_choose_is_refused() {
        for text in [
            "",
            "  ",
            "go\non",
            "continue 1",
            "keep going",
            "/clear",
            "adjust",
            "!ls",
            " /clear",
            "go on \\",
            "go on after the usage limit",
            &"o".repeat(201),
        ] {
            assert!(fault_of(text).is_some(), "{text}");
        }
        for text in ["continue", "please go on with the plan", "weiter", "请继续"] {
            assert_eq!(fault_of(text), None, "{text}");
        }
        assert!(matches!(read(r#"{"watch":{"resume_text":"1"}}"#), Err(SettingsError::ResumeText { .. })));
        assert!(matches!(read(r#"{"watch":{"menu":"yes"}}"#), Err(SettingsError::Damaged { .. })));
        // A file that cannot be read may forbid everything.
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join("recovery").join(config::USER_FILE)).unwrap();
        let env = Env::of(&[(env::XDG_CONFIG_HOME, top.path().as_os_str())]);
        assert!(matches!(Settings::read(&env), Err(SettingsError::Unreadable { .. })));
    }
}
