//! What is known about a pane beside its text.

use chrono_tz::Tz;

/// Facts of a pane, from tmux, from the client's own session file and from its hooks.
///
/// All but the id may be unknown. An unknown fact never speaks for a key; what it forbids is said where it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pane {
    /// tmux's id of the pane: `%12`.
    pub pane_id: String,
    /// A mode of tmux (copy mode, tree, clock) takes the keys instead of the program.
    pub in_mode: Option<bool>,
    /// Name of the program in the foreground, `#{pane_current_command}`.
    pub foreground: Option<String>,
    /// Columns of the pane.
    pub width: Option<usize>,
    /// Lines of the pane.
    pub height: Option<usize>,
    /// Zone of the host; the client prints times in it. None counts as UTC.
    pub host_tz: Option<String>,
    /// The tmux command the text came from; with `-e` colours are in the text.
    pub capture: Option<String>,
    /// Version of the client.
    pub client: Option<String>,
    /// `status` of the client's own `sessions/<pid>.json`: `idle`, `busy`, `waiting`.
    pub session_status: Option<String>,
    /// `waitingFor` of that file.
    pub waiting_for: Option<String>,
    /// The last StopFailure of the session.
    pub stop_failure: Option<StopFailure>,
}

/// What a StopFailure hook was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopFailure {
    /// The client's class: `rate_limit`, `server_error`, `authentication_failed`, ...
    pub error: String,
    /// The message on screen.
    pub last_assistant_message: Option<String>,
    /// Set when a subagent failed, not the main conversation.
    pub agent_id: Option<String>,
}

/// Which program takes the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreground {
    /// The client.
    Client,
    /// Another program.
    Other,
    /// Not known.
    Unknown,
}

impl Pane {
    /// Returns whether the client is in the foreground.
    pub(crate) fn program(&self) -> Foreground {
        match self.foreground.as_deref().map(str::trim) {
            None | Some("") => Foreground::Unknown,
            Some(name) if is_client(name) => Foreground::Client,
            Some(_) => Foreground::Other,
        }
    }

    /// Returns the zone that a time without one is meant in.
    pub(crate) fn zone(&self) -> Tz {
        self.host_tz.as_deref().and_then(|name| name.trim().parse().ok()).unwrap_or(Tz::UTC)
    }

    /// Returns the StopFailure of the main conversation.
    pub(crate) fn main_failure(&self) -> Option<&StopFailure> {
        self.stop_failure.as_ref().filter(|failure| failure.agent_id.as_deref().is_none_or(str::is_empty))
    }
}

/// Returns whether a foreground program of this name may be the client.
///
/// The client calls itself `claude`; where it cannot, the runtime's name or that of the program file, which is its
/// version, is what tmux sees.
#[must_use]
pub fn is_client(name: &str) -> bool {
    let mut parts = name.split('.');
    let is_version = (&mut parts).take(3).filter(|part| part.parse::<u32>().is_ok()).count() == 3;
    matches!(name, "claude" | "claude.exe" | "node" | "bun") || (is_version && parts.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_in_the_foreground() {
        for (name, program) in [
            ("claude", Foreground::Client),
            ("node", Foreground::Client),
            ("2.1.332", Foreground::Client),
            ("2.1", Foreground::Other),
            ("2.1.332.4", Foreground::Other),
            ("bash", Foreground::Other),
            ("claude-wrapper", Foreground::Other),
            ("tmux", Foreground::Other),
            ("ssh", Foreground::Other),
            ("", Foreground::Unknown),
        ] {
            let pane = Pane { foreground: Some(name.to_owned()), ..Pane::default() };
            assert_eq!(pane.program(), program, "{name}");
        }
        assert_eq!(Pane::default().program(), Foreground::Unknown);
    }

    #[test]
    fn a_zone_that_is_none_counts_as_utc() {
        for (name, zone) in
            [("Europe/Warsaw", Tz::Europe__Warsaw), ("EST5EDT,M3.2.0", Tz::UTC), ("", Tz::UTC)]
        {
            let pane = Pane { host_tz: Some(name.to_owned()), ..Pane::default() };
            assert_eq!(pane.zone(), zone, "{name}");
        }
    }

    #[test]
    fn a_subagents_failure_is_not_the_main_conversations() {
        let failure = |agent: Option<&str>| Pane {
            stop_failure: Some(StopFailure { agent_id: agent.map(str::to_owned), ..StopFailure::default() }),
            ..Pane::default()
        };
        assert!(failure(None).main_failure().is_some());
        assert!(failure(Some("")).main_failure().is_some());
        assert!(failure(Some("a1")).main_failure().is_none());
    }
}
