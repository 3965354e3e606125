//! How a recorded session or pane is named to tmux, and whether a listing has it.

/// What tmux answered when it was asked for its sessions or panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing<'a> {
    /// It listed these names or ids.
    Names(&'a [String]),
    /// It failed with this text.
    Error(&'a str),
    /// It was not asked.
    Unknown,
}

/// A recorded name in the form tmux takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `=name` for a session, exactly that one; `%12` for a pane.
    pub target: String,
    /// Whether it is there; None: that cannot be told.
    pub present: Option<bool>,
}

/// Returns the target of a recorded session name or pane id. None: nothing is recorded.
///
/// tmux writes `.` and `:` of a name as `_`, and takes an unmarked target for the beginning of a name.
#[must_use]
pub fn target(recorded: &str, sessions: Listing<'_>, panes: Listing<'_>) -> Option<Target> {
    if recorded.is_empty() {
        return None;
    }
    let (name, target, listing) = if is_pane_id(recorded) {
        (recorded.to_owned(), recorded.to_owned(), panes)
    } else {
        let name = session_name(recorded);
        let target = format!("={name}");
        (name, target, sessions)
    };
    Some(Target { target, present: present(&name, listing) })
}

/// Returns whether `text` is a pane's id.
#[must_use]
pub fn is_pane_id(text: &str) -> bool {
    text.strip_prefix('%')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns a session's name as tmux keeps it.
#[must_use]
pub fn session_name(given: &str) -> String {
    given.replace(['.', ':'], "_")
}

fn present(name: &str, listing: Listing<'_>) -> Option<bool> {
    match listing {
        Listing::Names(names) => Some(names.iter().any(|listed| listed == name)),
        // Without a server there is no session. Every other error says nothing about sessions.
        Listing::Error(error) => is_without_server(error).then_some(false),
        Listing::Unknown => None,
    }
}

/// tmux says so when its socket exists and nobody listens, or when there is no socket.
fn is_without_server(error: &str) -> bool {
    error.contains("no server running")
        || (error.contains("error connecting to") && error.contains("(No such file or directory)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(recorded: &str, sessions: &[&str]) -> Option<(String, Option<bool>)> {
        let names: Vec<String> = sessions.iter().map(|&name| name.to_owned()).collect();
        target(recorded, Listing::Names(&names), Listing::Unknown).map(|it| (it.target, it.present))
    }

    #[test]
    fn names_are_exact_and_as_tmux_keeps_them() {
        for (recorded, sessions, answer) in [
            ("app", &["app", "other"][..], Some(("=app", Some(true)))),
            ("api.v2", &["api_v2"], Some(("=api_v2", Some(true)))),
            ("proj:7", &["proj"], Some(("=proj_7", Some(false)))),
            ("work", &["work-2", "workshop"], Some(("=work", Some(false)))),
            ("修复", &["修复-2"], Some(("=修复", Some(false)))),
            ("%x", &["%x"], Some(("=%x", Some(true)))),
            ("%", &[], Some(("=%", Some(false)))),
            ("", &["main"], None),
        ] {
            let answer = answer.map(|(target, present)| (target.to_owned(), present));
            assert_eq!(asked(recorded, sessions), answer, "{recorded}");
        }
    }

    #[test]
    fn a_pane_id_is_looked_for_among_the_panes() {
        let panes = ["%3".to_owned(), "%120".to_owned()];
        for (recorded, present) in [("%3", true), ("%12", false), ("%120", true)] {
            let answer = target(recorded, Listing::Unknown, Listing::Names(&panes)).unwrap();
            assert_eq!((answer.target.as_str(), answer.present), (recorded, Some(present)));
        }
    }

    #[test]
    fn an_error_is_not_an_absence_unless_there_is_no_server() {
        for (error, present) in [
            ("no server running on /tmp/tmux-1000/default", Some(false)),
            ("error connecting to /tmp/tmux-1000/default (No such file or directory)", Some(false)),
            ("error connecting to /tmp/tmux-1000/default (Permission denied)", None),
            ("error connecting to /tmp/tmux-1000/default (Connection refused)", None),
            ("lost server", None),
            ("", None),
        ] {
            let answer = target("work", Listing::Error(error), Listing::Unknown).unwrap();
            assert_eq!((answer.target.as_str(), answer.present), ("=work", present), "{error}");
        }
    }
}
