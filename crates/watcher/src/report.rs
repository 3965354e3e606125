//! What the watcher did or refused to do: one line in the log of the project, one in its own, one call of the user's
//! command.

use serde_json::{Value, json};
use session_state::{Dir, Now, Project, Session, log, times};

use crate::pane::Target;

/// Something done, or not done for a reason.
#[derive(Clone, Copy, Debug)]
pub struct Act<'a> {
    /// The session.
    pub session: &'a str,
    /// The pane.
    pub target: Option<&'a Target>,
    /// What was found: `usage_limit`, `dead`, `orphan`, ...
    pub kind: &'a str,
    /// What was done about it: `resume`, `enter`, `scavenge`, `none`.
    pub action: &'a str,
    /// How it went, or why nothing was done.
    pub result: &'a str,
}

impl Act<'_> {
    /// As the user's command hears it.
    #[must_use]
    pub fn to_json(&self, project: Option<&Project>, now: Now) -> Value {
        json!({
            "v": 1,
            "time": times::rfc3339_utc(now),
            "project": project.map(|project| project.root.display().to_string()),
            "session": self.session,
            "pane": self.target.map(|target| target.pane.as_str()),
            "socket": self.target.and_then(|target| target.server.socket.as_ref()).map(|path| path.display().to_string()),
            "kind": self.kind,
            "action": self.action,
            "result": self.result,
        })
    }

    /// Writes its lines. A log that cannot be written changes nothing.
    pub fn log(&self, own: Option<&Dir>, project: Option<(&Project, &Session)>, now: Now) {
        let pane = self.target.map(Target::word);
        let entry = log::Entry {
            session: self.session,
            pane: pane.as_deref().unwrap_or("-"),
            error: self.kind,
            action: self.action,
            result: self.result,
        };
        if let Some(own) = own {
            let _ = log::append(own, entry, now);
        }
        if let Some((project, session)) = project {
            let _ = log::write(project, Some(session), entry, now);
        }
    }
}
