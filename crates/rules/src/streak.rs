//! Streaks, and what becomes due when: a pure function of the journal's lines in their order.
//!
//! Sources: DESIGN 4 "Deciding without a lock", 5 "Once" and "Budget", 6 "What counts, for whom".

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::fact::{Fact, What};

/// Failures in a row after which the replacement of a tool is named.
pub const DEGRADATION_AT: u64 = 2;
/// Failures in a row after which waiting for an MCP server is no longer advised.
pub const FALLBACK_AT: u64 = 5;
/// Failed edits of one file in a row after which its state is named.
pub const EDITS_AT: u64 = 3;
/// Turns in a row that end on overload, or on a network error, before it is said.
pub const TURNS_AT: u64 = 3;
/// How often one finding is said in a session at most.
pub const TIMES_A_SESSION: u8 = 3;
/// UTF-16 units said in a session, after which only permanent errors are.
pub const SESSION_BUDGET: u64 = 4_000;
/// Advice that became due this long ago (milliseconds) and was not said is said by the next process.
pub const OVERDUE_MS: i64 = 2_000;

/// Streaks kept; the one longest untouched makes place.
const MAX_STREAKS: usize = 48;
/// Fact identities remembered to tell a second wiring.
const MAX_RECENT: usize = 512;
/// Facts kept at which advice about a server was called for.
const MAX_ASKED: usize = 3;
/// The note of advice that was not given, since a call beside it already spoke: it is due again at the next failure.
pub const BESIDE: &str = "beside";
/// Tool names kept of a server's streak.
const MAX_TOOLS: usize = 8;

/// A kind of advice about a streak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An MCP server failed; when to try again.
    Backoff,
    /// An MCP server failed too often, or will not come back by itself.
    Fallback,
    /// An MCP server wants a login.
    Login,
    /// An MCP server asks for patience.
    Wait,
    /// A tool keeps failing.
    Degradation,
    /// Edits of one file keep missing.
    Edits,
    /// Turns keep ending on overload.
    Model,
    /// Turns keep ending on network errors.
    Network,
    /// A turn ended on a limit.
    Limit,
    /// A turn ended on an error that does not pass by itself.
    Permanent,
    /// What a crash left (said by the crash check; kept here for the budget).
    Crash,
}

impl Kind {
    /// The word in the journal.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Backoff => "backoff",
            Self::Fallback => "fallback",
            Self::Login => "login",
            Self::Wait => "wait",
            Self::Degradation => "degradation",
            Self::Edits => "edits",
            Self::Model => "model",
            Self::Network => "network",
            Self::Limit => "limit",
            Self::Permanent => "permanent",
            Self::Crash => "crash",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        const ALL: [Kind; 11] = [
            Kind::Backoff,
            Kind::Fallback,
            Kind::Login,
            Kind::Wait,
            Kind::Degradation,
            Kind::Edits,
            Kind::Model,
            Kind::Network,
            Kind::Limit,
            Kind::Permanent,
            Kind::Crash,
        ];
        ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// One streak of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Streak {
    /// Its key, see [`Fact::key`].
    pub key: String,
    /// Failures in a row.
    pub n: u64,
    /// Something failed since the last success.
    #[serde(default)]
    pub open: bool,
    /// Class of the last failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cls: String,
    /// Evidence of the last failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub txt: String,
    /// Time of the last failure, epoch ms.
    #[serde(default)]
    pub t: i64,
    /// Tools that failed in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What was said about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    said: Vec<Said>,
    /// The facts at which advice about a server was called for, the latest first; at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked_at: Vec<Asked>,
}

impl Streak {
    /// The note of the last advice of this kind in this opening, such as the model it named.
    #[must_use]
    pub fn noted(&self, kind: Kind) -> Option<&str> {
        self.said.iter().find(|said| said.kind == kind && said.now).map(|said| said.note.as_str())
    }

    fn said(&self, kind: Kind) -> Option<&Said> {
        self.said.iter().find(|said| said.kind == kind)
    }

    /// Whether advice of this kind may be said again: not in this opening, and not too often.
    fn may_say(&self, kind: Kind) -> bool {
        self.said(kind).is_none_or(|said| !said.now && said.times < TIMES_A_SESSION)
    }
}

/// A fact at which advice was called for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Its id.
    pub id: String,
    /// Its time, epoch ms.
    pub t: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Said {
    kind: Kind,
    /// In how many openings.
    times: u8,
    /// In this opening.
    now: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
}

/// Advice that is due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Due {
    /// What kind.
    pub kind: Kind,
    /// About which streak.
    pub key: String,
    /// The fact at which it became due.
    pub id: String,
    /// Its time, epoch ms.
    pub t: i64,
}

/// All that the journal says up to a line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    streaks: Vec<Streak>,
    due: Vec<Due>,
    #[serde(with = "hex")]
    recent: VecDeque<u32>,
    spent: u64,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// A new fact.
    Fresh,
    /// A fact that stood there before (a second wiring).
    Repeated,
}

impl State {
    /// Takes in the next line.
    pub fn apply(&mut self, fact: &Fact<'_>) -> Applied {
        if fact.k == What::Carry {
            return Applied::Repeated;
        }
        let identity = identity(fact);
        if self.recent.contains(&identity) {
            return Applied::Repeated;
        }
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(identity);
        match fact.k {
            What::Fail | What::Api => self.fail(fact),
            What::Ok => {
                // Known from here on, so that a count another program left is taken away with it.
                self.touch(&fact.key);
                self.close(&fact.key);
            }
            What::Reset if fact.key == "*" => self.close_all(""),
            What::Reset => self.close(&fact.key),
            What::Turn if fact.cls == "good" => self.close_all("api:"),
            What::Import => {
                if self.streak(&fact.key).is_none() {
                    let streak = self.touch(&fact.key);
                    streak.n = fact.n;
                    streak.open = true;
                }
            }
            What::Said => self.note_said(fact),
            What::Turn | What::Edit | What::Check | What::Carry => {}
        }
        Applied::Fresh
    }

    /// A streak that was ever touched.
    #[must_use]
    pub fn streak(&self, key: &str) -> Option<&Streak> {
        self.streaks.iter().find(|streak| streak.key == key)
    }

    /// All streaks, open and closed.
    #[must_use]
    pub fn streaks(&self) -> &[Streak] {
        &self.streaks
    }

    /// Whether any streak is open or advice is due: the session is tracked.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.due.is_empty() || self.streaks.iter().any(|streak| streak.open)
    }

    /// UTF-16 units said so far.
    #[must_use]
    pub const fn spent(&self) -> u64 {
        self.spent
    }

    /// What the writer of the fact `id` about `key` may say: what became due with it.
    pub fn due_at<'s>(&'s self, key: &'s str, id: &'s str) -> impl Iterator<Item = &'s Due> {
        self.due.iter().filter(move |due| due.key == key && due.id == id && self.affordable(due.kind))
    }

    /// What is queued about API errors, for the next event that can speak.
    pub fn queued(&self) -> impl Iterator<Item = &Due> {
        self.due.iter().filter(|due| due.key.starts_with("api:") && self.affordable(due.kind))
    }

    fn affordable(&self, kind: Kind) -> bool {
        kind == Kind::Permanent || self.spent < SESSION_BUDGET
    }

    fn fail(&mut self, fact: &Fact<'_>) {
        let streak = self.touch(&fact.key);
        let counts = !matches!(&*fact.cls, "auth" | "session_expired" | "rate_limited")
            || !fact.key.starts_with("mcp:");
        streak.open = true;
        if counts {
            streak.n += 1;
        }
        fact.cls.clone_into_string(&mut streak.cls);
        fact.txt.clone_into_string(&mut streak.txt);
        streak.t = fact.t;
        if !fact.tool.is_empty()
            && streak.tools.len() < MAX_TOOLS
            && !streak.tools.iter().any(|t| *t == *fact.tool)
        {
            streak.tools.push(fact.tool.clone().into_owned());
        }
        let Some(kind) = calls_for(streak, fact) else { return };
        if fact.key.starts_with("mcp:") {
            streak.asked_at.insert(0, Asked { id: fact.id.clone().into_owned(), t: fact.t });
            streak.asked_at.truncate(MAX_ASKED);
        }
        let may = match kind {
            // Each failure up to the last has its own wait to tell; only openings are counted.
            Kind::Backoff => streak.said(kind).is_none_or(|said| said.now || said.times < TIMES_A_SESSION),
            // Three more turns on another model are a new matter; the sayer compares with its note.
            Kind::Model => streak.said(kind).is_none_or(|said| said.times < TIMES_A_SESSION),
            _ => streak.may_say(kind),
        };
        if !may {
            return;
        }
        let key = &*fact.key;
        // Said by the process that wrote that fact, which may still be at it: only when it is overdue another speaks.
        let waiting = |due: &Due| due.key == key && due.kind == kind && kind != Kind::Backoff;
        if self.due.iter().any(|due| waiting(due) && fact.t.saturating_sub(due.t) <= OVERDUE_MS) {
            return;
        }
        // A later step of the same matter takes the place of what was not said yet.
        self.due.retain(|due| due.key != key || matter(due.kind) != matter(kind));
        self.due.push(Due { kind, key: key.to_owned(), id: fact.id.clone().into_owned(), t: fact.t });
    }

    fn close(&mut self, key: &str) {
        self.due.retain(|due| due.key != key);
        if let Some(streak) = self.streaks.iter_mut().find(|streak| streak.key == key) {
            streak.n = 0;
            streak.open = false;
            streak.asked_at.clear();
            streak.said.iter_mut().for_each(|said| said.now = false);
        }
    }

    fn close_all(&mut self, prefix: &str) {
        let keys: Vec<String> =
            self.streaks.iter().filter(|s| s.key.starts_with(prefix)).map(|s| s.key.clone()).collect();
        keys.iter().for_each(|key| self.close(key));
    }

    fn note_said(&mut self, fact: &Fact<'_>) {
        self.spent += fact.n;
        let Some(kind) = Kind::from_word(&fact.cls) else { return };
        if kind == Kind::Crash {
            return;
        }
        self.due.retain(|due| due.key != fact.key || due.kind != kind);
        if fact.fp == BESIDE {
            return;
        }
        let streak = self.touch(&fact.key);
        // A success may stand between the failure and the note of what was said about it.
        let now = streak.open;
        let note = fact.fp.clone().into_owned();
        match streak.said.iter_mut().find(|said| said.kind == kind) {
            Some(said) => {
                said.times = said.times.saturating_add(u8::from(!said.now));
                said.now = now;
                said.note = note;
            }
            None => streak.said.push(Said { kind, times: 1, now, note }),
        }
    }

    fn touch(&mut self, key: &str) -> &mut Streak {
        let at = match self.streaks.iter().position(|streak| streak.key == key) {
            Some(at) => at,
            None => {
                if self.streaks.len() >= MAX_STREAKS {
                    let closed = self.streaks.iter().position(|streak| !streak.open).unwrap_or(0);
                    let gone = self.streaks.remove(closed);
                    self.due.retain(|due| due.key != gone.key);
                }
                self.streaks.push(Streak { key: key.to_owned(), ..Streak::default() });
                self.streaks.len() - 1
            }
        };
        // Most recently touched last, so that the first one is the one to go.
        self.streaks[at..].rotate_left(1);
        let last = self.streaks.len() - 1;
        &mut self.streaks[last]
    }
}

/// Kinds of one matter share a number: the later takes the place of the earlier.
const fn matter(kind: Kind) -> u8 {
    match kind {
        Kind::Backoff | Kind::Fallback => 0,
        other => 1 + other as u8,
    }
}

/// The advice a failure calls for, whether or not it was said before.
fn calls_for(streak: &Streak, fact: &Fact<'_>) -> Option<Kind> {
    let (family, _) = streak.key.split_once(':')?;
    match family {
        "mcp" => match &*fact.cls {
            "auth" | "session_expired" => Some(Kind::Login),
            "rate_limited" => Some(Kind::Wait),
            "not_connected" => Some(Kind::Fallback),
            _ if streak.n >= FALLBACK_AT => Some(Kind::Fallback),
            // Where the person was already pointed to the server, waiting is no advice any more.
            _ if streak.said(Kind::Fallback).is_some_and(|said| said.now) => None,
            _ => Some(Kind::Backoff),
        },
        "tool" | "bash" => (streak.n >= DEGRADATION_AT).then_some(Kind::Degradation),
        "file" => (streak.n >= EDITS_AT).then_some(Kind::Edits),
        "api" => match streak.key.as_str() {
            "api:overload" => streak.n.is_multiple_of(TURNS_AT).then_some(Kind::Model),
            "api:network" => (streak.n >= TURNS_AT).then_some(Kind::Network),
            "api:limit" | "api:request_limit" => Some(Kind::Limit),
            _ => Some(Kind::Permanent),
        },
        _ => None,
    }
}

/// Whether two lines are one fact.
fn identity(fact: &Fact<'_>) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    eat(&[fact.k as u8]);
    eat(fact.key.as_bytes());
    eat(&[0]);
    eat(fact.id.as_bytes());
    if fact.k == What::Said {
        eat(&[0]);
        eat(fact.cls.as_bytes());
    }
    (hash ^ (hash >> 32)) as u32
}

/// Identities as one text of eight digits each: read at every failure, so it is worth the form that reads fastest.
mod hex {
    use std::borrow::Cow;
    use std::collections::VecDeque;

    use serde::{Deserialize, Deserializer, Serializer};

    const DIGITS: &[u8; 16] = b"0123456789abcdef";

    pub(super) fn serialize<S: Serializer>(
        numbers: &VecDeque<u32>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(numbers.len() * 8);
        for number in numbers {
            for shift in (0..8).rev() {
                text.push(char::from(DIGITS[(number >> (shift * 4)) as usize & 0xf]));
            }
        }
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VecDeque<u32>, D::Error> {
        let text: Cow<'de, str> = Cow::deserialize(deserializer)?;
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => byte - b'0',
            // Anything else is of another program's making and means nothing here.
            _ => byte.wrapping_sub(b'a' - 10) & 0xf,
        };
        let number =
            |eight: &[u8]| eight.iter().fold(0, |number, byte| number << 4 | u32::from(digit(*byte)));
        Ok(text.as_bytes().chunks_exact(8).map(number).collect())
    }
}

trait CloneIntoString {
    fn clone_into_string(&self, target: &mut String);
}

impl CloneIntoString for std::borrow::Cow<'_, str> {
    fn clone_into_string(&self, target: &mut String) {
        target.clear();
        target.push_str(self);
    }
}
