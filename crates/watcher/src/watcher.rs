//! One tick after the other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rules::liveness::{Process, Verdict, verdict};
use scavenging::{Budget, Outcome};
use screens::Wordings;
use session_state::env::{self, Env};
use session_state::transcript::Stamp;
use session_state::{Dir, Now, Project, registry};

use crate::memory::Memory;
use crate::pace::{self, Pace, Seen, Step};
use crate::pane::Target;
use crate::places::Places;
use crate::report::Act;
use crate::roster::{Floor, Known, Roster};
use crate::settings::Settings;
use crate::snapshot::{Orphan, Snapshot, VERSION};
use crate::world::{TerminalError, World};

/// Projects watched at most.
const MAX_PROJECTS: usize = 1_000;

/// Which projects are watched.
#[derive(Debug)]
pub enum Which {
    /// These.
    Given(Vec<Project>),
    /// All that the hooks wrote down.
    Registered,
}

/// Watches.
#[derive(Debug)]
pub struct Watcher<W> {
    /// The world it acts on.
    pub world: W,
    pub(crate) settings: Settings,
    pub(crate) wordings: Wordings,
    pub(crate) memory: Memory,
    pub(crate) ticks: u64,
    /// The zone of this host, which clients show times in.
    pub(crate) host_tz: Option<String>,
    /// Says what it would do and does nothing.
    pub(crate) dry_run: bool,
    env: Env,
    which: Which,
    /// Folder of its log and its memory; None: neither is kept.
    dir: Option<Dir>,
    pace: Pace,
    /// Sessions that were saved, or could not be: each is tried once.
    saved: HashSet<String>,
    orphans: HashSet<String>,
    places: Places,
    /// Transcripts of dead sessions that were still written to, as they looked then.
    growing: HashMap<String, Stamp>,
}

/// What a tick came to.
#[derive(Clone, Debug, Default)]
pub struct Ticked {
    /// What it saw.
    pub snapshot: Snapshot,
    /// What it did, or did not for a reason that was not said before: the lines of the log.
    pub lines: Vec<String>,
}

/// A tick in the making.
pub(crate) struct Tick<'t> {
    pub(crate) now: Now,
    pub(crate) projects: &'t [Project],
    pub(crate) roster: &'t Roster,
    pub(crate) floor: &'t Floor,
    pub(crate) ticked: Ticked,
}

impl<W: World> Watcher<W> {
    /// A watcher that remembers in `dir`.
    #[must_use]
    pub fn new(
        world: W,
        env: Env,
        settings: Settings,
        which: Which,
        interval: Duration,
        dir: Option<Dir>,
    ) -> Self {
        // Without a memory on disk no key is sent.
        let own = dir.as_ref().and_then(|dir| Dir::open(dir.path()).ok());
        let memory = own.map_or_else(Memory::fleeting, Memory::read);
        Self {
            wordings: Wordings::with(settings.wordings.clone()),
            world,
            settings,
            memory,
            ticks: 0,
            host_tz: env.text(env::TZ).or_else(|| iana_time_zone::get_timezone().ok()),
            dry_run: false,
            env,
            which,
            pace: Pace::new(interval, None),
            saved: HashSet::new(),
            orphans: HashSet::new(),
            growing: HashMap::new(),
            places: dir.as_ref().map(Places::read).unwrap_or_default(),
            dir,
        }
    }

    /// Says what it would do and does nothing: no key, no file.
    #[must_use]
    pub fn dry(mut self) -> Self {
        self.dry_run = true;
        self.dir = None;
        self.memory = self.memory.detached();
        self
    }

    /// How many panes are remembered; bounded whatever comes.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.memory.len() + self.saved.len() + self.orphans.len() + self.growing.len() + self.places.len()
    }

    /// Looks once at everything, and does what is due.
    pub fn tick(&mut self) -> Ticked {
        let now = self.world.now();
        let step = self.pace.step(now, Some(self.world.monotonic()));
        let projects = match &self.which {
            Which::Given(projects) => projects.clone(),
            Which::Registered => registry::all(&self.env, MAX_PROJECTS),
        };
        let roster = Roster::read(&projects, &self.world);
        let own = self.world.own_server();
        let floor = Floor::read(own.as_ref().ok(), &roster, &mut self.world);
        let mut tick =
            Tick { now, projects: &projects, roster: &roster, floor: &floor, ticked: Ticked::default() };
        self.ticks += 1;
        self.open_snapshot(&mut tick, step, own.err());
        if self.settings.scavenge {
            self.save_the_dead(&mut tick, step);
        }
        if self.settings.resume && step == Step::Go {
            self.look_at_panes(&mut tick);
            self.memory.settle();
            // Not right after a sleep: what was done before it would be forgotten before its pane is seen again.
            self.memory.forget(now);
        }
        self.note_places(&tick);
        if let Err(error) = self.memory.keep(false) {
            tracing::warn!(%error, "what is remembered of panes was not written");
        }
        let ticked = tick.ticked;
        if let Some(dir) = &self.dir
            && let Err(error) = ticked.snapshot.write(dir)
        {
            tracing::warn!(%error, "the state was not written");
        }
        ticked
    }

    fn open_snapshot(&self, tick: &mut Tick<'_>, step: Step, own: Option<TerminalError>) {
        let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
        for known in &tick.roster.sessions {
            *verdicts.entry(verdict(&known.signs(tick.floor, tick.now)).name()).or_default() += 1;
        }
        let troubles = tick.floor.troubles().map(|(server, error)| match &server.socket {
            Some(socket) => format!("{}: {error}", socket.display()),
            None => error.to_string(),
        });
        let own =
            own.filter(|error| !matches!(error, TerminalError::NoServer)).map(|error| error.to_string());
        tick.ticked.snapshot = Snapshot {
            v: VERSION,
            at_s: tick.now.seconds(),
            ticks: self.ticks,
            skipped: match step {
                Step::Go => None,
                Step::Skip(why) => Some(why.word().to_owned()),
            },
            projects: tick.projects.iter().map(|project| project.root.display().to_string()).collect(),
            sessions: verdicts.into_iter().map(|(word, count)| (word.to_owned(), count)).collect(),
            has_terminals: !tick.floor.is_empty(),
            troubles: own.into_iter().chain(troubles).collect(),
            ..Snapshot::default()
        };
    }

    /// Writes down by names where sessions are, for the day their server is gone.
    fn note_places(&mut self, tick: &Tick<'_>) {
        for known in tick.roster.sessions.iter().filter(|known| known.process != Process::Gone) {
            if let Some((_, pane)) = known.target(tick.floor, &self.world) {
                self.places.note(&known.id, pane, tick.now);
            }
        }
        if let Some(dir) = &self.dir
            && let Err(error) = self.places.keep(dir, tick.now)
        {
            tracing::warn!(%error, "where sessions are was not written");
        }
    }

    fn save_the_dead(&mut self, tick: &mut Tick<'_>, step: Step) {
        let sessions = &tick.roster.sessions;
        let is_there: HashSet<&str> = sessions.iter().map(|known| known.id.as_str()).collect();
        self.saved.retain(|id| is_there.contains(id.as_str()));
        self.orphans.retain(|id| is_there.contains(id.as_str()));
        self.growing.retain(|id, _| is_there.contains(id.as_str()));
        let seen: Vec<Seen> = sessions
            .iter()
            .map(|known| Seen { id: known.id.clone(), signs: known.signs(tick.floor, tick.now) })
            .collect();
        let due: HashSet<&str> = pace::to_save(step, &seen, &mut self.saved).into_iter().collect();
        for (known, seen) in tick.roster.sessions.iter().zip(&seen) {
            if due.contains(seen.id.as_str()) {
                self.save(tick, known);
            }
            if verdict(&seen.signs) == Verdict::Orphan {
                self.tell_of_orphan(tick, known);
            }
        }
    }

    fn save(&mut self, tick: &mut Tick<'_>, known: &Known) {
        let result = if self.dry_run {
            "would be saved: its process is gone".to_owned()
        } else {
            let transcript = Path::new(known.file.transcript.as_deref().unwrap_or_default());
            let request = scavenging::Request {
                session: &known.session,
                transcript,
                file: &known.file,
                now: tick.now,
                last_beat_s: known.beat_s,
                seen: self.growing.remove(&known.id),
                budget: Budget::default(),
            };
            match scavenging::scavenge(&request) {
                Ok(Outcome::Saved { bytes, .. }) => format!("saved to handoffs/scavenged.md, {bytes} bytes"),
                Ok(Outcome::AlreadyThere) => "a hand-off was there already and is kept".to_owned(),
                Ok(Outcome::NothingKnown) => "nothing was known to save".to_owned(),
                Ok(Outcome::Growing) => {
                    // Somebody still writes: looked at again at the next tick.
                    self.saved.remove(&known.id);
                    if let Some(stamp) = scavenging::stamp(transcript) {
                        self.growing.insert(known.id.clone(), stamp);
                    }
                    return;
                }
                Err(error) => format!("not saved: {error}"),
            }
        };
        self.act(tick, Some(known), None, "dead", "scavenge", &result);
    }

    fn tell_of_orphan(&mut self, tick: &mut Tick<'_>, known: &Known) {
        let pid = known.client.as_ref().map(|client| client.pid);
        let pid = pid.or_else(|| known.file.process.as_ref().map(|process| process.pid));
        tick.ticked.snapshot.orphans.push(Orphan {
            session: known.id.clone(),
            project: tick.projects[known.project].root.display().to_string(),
            pid,
            last_s: known.last_beat_s,
        });
        if self.orphans.insert(known.id.clone()) {
            let pid = pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string());
            self.act(
                tick,
                Some(known),
                None,
                "orphan",
                "none",
                &format!("its terminal is gone, pid {pid} lives"),
            );
        }
    }

    /// Reports an act or a refusal, everywhere it is to be heard of.
    pub(crate) fn act(
        &mut self,
        tick: &mut Tick<'_>,
        known: Option<&Known>,
        target: Option<&Target>,
        kind: &str,
        action: &str,
        result: &str,
    ) {
        let session = known.map_or("-", |known| known.id.as_str());
        let act = Act { session, target, kind, action, result };
        let pane = target.map_or_else(|| "-".to_owned(), Target::word);
        tracing::info!(session, pane, kind, action, result);
        tick.ticked.lines.push(format!("{kind} session={session} pane={pane} {action}: {result}"));
        if self.dry_run {
            return;
        }
        let project = known.map(|known| (&tick.projects[known.project], &known.session));
        act.log(self.dir.as_ref(), project, self.world.now());
        let heard = act.to_json(project.map(|(project, _)| project), self.world.now());
        self.world.hear(&heard);
    }
}
