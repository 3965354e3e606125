//! A session's journal in use: facts in, what is due out, the note of what was said, then the views.

use std::io;

use rules::fact::{Fact, What};
use rules::streak::{Applied, Due, State};

use crate::clock::Now;
use crate::dir::Dir;
use crate::journal::Journal;
use crate::session::Session;
use crate::views;

/// The journal of a session together with its folder.
#[derive(Debug)]
pub struct Ledger {
    dir: Dir,
    journal: Journal,
}

/// What was said about something due.
#[derive(Debug)]
pub struct Note {
    /// What was due.
    pub due: Due,
    /// UTF-16 units the agent was given.
    pub length: u64,
    /// Something to remember with it, such as the model that was named.
    pub note: String,
}

impl Ledger {
    /// Opens the journal of a session. None: it has none.
    pub fn open(session: &Session) -> io::Result<Option<Self>> {
        let dir = session.sessions.folder(&session.name)?;
        Ok(Journal::open(&dir)?.map(|journal| Self { dir, journal }))
    }

    /// Opens the journal of a session, made if missing. The session counts as tracked from here on.
    pub fn make(session: &Session) -> io::Result<Self> {
        let dir = session.sessions.folder(&session.name)?;
        views::mark_tracked(&dir)?;
        let journal = Journal::open_or_make(&dir)?;
        Ok(Self { dir, journal })
    }

    /// All that is known.
    #[must_use]
    pub const fn state(&self) -> &State {
        self.journal.state()
    }

    /// Appends facts, with the counts other programs left before the first of a streak. Returns what became due with
    /// those of them that are new, and, with a turn that begins, what was queued.
    pub fn record(&mut self, facts: Vec<Fact<'_>>) -> io::Result<Vec<Due>> {
        views::mark_tracked(&self.dir)?;
        let mut batch = Vec::with_capacity(facts.len() + 1);
        for fact in facts {
            if matches!(fact.k, What::Fail | What::Api)
                && let Some(mut import) =
                    views::import(&self.dir, self.journal.state(), &fact.key, &fact.tool)
            {
                import.t = fact.t;
                import.by = fact.by.clone();
                batch.push(import);
            }
            batch.push(fact);
        }
        let applied = self.journal.append(&batch)?;
        views::mark_tracked(&self.dir)?;
        let state = self.journal.state();
        let mut due: Vec<Due> = Vec::new();
        for (fact, applied) in batch.iter().zip(applied) {
            if applied == Applied::Repeated {
                continue;
            }
            match fact.k {
                What::Fail => due.extend(state.due_at(&fact.key, &fact.id).cloned()),
                What::Turn if fact.cls == "prompt" => due.extend(state.queued().cloned()),
                _ => {}
            }
        }
        Ok(due)
    }

    /// Notes what was said, carries the state on when it is time, brings the views up to date.
    pub fn finish(mut self, notes: Vec<Note>, program: &str, now: Now) -> io::Result<()> {
        if !notes.is_empty() {
            let said: Vec<Fact<'_>> = notes
                .iter()
                .map(|note| {
                    let mut fact = Fact::new(What::Said, note.due.key.as_str(), note.due.id.as_str());
                    fact.t = now.0;
                    fact.by = program.into();
                    fact.cls = note.due.kind.word().into();
                    fact.fp = note.note.as_str().into();
                    fact.n = note.length;
                    fact
                })
                .collect();
            self.journal.append(&said)?;
        }
        self.journal.carry_on(now)?;
        views::write(&self.dir, &mut self.journal, now)
    }
}
