//! Panes at a limit: what is known of each, whether a key is due, the key, and what came of it.
//!
//! All of it must agree (DESIGN 6 "Keys into a pane"): the session in the pane has an undone failure (without hooks: the
//! same banner at two looks), the client's own file says that it waits, the screen says so at two looks, and the reset is
//! past. Attempts are counted on disk before the key is sent.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, TimeZone as _, Utc};
use rules::api::ApiClass;
use rules::liveness::Process;
use screens::{Answer, Keys, Look, Outcome, State};
use session_state::client_sessions::ClientSession;
use session_state::{Now, hash, heartbeat};

use crate::evidence::Evidence;
use crate::pane::{Pane, Server, Target};
use crate::roster::Known;
use crate::snapshot::PaneView;
use crate::watcher::{Tick, Watcher};
use crate::world::World;

/// Acts in one tick; the others have their turn at the next.
const ACTS_A_TICK: usize = 5;
/// Between two acts.
const STAGGER: Duration = Duration::from_secs(3);
/// Spread of panes somebody has before his eyes, in seconds after the margin; of all others, twice as far.
const SPREAD_S: u64 = 60;
/// A pane that is refused its key is told of when it should have had it this long ago, in seconds: two looks.
const LATE_S: i64 = 120;
/// After a key: how long its effect is waited for, and how often it is looked at.
const EFFECT: Duration = Duration::from_secs(12);
const LOOK: Duration = Duration::from_millis(500);
/// After this much of it the text still stands in the line: one more Enter (clients before 2.1.80).
const SECOND_ENTER: Duration = Duration::from_secs(3);
/// Texts, and lone Enters, for one limit event.
const TRIES: u32 = 1;
/// Texts after one overload (DESIGN 6, FORMATS 3.8).
const BACK_OFF_TRIES: u32 = 3;

/// A pane with a client in it.
pub(crate) struct Case<'t> {
    target: Target,
    pane: &'t Pane,
    known: Option<&'t Known>,
    client: Option<&'t ClientSession>,
    evidence: Evidence,
}

impl Case<'_> {
    /// The session, as far as anybody knows it.
    fn session(&self) -> Option<&str> {
        let known = self.known.map(|known| known.id.as_str());
        known.or_else(|| self.client.map(|client| client.session_id.as_str()))
    }

    /// The last sign of life that its hooks left. A client that stands at a limit leaves none.
    fn beat(&self) -> Option<i64> {
        self.known.and_then(|known| heartbeat::last(&known.session.dir))
    }

    /// What the reading of its screen is told beside the text.
    fn facts(&self, host_tz: Option<&str>) -> screens::Pane {
        let version = self.client.and_then(|client| client.version.clone());
        screens::Pane {
            pane_id: self.target.word(),
            in_mode: Some(self.pane.in_mode),
            foreground: Some(self.pane.command.clone()),
            width: Some(self.pane.width.into()),
            height: Some(self.pane.height.into()),
            host_tz: host_tz.map(str::to_owned),
            capture: Some("capture-pane -e -p".to_owned()),
            client: version.or_else(|| self.known.and_then(|known| known.file.client_version.clone())),
            session_status: self.client.and_then(|client| client.status.clone()),
            waiting_for: self.client.and_then(|client| client.waiting_for.clone()),
            stop_failure: self.evidence.failure.as_ref().map(|failure| screens::StopFailure {
                error: error_word(failure.class).to_owned(),
                last_assistant_message: Some(failure.text.clone()),
                agent_id: None,
            }),
        }
    }
}

/// The client's word for a class, as its hooks have it.
fn error_word(class: ApiClass) -> &'static str {
    match class {
        ApiClass::UsageLimit | ApiClass::ModelLimit | ApiClass::RequestLimit | ApiClass::Billing => {
            "rate_limit"
        }
        ApiClass::Overload | ApiClass::Server | ApiClass::Network => "server_error",
        ApiClass::Auth => "authentication_failed",
        ApiClass::TooLong | ApiClass::Refused => "invalid_request",
        ApiClass::ModelNotFound => "model_not_found",
        ApiClass::OutputLimit => "max_output_tokens",
        ApiClass::Other => "unknown",
    }
}

/// What is due in a pane after all has been heard.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Due {
    /// A key, now.
    Key(Keys),
    /// Nothing, and nobody needs to be told.
    Quiet(&'static str),
    /// Nothing, for a reason somebody should know: said once for each event.
    Refused(&'static str),
}

impl<W: World> Watcher<W> {
    /// Looks at every pane that may hold a client, and acts where all agrees.
    pub(crate) fn look_at_panes(&mut self, tick: &mut Tick<'_>) {
        let mut cases: Vec<Case<'_>> = Vec::new();
        let mut folders = HashMap::new();
        for (server, pane) in tick.floor.panes().filter(|(_, pane)| pane.may_be_a_client()) {
            let target = Target { server: server.clone(), pane: pane.id.clone() };
            let client = tick.roster.client_in(pane, tick.floor, &self.world);
            let known = session_in(tick, &target, client, &self.world);
            let client = client.or_else(|| known?.client.as_ref());
            if known.is_none() && !self.is_watched(tick, client, &target, &mut folders) {
                continue;
            }
            let evidence = known.map(Evidence::of).unwrap_or_default();
            cases.push(Case { target, pane, known, client, evidence });
        }
        let screens = self.screens(&cases);
        // Whoever sits before a pane comes first.
        let mut order: Vec<usize> = (0..cases.len()).collect();
        order.sort_by_key(|at| !cases[*at].pane.in_front);
        let mut acts = 0;
        for at in order {
            let (case, Some(screen)) = (&cases[at], &screens[at]) else { continue };
            let answer = self.read(case, screen, tick.now);
            let due = self.judge(case, &answer, tick.now);
            let remembered = self.memory.of(&case.target);
            remembered.is_seen(tick.now);
            // The reading takes a key for sent; one that is not is not remembered.
            if answer.keys == Keys::None {
                remembered.screen = Some(answer.memory.clone());
            }
            view(tick, case, &answer, &due);
            match due {
                Due::Quiet(_) => {}
                Due::Refused(reason) => self.refuse(tick, case, &answer, reason),
                Due::Key(keys) if acts < ACTS_A_TICK => {
                    if acts > 0 && !self.world.pause(STAGGER) {
                        return;
                    }
                    acts += 1;
                    self.answer(tick, case, &answer, keys);
                }
                // Its turn comes at the next tick; the answer is not carried out, so it is not remembered.
                Due::Key(_) => {}
            }
        }
    }

    /// Whether a client without hooks works in one of the projects.
    fn is_watched(
        &mut self,
        tick: &Tick<'_>,
        client: Option<&ClientSession>,
        target: &Target,
        folders: &mut HashMap<Server, HashMap<String, PathBuf>>,
    ) -> bool {
        let told = client.map(|client| PathBuf::from(&client.cwd)).filter(|folder| folder.is_absolute());
        let folder = told.or_else(|| {
            // Asked once for all panes of a server, and only if there is a pane nobody else tells of.
            let of_server =
                folders.entry(target.server.clone()).or_insert_with(|| self.world.folders(&target.server));
            of_server.get(&target.pane).cloned()
        });
        folder.is_some_and(|folder| tick.projects.iter().any(|project| folder.starts_with(&project.root)))
    }

    /// All screens, one process for many.
    fn screens(&mut self, cases: &[Case<'_>]) -> Vec<Option<String>> {
        let mut by_server: BTreeMap<&Server, Vec<usize>> = BTreeMap::new();
        for (at, case) in cases.iter().enumerate() {
            by_server.entry(&case.target.server).or_default().push(at);
        }
        let mut screens = vec![None; cases.len()];
        for (server, members) in by_server {
            let panes: Vec<&str> = members.iter().map(|at| cases[*at].target.pane.as_str()).collect();
            for (at, screen) in members.iter().zip(self.world.screens(server, &panes)) {
                screens[*at] = screen;
            }
        }
        screens
    }

    fn read(&mut self, case: &Case<'_>, screen: &str, now: Now) -> Answer {
        let mut options = self.settings.options();
        options.margin_s += spread_s(case);
        let memory = self.memory.of(&case.target).screen.clone();
        let facts = case.facts(self.host_tz.as_deref());
        let look = Look {
            text: screen,
            pane: &facts,
            now: instant(now),
            memory: memory.as_ref(),
            // Also at the second look of the first time: both read the same reset.
            first_seen: memory.is_none(),
            known: case.evidence.exact(),
        };
        screens::look(&look, &self.wordings, &options)
    }

    /// What is due, after the screen has said its part: the interlocks that are not on it.
    fn judge(&mut self, case: &Case<'_>, answer: &Answer, now: Now) -> Due {
        let is_late = self.is_late(case, answer, now);
        let remembered = self.memory.of(&case.target);
        if let Some(event) = event(case, answer) {
            remembered.turn_to(&event);
            if std::mem::take(&mut remembered.is_doubtful) && !event.is_empty() {
                remembered.resumed = u32::MAX;
                remembered.entered = u32::MAX;
            }
        }
        if answer.is_overdue {
            return Due::Refused(
                "the client wants to continue by itself and has not, ten minutes after the reset",
            );
        }
        if answer.keys == Keys::None {
            let is_lasting = match answer.state {
                State::Failed(_) => true,
                State::Cancelled => !self.settings.resume_cancelled,
                _ => is_late && remembered.resumed == 0 && remembered.entered == 0,
            };
            return if is_lasting { Due::Refused(answer.why) } else { Due::Quiet(answer.why) };
        }
        let (used, tries) = match answer.keys {
            Keys::ResumeOnce if matches!(answer.state, State::Overloaded(_)) => {
                (remembered.resumed, BACK_OFF_TRIES)
            }
            Keys::ResumeOnce => (remembered.resumed, TRIES),
            Keys::None | Keys::EnterOnWaitRow | Keys::EnterOnce => (remembered.entered, TRIES),
        };
        if used >= tries {
            return Due::Quiet("was answered already");
        }
        if remembered.acts_today(now) >= usize::try_from(self.settings.acts_a_day).unwrap_or(usize::MAX) {
            return Due::Refused("as many keys as allowed within a day were sent to this pane");
        }
        if case.evidence.hooks_tell && case.evidence.failure.is_none() {
            return Due::Quiet("the session's hooks know of no limit: the text is history");
        }
        if matches!(answer.state, State::Overloaded(_)) && !case.pane.in_front {
            return Due::Quiet("an overloaded pane that nobody looks at is not tried again");
        }
        Due::Key(answer.keys)
    }

    /// Whether a limited pane should have had its key by now, and has not: somebody should know why.
    fn is_late(&self, case: &Case<'_>, answer: &Answer, now: Now) -> bool {
        let is_limited = matches!(
            answer.state,
            State::Limited { .. } | State::GaveUp | State::Cancelled | State::Stale | State::Menu { .. }
        );
        let due_s = answer.reset_at.map(|reset| reset.timestamp() + self.settings.options().margin_s);
        is_limited && due_s.is_some_and(|due_s| now.seconds() >= due_s + spread_s(case) + LATE_S)
    }

    /// Reports that nothing was sent, once for each event and reason.
    fn refuse(&mut self, tick: &mut Tick<'_>, case: &Case<'_>, answer: &Answer, reason: &str) {
        if self.memory.of(&case.target).is_news(reason) {
            self.act(tick, case.known, Some(&case.target), kind_word(answer), "none", reason);
        }
    }

    /// Looks once more, counts, sends, and sees what came of it.
    fn answer(&mut self, tick: &mut Tick<'_>, case: &Case<'_>, first: &Answer, keys: Keys) {
        let action = match keys {
            Keys::ResumeOnce => "resume",
            _ => "enter",
        };
        if self.dry_run {
            // In this process only, so that it is said once.
            let remembered = self.memory.of(&case.target);
            remembered.screen = Some(first.memory.clone());
            remembered.resumed += 1;
            let what = match keys {
                Keys::ResumeOnce => format!("would type {:?} and press Enter", self.settings.resume_text),
                _ => "would press Enter once".to_owned(),
            };
            self.act(tick, case.known, Some(&case.target), kind_word(first), action, &what);
            return;
        }
        if let Err(reason) = self.second_look(case, first) {
            // Not carried out and not remembered: the next tick looks anew.
            self.refuse(tick, case, first, &format!("not sent: {reason}"));
            return;
        }
        let remembered = self.memory.of(&case.target);
        remembered.screen = Some(first.memory.clone());
        remembered.count(tick.now);
        match keys {
            Keys::ResumeOnce => remembered.resumed += 1,
            _ => remembered.entered += 1,
        }
        let result = match self.memory.keep(true) {
            Err(error) => format!("not sent: the attempt cannot be written down ({error})"),
            Ok(()) if keys == Keys::ResumeOnce => self.resume(case),
            Ok(()) => self.enter(case, first),
        };
        self.act(tick, case.known, Some(&case.target), kind_word(first), action, &result);
    }

    /// The same pane, the same client, the same screen, still: or why not.
    fn second_look(&mut self, case: &Case<'_>, first: &Answer) -> Result<(), String> {
        if let Some(client) = case.client {
            let now = self.world.clients().into_iter().find(|one| one.pid == client.pid);
            let same =
                now.is_some_and(|now| now.session_id == client.session_id && now.status == client.status);
            if !same || self.world.presence(&client.process()) != Process::Alive {
                return Err("the client has changed".to_owned());
            }
        }
        let second = self.look_again(case).ok_or("the screen cannot be read")?;
        if second.essence != first.essence || second.keys != first.keys {
            return Err("the screen has changed between two looks".to_owned());
        }
        // Last, right before the key: the capture of a pane in copy mode looks as if it were not.
        self.same_pane(case)
    }

    /// The pane is still there, in the hands of the same program, and keys go to it.
    fn same_pane(&mut self, case: &Case<'_>) -> Result<(), String> {
        let panes = self.world.panes(&case.target.server).map_err(|error| error.to_string())?;
        let pane = panes.iter().find(|pane| pane.id == case.target.pane).ok_or("the pane is gone")?;
        if pane.pid != case.pane.pid || pane.command != case.pane.command || pane.in_mode || pane.dead {
            return Err("the pane has changed".to_owned());
        }
        Ok(())
    }

    /// One more look with the memory from before the first.
    fn look_again(&mut self, case: &Case<'_>) -> Option<Answer> {
        let screen = self.world.screens(&case.target.server, &[&case.target.pane]).pop().flatten()?;
        let now = self.world.now();
        Some(self.read(case, &screen, now))
    }

    /// Types the text, and presses Enter only where the text arrived.
    fn resume(&mut self, case: &Case<'_>) -> String {
        let text = self.settings.resume_text.clone();
        if let Err(error) = self.world.type_text(&case.target, &text) {
            return format!("the text may not have arrived: {error}");
        }
        if !self.world.pause(self.settings.pause()) {
            return "stopped between text and Enter: the text stands in the line".to_owned();
        }
        match self.outcome(case, &text) {
            None => return "the text was typed, the screen cannot be read: no Enter".to_owned(),
            Some(Outcome::Stands) => {}
            Some(_) => return "the text did not arrive in the input line: no Enter".to_owned(),
        }
        if let Err(reason) = self.same_pane(case) {
            return format!("the text was typed, then {reason}: no Enter");
        }
        let beat = case.beat();
        if let Err(error) = self.world.press_enter(&case.target) {
            return format!("Enter may not have arrived: {error}");
        }
        let mut waited = Duration::ZERO;
        let mut pressed_again = false;
        while waited < EFFECT {
            if !self.world.pause(LOOK) {
                return "sent; stopped before its effect was seen".to_owned();
            }
            waited += LOOK;
            if self.is_busy(case) {
                return "resumed: the client works".to_owned();
            }
            // A turn may be over before it is looked at; its hooks beat when they saw the prompt.
            if case.beat() != beat {
                return "resumed: its hooks saw the prompt".to_owned();
            }
            match self.outcome(case, &text) {
                Some(Outcome::Running) => return "resumed: the screen shows work".to_owned(),
                // A moment later the screen shows what became of it.
                Some(Outcome::Taken) if waited >= SECOND_ENTER => {
                    return "sent, and taken from the line".to_owned();
                }
                Some(Outcome::Stands) if waited >= SECOND_ENTER && !pressed_again => {
                    pressed_again = true;
                    if let Err(error) = self.world.press_enter(&case.target) {
                        return format!("the second Enter may not have arrived: {error}");
                    }
                }
                Some(Outcome::Taken | Outcome::Stands | Outcome::Unclear) | None => {}
            }
        }
        match self.outcome(case, &text) {
            Some(Outcome::Stands) => "not confirmed: the text still stands in the input line",
            Some(Outcome::Unclear) => "sent; something else has come between",
            Some(Outcome::Running | Outcome::Taken) => "sent, and taken from the line",
            None => "sent; its effect cannot be read",
        }
        .to_owned()
    }

    /// What became of the text that was typed.
    fn outcome(&mut self, case: &Case<'_>, text: &str) -> Option<Outcome> {
        let screen = self.world.screens(&case.target.server, &[&case.target.pane]).pop().flatten()?;
        let facts = case.facts(self.host_tz.as_deref());
        Some(screens::outcome(&screen, &facts, text, instant(self.world.now()), &self.wordings))
    }

    /// Presses Enter once, and looks what it did.
    fn enter(&mut self, case: &Case<'_>, first: &Answer) -> String {
        if let Err(error) = self.world.press_enter(&case.target) {
            return format!("Enter may not have arrived: {error}");
        }
        let mut waited = Duration::ZERO;
        while waited < EFFECT {
            if !self.world.pause(LOOK) {
                break;
            }
            waited += LOOK;
            if self.is_busy(case) {
                return "done: the client works".to_owned();
            }
            if let Some(look) = self.look_again(case)
                && look.state != first.state
            {
                return format!("done: {}", look.state.word());
            }
        }
        "not confirmed: the screen is the same".to_owned()
    }

    /// Whether the client says that it works, or a hook saw the prompt.
    fn is_busy(&self, case: &Case<'_>) -> bool {
        let Some(client) = case.client else { return false };
        let now = self.world.clients().into_iter().find(|one| one.pid == client.pid);
        now.is_some_and(|now| now.status.as_deref() == Some("busy"))
    }
}

/// The session in a pane: the one whose client runs there, else the only living one that recorded it.
fn session_in<'t>(
    tick: &Tick<'t>,
    target: &Target,
    client: Option<&ClientSession>,
    world: &impl World,
) -> Option<&'t Known> {
    let sessions = &tick.roster.sessions;
    if let Some(client) = client {
        // Another session that once recorded this pane is not the one in it now.
        return sessions.iter().find(|known| known.id == client.session_id);
    }
    let mut recorded = sessions.iter().filter(|known| {
        known.process != Process::Gone
            && known.target(tick.floor, world).is_some_and(|(found, _)| found == *target)
    });
    let first = recorded.next()?;
    recorded.next().is_none().then_some(first)
}

/// What the numbers of attempts are about: one limit, until its reset, in one session. Empty: there is none. None: it
/// cannot be told, such as while a dialog hides the message or a turn runs; what was counted then still counts.
fn event(case: &Case<'_>, answer: &Answer) -> Option<String> {
    let Some(kind) = answer.kind else {
        return matches!(answer.state, State::Idle).then(String::new);
    };
    let session = case.session().unwrap_or("-");
    Some(match (answer.reset_at, &case.evidence.failure) {
        (Some(reset), _) => format!("{session}:{}:{}", kind.word(), reset.timestamp()),
        // Tries in a row are counted over all failures between two good turns, whatever their words.
        (None, _) if matches!(answer.state, State::Overloaded(_)) => format!("{session}:overloaded"),
        (None, Some(failure)) => format!("{session}:{}:failed-{}", kind.word(), failure.at_ms),
        (None, None) => format!("{session}:{}", kind.word()),
    })
}

fn kind_word(answer: &Answer) -> &'static str {
    answer.kind.map_or_else(|| answer.state.word(), |kind| kind.word())
}

fn view(tick: &mut Tick<'_>, case: &Case<'_>, answer: &Answer, due: &Due) {
    if matches!(answer.state, State::Working | State::Idle | State::NotClaude | State::Unknown)
        && answer.kind.is_none()
    {
        return;
    }
    tick.ticked.snapshot.panes.push(PaneView {
        pane: case.target.word(),
        session: case.session().map(str::to_owned),
        state: answer.state.word().to_owned(),
        kind: answer.kind.map(|kind| kind.word().to_owned()),
        resets_s: answer.reset_at.map(|at| at.timestamp()),
        why: match due {
            Due::Key(_) => "due now",
            Due::Quiet(why) | Due::Refused(why) => why,
        }
        .to_owned(),
    });
}

fn instant(now: Now) -> DateTime<Utc> {
    Utc.timestamp_millis_opt(now.0).earliest().unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// Panes that were limited together do not all come back at once, and those in front come first.
fn spread_s(case: &Case<'_>) -> i64 {
    let spread = if case.pane.in_front { SPREAD_S } else { 2 * SPREAD_S };
    i64::try_from(
        hash(format!("{}@{}", case.session().unwrap_or_default(), case.target.pane).as_bytes()) % spread,
    )
    .unwrap_or(0)
}
