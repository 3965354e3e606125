//! The previous session: cut off in mid-turn, and who is told of it.
//!
//! Interrupted is a session whose process is proven gone without an end mark, or one that ended while its last call had
//! no result (a closed terminal and SIGTERM fire the same event as an orderly end). It is found without any daemon:
//! from the mark every session of ours leaves until it ended well, and from the file the client leaves behind when it
//! is killed, which works even if no hook was wired then.

use std::path::{Path, PathBuf};

use rules::advice::{self, HowEnded, Interrupted, Tag, UnfinishedWork};
use rules::liveness::Process;
use rules::note::{self, Sense};
use rules::text::utf16_len;
use session_state::session_file::{self, SessionFile};
use session_state::status::{self, Status};
use session_state::transcript::{self, Conversation, Knowledge, Source, Tail};
use session_state::{Dir, Session, file_name, heartbeat, layout, retention, times};

use crate::commits::{self, LastCommit};
use crate::owners::Owners;
use crate::{Finding, Repair, Scan, Weight, handoffs};

/// Marks looked at: sessions that ended well leave none, and old ones are forgotten.
const MAX_OPEN: usize = 1_024;
/// Marks forgotten in one go.
const MAX_FORGOTTEN: usize = 32;
/// What was cut off longer ago is history, in seconds.
const FRESH_S: i64 = 7 * 86_400;
/// Of a session nobody can judge from here (another container, another machine) the mark stays this long, in seconds.
const UNJUDGED_S: i64 = 30 * 86_400;
/// A sentence about a session is at most this long, in UTF-16 units, so that it always fits into the advice.
const MAX_SENTENCE: usize = 560;
/// Room that is left for what else is to tell, in UTF-16 units.
const ROOM_FOR_OTHERS: usize = 80;
/// How much of a transcript's end is read of the one session that is told in detail, in bytes.
const TOLD_END: u64 = 1024 * 1024;
/// And of its beginning, until the first prompt, in bytes.
const TOLD_START: u64 = 1024 * 1024;
/// Paths in a sentence that would be longer are shown by this many of their last characters.
const SHORT_PATH: usize = 40;
/// The path a call was on is shown by this many.
const LONG_PATH: usize = 78;

/// A session that was cut off.
#[derive(Debug)]
struct Candidate {
    id: String,
    name: String,
    how: HowEnded,
    /// What is taken away or made by whoever tells of it.
    mark: ToldBy,
    /// Last sign of life, seconds since 1970.
    last_s: Option<i64>,
    tail: Tail,
    transcript: Option<PathBuf>,
    handoff: Option<String>,
}

/// How the right to tell of a session is taken: in one step that only one process can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToldBy {
    /// Its mark among the open sessions is removed.
    TakingItsMark,
    /// Its folder is made: the hooks were not wired when it ran.
    MakingItsFolder,
}

/// Finds the sessions; `room` is what has to be left in the advice for other work that was cut off, in UTF-16 units.
pub(crate) fn find(scan: &Scan<'_>, owners: &Owners, room: usize) -> Vec<Finding> {
    let mut found = Vec::new();
    let (mut candidates, old) = marked(scan, owners);
    if !old.is_empty() {
        found.push(Finding::mended(Weight::Report, "session", Forget(old)));
    }
    candidates.extend(left_by_the_client(scan, owners, &candidates));
    if !candidates.is_empty() {
        candidates.sort_by_key(|one| std::cmp::Reverse(one.last_s));
        found.push(Finding::mended(Weight::Interrupted, "session", Tell { candidates, room }));
    }
    found
}

/// Sessions of this project that left their mark: those to tell of, and the names of those that are history.
fn marked(scan: &Scan<'_>, owners: &Owners) -> (Vec<Candidate>, Vec<String>) {
    let (mut candidates, mut old) = (Vec::new(), Vec::new());
    let Some(sessions) = scan.sessions else { return (candidates, old) };
    let Ok(marks) = sessions.folder(layout::OPEN_SESSIONS) else { return (candidates, old) };
    for name in Session::open_names(sessions, MAX_OPEN) {
        if name == scan.session_name {
            continue;
        }
        let dir = sessions.folder(&name).ok();
        let file = dir.as_ref().and_then(session_file::read);
        let project = file.as_ref().and_then(|file| file.project.as_deref());
        if project.is_some_and(|project| Path::new(project) != scan.project.root) {
            continue;
        }
        let given = file.as_ref().map(|file| file.session_id.as_str()).filter(|id| !id.is_empty());
        let id = given.unwrap_or(&name).to_owned();
        // A mark is as old as its session at least: most need no closer look.
        let aged = marks.stat(&name).is_some_and(|mark| scan.now.age_s(mark.mtime_s) > FRESH_S);
        if aged && is_history(scan, owners, &id, dir.as_ref(), file.as_ref()) {
            if old.len() < MAX_FORGOTTEN {
                old.push(name);
            }
        } else if let (Some(dir), Some(file)) = (&dir, &file)
            && let Some(how) = how_ended(owners, dir, file, &id)
        {
            candidates.extend(candidate(dir, id, name, how, file));
        }
    }
    (candidates, old)
}

/// Whether a mark says nothing any more: its folder is gone, or its session without life for long.
fn is_history(
    scan: &Scan<'_>,
    owners: &Owners,
    id: &str,
    dir: Option<&Dir>,
    file: Option<&SessionFile>,
) -> bool {
    let Some(dir) = dir else { return scan.sessions.is_none_or(|sessions| !sessions.has(&file_name(id))) };
    let marker = [layout::RECOVERY_CHECKED, layout::STATUS];
    let last = [heartbeat::last(dir), file.map(|file| file.updated_s)]
        .into_iter()
        .chain(marker.map(|name| dir.stat(name).map(|stat| stat.mtime_s)))
        .flatten()
        .max();
    let limit = match owners.process(Some(dir), Some(id)) {
        Process::Alive => return false,
        Process::Gone => FRESH_S,
        Process::Unknown => UNJUDGED_S,
    };
    // An unreadable time is never old.
    last.is_some_and(|last| scan.now.age_s(last) > limit)
}

/// Takes old marks away without a word, so that the sessions can be removed one day.
struct Forget(Vec<String>);

impl Repair for Forget {
    fn mend(&self, _: &Scan<'_>, teller: &Session) -> std::io::Result<Vec<String>> {
        let sessions = &teller.sessions;
        for name in &self.0 {
            if !Session::unmark_open(sessions, name) {
                continue;
            }
            let Some(session) = Session::open_in(Dir::open(sessions.path())?, name) else { continue };
            if retention::is_blank(&session) {
                retention::remove(sessions, name);
            } else if status::read(&session.dir).is_none_or(|status| status == Status::Running) {
                let _ = status::write(&session.dir, Status::Ended);
            }
        }
        Ok(Vec::new())
    }
}

fn how_ended(owners: &Owners, dir: &Dir, file: &SessionFile, id: &str) -> Option<HowEnded> {
    match status::read(dir) {
        Some(Status::Ended) => Some(HowEnded::Ended),
        Some(Status::Superseded) => None,
        // A proof, so nothing has to be waited for: the heartbeat's five minutes are for those who save findings. What
        // was saved meanwhile is pointed to; its mark shows that nobody was told.
        Some(Status::Running | Status::Scavenged) | None => {
            (owners.process_of(Some(file), Some(id)) == Process::Gone).then_some(HowEnded::Gone)
        }
    }
}

fn candidate(dir: &Dir, id: String, name: String, how: HowEnded, file: &SessionFile) -> Option<Candidate> {
    let transcript = file.transcript.as_deref().map(PathBuf::from);
    let tail = transcript.as_deref().and_then(transcript::tail).unwrap_or_default();
    // An orderly end with nothing running is none of our business.
    if how == HowEnded::Ended && tail.running.is_none() {
        return None;
    }
    let last_s = [heartbeat::last(dir), tail.last_s, Some(file.updated_s)].into_iter().flatten().max();
    let handoff = handoffs::newest(dir, &format!("{}/{name}", layout::SESSIONS));
    Some(Candidate { id, name, how, mark: ToldBy::TakingItsMark, last_s, tail, transcript, handoff })
}

/// Clients that were killed leave their file behind; its process is gone and its folder lies in this project.
fn left_by_the_client(scan: &Scan<'_>, owners: &Owners, marked: &[Candidate]) -> Vec<Candidate> {
    let Some(config) = scan.env.client_config_dir() else { return Vec::new() };
    owners
        .clients
        .iter()
        .filter(|client| {
            client.session_id != scan.session_id && Path::new(&client.cwd).starts_with(&scan.project.root)
        })
        .filter(|client| !marked.iter().any(|one| one.id == client.session_id))
        // The same session may have been taken up again by another client.
        .filter(|client| {
            owners.process(None, Some(&client.session_id)) == Process::Gone
                && client.presence() == Process::Gone
        })
        .filter_map(|client| {
            let name = file_name(&client.session_id).into_owned();
            let folder = scan.sessions.and_then(|sessions| Some((sessions, sessions.folder(&name).ok()?)));
            let mark = match folder {
                None => ToldBy::MakingItsFolder,
                // Its folder knows its process: it was judged by that.
                Some((_, dir)) if session_file::read(&dir).is_some() => return None,
                // Without a mark it ended well, or was told.
                Some((sessions, _)) if Session::is_marked_open(sessions, &name) => ToldBy::TakingItsMark,
                Some(_) => return None,
            };
            let transcript = transcript_path(&config, &client.cwd, &client.session_id);
            let tail = transcript::tail(&transcript).unwrap_or_default();
            // Without hooks nothing tells a session that sat idle from one that was cut off but this.
            if tail.running.is_none() && client.status.as_deref() != Some("busy") {
                return None;
            }
            let millis = client.updated_at.or(client.started_at).map(|at| at / 1000);
            let last_s = [millis, tail.last_s].into_iter().flatten().max();
            // The client never removes these files: one without a time could be of any year.
            if last_s.is_none_or(|last| scan.now.age_s(last) > FRESH_S) {
                return None;
            }
            Some(Candidate {
                id: client.session_id.clone(),
                name,
                how: HowEnded::Gone,
                mark,
                last_s,
                tail,
                transcript: Some(transcript),
                handoff: None,
            })
        })
        .collect()
}

/// Where the client keeps a transcript: every character of the start folder that is no letter or digit becomes `-`.
fn transcript_path(config: &Path, cwd: &str, id: &str) -> PathBuf {
    let slug: String = cwd
        .encode_utf16()
        .map(|unit| match char::from_u32(unit.into()) {
            Some(c) if c.is_ascii_alphanumeric() => c,
            _ => '-',
        })
        .collect();
    config.join("projects").join(slug).join(format!("{}.jsonl", file_name(id)))
}

/// Telling takes the mark away: of several sessions that start at once, one tells.
struct Tell {
    /// The one seen last comes first.
    candidates: Vec<Candidate>,
    /// Left for other work that was cut off, in UTF-16 units.
    room: usize,
}

impl Repair for Tell {
    fn mend(&self, scan: &Scan<'_>, teller: &Session) -> std::io::Result<Vec<String>> {
        let mine: Vec<&Candidate> =
            self.candidates.iter().filter(|one| claim(&teller.sessions, one)).collect();
        let Some((newest, others)) = mine.split_first() else { return Ok(Vec::new()) };
        let known = known(newest);
        let mut sentences = vec![sentence(
            scan,
            newest,
            &known,
            commits::last(scan.project),
            MAX_SENTENCE.saturating_sub(self.room),
        )];
        if !others.is_empty() {
            let ids: Vec<&str> = others.iter().map(|one| one.id.as_str()).collect();
            sentences.push(advice::more_interrupted(&ids));
        }
        sentences.extend(newest.handoff.as_deref().map(advice::handoff));
        let used: usize = sentences.iter().map(|sentence| utf16_len(sentence) + 1).sum();
        let room = advice::CRASH_RECOVERY_BUDGET - utf16_len(Tag::CrashRecovery.text()) - 1;
        if let Some(work) =
            unfinished_work(scan, &known, room.saturating_sub(used + ROOM_FOR_OTHERS + self.room))
        {
            sentences.insert(1, work);
        }
        Ok(sentences)
    }
}

/// What its transcript tells; of a long one the end, and the first prompt.
fn known(one: &Candidate) -> Knowledge {
    let source = one.transcript.as_deref().and_then(Source::open);
    source.map(|source| source.knowledge(TOLD_END, TOLD_START, Conversation::Main)).unwrap_or_default()
}

fn unfinished_work(scan: &Scan<'_>, known: &Knowledge, room: usize) -> Option<String> {
    // A command says more than an edit that missed.
    let failed = known.failed.iter().rev().find(|failed| failed.call.tool == "Bash").or(known.failed.last());
    let what = failed.map(|failed| what(scan, &failed.call.what)).unwrap_or_default();
    // Of a text that decides several things its last decision; mere last words only for want of better ones.
    let decided = |is_last_words: bool| {
        known.notes.iter().rev().filter(|note| note.is_last_words == is_last_words).find_map(|note| {
            let sentences = note::sentences(&note.text);
            sentences.filter(|sentence| note::sense(sentence) == Sense::Decided).last()
        })
    };
    advice::unfinished_work(
        &UnfinishedWork {
            failed: failed.map(|failed| (failed.call.tool.as_str(), what.as_str(), failed.error.as_str())),
            task: known.first_prompt.as_deref().filter(|first| known.last_prompt.as_deref() != Some(*first)),
            open: known.open_items.first().map(|first| (first.text.as_str(), known.open_items.len() - 1)),
            decided: decided(false).or_else(|| decided(true)),
        },
        room,
    )
}

/// What a call was asked; a path as people of this project write it, by its end.
fn what(scan: &Scan<'_>, what: &str) -> String {
    let path = Path::new(what);
    if path.is_absolute() && !what.contains(char::is_whitespace) {
        end_of(&scan.project.relative(path).display().to_string(), LONG_PATH)
    } else {
        what.to_owned()
    }
}

/// Takes the right to tell. The session stays one that did not end: what it knew may still be saved, and `recovery resume`
/// lists it. A kill right after it leaves the session untold: better than told twice.
fn claim(sessions: &Dir, one: &Candidate) -> bool {
    let won = match one.mark {
        ToldBy::TakingItsMark => Session::unmark_open(sessions, &one.name),
        ToldBy::MakingItsFolder => sessions.make_folder(&one.name).is_ok_and(|(_, made)| made),
    };
    if won
        && one.mark == ToldBy::MakingItsFolder
        && let Ok(dir) = sessions.folder(&one.name)
    {
        // So that it is removed one day; nobody else writes here any more.
        if !sessions.has(layout::GITIGNORE) {
            let _ = dir.create_new(layout::GITIGNORE, layout::GITIGNORE_TEXT);
        }
        let _ = status::write(&dir, Status::Ended);
    }
    won
}

fn sentence(scan: &Scan<'_>, one: &Candidate, known: &Knowledge, commit: LastCommit, most: usize) -> String {
    let at = one.last_s.map(|last| times::local_clock(last, scan.now));
    let edited = edited(scan, known, commit);
    let whole: Vec<&str> = edited.iter().map(String::as_str).collect();
    let short: Vec<String> = edited.iter().map(|path| end_of(path, SHORT_PATH)).collect();
    let short: Vec<&str> = short.iter().map(String::as_str).collect();
    let prompt = known.last_prompt.as_deref();
    let running = one.tail.running.as_ref().map(|call| (call.tool.as_str(), what(scan, &call.what)));
    let with = |edited: &[&str], prompt: Option<&str>| {
        advice::interrupted_session(&Interrupted {
            id: &one.id,
            at: at.as_deref(),
            running: running.as_ref().map(|(tool, what)| (*tool, what.as_str())),
            prompt,
            edited,
            since_commit: matches!(commit, LastCommit::At(_)),
            how: one.how,
        })
    };
    // What ran and how to go on is told in any case; the rest as far as there is room.
    [with(&whole, prompt), with(&short, prompt), with(&short, None)]
        .into_iter()
        .find(|sentence| utf16_len(sentence) <= most)
        .unwrap_or_else(|| with(&[], None))
}

/// Files changed since the last commit, the latest first; since nobody knows when, if there is none.
fn edited(scan: &Scan<'_>, known: &Knowledge, commit: LastCommit) -> Vec<String> {
    let since = match commit {
        LastCommit::At(at) => at,
        LastCommit::Never | LastCommit::Unknown => i64::MIN,
    };
    let changed = known.changed.iter().rev().filter(|file| file.last_s.is_none_or(|at| at > since));
    changed.map(|file| scan.project.relative(Path::new(&file.path)).display().to_string()).collect()
}

fn end_of(path: &str, chars: usize) -> String {
    let skip = path.chars().count().saturating_sub(chars);
    if skip == 0 {
        path.to_owned()
    } else {
        format!("…{}", path.chars().skip(skip + 1).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_lies_where_the_client_puts_it() {
        let path = transcript_path(Path::new("/c"), "/home/dev/übung app_1.x", "s-1");
        assert_eq!(path, Path::new("/c/projects/-home-dev--bung-app-1-x/s-1.jsonl"));
        assert!(!transcript_path(Path::new("/c"), "/p", "../../x").to_string_lossy().contains("../"));
        // The client counts UTF-16 units.
        assert_eq!(transcript_path(Path::new("/c"), "/😀", "s"), Path::new("/c/projects/---/s.jsonl"));
    }

    #[test]
    fn a_long_path_is_shown_by_its_end() {
        assert_eq!(end_of("src/a.rs", 8), "src/a.rs");
        assert_eq!(end_of("src/aa.rs", 8), "…c/aa.rs");
        assert_eq!(end_of("ü/übung.rs", 5), "…g.rs");
    }
}
