//! The state of a pane: one word for what its client is doing, from its screen and the facts beside it.

use chrono::{DateTime, Utc};

use crate::{
    dialog::{self, Dialog},
    history::{self, History, Native},
    input::{Below, Content, Frame, InputLine},
    limit::{Kind, Moment, Wordings},
    pane::{Foreground, Pane},
    screen::{Line, Screen},
};

/// What a pane shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A turn runs, or the client retries by itself.
    Working,
    /// The input line waits; nothing is limited.
    Idle,
    /// A limit holds and nothing is going to continue by itself.
    Limited {
        /// What is used up.
        kind: Kind,
        /// Until when, if the screen tells.
        until: Option<DateTime<Utc>>,
    },
    /// A limit holds and the client continues by itself.
    Armed,
    /// The reset is past and the client asks for Enter.
    Stale,
    /// The client stopped continuing by itself after repeated limits.
    GaveUp,
    /// A person, or a changed setting, ended the client's own continuation.
    Cancelled,
    /// The last turn ended on too many requests, no capacity, or a server that failed.
    Overloaded(Kind),
    /// The last turn ended on an error that waiting does not mend.
    Failed(Kind),
    /// The menu of a limit is open.
    Menu {
        /// Text of the row under the marker.
        row: String,
    },
    /// A question waits for a person.
    Question,
    /// A list to pick from waits for a person.
    Picker,
    /// Another program has the pane.
    NotClaude,
    /// None of these, or not surely one.
    Unknown,
}

impl State {
    /// Returns the word for answers and logs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Limited { .. } => "limited",
            Self::Armed => "armed",
            Self::Stale => "stale",
            Self::GaveUp => "gave up",
            Self::Cancelled => "cancelled",
            Self::Overloaded(_) => "overloaded",
            Self::Failed(_) => "failed",
            Self::Menu { .. } => "menu",
            Self::Question => "question",
            Self::Picker => "picker",
            Self::NotClaude => "not Claude",
            Self::Unknown => "unknown",
        }
    }
}

/// The answer in one of four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A limit holds.
    Limited,
    /// No limit holds.
    NotLimited,
    /// A turn runs.
    Working,
    /// A selector or a question waits for a person.
    BlockedByDialog,
}

impl Verdict {
    /// Returns the word for answers and logs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Limited => "limited",
            Self::NotLimited => "not_limited",
            Self::Working => "working",
            Self::BlockedByDialog => "blocked_by_dialog",
        }
    }
}

/// What two looks at a pane must have in common before a key is sent. Hints that come and go are not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Essence {
    /// The message about a limit.
    pub banner: Option<String>,
    /// What stands in the live input line; None: there is none.
    pub input: Option<Content>,
    /// The client's own continuation.
    pub native: Native,
    /// The state.
    pub state: State,
}

/// A message about a limit, or an API error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) kind: Kind,
    pub(crate) waits: bool,
    pub(crate) until: Option<DateTime<Utc>>,
    pub(crate) assumed_zone: bool,
}

/// One screen, read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) state: State,
    pub(crate) verdict: Verdict,
    pub(crate) message: Option<Message>,
    pub(crate) native: Native,
    /// The live input line's content.
    pub(crate) input: Option<Content>,
    /// Messages wait in the queue of the client.
    pub(crate) is_queued: bool,
    /// The limit menu is the known one, row by row, and opened while nothing was armed.
    pub(crate) is_known_menu: bool,
    /// A background agent works.
    pub(crate) has_background: bool,
    /// The limit is that of a model other than the one in use.
    pub(crate) is_other_model: bool,
    /// The model in use is known from the screen.
    pub(crate) is_model_known: bool,
}

/// Reads a screen. `moment` is that at which the message is taken to be written.
pub(crate) fn read(text: &str, pane: &Pane, wordings: &Wordings, moment: &Moment) -> Reading {
    let screen = Screen::read(text, pane.width);
    let program = pane.program();
    let input = InputLine::find(&screen);
    let below = input.as_ref().map(|line| line.below(&screen, program));
    let live = input.as_ref().filter(|_| below == Some(Below::Footer));
    let is_covered = below == Some(Below::Overlay);
    // The conversation ends at the input line, whatever is open below it.
    let drawn = input.as_ref().filter(|_| live.is_some() || is_covered);
    let footer: &[Line] = live.map_or(&[], |line| &screen.lines[line.below.min(screen.lines.len())..]);
    let end = drawn.map_or(screen.lines.len(), |line| line.above);
    let mut history = history::read(&screen.lines[..end], drawn, &screen, pane, wordings, moment);
    // A sign without a frame is the input line only where nothing else can be: right below the message, with the
    // client known to be in the foreground.
    let live = live.filter(|line| {
        line.frame != Frame::Bare || (program == Foreground::Client && history.is_banner_last)
    });
    if let Some(native) = dialog::native_of(&footer.iter().collect::<Vec<_>>()) {
        history.native = native;
    } else if matches!(history.native, Native::Armed | Native::Shortly | Native::Stale) {
        // Only the footer tells that a continuation is pending; notices stay when the session is resumed later.
        history.native = Native::Off;
    }
    let dialog = if live.is_none() && !is_covered { dialog::find(&screen) } else { None };
    // A refusal that offers to try again at Enter is no list.
    let offers_enter = history.is_banner_last
        && history.banner.as_ref().is_some_and(|banner| banner.text.to_lowercase().contains("press enter"));
    let dialog = dialog.filter(|dialog| !(offers_enter && *dialog == Dialog::Picker));
    if let Some(Dialog::LimitMenu { title_at, .. }) = dialog {
        history = history::read(&screen.lines[..title_at], None, &screen, pane, wordings, moment);
    }
    let is_interruptible = footer.iter().any(|line| line.text.to_lowercase().contains("esc to interrupt"));
    let is_working = history.is_working || is_interruptible;
    let message = history.banner.as_ref().map(|banner| Message {
        text: banner.text.clone(),
        kind: banner.limit.kind,
        waits: banner.limit.waits,
        until: banner.limit.reset.map(|reset| reset.at),
        assumed_zone: banner.limit.reset.is_some_and(|reset| reset.assumed_zone),
    });
    let limited_family = message
        .as_ref()
        .filter(|message| message.kind == Kind::ModelLimit)
        .and_then(|message| rules::model::family(&message.text));
    let mut is_known_menu = false;
    let state = match dialog {
        // The question of another program is no less a question.
        Some(Dialog::Question) => State::Question,
        _ if program == Foreground::Other => State::NotClaude,
        Some(Dialog::LimitMenu { row, is_known, is_armed, .. }) => {
            is_known_menu = is_known;
            if is_armed {
                history.native = Native::Armed;
            }
            State::Menu { row }
        }
        Some(Dialog::Picker) => State::Picker,
        None if history.has_marker => State::Question,
        None if is_working => State::Working,
        None if pane.session_status.as_deref() == Some("busy") && message.is_none() => State::Working,
        // A dialog of a shape that is not known, by the client's own word.
        None if live.is_none() && pane.session_status.as_deref() == Some("waiting") => {
            if pane.waiting_for.as_deref() == Some("dialog open") { State::Picker } else { State::Question }
        }
        None => settled(&history, message.as_ref(), live.is_some() || is_covered),
    };
    let verdict = verdict(&state, message.as_ref(), live.is_some());
    Reading {
        verdict,
        native: history.native,
        input: live.map(|line| line.content.clone()),
        is_queued: live.is_some_and(InputLine::is_queued),
        is_known_menu,
        has_background: history.has_background,
        is_other_model: limited_family.zip(history.model).is_some_and(|(limited, used)| limited != used),
        is_model_known: history.model.is_some(),
        state,
        message,
    }
}

/// The state of a client that neither works nor asks.
fn settled(history: &History, message: Option<&Message>, is_live: bool) -> State {
    let Some(message) = message else {
        // In a low pane the message has left the screen; the footer still tells.
        match history.native {
            Native::Armed | Native::Shortly => return State::Armed,
            Native::Stale => return State::Stale,
            Native::Cancelled | Native::GaveUp | Native::Off => {}
        }
        return if is_live { State::Idle } else { State::Unknown };
    };
    let is_account = matches!(message.kind, Kind::UsageLimit | Kind::ModelLimit | Kind::Billing);
    match (history.native, message.kind) {
        (Native::Armed | Native::Shortly, _) if is_account => State::Armed,
        (Native::Stale, _) if is_account => State::Stale,
        (_, kind @ (Kind::RequestLimit | Kind::Overload | Kind::ServerError)) => State::Overloaded(kind),
        (_, kind @ (Kind::Billing | Kind::Auth | Kind::Context)) => State::Failed(kind),
        (Native::GaveUp, _) => State::GaveUp,
        (Native::Cancelled, _) => State::Cancelled,
        (_, kind) => State::Limited { kind, until: message.until },
    }
}

fn verdict(state: &State, message: Option<&Message>, is_live: bool) -> Verdict {
    match state {
        State::Working => Verdict::Working,
        State::Menu { .. } | State::Question | State::Picker => Verdict::BlockedByDialog,
        State::Limited { .. } | State::Armed | State::Stale | State::GaveUp | State::Cancelled => {
            Verdict::Limited
        }
        // A spend limit, a budget, a switch of an administrator; an empty account is none of these.
        State::Failed(Kind::Billing) if message.is_some_and(|message| is_limit_of_others(&message.text)) => {
            Verdict::Limited
        }
        // An interface that shows nothing but the refusal.
        State::Overloaded(Kind::RequestLimit) if !is_live && message.is_some() => Verdict::Limited,
        State::Idle | State::Overloaded(_) | State::Failed(_) | State::NotClaude | State::Unknown => {
            Verdict::NotLimited
        }
    }
}

/// What an organisation, a seat or a budget allows is used up or switched off.
fn is_limit_of_others(text: &str) -> bool {
    let lower = text.to_lowercase();
    !lower.starts_with("credit balance") && !lower.starts_with("api error")
}
