//! Which sessions were cut off.

use std::path::{Path, PathBuf};

use rules::{
    liveness::Process,
    text::{one_line, redact},
};
use serde_json::{Value, json};
use session_state::{
    Now, Project, Session,
    client_sessions::{self, ClientSession},
    heartbeat, layout,
    process::ProcessId,
    session_file::{self, SessionFile},
    status::{self, Status},
    times,
    transcript::{self, RunningCall},
};
use watcher::places::{Place, Places};

use crate::environment::Environment;

/// Session folders looked at in one project.
const MAX_SESSIONS: usize = 10_000;
/// Files of the client's own list that are read.
const MAX_CLIENTS: usize = 2_048;
/// What was cut off longer ago is history, in seconds.
const FRESH_S: i64 = 14 * 86_400;
/// Prompts and calls are shown up to this many characters.
const SHOWN: usize = 100;
/// `reason` of an end that nobody asked for: a signal, a closed terminal, or the end of one answer.
const OTHER: &str = "other";
/// How a client is started by a person.
const BY_A_PERSON: &str = "cli";

/// A session that was cut off.
#[derive(Debug)]
pub(super) struct Lost {
    /// Its id.
    pub(super) id: String,
    /// The folder it is continued in.
    pub(super) folder: PathBuf,
    /// Where it was in tmux, by names.
    pub(super) place: Option<Place>,
    last_s: Option<i64>,
    last_prompt: Option<String>,
    running: Option<RunningCall>,
    handoff: Option<PathBuf>,
}

/// Finds them, the latest first.
pub(super) fn find(projects: &[Project], environment: &Environment, now: Now) -> Vec<Lost> {
    let config = environment.config_dir();
    let clients = config.map(|config| client_sessions::all(&config, MAX_CLIENTS)).unwrap_or_default();
    let places = watcher::instance::folder(&environment.variables).map(|dir| Places::read(&dir));
    let places = places.unwrap_or_default();
    let mut lost: Vec<Lost> = Vec::new();
    for project in projects {
        let names = project.sessions().map(|sessions| sessions.names(MAX_SESSIONS)).unwrap_or_default();
        for name in names.iter().filter(|name| !name.starts_with('.')) {
            let found = Session::open(project, name)
                .and_then(|session| of_session(project, &session, &clients, &places, now));
            lost.extend(found.filter(|found| lost.iter().all(|other| other.id != found.id)));
        }
    }
    lost.sort_by_key(|session| std::cmp::Reverse(session.last_s));
    lost
}

fn of_session(
    project: &Project,
    session: &Session,
    clients: &[ClientSession],
    places: &Places,
    now: Now,
) -> Option<Lost> {
    let file = session_file::read(&session.dir)?;
    if file.project.as_deref().is_some_and(|root| Path::new(root) != project.root) {
        return None;
    }
    let id = if file.session_id.is_empty() { session.name.clone() } else { file.session_id.clone() };
    let was_cut_off = match status::read(&session.dir) {
        None | Some(Status::Running | Status::Scavenged) => true,
        Some(Status::Ended) => was_ended_by_nobody(&file),
        Some(Status::Superseded) => false,
    };
    let process = client_sessions::process_of(clients, file.process.as_ref(), Some(&id), ProcessId::presence);
    let last_s = heartbeat::last(&session.dir).or(Some(file.updated_s)).filter(|last| *last > 0);
    let is_fresh = last_s.is_some_and(|last| now.age_s(last) <= FRESH_S);
    if !was_cut_off || process != Process::Gone || !is_fresh {
        return None;
    }
    let tail = file.transcript.as_deref().and_then(|path| transcript::tail(Path::new(path)));
    // Without a transcript there is nothing the client could continue.
    let tail = tail?;
    let place = places.of(&id).cloned().or_else(|| {
        let session = file.tmux.as_ref()?.session.clone()?;
        Some(Place { session, ..Place::default() })
    });
    let handoff =
        Path::new(layout::SESSIONS).join(&session.name).join(layout::HANDOFFS).join(layout::SCAVENGED);
    Some(Lost {
        id,
        folder: project.root.clone(),
        place,
        last_s,
        last_prompt: tail.last_prompt,
        running: tail.running,
        handoff: project.state.join(&handoff).is_file().then_some(handoff),
    })
}

/// A closed terminal and SIGTERM fire the same event as an orderly end of one answer, with the same reason.
fn was_ended_by_nobody(file: &SessionFile) -> bool {
    file.end_reason.as_deref() == Some(OTHER) && file.entrypoint.as_deref() == Some(BY_A_PERSON)
}

impl Lost {
    /// The command that continues it.
    pub(super) fn command(&self) -> String {
        format!("claude --resume {}", quoted(&self.id))
    }

    /// As a person reads it.
    pub(super) fn lines(&self, now: Now) -> Vec<String> {
        let at = self.last_s.map_or_else(|| "an unknown time".to_owned(), |at| times::local_clock(at, now));
        let age =
            self.last_s.map(|at| format!(" ({} ago)", rules::text::age(now.age_s(at)))).unwrap_or_default();
        let mut lines = vec![format!("{}: last sign of life {at}{age}", self.id)];
        if let Some(prompt) = &self.last_prompt {
            lines.push(format!("  prompt   {}", shown(prompt)));
        }
        if let Some(call) = &self.running {
            lines.push(format!("  running  {} {}", call.tool, shown(&call.what)));
        }
        if let Some(handoff) = &self.handoff {
            lines.push(format!("  saved    {}", handoff.display()));
        }
        lines.push(format!("  cd {} && {}", quoted(&self.folder.display().to_string()), self.command()));
        lines
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "session": self.id,
            "project": self.folder.display().to_string(),
            "last_sign_of_life": self.last_s.map(times::rfc3339_utc_s),
            "last_prompt": self.last_prompt.as_deref().map(shown),
            "running": self.running.as_ref().map(|call| json!({ "tool": call.tool, "what": shown(&call.what) })),
            "handoff": self.handoff,
            "tmux": self.place.as_ref().map(|place| json!({ "session": place.session, "window": place.window })),
            "command": format!("cd {} && {}", quoted(&self.folder.display().to_string()), self.command()),
        })
    }
}

fn shown(text: &str) -> String {
    one_line(&redact(text), SHOWN)
}

/// A word for a shell.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for text in ["/home/dev/app", "it's", "a b", "$(x)", "", "-x;y", "übung"] {
            let echoed = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", quoted(text))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(echoed.stdout).unwrap(), text);
        }
    }

    #[test]
    fn only_an_end_that_nobody_asked_for_is_a_loss() {
        let file = |reason: &str, entrypoint: &str| SessionFile {
            end_reason: Some(reason.to_owned()),
            entrypoint: Some(entrypoint.to_owned()),
            ..SessionFile::default()
        };
        assert!(was_ended_by_nobody(&file("other", "cli")));
        assert!(!was_ended_by_nobody(&file("prompt_input_exit", "cli")));
        assert!(!was_ended_by_nobody(&file("logout", "cli")));
        assert!(!was_ended_by_nobody(&file("other", "sdk-cli")), "one answer that was given");
        assert!(!was_ended_by_nobody(&SessionFile::default()));
    }
}
