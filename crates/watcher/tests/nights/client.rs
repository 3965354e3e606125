//! A simulated client, drawn as version 2.1.332 draws itself.

use std::collections::VecDeque;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use rules::fact::{Fact, What};
use session_state::client_sessions::ClientSession;
use session_state::journal::Journal;
use session_state::{Now, Project, Session, heartbeat};

use crate::stage::Stage;

const WIDTH: usize = 100;
const HEIGHT: usize = 40;

/// A key as it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key<'a> {
    Text(&'a str),
    Enter,
}

/// What stands at the bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The input line.
    Line,
    /// A turn runs.
    Working,
    /// It continues by itself; the footer's second line.
    Armed(String),
    /// It asks for Enter.
    Stale,
    /// The limit menu, marker on this row.
    Menu(usize),
    /// A permission question.
    Question,
}

pub(crate) const MENU: [&str; 3] = [
    "Stop and wait for limit to reset",
    "Wait here, then continue automatically at 10:20pm",
    "Upgrade your plan",
];

/// How a turn ends.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// Well.
    Done,
    /// On a message of this class; what then stands at the bottom.
    Failed { class: &'static str, text: String, view: View },
}

/// What happens when the turn's time is over.
pub(crate) type Then = Box<dyn FnOnce(&mut Stage, &str)>;

/// A client in a pane.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) pid: u32,
    pub(crate) start: u64,
    pub(crate) session: String,
    pub(crate) version: String,
    /// It writes a file of its own.
    pub(crate) writes_file: bool,
    /// That file tells what it does and in which pane.
    pub(crate) tells_status: bool,
    /// It takes an Enter that comes right behind a text for a line break, so many times.
    pub(crate) deaf_enters: usize,
    pub(crate) history: Vec<String>,
    pub(crate) view: View,
    pub(crate) draft: String,
    /// Drawn instead of all else.
    pub(crate) screen: Option<String>,
    /// Seconds and ending of the turns to come; none: a minute, well.
    pub(crate) turns: VecDeque<(i64, Ending)>,
    /// Its hooks write there.
    pub(crate) hooks: Option<Hooks>,
    /// Prompts it was given.
    pub(crate) prompts: Vec<String>,
}

/// Where the hooks of a session write.
#[derive(Clone, Debug)]
pub(crate) struct Hooks {
    pub(crate) project: Project,
    pub(crate) transcript: PathBuf,
}

impl Client {
    pub(crate) fn new(pid: u32, start: u64, session: &str) -> Self {
        Self {
            pid,
            start,
            session: session.into(),
            version: "2.1.332".into(),
            writes_file: true,
            tells_status: true,
            deaf_enters: 0,
            history: vec![
                "❯ go on with the import".into(),
                String::new(),
                "● I will load the remaining files in two parts and check the row counts.".into(),
                String::new(),
                "  Ran 1 shell command".into(),
            ],
            view: View::Line,
            draft: String::new(),
            screen: None,
            turns: VecDeque::new(),
            hooks: None,
            prompts: Vec::new(),
        }
    }

    /// Its own file.
    pub(crate) fn as_session(&self, pane: &str) -> ClientSession {
        let (status, waiting_for) = match self.view {
            View::Working => ("busy", None),
            View::Menu(_) => ("waiting", Some("dialog open")),
            View::Question => ("waiting", Some("permission prompt")),
            View::Line | View::Armed(_) | View::Stale => ("idle", None),
        };
        ClientSession {
            pid: self.pid,
            proc_start: Some(self.start),
            session_id: self.session.clone(),
            status: self.tells_status.then(|| status.to_owned()),
            waiting_for: waiting_for.filter(|_| self.tells_status).map(str::to_owned),
            version: Some(self.version.clone()),
            tmux_target: self.tells_status.then(|| format!("main:@1.{pane}")),
            ..ClientSession::default()
        }
    }

    /// The turn in work, or the next one, ends on a message about a limit.
    pub(crate) fn fail(&mut self, now: Now, class: &'static str, text: &str, view: View) {
        if matches!(class, "overload" | "auth") {
            self.history.push(String::new());
            self.history.extend(wrapped(&format!("● {text}")));
        } else {
            self.history.push(format!("  ⎿\u{a0} {text}"));
        }
        self.view = view;
        self.hook(now, |fact| {
            fact.k = What::Api;
            fact.cls = class.into();
            fact.key = match class {
                "usage_limit" | "model_limit" | "request_limit" => "api:limit",
                "overload" => "api:overload",
                "auth" => "api:auth",
                _ => "api:billing",
            }
            .into();
            fact.txt = text.to_owned().into();
        });
    }

    /// The turn ends well.
    pub(crate) fn done(&mut self, now: Now) {
        self.history.extend([String::new(), "● All rows are in.".into(), String::new()]);
        self.view = View::Line;
        self.hook(now, |fact| {
            fact.k = What::Turn;
            fact.cls = "good".into();
        });
    }

    fn hook(&self, now: Now, fill: impl FnOnce(&mut Fact<'_>)) {
        let Some(hooks) = &self.hooks else { return };
        let session = Session::make(&hooks.project, &self.session).unwrap();
        let mut fact = Fact::new(What::Turn, "", format!("{}-{}", now.0, self.history.len()));
        fact.t = now.0;
        fill(&mut fact);
        Journal::open_or_make(&session.dir).unwrap().append(&[fact]).unwrap();
        heartbeat::beat(&session.dir, now).unwrap();
    }

    pub(crate) fn beat(&self, now: Now) {
        let Some(hooks) = &self.hooks else { return };
        heartbeat::beat(&Session::make(&hooks.project, &self.session).unwrap().dir, now).unwrap();
    }

    /// The last line of the transcript names the reset.
    pub(crate) fn write_quota(&self, resets_s: i64, text: &str) {
        let line = serde_json::json!({
            "type": "assistant", "isApiErrorMessage": true, "error": "rate_limit", "apiErrorStatus": 429,
            "quotaLimits": { "status": "rejected", "resetsAt": resets_s, "rateLimitType": "five_hour" },
            "message": { "role": "assistant", "model": "<synthetic>",
                         "content": [{ "type": "text", "text": text }] },
        });
        let path = &self.hooks.as_ref().unwrap().transcript;
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    /// Takes a key. Returns what happens later when it began a turn.
    pub(crate) fn take(&mut self, key: Key<'_>) -> Option<(i64, Then)> {
        match (&self.view, key) {
            (View::Menu(_) | View::Question, Key::Text(text)) => {
                assert!(!text.contains(|c: char| c.is_ascii_digit() || c == 'j' || c == 'k'), "{text}");
                None
            }
            (View::Question, Key::Enter) => panic!("a question was answered"),
            (View::Menu(0), Key::Enter) => {
                self.view = View::Line;
                None
            }
            (View::Menu(row), Key::Enter) => panic!("row {row} of the menu was chosen"),
            (_, Key::Text(text)) => {
                self.draft.push_str(text);
                None
            }
            (_, Key::Enter) if self.deaf_enters > 0 => {
                self.deaf_enters -= 1;
                None
            }
            (View::Stale, Key::Enter) if self.draft.is_empty() => Some(self.begin(
                "Your claude.ai usage limit has reset. Continue the task you were working on.".into(),
            )),
            (_, Key::Enter) if self.draft.is_empty() => None,
            (_, Key::Enter) => {
                let draft = std::mem::take(&mut self.draft);
                Some(self.begin(draft))
            }
        }
    }

    fn begin(&mut self, prompt: String) -> (i64, Then) {
        self.history.extend([String::new(), format!("❯ {prompt}"), String::new()]);
        self.prompts.push(prompt);
        self.view = View::Working;
        let (seconds, ending) = self.turns.pop_front().unwrap_or((60, Ending::Done));
        (
            seconds,
            Box::new(move |stage, id| {
                let now = stage.now();
                if !matches!(&stage.place(id).inside, crate::stage::Inside::Client(_)) {
                    return;
                }
                match ending {
                    Ending::Done => stage.client(id).done(now),
                    Ending::Failed { class, text, view } => stage.client(id).fail(now, class, &text, view),
                }
            }),
        )
    }

    /// The screen, colours included.
    pub(crate) fn draw(&self) -> String {
        if let Some(screen) = &self.screen {
            return screen.clone();
        }
        let rule = "─".repeat(WIDTH);
        let mut above: Vec<String> = [
            "",
            " ▐▛███▛█   Claude Code v2.1.332",
            "▝▜██████▀  Sonnet 5.5 · Claude API",
            " ▝▝   ▝▝   /home/dev/project",
            "",
        ]
        .map(str::to_owned)
        .into();
        above.extend(self.history.iter().cloned());
        let mut below = Vec::new();
        match &self.view {
            View::Menu(row) => {
                below.extend(["▔".repeat(WIDTH), "  What do you want to do?".into(), String::new()]);
                for (at, text) in MENU.iter().enumerate() {
                    let mark = if at == *row { "❯" } else { " " };
                    below.push(format!("  {mark} {}. {text}", at + 1));
                }
                below.extend([String::new(), "  Enter to confirm · Esc to cancel".into()]);
            }
            View::Question => {
                below.extend([rule, " Bash command".into(), String::new(), " rm -rf build".into()]);
                below.extend(
                    [
                        " Do you want to proceed?",
                        " ❯ 1. Yes",
                        "   2. No",
                        "",
                        " Esc to cancel · Tab to amend",
                    ]
                    .map(str::to_owned),
                );
            }
            view => {
                if *view == View::Working {
                    above.extend([String::new(), "✻ Baking… (12s · ↓ 20 tokens)".into()]);
                }
                let line = if self.draft.is_empty() {
                    "\u{1b}[39m❯\u{a0}\u{1b}[7m \u{1b}[0m".to_owned()
                } else {
                    format!("\u{1b}[39m❯\u{a0}{}\u{1b}[7m \u{1b}[0m", self.draft)
                };
                let rule = format!("\u{1b}[38;5;244m{rule}\u{1b}[39m");
                below.extend([rule.clone(), line, rule]);
                match view {
                    View::Armed(second) => {
                        let first = "  ⚠ Usage limit reached · limit resets 10:20pm";
                        below.extend([first.to_owned(), format!("    {second} · Esc to cancel")]);
                    }
                    View::Stale => below.extend(
                        ["  ⚠ Your usage limit has reset", "    Press enter to continue"].map(str::to_owned),
                    ),
                    _ => {}
                }
                let mode = "  ⏵⏵ bypass permissions on (shift+tab to cycle)";
                let interrupt = if *view == View::Working { " · esc to interrupt" } else { "" };
                below.push(format!("{mode}{interrupt}"));
            }
        }
        let room = HEIGHT.saturating_sub(below.len());
        let from = above.len().saturating_sub(room);
        above.drain(..from);
        above.resize(room, String::new());
        above.extend(below);
        above.join("\n") + "\n"
    }
}

/// As the interface wraps: before the edge, the rest indented.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().unwrap();
        if last.chars().count() + 1 + word.chars().count() > WIDTH - 4 {
            lines.push(format!("  {word}"));
        } else {
            let blank = if last.is_empty() { "" } else { " " };
            *last = format!("{last}{blank}{word}");
        }
    }
    lines
}
