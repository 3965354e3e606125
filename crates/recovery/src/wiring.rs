//! Which program is wired to which event: the one source for `install`, the example file and the plugin.

use std::fmt;

use serde::Serialize;

use crate::{client_version::ClientVersion, programs::Program};

/// Seconds the client gives one call before it ends it.
///
/// At the end of a session it also raises the client's own limit, which is 1.5 s there.
const TIMEOUT_S: u32 = 5;

/// The first version known to start an entry with `args` without a shell.
///
/// 2.1.114 and older run the same entry as a shell line, so that a path with a blank falls apart. (Both measured.)
const EXEC_FORM_SINCE: ClientVersion = ClientVersion::new(2, 1, 139);

/// An event of the client that we listen to, in the order in which a session meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    SessionStart,
    UserPromptSubmit,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    Stop,
    StopFailure,
    SessionEnd,
}

impl Event {
    /// Every event we listen to.
    pub(crate) const ALL: [Self; 8] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PostToolBatch,
        Self::Stop,
        Self::StopFailure,
        Self::SessionEnd,
    ];

    /// Returns the key of the event in a settings file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PostToolBatch => "PostToolBatch",
            Self::Stop => "Stop",
            Self::StopFailure => "StopFailure",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// Returns the first client version that is known to have the event.
    ///
    /// Before 2.1.101 one unknown name makes the client ignore the *whole* settings file, so that these are the
    /// latest dates that the record supports: StopFailure by the client's changelog, the others by clients seen.
    pub(crate) fn since(self) -> ClientVersion {
        match self {
            Self::SessionStart
            | Self::UserPromptSubmit
            | Self::PostToolUse
            | Self::Stop
            | Self::SessionEnd => ClientVersion::new(1, 0, 128),
            Self::PostToolUseFailure => ClientVersion::new(2, 1, 0),
            Self::StopFailure => ClientVersion::new(2, 1, 78),
            Self::PostToolBatch => ClientVersion::new(2, 1, 150),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many processes an event starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `recovery-hooks` alone: one process an event.
    OneProcess,
    /// The four programs, each on the events it needs.
    Separate,
}

/// One program on one event. There is no matcher: each of them wants every tool and every source.
struct Wire {
    program: Program,
    /// Whether the client goes on without waiting.
    is_async: bool,
}

/// Returns what the layout starts on the event, in the order in which the entries are written.
///
/// The heartbeat never prints, so that its place is in the background wherever being ended early does no harm. The
/// ends of a session and of a turn are not such places: what it writes at SessionStart must be there before anything
/// can crash; an asynchronous SessionEnd is neither waited for nor ended by the client, so that the mark "ended" could
/// come after the next session has looked for it; and a `-p` client that leaves right after Stop cancels what still
/// runs in the background, and reports it.
fn wires(layout: Layout, event: Event) -> Vec<Wire> {
    let waited_for = |program| Wire { program, is_async: false };
    let in_background = |program| Wire { program, is_async: true };
    match layout {
        Layout::OneProcess => vec![waited_for(Program::RecoveryHooks)],
        Layout::Separate => match event {
            Event::SessionStart => vec![
                waited_for(Program::CrashRecoveryCheck),
                waited_for(Program::ErrorTracker),
                waited_for(Program::HeartbeatWrite),
            ],
            Event::UserPromptSubmit => vec![
                waited_for(Program::CrashRecoveryCheck),
                waited_for(Program::ErrorTracker),
                in_background(Program::HeartbeatWrite),
            ],
            Event::PostToolUse | Event::PostToolUseFailure => vec![
                waited_for(Program::ErrorTracker),
                waited_for(Program::ToolDegradation),
                in_background(Program::HeartbeatWrite),
            ],
            Event::Stop => vec![waited_for(Program::ErrorTracker), waited_for(Program::HeartbeatWrite)],
            Event::PostToolBatch | Event::StopFailure => vec![waited_for(Program::ErrorTracker)],
            Event::SessionEnd => vec![waited_for(Program::HeartbeatWrite)],
        },
    }
}

/// How an entry names its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandForm {
    /// The absolute path of the program in this folder (no separator at the end), started without a shell where the
    /// client can.
    Installed { bin_dir: String },
    /// A shell line that does nothing where the program is not on the `PATH`: for files that a team shares.
    Silent,
    /// A shell line that looks for the program in the plugin's own folder too, and says once that it is not built.
    /// Nothing writes it at run time: it stands in the plugin's `hooks.json`, which a test compares.
    #[cfg(test)]
    Plugin,
}

impl CommandForm {
    #[cfg_attr(not(test), expect(unused_variables, reason = "only the plugin's line depends on the event"))]
    fn entry(&self, wire: &Wire, event: Event, version: &ClientVersion) -> HookEntry {
        let name = wire.program.name();
        let (command, args) = match self {
            Self::Installed { bin_dir } => {
                let path =
                    format!("{bin_dir}{}{}", std::path::MAIN_SEPARATOR, crate::programs::file_name(name));
                if *version >= EXEC_FORM_SINCE { (path, Some([])) } else { (shell_quoted(&path), None) }
            }
            Self::Silent => (format!("command -v {name} >/dev/null 2>&1 && exec {name}; exit 0"), None),
            #[cfg(test)]
            Self::Plugin => (plugin_line(name, event), None),
        };
        HookEntry { kind: "command", command, args, timeout: TIMEOUT_S, is_async: wire.is_async }
    }
}

/// Returns the path as one word of a shell line; plain paths stay as they are.
fn shell_quoted(path: &str) -> String {
    let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@%=:,".contains(c));
    if is_plain { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Returns the plugin's shell line: installed program, the one built in the plugin's folder, else silence, and on the
/// start of a session one message to the person.
///
/// The client fills in `${CLAUDE_PLUGIN_ROOT}` and `$CLAUDE_PLUGIN_ROOT` *before* the shell reads the line, so that a
/// folder's name could end a quotation. It does not know the form with a minus; the shell does, and reads the variable
/// safely. The message is JSON, so that it names the folder only if no character of it needs escaping.
#[cfg(test)]
fn plugin_line(name: &str, event: Event) -> String {
    let found = format!(
        "command -v {name} >/dev/null 2>&1 && exec {name}; r=\"${{CLAUDE_PLUGIN_ROOT-}}\"; \
         for p in \"${{XDG_DATA_HOME:-$HOME/.local/share}}/recovery-hooks/bin/{name}\" \
         \"$r/target/release/{name}\" \"$r/target/\"*-linux-musl/release/{name}; \
         do [ -x \"$p\" ] && exec \"$p\"; done; "
    );
    let said_once = match event {
        Event::SessionStart => {
            "case \"$(cat)\" in *'\"source\":\"startup\"'*) \
             case \"$r\" in ''|*[!A-Za-z0-9/._@+-]*) r=.;; esac; \
             printf '{\"systemMessage\":\"recovery-hooks: the programs of this plugin are not built yet, so it does \
             nothing. Build them in the folder of the plugin: cargo build --release --manifest-path \
             %s/Cargo.toml\"}\\n' \"$r\";; esac; "
        }
        _ => "",
    };
    format!("{found}{said_once}exit 0")
}

/// One entry of a matcher group, with its keys in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HookEntry {
    #[serde(rename = "type")]
    kind: &'static str,
    command: String,
    /// Present (and empty) in the exec form, absent in a shell line.
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<[String; 0]>,
    timeout: u32,
    #[serde(rename = "async", skip_serializing_if = "std::ops::Not::not")]
    is_async: bool,
}

/// A list of entries without a matcher, as it stands under an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct MatcherGroup {
    pub(crate) hooks: Vec<HookEntry>,
}

/// What one event starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventWiring {
    pub(crate) event: Event,
    /// Program and entry, in the order of writing.
    pub(crate) entries: Vec<(Program, HookEntry)>,
}

/// Everything a settings file should hold of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    pub(crate) events: Vec<EventWiring>,
    /// Events the client's version is not known to have.
    pub(crate) left_out: Vec<Event>,
}

impl Wiring {
    /// Returns the wiring for a client of this version.
    pub(crate) fn new(layout: Layout, form: &CommandForm, version: &ClientVersion) -> Self {
        let (known, left_out): (Vec<_>, Vec<_>) =
            Event::ALL.into_iter().partition(|event| event.since() <= *version);
        let events = known
            .into_iter()
            .map(|event| EventWiring {
                event,
                entries: wires(layout, event)
                    .iter()
                    .map(|wire| (wire.program, form.entry(wire, event, version)))
                    .collect(),
            })
            .collect();
        Self { events, left_out }
    }
}

#[cfg(test)]
impl Wiring {
    /// Returns the value of the `hooks` key, as a file that holds nothing but ours would have it.
    fn as_hooks(&self) -> serde_json::Value {
        let events = self.events.iter().map(|wiring| {
            let hooks = wiring.entries.iter().map(|(_, entry)| entry.clone()).collect();
            (wiring.event.name().to_owned(), serde_json::to_value([MatcherGroup { hooks }]).unwrap())
        });
        serde_json::Value::Object(events.collect())
    }
}

#[cfg(test)]
mod tests;
