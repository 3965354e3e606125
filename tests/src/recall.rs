//! How much of what a killed session knew reaches the next one: in its hand-off, and in the context of the next
//! session's first request.
//!
//! A [`Moment`] is a scripted session under the real client that is killed with SIGKILL, with the facts that were known
//! then. A fact counts where a phrase that is peculiar to it stands.

pub mod moments;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use scavenging::{Budget, Outcome, Request};
use session_state::{Dir, Now, Session, heartbeat, layout, session_file};

use crate::{client::Client, fake_api::text, sandbox::Sandbox, wait::wait_until, wiring::Wiring};

/// At least so much of the facts stands in the hand-off, in percent.
pub const IN_FILE: usize = 95;
/// And so much in the next session's context, in percent.
pub const IN_CONTEXT: usize = 80;
/// The context is at most this long, in UTF-16 units.
pub const MAX_CONTEXT: usize = 2_000;

/// A session whose process is gone is saved after it was silent for more than 300 s.
const SILENT_S: u64 = 400;

/// Far more than a second takes.
const TICK: Duration = Duration::from_secs(30);

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What a person asked for.
    Task,
    /// A file that was changed.
    Edited,
    /// The command that failed last, and its error.
    Failing,
    /// The call that was running.
    Running,
    /// An open item.
    Todo,
    /// The last decision.
    Decision,
}

/// Something that was known when the session was killed.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// What it is about.
    pub kind: Kind,
    /// A phrase by which it is found.
    pub phrase: &'static str,
}

/// One scripted session.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// When it is killed.
    pub name: &'static str,
    /// What was known then.
    pub facts: &'static [Fact],
    /// Plays the session, kills it and returns its id.
    pub play: fn(&Sandbox) -> String,
}

/// What was found again.
#[derive(Clone, Debug)]
pub struct Recall {
    /// The moment.
    pub moment: Moment,
    /// The killed session.
    pub session: String,
    /// The hand-off.
    pub file: String,
    /// All that hooks told the next session in its first request.
    pub context: String,
}

impl Recall {
    /// The facts that are missing in a text.
    fn missing(&self, text: &str) -> Vec<&'static Fact> {
        self.moment.facts.iter().filter(|fact| !text.contains(fact.phrase)).collect()
    }

    /// The facts that the hand-off does not hold.
    pub fn missing_in_file(&self) -> Vec<&'static Fact> {
        self.missing(&self.file)
    }

    /// The facts that the context does not hold.
    pub fn missing_in_context(&self) -> Vec<&'static Fact> {
        self.missing(&self.context)
    }

    /// Length of the context, in UTF-16 units.
    pub fn context_length(&self) -> usize {
        self.context.encode_utf16().count()
    }
}

/// Plays a moment, saves what the killed session knew, starts the next session and looks at both.
pub fn measure(client: &Client, moment: &Moment) -> Recall {
    let sandbox = Sandbox::new(client.clone(), Wiring::Default);
    // Edits count from the second after the last commit on.
    let made = Now::read().seconds();
    wait_until(TICK, "the next second", || Now::read().seconds() > made);
    let killed = (moment.play)(&sandbox);
    fall_silent(&sandbox, &killed);
    let file = save(&sandbox, &killed);
    let before = sandbox.api.requests().len();
    sandbox.api.script([text("I see.")]);
    let _ = sandbox.run_print("Where were we?", &[]);
    let requests = sandbox.api.requests();
    let first = requests.get(before).expect("the next session asks the model");
    let contexts: Vec<String> = first.contexts().into_iter().map(|context| context.text).collect();
    Recall { moment: *moment, session: killed, file, context: contexts.join("\n") }
}

/// Percent of all facts that are not missing, rounded down.
pub fn percent(recalls: &[Recall], missing: impl Fn(&Recall) -> Vec<&'static Fact>) -> usize {
    let all: usize = recalls.iter().map(|recall| recall.moment.facts.len()).sum();
    let lost: usize = recalls.iter().map(|recall| missing(recall).len()).sum();
    (all - lost) * 100 / all.max(1)
}

fn folder(sandbox: &Sandbox, session: &str) -> PathBuf {
    sandbox.project().join(layout::SESSIONS).join(session)
}

/// Sets the killed session's last sign of life back, instead of waiting for it to be old.
fn fall_silent(sandbox: &Sandbox, session: &str) {
    let then = SystemTime::now() - Duration::from_secs(SILENT_S);
    let seconds = then.duration_since(UNIX_EPOCH).expect("it is later than 1970").as_secs();
    let path = folder(sandbox, session).join(layout::HEARTBEAT);
    assert!(path.is_file(), "the killed session left no heartbeat");
    fs::write(path, format!("{seconds:010}\n")).expect("the heartbeat is writable");
}

fn save(sandbox: &Sandbox, session: &str) -> String {
    let sessions = Dir::open(&sandbox.project().join(layout::SESSIONS)).expect("the hooks made it");
    let session = Session::open_in(sessions, session).expect("the hooks made its folder");
    let file = session_file::read(&session.dir).expect("the hooks wrote its file");
    let transcript = PathBuf::from(file.transcript.as_deref().expect("the hooks noted its transcript"));
    let outcome = scavenging::scavenge(&Request {
        session: &session,
        transcript: &transcript,
        file: &file,
        now: Now::read(),
        last_beat_s: heartbeat::last(&session.dir),
        seen: None,
        budget: Budget::default(),
    });
    assert!(matches!(outcome, Ok(Outcome::Saved { .. })), "{outcome:?}");
    let path = session.dir.path().join(layout::HANDOFFS).join(layout::SCAVENGED);
    fs::read_to_string(path).expect("it was saved")
}
