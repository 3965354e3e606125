//! Loops that say they run, and whose owner is gone.

use std::path::PathBuf;

use rules::advice::{self, LoopOwner};
use rules::liveness::Verdict;
use session_state::journal::Journal;
use session_state::loops::{self, LoopFile};
use session_state::{Dir, FileStat, Session, env, layout, session_file, transcript};

use crate::owners::{Owners, shows_life};
use crate::{Finding, Repair, Scan, Weight};

/// A loop not looked at for longer than this is stale, in seconds (FORMATS 3.2: strictly more).
pub(crate) const STALE_S: i64 = 7_200;
/// A loop whose owner waits for a limit is spared until this long after the reset, in seconds.
const AFTER_RESET_S: i64 = 7_200;
/// And this long after the limit came where no reset is known.
const WITHOUT_RESET_S: i64 = 86_400;
/// A damaged file that did not change for this long is not in the writing, in seconds.
const SETTLED_S: i64 = 600;
const MAX_FOLDERS: usize = 20_000;
/// Loops told of by name.
const MAX_FOUND: usize = 16;

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

/// Judges a loop: active, last looked at strictly more than [`STALE_S`] ago, its owner without life, not paused.
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

pub(crate) fn find(scan: &Scan<'_>, owners: &Owners) -> Vec<Finding> {
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
    if let Some(state) =
        scan.project.open_root().and_then(|root| root.folder(".omc").ok()?.folder("state").ok())
    {
        const NAME: &str = "ralph-state.json";
        found.extend(look(scan, owners, &state, None, format!(".omc/state/{NAME}"), NAME));
        if let Ok(sessions) = state.folder("sessions") {
            in_session_folders(scan, owners, &sessions, ".omc/state/sessions/", NAME, &mut found);
        }
    }
    found.extend(plugin(scan, owners));
    found.truncate(MAX_FOUND);
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
    for folder in all.names(MAX_FOLDERS) {
        // One system call a folder: ten thousand of them are looked at within the hook's budget.
        if !all.has(&format!("{folder}/{name}")) || folder.starts_with('.') {
            continue;
        }
        let Ok(dir) = all.folder(&folder) else { continue };
        found.extend(look(scan, owners, &dir, Some(&folder), format!("{shown}{folder}/{name}"), name));
    }
}

fn look(
    scan: &Scan<'_>,
    owners: &Owners,
    dir: &Dir,
    folder: Option<&str>,
    shown: String,
    name: &str,
) -> Option<Finding> {
    let (stat, bytes) = loops::read(dir, name)?;
    let Some(file) = loops::parse(&bytes) else {
        return Some(damaged(scan, owners, dir, folder, shown, name, stat));
    };
    let facts = facts(scan, owners, dir, folder, &file);
    let LoopVerdict::Deactivate(owner) = judge_loop(&facts) else { return None };
    let age_s = facts.age_s.unwrap_or_default();
    let repair = Deactivate {
        path: dir.path().to_owned(),
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
        paused: is_paused(scan, dir),
    }
}

/// Whether the owner's last turn ended on a limit that has not passed by the margin.
fn is_paused(scan: &Scan<'_>, dir: &Dir) -> bool {
    let Ok(Some(journal)) = Journal::open(dir) else { return false };
    let Some(streak) = journal.state().streak("api:limit").filter(|streak| streak.open) else { return false };
    let resets_s = session_file::read(dir)
        .and_then(|file| transcript::tail(&PathBuf::from(file.transcript?)))
        .and_then(|tail| tail.limit_resets_s);
    match resets_s {
        Some(resets_s) => scan.now.seconds() <= resets_s + AFTER_RESET_S,
        None => scan.now.seconds() <= streak.t / 1000 + WITHOUT_RESET_S,
    }
}

struct Deactivate {
    path: PathBuf,
    name: String,
    shown: String,
    judged: FileStat,
    age_s: i64,
    owner: LoopOwner,
    iteration: Option<i64>,
}

impl Repair for Deactivate {
    fn mend(&self, _: &Scan<'_>, _: &Session) -> std::io::Result<Option<String>> {
        let dir = Dir::open(&self.path)?;
        let done = loops::deactivate(&dir, &self.name, self.judged, "stale")?;
        Ok(done.then(|| advice::loop_set_inactive(&self.shown, self.age_s, self.owner, self.iteration)))
    }
}

fn damaged(
    scan: &Scan<'_>,
    owners: &Owners,
    dir: &Dir,
    folder: Option<&str>,
    shown: String,
    name: &str,
    stat: FileStat,
) -> Finding {
    let sentence = advice::loop_damaged(&shown);
    let settled = scan.now.age_s(stat.mtime_s) > SETTLED_S;
    // Only a session of this project has a copy of ours, and only one that is proven dead gets it back.
    let dead =
        folder.is_some_and(|id| matches!(owners.verdict_of(dir, Some(id)), Verdict::Dead | Verdict::Ended));
    match folder {
        Some(folder) if name == layout::LOOP && settled && dead && dir.has(layout::LOOP_CHECKPOINT) => {
            Finding {
                weight: Weight::Mended,
                what: "loop",
                sentence: Some(sentence),
                repair: Some(Box::new(Restore {
                    path: dir.path().to_owned(),
                    shown,
                    judged: stat,
                    session: folder.to_owned(),
                })),
            }
        }
        _ => Finding::told(Weight::Report, "loop", sentence),
    }
}

struct Restore {
    path: PathBuf,
    shown: String,
    judged: FileStat,
    session: String,
}

impl Repair for Restore {
    fn mend(&self, scan: &Scan<'_>, _: &Session) -> std::io::Result<Option<String>> {
        let dir = Dir::open(&self.path)?;
        let saved = loops::restore(&dir, self.judged, &self.session, scan.now)?;
        Ok(saved.map(|saved| advice::loop_restored(&self.shown, &saved)))
    }
}

/// A plugin's loop lives in a document of its own, and any session may be in it: reported, never changed.
fn plugin(scan: &Scan<'_>, owners: &Owners) -> Option<Finding> {
    const NAME: &str = "ralph-loop.local.md";
    let folder = scan.project.open_root()?.folder(".claude").ok()?;
    let (stat, bytes) = loops::read(&folder, NAME)?;
    let file = loops::parse_front_matter(std::str::from_utf8(&bytes).ok()?)?;
    let age_s = scan.now.age_s(stat.mtime_s);
    let lives = file.session_id.as_deref().is_some_and(|id| shows_life(owners.verdict(id)));
    (file.active && age_s > STALE_S && !lives).then(|| {
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
}
