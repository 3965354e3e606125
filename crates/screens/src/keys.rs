//! The decision with memory: which key, if any, is right at a pane now.
//!
//! Doing nothing is always right. A key needs every one of its reasons, and each refusal says which one lacks.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    dialog::WAIT_ROW,
    history::{Native, same_text},
    input::Content,
    limit::{Kind, Limit, Moment, Wordings},
    memory::{Event, Memory},
    pane::{Foreground, Pane},
    state::{self, Essence, Message, Reading, State, Verdict},
};

/// Without the client's own word (StopFailure) a message must have stood for so many seconds: two looks.
const SECOND_LOOK_S: i64 = 60;
/// An armed client that has not continued so many seconds after the reset is worth a report.
const OVERDUE_S: i64 = 600;
/// A limit of five hours whose reset would be further ahead is one of an earlier day.
const LONGEST_SESSION_S: i64 = 6 * 3_600;
/// Tries after back-offs, in a row.
const MOST_TRIES: u32 = 3;
/// The first back-off; each further one is twice as long.
const FIRST_BACKOFF_S: i64 = 60;

/// What may be done, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Close the limit menu with Enter while the marker stands on the row that waits.
    pub menu: bool,
    /// Resume although a person, or a changed setting, ended the client's own continuation.
    pub resume_cancelled: bool,
    /// Act without the client's own `idle`, on the screen alone: clients before 2.1.150 do not write it.
    pub trust_screen: bool,
    /// Try again after an overload, a request limit or a server error.
    pub backoff: bool,
    /// Seconds after the reset before anything is sent. The client's own continuation comes 30 to 120 s after it.
    pub margin_s: i64,
    /// Seconds to wait when a message names no reset that can be read.
    pub unknown_reset_wait_s: i64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            menu: false,
            resume_cancelled: false,
            trust_screen: false,
            backoff: false,
            margin_s: 180,
            unknown_reset_wait_s: 3_600,
        }
    }
}

impl Options {
    /// Returns the options under which a screen alone is judged: everything is allowed that can be right.
    #[must_use]
    pub fn for_a_screen() -> Self {
        Self { menu: true, resume_cancelled: true, trust_screen: true, ..Self::default() }
    }
}

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Nothing.
    None,
    /// The resume text as literal text, a pause, Enter; once.
    ResumeOnce,
    /// One Enter: the marker of the limit menu stands on the row that waits.
    EnterOnWaitRow,
    /// One Enter on the empty input line of a client that asks for it.
    EnterOnce,
}

impl Keys {
    /// Returns the word for answers and logs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ResumeOnce => "resume_once",
            Self::EnterOnWaitRow => "enter_on_wait_row",
            Self::EnterOnce => "enter_once",
        }
    }
}

/// One look at a pane.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// What `capture-pane -p` printed, better with `-e`.
    pub text: &'a str,
    /// What else is known.
    pub pane: &'a Pane,
    /// The moment of the look.
    pub now: DateTime<Utc>,
    /// What the former look at this pane left.
    pub memory: Option<&'a Memory>,
    /// Nobody looked before: what stands there may be hours old.
    pub first_seen: bool,
    /// The limit as the transcript has it (`quotaLimits`), which is exact.
    pub known: Option<Limit>,
}

/// What a look at a pane comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// In one of four words.
    pub verdict: Verdict,
    /// What the client is doing.
    pub state: State,
    /// The client's own continuation.
    pub native: Native,
    /// What is used up, or broken.
    pub kind: Option<Kind>,
    /// When the limit is over.
    pub reset_at: Option<DateTime<Utc>>,
    /// The reset was understood in the host's zone, because its text names none.
    pub assumed_zone: bool,
    /// What to send.
    pub keys: Keys,
    /// Why, or why not; a fragment for logs.
    pub why: &'static str,
    /// The client is armed and should have continued ten minutes ago.
    pub is_overdue: bool,
    /// A background agent works in the session.
    pub has_background: bool,
    /// What two looks are compared by.
    pub essence: Essence,
    /// For the next look at this pane. It knows the keys of this answer as sent.
    pub memory: Memory,
}

/// Looks at a pane and decides. Pure: the same look gives the same answer.
#[must_use]
pub fn look(look: &Look<'_>, wordings: &Wordings, options: &Options) -> Answer {
    let moment = Moment { now: look.now, host: look.pane.zone() };
    let reading = state::read(look.text, look.pane, wordings, &moment);
    let mut memory = Memory::of(look.memory);
    remember(&mut memory, &reading, look, wordings, &moment);
    let event = memory.event.as_ref().filter(|event| is_shown(event, &reading));
    let (keys, why) = Decision { reading: &reading, look, options, event }.keys();
    let reset_at = event.and_then(Event::reset);
    let assumed_zone = event.is_some_and(|event| event.assumed_zone);
    carry_out(&mut memory, keys, &reading, look);
    let is_overdue = reading.state == State::Armed
        && reset_at.is_some_and(|reset| (look.now - reset).num_seconds() >= OVERDUE_S);
    let state = match reading.state.clone() {
        State::Limited { kind, .. } => State::Limited { kind, until: reset_at },
        state => state,
    };
    Answer {
        verdict: reading.verdict,
        native: reading.native,
        kind: reading.message.as_ref().map(|message| message.kind),
        reset_at,
        assumed_zone,
        keys,
        why,
        is_overdue,
        has_background: reading.has_background,
        essence: Essence {
            banner: reading.message.as_ref().map(|message| message.text.clone()),
            input: reading.input.clone(),
            native: reading.native,
            state: state.clone(),
        },
        state,
        memory,
    }
}

fn is_shown(event: &Event, reading: &Reading) -> bool {
    reading.message.as_ref().is_some_and(|message| event.is_about(&message.text))
}

/// Brings the memory up to what the screen shows.
fn remember(memory: &mut Memory, reading: &Reading, look: &Look<'_>, wordings: &Wordings, moment: &Moment) {
    let Some(message) = &reading.message else {
        match reading.state {
            // The limit was left behind. What is hidden by a dialog is not.
            State::Idle | State::NotClaude => memory.end(),
            State::Working => match memory.event.as_mut().filter(|event| is_passing(event.kind)) {
                Some(event) => event.has_worked = true,
                None => memory.end(),
            },
            _ => {}
        }
        return;
    };
    if memory.event.as_ref().is_some_and(|event| event.is_about(&message.text)) {
        return;
    }
    memory.end();
    let mut event = Event::new(&message.text, message.kind, look.now);
    let reset = reset_of(message, reading, look, wordings, moment);
    event.reset_s = reset.map(|(at, _)| at.timestamp());
    event.assumed_zone = reset.is_some_and(|(_, assumed)| assumed);
    event.is_resumed = memory.was_done(&message.text, event.reset_s);
    memory.event = Some(event);
}

/// Returns the reset of a message that is seen for the first time, and whether its zone is assumed.
fn reset_of(
    message: &Message,
    reading: &Reading,
    look: &Look<'_>,
    wordings: &Wordings,
    moment: &Moment,
) -> Option<(DateTime<Utc>, bool)> {
    if let Some(known) = look.known.filter(|_| is_account(message.kind)).and_then(|known| known.reset) {
        return Some((known.at, known.assumed_zone));
    }
    let until = message.until?;
    let ahead_s = (until - look.now).num_seconds();
    // A time of day alone means the next one after the message was written. When that was before the last one, the
    // client says so itself, or a limit of five hours cannot be so far from its end.
    let is_past = matches!(reading.native, Native::Stale | Native::Shortly)
        || (look.first_seen && is_session_limit(&message.text) && ahead_s > LONGEST_SESSION_S);
    if is_past && ahead_s > 0 {
        let yesterday = Moment { now: moment.now - TimeDelta::days(1), host: moment.host };
        let earlier = wordings.read(&message.text, &yesterday).and_then(|limit| limit.reset);
        if let Some(earlier) = earlier.filter(|reset| reset.at <= look.now) {
            return Some((earlier.at, earlier.assumed_zone));
        }
    }
    Some((until, message.assumed_zone))
}

fn is_session_limit(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["session limit", "5-hour limit", "5 hour limit", "five-hour limit"]
        .iter()
        .any(|name| lower.contains(name))
}

fn is_account(kind: Kind) -> bool {
    matches!(kind, Kind::UsageLimit | Kind::ModelLimit)
}

/// Kinds that a second try may mend.
fn is_passing(kind: Kind) -> bool {
    matches!(kind, Kind::RequestLimit | Kind::Overload | Kind::ServerError)
}

/// An answer with keys counts as sent.
fn carry_out(memory: &mut Memory, keys: Keys, reading: &Reading, look: &Look<'_>) {
    let Some(event) = &mut memory.event else { return };
    match keys {
        Keys::EnterOnWaitRow => event.is_menu_closed = true,
        Keys::EnterOnce => event.is_resumed = true,
        Keys::ResumeOnce if is_passing(event.kind) => {
            event.tries += 1;
            event.has_worked = false;
            event.next_s = None;
        }
        Keys::ResumeOnce => event.is_resumed = true,
        Keys::None => {}
    }
    // Each back-off begins when the error stands there, not when the try before it was sent.
    if matches!(reading.state, State::Overloaded(_))
        && event.next_s.is_none()
        && (event.tries == 0 || event.has_worked)
    {
        event.next_s = Some(look.now.timestamp() + backoff_s(event.tries, &look.pane.pane_id, event.first_s));
    }
}

/// Returns the wait before try `tries`, counted from 0: 60, 120, 240 s and up to half of it more, so that many panes
/// do not come back at once. The part that is added depends on the pane and the moment only.
#[must_use]
pub fn backoff_s(tries: u32, pane_id: &str, seed: i64) -> i64 {
    let wait = FIRST_BACKOFF_S << tries.min(MOST_TRIES);
    // FNV-1a: spreads, and is the same in every run.
    let bytes = pane_id.bytes().chain(seed.to_le_bytes()).chain(tries.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    wait + i64::try_from((hash >> 16) % (wait.unsigned_abs() / 2 + 1)).unwrap_or_default()
}

struct Decision<'a> {
    reading: &'a Reading,
    look: &'a Look<'a>,
    options: &'a Options,
    event: Option<&'a Event>,
}

impl Decision<'_> {
    fn keys(&self) -> (Keys, &'static str) {
        match self.refusal_or_keys() {
            Ok((keys, why)) => (keys, why),
            Err(why) => (Keys::None, why),
        }
    }

    fn refusal_or_keys(&self) -> Result<(Keys, &'static str), &'static str> {
        demand(self.look.pane.in_mode != Some(true), "copy mode")?;
        demand(self.look.pane.program() != Foreground::Other, "another program is in the foreground")?;
        match &self.reading.state {
            State::Working => Err("working"),
            State::Idle => Err("nothing is limited"),
            State::Armed => Err("the client continues by itself"),
            State::Stale => self.stale(),
            State::Menu { row } => self.menu(row),
            State::Limited { .. } | State::GaveUp | State::Cancelled => self.resume(),
            State::Overloaded(_) => self.try_again(),
            State::Failed(_) => Err("waiting does not mend this"),
            State::Question => Err("a question waits for a person"),
            State::Picker => Err("a list waits for a person"),
            State::NotClaude => Err("another program is in the foreground"),
            State::Unknown => Err("the screen is not understood"),
        }
    }

    /// The client asks for Enter; it needs no text.
    fn stale(&self) -> Result<(Keys, &'static str), &'static str> {
        let event = self.event.ok_or("no message is on screen")?;
        demand(!event.is_resumed, "already done for this limit")?;
        demand(self.reading.input == Some(Content::Empty), "the input line is not empty")?;
        self.idle()?;
        self.evidence(event)?;
        Ok((Keys::EnterOnce, "the client asks for Enter"))
    }

    fn menu(&self, row: &str) -> Result<(Keys, &'static str), &'static str> {
        demand(self.options.menu, "menus are left alone")?;
        let event = self.event.ok_or("no message is on screen")?;
        demand(row == WAIT_ROW, "the marker is not on the row that waits")?;
        demand(self.reading.is_known_menu, "the menu is not the known one")?;
        demand(!event.is_menu_closed && !event.is_resumed, "already done for this limit")?;
        self.is_own_limit(event, true)?;
        match self.look.pane.session_status.as_deref() {
            Some("waiting") => {
                let waits_for = self.look.pane.waiting_for.as_deref();
                demand(
                    waits_for.is_none_or(|it| it == "dialog open"),
                    "the client waits for something else",
                )?;
            }
            Some(_) => return Err("the client does not say that a dialog is open"),
            None => demand(self.options.trust_screen, "the client does not say what it does")?,
        }
        self.due(event)?;
        self.evidence(event)?;
        Ok((Keys::EnterOnWaitRow, "the limit is over and its menu open"))
    }

    fn resume(&self) -> Result<(Keys, &'static str), &'static str> {
        let event = self.event.ok_or("no message is on screen")?;
        demand(!event.is_resumed, "already done for this limit")?;
        self.is_own_limit(event, false)?;
        let is_cancelled = self.reading.state == State::Cancelled;
        demand(!is_cancelled || self.options.resume_cancelled, "the continuation was cancelled")?;
        self.free_line()?;
        self.due(event)?;
        self.evidence(event)?;
        Ok((Keys::ResumeOnce, "the limit is over"))
    }

    fn try_again(&self) -> Result<(Keys, &'static str), &'static str> {
        demand(self.options.backoff, "trying again is switched off")?;
        let event = self.event.ok_or("no message is on screen")?;
        demand(event.tries < MOST_TRIES, "tried often enough")?;
        demand(event.tries == 0 || event.has_worked, "the last try has not run yet")?;
        self.free_line()?;
        let next_s = event.next_s.ok_or("the back-off begins")?;
        demand(self.look.now.timestamp() >= next_s, "backing off")?;
        // The words of such an error are easily quoted; only the client's own word counts.
        demand(self.is_told(event), "no StopFailure tells of it")?;
        Ok((Keys::ResumeOnce, "the back-off is over"))
    }

    fn is_own_limit(&self, event: &Event, is_menu: bool) -> Result<(), &'static str> {
        demand(is_account(event.kind), "waiting does not mend this")?;
        demand(!self.reading.is_other_model, "the limit is another model's")?;
        // The menu also opens for a model that is not in use; then there is nothing to wait for.
        let is_known = event.kind != Kind::ModelLimit || self.reading.is_model_known || !is_menu;
        demand(is_known, "the model in use is not on screen")?;
        demand(
            self.reading.message.as_ref().is_some_and(|message| message.waits),
            "the message names no way out",
        )
    }

    /// The live input line is empty and the client idle.
    fn free_line(&self) -> Result<(), &'static str> {
        match &self.reading.input {
            None => return Err("no live input line"),
            Some(Content::Draft(_)) => return Err("a draft stands in the input line"),
            Some(Content::Empty | Content::Hint(_)) => {}
        }
        demand(!self.reading.is_queued, "messages are queued")?;
        demand(!self.reading.has_background, "a background agent works")?;
        self.idle()
    }

    fn idle(&self) -> Result<(), &'static str> {
        match self.look.pane.session_status.as_deref() {
            Some("idle") => demand(self.look.pane.waiting_for.is_none(), "the client waits for something"),
            Some(_) => Err("the client is not idle"),
            None => demand(self.options.trust_screen, "the client does not say what it does"),
        }
    }

    /// The reset is past by the margin; without a reset a fixed time has gone by.
    fn due(&self, event: &Event) -> Result<(), &'static str> {
        let now_s = self.look.now.timestamp();
        match event.reset_s {
            Some(reset_s) => {
                demand(now_s >= reset_s.saturating_add(self.options.margin_s), "the limit holds")
            }
            None => {
                let due_s = event.first_s.saturating_add(self.options.unknown_reset_wait_s);
                demand(now_s >= due_s, "no reset is known; waiting")
            }
        }
    }

    /// The client's own word for the message, or a second look at it.
    fn evidence(&self, event: &Event) -> Result<(), &'static str> {
        if let Some(failure) = self.look.pane.main_failure() {
            demand(failure.error == "rate_limit", "the last failure is another one")?;
        }
        let stood_s = self.look.now.timestamp().saturating_sub(event.first_s);
        demand(self.is_told(event) || stood_s >= SECOND_LOOK_S, "seen once; one more look")
    }

    fn is_told(&self, event: &Event) -> bool {
        let failure = self.look.pane.main_failure();
        let told = failure.and_then(|failure| failure.last_assistant_message.as_deref());
        told.is_some_and(|told| {
            // Such an error ends in an address or an id; a limit ends in its reset, which counts.
            same_text(told, &event.text)
                || (is_passing(event.kind) && same_text(&head(told), &head(&event.text)))
        })
    }
}

/// The beginning of a message, which says what happened.
fn head(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).take(30).collect()
}

fn demand(holds: bool, lacking: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(lacking) }
}
