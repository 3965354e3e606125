//! What stays as it is although it was told: work of another system, whose files are only read.

use rules::liveness::Process;
use rules::text::utf16_len;
use session_state::status::{self, Status};
use session_state::{FileStat, Session, hash_name, session_file, told};

use crate::{Finding, Repair, Scan, Weight};

/// A sentence that one session is told, and the next one only when its subject has changed or who was told was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Once {
    what: &'static str,
    sentence: String,
    fingerprint: String,
}

impl Once {
    /// A sentence of a kind; `subject` says in any words what it is about, and changes when it is to be told anew.
    pub(crate) fn new(what: &'static str, sentence: String, subject: &str) -> Self {
        Self { what, sentence, fingerprint: hash_name(&format!("{what} {subject}")) }
    }

    /// Its length with the gap before it, in UTF-16 units.
    pub(crate) fn units(&self) -> usize {
        utf16_len(&self.sentence) + 1
    }

    /// What tells it apart from what else is told once.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// What it is about, for the log.
    #[must_use]
    pub const fn what(&self) -> &'static str {
        self.what
    }

    /// Takes the sentence for a session that asked, whoever else was told; None: this session was.
    ///
    /// Errors: it could not be noted, so it must not be told.
    pub fn for_who_asked(self, teller: &Session) -> std::io::Result<Option<String>> {
        Ok(told::take(teller, &self.fingerprint, usize::MAX, |_| true)?.then_some(self.sentence))
    }

    pub(crate) fn finding(self) -> Finding {
        Finding::mended(Weight::Interrupted, self.what, self)
    }
}

impl Repair for Once {
    fn mend(&self, _: &Scan<'_>, teller: &Session) -> std::io::Result<Vec<String>> {
        let mine = told::take(teller, &self.fingerprint, 1, |name| !was_cut_off(teller, name))?;
        Ok(mine.then(|| self.sentence.clone()).into_iter().collect())
    }
}

/// Whether another session is proven gone without an end.
fn was_cut_off(teller: &Session, name: &str) -> bool {
    teller.sessions.folder(name).is_ok_and(|dir| {
        let ended = matches!(status::read(&dir), Some(Status::Ended | Status::Superseded));
        let process = session_file::read(&dir).and_then(|file| file.process);
        !ended && process.is_some_and(|process| process.presence() == Process::Gone)
    })
}

/// What changes with a file.
pub(crate) fn stamp(stat: Option<FileStat>) -> String {
    stat.map_or_else(|| "-".to_owned(), |stat| format!("{}.{}.{}", stat.mtime_s, stat.mtime_ns, stat.size))
}
