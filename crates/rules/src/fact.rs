//! What a journal line says.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::streak::State;

/// The version of the journal's lines. A reader skips lines of a newer version.
pub const VERSION: u8 = 1;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A call failed in a way that counts for its streak.
    Fail,
    /// A call succeeded (or a server answered): its streak is over.
    Ok,
    /// A file was edited while a check was failing.
    Edit,
    /// A test, build or lint ran.
    Check,
    /// A turn ended on an API error.
    Api,
    /// A turn began (`cls` = `prompt`) or ended well (`cls` = `good`).
    Turn,
    /// Advice was given.
    Said,
    /// A count left by another program was taken over.
    Import,
    /// A person set a streak back.
    Reset,
    /// All of the state up to an offset, so that reading stays bounded.
    Carry,
}

/// One line of the journal.
///
/// Two lines with the same `k`, `key` and `id` are one fact: the second comes from a second wiring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact<'a> {
    /// Version, [`VERSION`].
    pub v: u8,
    /// Epoch milliseconds. The order of facts is the file's, never this.
    #[serde(default)]
    pub t: i64,
    /// The program that wrote it.
    #[serde(borrow, default)]
    pub by: Cow<'a, str>,
    /// What happened.
    pub k: What,
    /// `tool_use_id`, else `prompt_id`, else a number used once.
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    /// The streak: `mcp:SERVER`, `tool:NAME[@AGENT]`, `bash:PROGRAM[@AGENT]`, `file:HASH[@AGENT]`, `api:CLASS`.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub key: Cow<'a, str>,
    /// Class of an error; kind of an advice.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub cls: Cow<'a, str>,
    /// A fingerprint: of an error, of the model message a call belongs to; the note of an advice.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub fp: Cow<'a, str>,
    /// `tool_name`.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub tool: Cow<'a, str>,
    /// A count: taken over (`import`), or UTF-16 units said (`said`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n: u64,
    /// Byte offset up to which a `carry` holds everything.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub up: u64,
    /// Evidence for people: at most 200 characters, redacted and sanitised before it is written.
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub txt: Cow<'a, str>,
    /// The state of a `carry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s: Option<State>,
}

impl<'a> Fact<'a> {
    /// A fact with nothing but its identity.
    #[must_use]
    pub fn new(what: What, key: impl Into<Cow<'a, str>>, id: impl Into<Cow<'a, str>>) -> Self {
        Self {
            v: VERSION,
            t: 0,
            by: Cow::Borrowed(""),
            k: what,
            id: id.into(),
            key: key.into(),
            cls: Cow::Borrowed(""),
            fp: Cow::Borrowed(""),
            tool: Cow::Borrowed(""),
            n: 0,
            up: 0,
            txt: Cow::Borrowed(""),
            s: None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
