//! Loops that say they run, and whose owner is gone.

use std::path::Path;

use rules::advice::{self, LoopOwner};
use rules::liveness::Verdict;
use session_state::journal::Journal;
use session_state::loops::{self, LoopFile};
use session_state::{Dir, FileStat, Session, env, layout, session_file, transcript};

use crate::owners::{Owners, shows_life};
use crate::{Finding, HISTORY_S, Repair, Scan, Weight};

/// A loop not looked at for longer than this is stale, in seconds (FORMATS 3.2: strictly more).
pub(crate) const STALE_S: i64 = 7_200;
/// A loop whose owner waits for a limit is spared until this long after the reset, in seconds.
const AFTER_RESET_S: i64 = 7_200;
/// And this long after the limit came where no reset is known.
const WITHOUT_RESET_S: i64 = 86_400;
/// A damaged file that did not change for this long is not in the writing, in seconds.
const SETTLED_S: i64 = 600;
const MAX_FOLDERS: usize = 20_000;
/// Loops handled at one start, each with its folder held open; the next start finds the others.
const MAX_FOUND: usize = 256;

/// What is known about a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopFacts {
    /// It says that it runs.
    pub active: bool,
    /// Seconds since it was last looked at; None: unreadable.
    pub age_s: Option<i64>,
    /// Its owner.
    pub owner: Verdict,
    /// Its owner waits for a limit that has not passed by the margin.
    pub paused: bool,
}

/// What is to be done about a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopVerdict {
    /// Leave it.
    Leave,
    /// Set it inactive.
    Deactivate(LoopOwner),
}

/// Judges a loop: active, last looked at strictly more than 7,200 s ago, its owner without life, not paused.
#[must_use]
pub fn judge_loop(facts: &LoopFacts) -> LoopVerdict {
    let old = facts.age_s.is_some_and(|age| age > STALE_S);
    if !facts.active || !old || facts.paused || shows_life(facts.owner) {
        return LoopVerdict::Leave;
    }
    let gone = matches!(
        facts.owner,
        Verdict::Dead | Verdict::Ended | Verdict::Superseded | Verdict::AlreadyScavenged
    );
    LoopVerdict::Deactivate(if gone { LoopOwner::Gone } else { LoopOwner::NoSign })
}

/// Whether an owner whose last turn ended on a limit at `since_s` still waits for it: until two hours after the reset,
/// or for a day where no reset is known.
#[must_use]
pub fn is_paused(since_s: i64, resets_s: Option<i64>, now_s: i64) -> bool {
    let until = match resets_s {
        Some(resets_s) => resets_s.saturating_add(AFTER_RESET_S),
        None => since_s.saturating_add(WITHOUT_RESET_S),
    };
    now_s <= until
}

pub(crate) fn find(scan: &Scan<'_>, owners: &Owners, root: Option<&Dir>) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(sessions) = scan.sessions {
        in_session_folders(
            scan,
            owners,
            sessions,
            &format!("{}/", layout::SESSIONS),
            layout::LOOP,
            &mut found,
        );
    }
    if let Some(home) = scan.env.path(env::HOME) {
        let path = home.join(".openclaw/shared-context/sessions");
        if let Ok(sessions) = Dir::open(&path) {
            in_session_folders(
                scan,
                owners,
                &sessions,
                "~/.openclaw/shared-context/sessions/",
                layout::LOOP,
                &mut found,
            );
        }
    }
    if let Some(state) = root.and_then(|root| root.folder(".omc").ok()?.folder("state").ok()) {
        const NAME: &str = "ralph-state.json";
        if let Ok(sessions) = state.folder("sessions") {
            in_session_folders(scan, owners, &sessions, ".omc/state/sessions/", NAME, &mut found);
        }
        found.extend(look(scan, owners, state, None, format!(".omc/state/{NAME}"), NAME));
    }
    found.extend(root.and_then(|root| plugin(scan, owners, root)));
    found
}

fn in_session_folders(
    scan: &Scan<'_>,
    owners: &Owners,
    all: &Dir,
    shown: &str,
    name: &str,
    found: &mut Vec<Finding>,
) {
    // One system call a folder and no allocation: ten thousand of them are looked at within the hook's budget.
    let mut with_loop = Vec::new();
    let mut path = String::with_capacity(256);
    let mut looks = 0;
    all.each_name(|folder| {
        looks += 1;
        path.clear();
        path.extend([folder, "/", name]);
        if !folder.starts_with('.') && all.has(&path) {
            with_loop.push(folder.to_owned());
        }
        looks < MAX_FOLDERS
    });
    for folder in with_loop {
        if found.len() >= MAX_FOUND {
            return;
        }
        let Ok(dir) = all.folder(&folder) else { continue };
        found.extend(look(scan, owners, dir, Some(&folder), format!("{shown}{folder}/{name}"), name));
    }
}

fn look(
    scan: &Scan<'_>,
    owners: &Owners,
    dir: Dir,
    folder: Option<&str>,
    shown: String,
    name: &str,
) -> Option<Finding> {
    let (stat, bytes) = loops::read(&dir, name)?;
    let Some(file) = loops::parse(&bytes) else {
        return damaged(scan, owners, dir, folder, shown, name, stat);
    };
    let facts = facts(scan, owners, &dir, folder, &file);
    let LoopVerdict::Deactivate(owner) = judge_loop(&facts) else { return None };
    let age_s = facts.age_s.unwrap_or_default();
    let repair = Deactivate {
        dir,
        name: name.to_owned(),
        shown,
        judged: stat,
        age_s,
        owner,
        iteration: file.iteration,
    };
    Some(Finding::mended(Weight::Mended, "loop", repair))
}

fn facts(scan: &Scan<'_>, owners: &Owners, dir: &Dir, folder: Option<&str>, file: &LoopFile) -> LoopFacts {
    let id = file.session_id.as_deref().or(folder);
    // A heartbeat beside the loop counts wherever the loop lies; so does the project's own knowledge of the session.
    let beside = owners.verdict_of(dir, id);
    let owner = match id {
        Some(id) if !shows_life(beside) => {
            let known = owners.verdict(id);
            if shows_life(known) { known } else { beside }
        }
        _ => beside,
    };
    LoopFacts {
        active: file.active,
        age_s: file.last_checked_s.map(|at| scan.now.age_s(at)),
        owner,
        paused: waits_for_limit(scan, dir)
            || id.and_then(|id| owners.folder(id)).is_some_and(|known| waits_for_limit(scan, &known)),
    }
}

/// Whether the last turn of the session of this folder ended on a limit that has not passed by the margin.
fn waits_for_limit(scan: &Scan<'_>, dir: &Dir) -> bool {
    let Ok(Some(journal)) = Journal::open(dir) else { return false };
    let Some(streak) = journal.state().streak("api:limit").filter(|streak| streak.open) else { return false };
    let resets_s = session_file::read(dir)
        .and_then(|file| transcript::tail(Path::new(&file.transcript?)))
        .and_then(|tail| tail.limit_resets_s);
    is_paused(streak.t / 1000, resets_s, scan.now.seconds())
}

/// The folder stays open from the look to the change: what is put in its place meanwhile is not touched.
struct Deactivate {
    dir: Dir,
    name: String,
    shown: String,
    judged: FileStat,
    age_s: i64,
    owner: LoopOwner,
    iteration: Option<i64>,
}

impl Repair for Deactivate {
    fn mend(&self, _: &Scan<'_>, _: &Session) -> std::io::Result<Vec<String>> {
        let done = loops::deactivate(&self.dir, &self.name, self.judged, "stale")?;
        let sentence = || advice::loop_set_inactive(&self.shown, self.age_s, self.owner, self.iteration);
        Ok(done.then(sentence).into_iter().collect())
    }
}

fn damaged(
    scan: &Scan<'_>,
    owners: &Owners,
    dir: Dir,
    folder: Option<&str>,
    shown: String,
    name: &str,
    judged: FileStat,
) -> Option<Finding> {
    let age_s = scan.now.age_s(judged.mtime_s);
    // Only a session of this project has a copy of ours, and only one that is proven dead gets it back.
    let session = folder.filter(|folder| {
        name == layout::LOOP
            && dir.has(layout::LOOP_CHECKPOINT)
            && is_restorable(age_s, owners.verdict_of(&dir, Some(folder)))
    });
    let sentence = advice::loop_damaged(&shown);
    if let Some(session) = session {
        let repair = Restore { dir, shown, judged, session: session.to_owned() };
        return Some(Finding::mended_or_told(Weight::Mended, "loop", repair, sentence));
    }
    (age_s <= HISTORY_S).then(|| Finding::told(Weight::Report, "loop", sentence))
}

/// Whether a damaged loop is not in the writing any more, and its owner will not write it again.
fn is_restorable(age_s: i64, owner: Verdict) -> bool {
    age_s > SETTLED_S && matches!(owner, Verdict::Dead | Verdict::Ended | Verdict::AlreadyScavenged)
}

struct Restore {
    dir: Dir,
    shown: String,
    judged: FileStat,
    session: String,
}

impl Repair for Restore {
    fn mend(&self, scan: &Scan<'_>, _: &Session) -> std::io::Result<Vec<String>> {
        let saved = loops::restore(&self.dir, self.judged, &self.session, scan.now)?;
        let beside = |saved: String| match self.shown.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{saved}"),
            None => saved,
        };
        Ok(saved.map(|saved| advice::loop_restored(&self.shown, &beside(saved))).into_iter().collect())
    }
}

/// A plugin's loop lives in a document of its own, and any session may be in it: reported, never changed.
fn plugin(scan: &Scan<'_>, owners: &Owners, root: &Dir) -> Option<Finding> {
    const NAME: &str = "ralph-loop.local.md";
    let folder = root.folder(".claude").ok()?;
    let (stat, bytes) = loops::read(&folder, NAME)?;
    let file = loops::parse_front_matter(std::str::from_utf8(&bytes).ok()?)?;
    let age_s = scan.now.age_s(stat.mtime_s);
    let lives = file.session_id.as_deref().is_some_and(|id| shows_life(owners.verdict(id)));
    (file.active && age_s > STALE_S && age_s <= HISTORY_S && !lives).then(|| {
        Finding::told(Weight::Report, "loop", advice::loop_reported(&format!(".claude/{NAME}"), age_s))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_stale_strictly_after_two_hours_without_a_living_owner() {
        let facts =
            LoopFacts { active: true, age_s: Some(STALE_S + 1), owner: Verdict::Unknown, paused: false };
        let judge = |change: fn(&mut LoopFacts)| {
            let mut facts = facts;
            change(&mut facts);
            judge_loop(&facts)
        };
        assert_eq!(judge(|_| ()), LoopVerdict::Deactivate(LoopOwner::NoSign));
        assert_eq!(judge(|f| f.owner = Verdict::Dead), LoopVerdict::Deactivate(LoopOwner::Gone));
        assert_eq!(judge(|f| f.owner = Verdict::Ended), LoopVerdict::Deactivate(LoopOwner::Gone));
        assert_eq!(judge(|f| f.age_s = Some(STALE_S)), LoopVerdict::Leave);
        assert_eq!(judge(|f| f.age_s = Some(STALE_S - 1)), LoopVerdict::Leave);
        assert_eq!(judge(|f| f.age_s = None), LoopVerdict::Leave, "an unreadable time is never old");
        assert_eq!(judge(|f| f.active = false), LoopVerdict::Leave);
        assert_eq!(judge(|f| f.paused = true), LoopVerdict::Leave);
        for owner in [Verdict::Alive, Verdict::Idle, Verdict::Orphan, Verdict::NotYet] {
            assert_eq!(judge_loop(&LoopFacts { owner, ..facts }), LoopVerdict::Leave, "{owner:?}");
        }
    }

    #[test]
    fn a_limit_pauses_until_two_hours_after_its_reset_or_for_a_day() {
        let since = 1_000_000;
        for (resets, now, paused) in [
            (Some(since + 600), since + 600 + AFTER_RESET_S - 1, true),
            (Some(since + 600), since + 600 + AFTER_RESET_S, true),
            (Some(since + 600), since + 600 + AFTER_RESET_S + 1, false),
            (None, since + WITHOUT_RESET_S - 1, true),
            (None, since + WITHOUT_RESET_S, true),
            (None, since + WITHOUT_RESET_S + 1, false),
            (Some(i64::MAX), since, true),
        ] {
            assert_eq!(is_paused(since, resets, now), paused, "{resets:?} {now}");
        }
    }

    #[test]
    fn a_damaged_loop_is_restored_only_when_settled_and_its_owner_is_dead() {
        for (age_s, owner, restorable) in [
            (SETTLED_S - 1, Verdict::Dead, false),
            (SETTLED_S, Verdict::Dead, false),
            (SETTLED_S + 1, Verdict::Dead, true),
            (SETTLED_S + 1, Verdict::Ended, true),
            (SETTLED_S + 1, Verdict::Unknown, false),
            (SETTLED_S + 1, Verdict::NotYet, false),
            (SETTLED_S + 1, Verdict::Idle, false),
            (SETTLED_S + 1, Verdict::Superseded, false),
        ] {
            assert_eq!(is_restorable(age_s, owner), restorable, "{age_s} {owner:?}");
        }
    }
}
