//! The previous session: cut off in mid-turn, and who is told of it.
//!
//! Interrupted is a session whose process is proven gone without an end mark, or one that ended while its last call had
//! no result (a closed terminal and SIGTERM fire the same event as an orderly end). It is found without any daemon:
//! from the mark every session of ours leaves until it ended well, and from the file the client leaves behind when it
//! is killed, which works even if no hook was wired then.

use std::path::{Path, PathBuf};

use rules::advice::{self, HowEnded, Interrupted};
use rules::liveness::Process;
use session_state::session_file::{self, SessionFile};
use session_state::status::{self, Status};
use session_state::transcript::{self, Tail};
use session_state::{Dir, Session, file_name, heartbeat, layout, times};

use crate::commits::{self, LastCommit};
use crate::owners::Owners;
use crate::{Finding, Repair, Scan, Weight, handoffs};

/// Marks looked at: sessions that ended well leave none.
const MAX_OPEN: usize = 256;
/// What was cut off longer ago is history, in seconds.
const FRESH_S: i64 = 7 * 86_400;
/// Files named.
const MAX_EDITED: usize = 6;

/// A session that was cut off.
#[derive(Debug)]
struct Candidate {
    id: String,
    name: String,
    how: HowEnded,
    /// Last sign of life, seconds since 1970.
    last_s: Option<i64>,
    tail: Tail,
    handoff: Option<String>,
}

pub(crate) fn find(scan: &Scan<'_>, owners: &Owners) -> Vec<Finding> {
    let mut candidates = marked(scan, owners);
    candidates.extend(left_by_the_client(scan, owners, &candidates));
    candidates.retain(|one| one.last_s.is_none_or(|last| scan.now.age_s(last) <= FRESH_S));
    if candidates.is_empty() {
        return Vec::new();
    }
    candidates.sort_by_key(|one| std::cmp::Reverse(one.last_s));
    vec![Finding::mended(Weight::Interrupted, "session", Tell(candidates))]
}

/// Sessions of this project that left their mark.
fn marked(scan: &Scan<'_>, owners: &Owners) -> Vec<Candidate> {
    let Some(sessions) = scan.sessions else { return Vec::new() };
    Session::open_names(sessions, MAX_OPEN)
        .into_iter()
        .filter(|name| name != scan.session_name)
        .filter_map(|name| {
            let dir = sessions.folder(&name).ok()?;
            let file = session_file::read(&dir)?;
            let here = file.project.as_deref().is_none_or(|project| Path::new(project) == scan.project.root);
            let id = if file.session_id.is_empty() { name.clone() } else { file.session_id.clone() };
            let how = how_ended(owners, &dir, &file, &id)?;
            here.then(|| candidate(&dir, id, name, how, &file))?
        })
        .collect()
}

fn how_ended(owners: &Owners, dir: &Dir, file: &SessionFile, id: &str) -> Option<HowEnded> {
    match status::read(dir) {
        Some(Status::Ended) => Some(HowEnded::Ended),
        Some(Status::Superseded | Status::Scavenged) => None,
        // A proof, so nothing has to be waited for: the heartbeat's five minutes are for those who save findings.
        Some(Status::Running) | None => {
            (owners.process_of(Some(file), Some(id)) == Process::Gone).then_some(HowEnded::Gone)
        }
    }
}

fn candidate(dir: &Dir, id: String, name: String, how: HowEnded, file: &SessionFile) -> Option<Candidate> {
    let tail =
        file.transcript.as_deref().and_then(|path| transcript::tail(Path::new(path))).unwrap_or_default();
    // An orderly end with nothing running is none of our business.
    if how == HowEnded::Ended && tail.running.is_none() {
        return None;
    }
    let last_s = [heartbeat::last(dir), tail.last_s, Some(file.updated_s)].into_iter().flatten().max();
    let handoff = handoffs::newest(dir, &format!("{}/{name}", layout::SESSIONS));
    Some(Candidate { id, name, how, last_s, tail, handoff })
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
            // A folder without a mark: it ended well, or was told.
            if scan.sessions.is_some_and(|sessions| sessions.has(&name)) {
                return None;
            }
            let tail = transcript::tail(&transcript_path(&config, &client.cwd, &client.session_id))
                .unwrap_or_default();
            // Without hooks nothing tells a session that sat idle from one that was cut off but this.
            if tail.running.is_none() && client.status.as_deref() != Some("busy") {
                return None;
            }
            let millis = client.updated_at.or(client.started_at).map(|at| at / 1000);
            let last_s = [millis, tail.last_s].into_iter().flatten().max();
            Some(Candidate {
                id: client.session_id.clone(),
                name,
                how: HowEnded::Gone,
                last_s,
                tail,
                handoff: None,
            })
        })
        .collect()
}

/// Where the client keeps a transcript: every character of the start folder that is no letter or digit becomes `-`.
fn transcript_path(config: &Path, cwd: &str, id: &str) -> PathBuf {
    let slug: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    config.join("projects").join(slug).join(format!("{}.jsonl", file_name(id)))
}

/// Telling takes the mark away: of several sessions that start at once, one tells.
struct Tell(Vec<Candidate>);

impl Repair for Tell {
    fn mend(&self, scan: &Scan<'_>, teller: &Session) -> std::io::Result<Option<String>> {
        let mine: Vec<&Candidate> = self.0.iter().filter(|one| claim(&teller.sessions, one)).collect();
        let Some((newest, others)) = mine.split_first() else { return Ok(None) };
        let mut sentences = vec![sentence(scan, newest)];
        sentences.extend(newest.handoff.as_deref().map(advice::handoff));
        if !others.is_empty() {
            let ids: Vec<&str> = others.iter().map(|one| one.id.as_str()).collect();
            sentences.push(advice::more_interrupted(&ids));
        }
        Ok(Some(sentences.join(" ")))
    }
}

/// Takes the right to tell. For a session that has no folder, making one is the mark that it was told.
fn claim(sessions: &Dir, one: &Candidate) -> bool {
    let won = Session::unmark_open(sessions, &one.name) || {
        let made = sessions.make_folder(&one.name);
        made.is_ok_and(|(_, made)| made) && !Session::open_names(sessions, MAX_OPEN).contains(&one.name)
    };
    if won && let Ok(dir) = sessions.folder(&one.name) {
        // So that it is removed one day; nobody else writes here any more.
        if !sessions.has(layout::GITIGNORE) {
            let _ = dir.create_new(layout::GITIGNORE, layout::GITIGNORE_TEXT);
        }
        let _ = status::write(&dir, Status::Ended);
    }
    won
}

fn sentence(scan: &Scan<'_>, one: &Candidate) -> String {
    let at = one.last_s.map(|last| times::local_clock(last, scan.now));
    let commit = commits::last(scan.project);
    let since = match commit {
        LastCommit::At(at) => at,
        LastCommit::Never | LastCommit::Unknown => i64::MIN,
    };
    let mut edited: Vec<String> = Vec::new();
    for file in
        one.tail.files.iter().rev().filter(|file| file.changes && file.at_s.is_none_or(|at| at > since))
    {
        let shown = scan.project.relative(Path::new(&file.path)).display().to_string();
        if !edited.contains(&shown) && edited.len() < MAX_EDITED {
            edited.push(shown);
        }
    }
    let edited: Vec<&str> = edited.iter().map(String::as_str).collect();
    advice::interrupted_session(&Interrupted {
        id: &one.id,
        at: at.as_deref(),
        running: one.tail.running.as_ref().map(|call| (call.tool.as_str(), call.what.as_str())),
        prompt: one.tail.last_prompt.as_deref(),
        edited: &edited,
        since_commit: commit != LastCommit::Unknown,
        how: one.how,
    })
}
