//! `recovery watch service`: the watcher at every login, by systemd or launchd.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use clap::Subcommand;
use session_state::{Dir, env};

use crate::{
    environment::Environment,
    exit_status::ExitStatus,
    hint::{Hinted, Remedy, hinted},
    printer::Printer,
};

/// How long the service manager may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// The mark of a file of ours.
const MARK: &str = "written by `recovery watch service install`";
/// Variables of this shell that the watcher must see too: a service is started with nearly none.
const VARIABLES: [&str; 8] = [
    env::PATH,
    env::CLAUDE_CONFIG_DIR,
    env::RECOVERY_STATE_DIR,
    env::XDG_CONFIG_HOME,
    env::XDG_STATE_HOME,
    env::XDG_DATA_HOME,
    env::TMUX_TMPDIR,
    env::TZ,
];

/// What to do with the service.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(super) enum ServiceAction {
    /// Write the unit and start it
    Install {
        /// Write the unit, and print the command that starts it
        #[arg(long)]
        no_start: bool,
    },
    /// End the service and remove its unit
    Uninstall,
}

/// Runs the verb.
pub(super) fn run(
    action: &ServiceAction,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let manager = Manager::of_this_system();
    let home = environment.home.as_deref().ok_or_else(|| hinted(ServiceError::NoHome))?;
    let unit = manager.unit(home, environment);
    match action {
        ServiceAction::Install { no_start } => install(manager, &unit, *no_start, environment, printer),
        ServiceAction::Uninstall => uninstall(manager, &unit, printer),
    }
}

/// Why the service was not set up.
#[derive(Debug, thiserror::Error)]
enum ServiceError {
    #[error("there is no home folder to put the service into")]
    NoHome,
    #[error("{} was not written by this program", .0.display())]
    NotOurs(PathBuf),
    #[error("{} cannot be written ({})", .0.display(), .1)]
    NotWritten(PathBuf, #[source] io::Error),
}

impl Remedy for ServiceError {
    fn remedy(&self) -> String {
        match self {
            Self::NoHome => "set HOME".to_owned(),
            Self::NotOurs(path) => format!("look at it, and move it away: {}", path.display()),
            Self::NotWritten(path, _) => format!("make {} writable", path.display()),
        }
    }
}

fn install(
    manager: Manager,
    unit: &Path,
    no_start: bool,
    environment: &Environment,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let variables: Vec<(&str, String)> =
        VARIABLES.iter().filter_map(|name| Some((*name, environment.variables.text(name)?))).collect();
    let text = manager.text(&environment.current_exe, &variables);
    match fs::read_to_string(unit) {
        Ok(old) if !old.contains(MARK) => return Err(hinted(ServiceError::NotOurs(unit.to_owned()))),
        Ok(old) if old == text => printer.line(format_args!("{} is as it should be", unit.display())),
        _ => {
            write(unit, &text).map_err(|error| hinted(ServiceError::NotWritten(unit.to_owned(), error)))?;
            printer.line(format_args!("wrote {}", unit.display()));
        }
    }
    if no_start {
        for command in manager.start(unit) {
            printer.line(format_args!("start it with: {}", command.join(" ")));
        }
        return Ok(ExitStatus::Success);
    }
    for command in manager.start(unit) {
        ask(&command).map_err(|reason| {
            Hinted::attach(
                anyhow::anyhow!("the service is written and not started: {reason}"),
                format!("start it in a session of yours: {}", command.join(" ")),
            )
        })?;
    }
    printer.line("the watcher runs, and will at every login");
    Ok(ExitStatus::Success)
}

fn uninstall(manager: Manager, unit: &Path, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match fs::read_to_string(unit) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            printer.line("there is no service");
            return Ok(ExitStatus::Success);
        }
        Ok(text) if !text.contains(MARK) => return Err(hinted(ServiceError::NotOurs(unit.to_owned()))),
        _ => {}
    }
    for command in manager.stop(unit) {
        if let Err(reason) = ask(&command) {
            // Without a service manager nothing runs that would have to be ended.
            printer.note(format_args!("`{}`: {reason}", command.join(" ")));
        }
    }
    fs::remove_file(unit).map_err(|error| hinted(ServiceError::NotWritten(unit.to_owned(), error)))?;
    printer.line(format_args!("removed {}", unit.display()));
    Ok(ExitStatus::Success)
}

fn write(unit: &Path, text: &str) -> io::Result<()> {
    let (Some(folder), Some(name)) = (unit.parent(), unit.file_name().and_then(|name| name.to_str())) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    Dir::make_all(folder)?.replace(name, text.as_bytes(), true)
}

fn ask(command: &[String]) -> Result<(), String> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let answer = bounded_command::run(Command::new(program).args(arguments), TIME_LIMIT)
        .map_err(|error| format!("{program} {error}"))?;
    if answer.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&answer.stderr);
    Err(rules::text::one_line(said.lines().next().unwrap_or("it failed"), 160))
}

/// Who starts services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Systemd,
    Launchd,
}

const SYSTEMD_UNIT: &str = "recovery-watch.service";
const LAUNCHD_LABEL: &str = "recovery-hooks.watch";

impl Manager {
    const fn of_this_system() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    fn unit(self, home: &Path, environment: &Environment) -> PathBuf {
        match self {
            Self::Systemd => {
                let config = environment.variables.path(env::XDG_CONFIG_HOME);
                config.unwrap_or_else(|| home.join(".config")).join("systemd/user").join(SYSTEMD_UNIT)
            }
            Self::Launchd => home.join("Library/LaunchAgents").join(format!("{LAUNCHD_LABEL}.plist")),
        }
    }

    fn text(self, program: &Path, variables: &[(&str, String)]) -> String {
        match self {
            Self::Systemd => {
                let mut text = format!(
                    "# {MARK}\n[Unit]\nDescription=Resumes Claude Code sessions after a limit, saves dead ones\n\n\
                     [Service]\nExecStart={} watch\nRestart=on-failure\nRestartSec=30\n",
                    quoted(&program.display().to_string())
                );
                for (name, value) in variables {
                    text.push_str(&format!("Environment={}\n", quoted(&format!("{name}={value}"))));
                }
                text.push_str("\n[Install]\nWantedBy=default.target\n");
                text
            }
            Self::Launchd => {
                let strings: String = [program.display().to_string(), "watch".to_owned()]
                    .iter()
                    .map(|word| format!("    <string>{}</string>\n", xml(word)))
                    .collect();
                let environment: String = variables
                    .iter()
                    .map(|(name, value)| format!("    <key>{name}</key><string>{}</string>\n", xml(value)))
                    .collect();
                format!(
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- {MARK} -->\n<plist version=\"1.0\">\n<dict>\n  \
                     <key>Label</key><string>{LAUNCHD_LABEL}</string>\n  <key>ProgramArguments</key>\n  <array>\n\
                     {strings}  </array>\n  <key>EnvironmentVariables</key>\n  <dict>\n{environment}  </dict>\n  \
                     <key>RunAtLoad</key><true/>\n  <key>KeepAlive</key>\n  <dict>\n    \
                     <key>SuccessfulExit</key><false/>\n  </dict>\n</dict>\n</plist>\n"
                )
            }
        }
    }

    fn start(self, unit: &Path) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            Self::Systemd => vec![
                words(&["systemctl", "--user", "daemon-reload"]),
                words(&["systemctl", "--user", "enable", "--now", SYSTEMD_UNIT]),
            ],
            Self::Launchd => vec![words(&["launchctl", "load", "-w", &unit.display().to_string()])],
        }
    }

    fn stop(self, unit: &Path) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            Self::Systemd => vec![words(&["systemctl", "--user", "disable", "--now", SYSTEMD_UNIT])],
            Self::Launchd => vec![words(&["launchctl", "unload", "-w", &unit.display().to_string()])],
        }
    }
}

/// A word of a systemd unit: in quotes, with its own escapes and without specifiers.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_survives_odd_paths() {
        let variables = [("PATH", "/usr/bin:/x y".to_owned()), ("TZ", "a&b".to_owned())];
        let program = Path::new("/home/d v/100%/re\"covery");
        insta::assert_snapshot!("systemd", Manager::Systemd.text(program, &variables));
        insta::assert_snapshot!("launchd", Manager::Launchd.text(program, &variables));
    }
}
