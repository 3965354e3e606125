//! Facts in, advice out, and what has to be written after the answer.

use hook_io::{Mouth, Reply};
use rules::advice::Advice;
use rules::fact::Fact;
use rules::streak::{BESIDE, Due, Kind, State};
use rules::text::utf16_len;
use session_state::ledger::{Ledger, Note};
use session_state::{Project, Session, log, session_file};

use crate::call::Call;

/// A part that keeps streaks.
pub trait Tracker {
    /// What the event means for the streaks of this part, given all that is known before it.
    fn facts(&self, call: &Call<'_>, known: &Known<'_>) -> Vec<Fact<'static>>;

    /// Whether advice of this kind is this part's to give.
    fn speaks_of(&self, kind: Kind) -> bool;

    /// The words for what is due, and a note to keep with them. None: nothing to say after all.
    fn advice(&self, call: &Call<'_>, due: &Due, state: &State) -> Option<(Advice, String)>;
}

/// What is known of the session before the event.
#[derive(Debug)]
pub struct Known<'a> {
    /// All that the journal says; empty when there is none.
    pub state: &'a State,
    /// The session's folder, if there is one.
    pub session: Option<&'a Session>,
}

/// What was said in a call.
#[derive(Debug, Default)]
pub struct Spoken {
    ledger: Option<Ledger>,
    notes: Vec<Note>,
    withheld: Vec<Note>,
    /// The advice, in the order in which it was given.
    pub advice: Vec<Advice>,
}

/// Records what the event means and returns what is to be said about it. Nothing is printed yet.
///
/// An error in the state means silence: the call itself is never harmed.
pub fn track(call: &Call<'_>, trackers: &[&dyn Tracker]) -> Spoken {
    try_track(call, trackers).unwrap_or_default()
}

fn try_track(call: &Call<'_>, trackers: &[&dyn Tracker]) -> std::io::Result<Spoken> {
    let session = Session::open(call.project, &call.event.session_id);
    let before = match &session {
        Some(session) => Ledger::open(session)?,
        None => None,
    };
    let empty = State::default();
    let known = Known { state: before.as_ref().map_or(&empty, Ledger::state), session: session.as_ref() };
    let mut facts: Vec<Fact<'static>> =
        trackers.iter().flat_map(|tracker| tracker.facts(call, &known)).collect();
    if facts.is_empty() {
        return Ok(Spoken::default());
    }
    for fact in &mut facts {
        fact.t = call.now.0;
        fact.by = call.program.into();
    }
    let session = match session {
        Some(session) => session,
        None => Session::make(call.project, &call.event.session_id)?,
    };
    let mut ledger = match before {
        Some(ledger) => ledger,
        None => Ledger::make(&session)?,
    };
    let due = ledger.record(facts)?;
    let mut spoken = Spoken::default();
    if Mouth::of(&call.event.name).is_some() {
        for due in &due {
            let Some(tracker) = trackers.iter().find(|tracker| tracker.speaks_of(due.kind)) else { continue };
            let Some((advice, note)) = tracker.advice(call, due, ledger.state()) else {
                // The one advice that has to come after all, at the very next failure.
                if due.kind == Kind::Fallback {
                    spoken.withheld.push(Note { due: due.clone(), length: 0, note: BESIDE.to_owned() });
                }
                continue;
            };
            let length = advice.agent.as_deref().map_or(0, utf16_len) as u64;
            spoken.notes.push(Note { due: due.clone(), length, note });
            spoken.advice.push(advice);
        }
    }
    spoken.ledger = Some(ledger);
    Ok(spoken)
}

impl Spoken {
    /// What has to be written after the answer: the note of what was said, the views, the log.
    pub fn finish(self, call: &Call<'_>) {
        let Some(ledger) = self.ledger else { return };
        let session = Session::open(call.project, &call.event.session_id);
        for (note, advice) in self.notes.iter().zip(&self.advice) {
            note_in_log(call.project, session.as_ref(), call, &note.due, advice);
        }
        // Views and carried state are made anew by the next call.
        let _ = ledger.finish(self.notes.into_iter().chain(self.withheld).collect(), call.program, call.now);
    }
}

fn note_in_log(project: &Project, session: Option<&Session>, call: &Call<'_>, due: &Due, advice: &Advice) {
    let pane = session.and_then(|session| session_file::read(&session.dir)?.tmux?.pane);
    let entry = log::Entry {
        session: &call.event.session_id,
        pane: pane.as_deref().unwrap_or("-"),
        error: &due.key,
        action: due.kind.word(),
        result: advice.agent.as_deref().or(advice.person.as_deref()).unwrap_or("told"),
    };
    // A log that cannot be written changes nothing.
    let _ = log::write(project, session, entry, call.now);
}

/// A context is at most this long, in UTF-16 units; what does not fit is counted.
const CONTEXT_BUDGET: usize = 2_000;

/// Joins advice into one answer: texts for the agent one a line, lines for the person likewise.
#[must_use]
pub fn reply(advice: &[Advice]) -> Reply {
    let mut agent: Vec<&str> = advice.iter().filter_map(|advice| advice.agent.as_deref()).collect();
    let person: Vec<&str> = advice.iter().filter_map(|advice| advice.person.as_deref()).collect();
    let all = agent.len();
    let mut used = 0;
    agent.retain(|text| {
        used += utf16_len(text) + 1;
        used <= CONTEXT_BUDGET
    });
    let cut = all - agent.len();
    let mut text = agent.join("\n");
    if cut > 0 {
        text.push_str(&format!("\n({cut} more not shown)"));
    }
    Reply {
        agent: (!text.is_empty()).then_some(text),
        person: (!person.is_empty()).then(|| person.join("\n")),
    }
}
