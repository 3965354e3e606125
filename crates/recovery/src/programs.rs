//! The programs we install, and how an entry of a settings file is known to be ours.

use std::fmt;

use serde_json::Value;

/// One program that a settings file may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Program {
    RecoveryHooks,
    CrashRecoveryCheck,
    ErrorTracker,
    ToolDegradation,
    HeartbeatWrite,
}

impl Program {
    /// Every hook program, the combined one first.
    pub(crate) const ALL: [Self; 5] = [
        Self::RecoveryHooks,
        Self::CrashRecoveryCheck,
        Self::ErrorTracker,
        Self::ToolDegradation,
        Self::HeartbeatWrite,
    ];

    /// Returns the name of the program's file, without `.exe`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RecoveryHooks => "recovery-hooks",
            Self::CrashRecoveryCheck => "crash-recovery-check",
            Self::ErrorTracker => "error-tracker",
            Self::ToolDegradation => "tool-degradation",
            Self::HeartbeatWrite => "heartbeat-write",
        }
    }

    /// Returns the program whose file a path or a bare word names, in any folder.
    fn from_path(path: &str) -> Option<Self> {
        // Windows paths reach us on every platform: a settings file is shared between machines.
        let file = path.rsplit(['/', '\\']).next()?;
        let stem = file.strip_suffix(".exe").unwrap_or(file);
        Self::ALL.into_iter().find(|program| program.name() == stem)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The command of the person, installed beside the hook programs.
pub(crate) const COMMAND: &str = "recovery";

/// Returns the file name of a program on this platform.
pub(crate) fn file_name(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

/// How an entry of ours starts its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnCommand {
    /// The program that runs.
    pub(crate) program: Program,
    /// The path or word that starts it.
    pub(crate) path: String,
    /// Whether it is the line that stays silent where the program is not installed.
    pub(crate) silent: bool,
}

/// Returns what an entry starts if that is one of our programs, wherever its file lies.
///
/// Both forms of the client are known: with an `args` array, `command` is the program itself; without,
/// `command` is a line for a shell and its first word decides.
pub(crate) fn own_command(entry: &Value) -> Option<OwnCommand> {
    let command = entry.get("command")?.as_str()?;
    let (path, silent) = if entry.get("args").is_some_and(Value::is_array) {
        (command.to_owned(), false)
    } else {
        let mut words = ShellWords(command);
        let first = words.next()?;
        if first == "command" && words.next()? == "-v" { (words.next()?, true) } else { (first, false) }
    };
    let program = Program::from_path(&path)?;
    Some(OwnCommand { program, path, silent })
}

/// The words of a simple shell line: blanks part them, quotes and backslashes hold them together.
///
/// Operators are not known; only the first few words of a line are ever asked for.
struct ShellWords<'a>(&'a str);

impl Iterator for ShellWords<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let line = self.0.trim_start();
        let mut chars = line.char_indices();
        let mut word = String::new();
        let mut quote = None;
        let mut end = line.len();
        while let Some((at, c)) = chars.next() {
            match (quote, c) {
                (None, c) if c.is_whitespace() => {
                    end = at;
                    break;
                }
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if c == open => quote = None,
                // An unquoted Windows path keeps its backslashes: no path of ours needs an escaped letter.
                (None, '\\') => match chars.clone().next() {
                    Some((_, next)) if !next.is_alphanumeric() => {
                        word.push(next);
                        chars.next();
                    }
                    _ => word.push('\\'),
                },
                (_, c) => word.push(c),
            }
        }
        self.0 = &line[end..];
        (!line.is_empty()).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known(entry: &Value) -> Option<(&'static str, bool)> {
        own_command(entry).map(|own| (own.program.name(), own.silent))
    }

    #[test]
    fn an_entry_is_known_by_the_program_it_starts_in_both_forms() {
        for (command, expected) in [
            ("/usr/lib/x/error-tracker", Some(("error-tracker", false))),
            ("error-tracker", Some(("error-tracker", false))),
            ("  /x/heartbeat-write --verbose", Some(("heartbeat-write", false))),
            ("\"/with blank/recovery-hooks\" --x", Some(("recovery-hooks", false))),
            ("'/with blank/recovery-hooks'", Some(("recovery-hooks", false))),
            (r"/with\ blank/tool-degradation", Some(("tool-degradation", false))),
            (r"C:\tools\recovery-hooks.exe", Some(("recovery-hooks", false))),
            (r#""C:\Program Files\x\crash-recovery-check.exe""#, Some(("crash-recovery-check", false))),
            (
                "command -v recovery-hooks >/dev/null 2>&1 && exec recovery-hooks; exit 0",
                Some(("recovery-hooks", true)),
            ),
            ("command -v prettier && exec prettier", None),
            ("bash -c /x/error-tracker", None),
            ("/x/error-tracker-2", None),
            ("/x/my-error-tracker", None),
            ("/x/error-tracker/run", None),
            ("", None),
            ("   ", None),
            ("'", None),
        ] {
            assert_eq!(known(&json!({ "command": command })), expected, "{command}");
        }
        assert_eq!(
            known(&json!({ "command": "/with blank/error-tracker", "args": [] })),
            Some(("error-tracker", false)),
            "exec form: no shell, so a blank is part of the path"
        );
        assert_eq!(known(&json!({ "command": "/x/error-tracker y", "args": [] })), None);
        assert_eq!(known(&json!({ "command": 5 })), None);
        assert_eq!(known(&json!("error-tracker")), None);
    }
}
