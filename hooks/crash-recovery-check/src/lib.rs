//! `crash-recovery-check`: what earlier sessions left, mended where that is safe, told once.
//!
//! At every start of a session, and at its first prompt where no start was seen. The right to scan is taken first, by
//! a line in the session's journal: of two wirings one scans, mends and tells. A process killed in between leaves
//! state mended and untold; it is in the log.

use std::io;

use hook_io::{Event, Kind, Source};
use leftovers::{Finding, Scan, Weight};
use rules::advice::{self, Advice};
use rules::fact::{Fact, What};
use rules::streak::Kind as AdviceKind;
use rules::text::utf16_len;
use session_state::env::Env;
use session_state::journal::Journal;
use session_state::{Config, Now, Project, Session, layout, log, session_file};

/// The turn of a session's first prompt.
const PROMPT: &str = "prompt";

/// Finds, mends and words what is left, if this event is the one that asks for it.
///
/// An error means silence.
#[must_use]
pub fn check(event: &Event<'_>, env: &Env, project: &Project, now: Now) -> Option<Advice> {
    // A subagent starts nothing; the main conversation is told.
    if event.agent_id.is_some() {
        return None;
    }
    match &event.kind {
        Kind::SessionStart { source: Source::Compact, .. } => again(event, env, project, now).ok()?,
        Kind::SessionStart { source, .. } => {
            let turn = format!("start:{}:{}", source.as_str(), env.client_pid().unwrap_or(0));
            first(event, env, project, now, &turn).ok()?
        }
        Kind::UserPromptSubmit { .. } => {
            let seen = Session::open(project, &event.session_id)
                .is_some_and(|s| s.dir.has(layout::RECOVERY_CHECKED));
            if seen { None } else { first(event, env, project, now, PROMPT).ok()? }
        }
        _ => None,
    }
}

/// The check itself. A start that finds nothing writes nothing: the first prompt looks once more and leaves the marker.
fn first(
    event: &Event<'_>,
    env: &Env,
    project: &Project,
    now: Now,
    turn: &str,
) -> io::Result<Option<Advice>> {
    let sessions = project.sessions();
    let name = session_state::file_name(&event.session_id);
    let scan = Scan {
        project,
        env,
        session_id: &event.session_id,
        session_name: &name,
        sessions: sessions.as_ref(),
        now,
    };
    let found = leftovers::scan(&scan);
    if found.is_empty() && turn != PROMPT || !found.is_empty() && !Config::read(env, project).crash_recovery {
        return Ok(None);
    }
    let session = Session::make(project, &event.session_id)?;
    let marker = session.dir.create_new(layout::RECOVERY_CHECKED, b"");
    if turn == PROMPT && marker.is_err() || found.is_empty() || !take_turn(&session, turn, now)? {
        return Ok(None);
    }
    // The weightiest last: who tells of a session or a plan takes that right away from all others, and a kill before
    // the answer is out would leave it untold.
    let mut told: Vec<Vec<String>> =
        found.iter().rev().map(|finding| resolve(finding, &scan, &session)).collect();
    told.reverse();
    let sentences = told.concat();
    let advice = advice::crash_recovery(&sentences);
    if let Some(text) = advice.as_ref().and_then(|advice| advice.agent.as_deref()) {
        // For a conversation that loses it; without it, it is told once.
        let _ = session.dir.replace(layout::CRASH_CONTEXT, text.as_bytes(), false);
        note(&session, &format!("{turn}:said"), utf16_len(text), now)?;
    }
    Ok(advice)
}

/// After a compaction the conversation has lost what it was told.
fn again(event: &Event<'_>, env: &Env, project: &Project, now: Now) -> io::Result<Option<Advice>> {
    let Some(session) = Session::open(project, &event.session_id) else { return Ok(None) };
    let Ok(bytes) = session.dir.read(layout::CRASH_CONTEXT, 16 * 1024) else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let turn = format!("compact:{}", event.prompt_id.as_deref().unwrap_or_default());
    if text.is_empty() || !Config::read(env, project).crash_recovery || !take_turn(&session, &turn, now)? {
        return Ok(None);
    }
    note(&session, &format!("{turn}:said"), utf16_len(&text), now)?;
    Ok(Some(Advice { tag: advice::Tag::CrashRecovery, agent: Some(text), person: None }))
}

/// Takes the right to speak at this turn: of several processes one gets it.
fn take_turn(session: &Session, turn: &str, now: Now) -> io::Result<bool> {
    note(session, turn, 0, now)
}

/// Notes something of ours in the session's journal. Returns whether nobody did so before.
fn note(session: &Session, id: &str, length: usize, now: Now) -> io::Result<bool> {
    let mut fact = Fact::new(What::Said, "crash", session_state::fact_id(Some(id), now));
    fact.t = now.0;
    fact.by = "crash-recovery-check".into();
    fact.cls = AdviceKind::Crash.word().into();
    fact.n = length as u64;
    let applied = Journal::open_or_make(&session.dir)?.append(&[fact])?;
    Ok(applied == [rules::streak::Applied::Fresh])
}

/// Mends and words a finding; each sentence is a line in the log.
fn resolve(finding: &Finding, scan: &Scan<'_>, session: &Session) -> Vec<String> {
    let sentences = finding.resolve(scan, session);
    if sentences.is_empty() {
        return sentences;
    }
    let pane = session_file::read(&session.dir).and_then(|file| file.tmux?.pane);
    for sentence in &sentences {
        let entry = log::Entry {
            session: scan.session_id,
            pane: pane.as_deref().unwrap_or("-"),
            error: finding.what,
            action: if finding.weight == Weight::Mended { "mended" } else { "told" },
            result: sentence,
        };
        // A log that cannot be written changes nothing.
        let _ = log::write(scan.project, Some(session), entry, scan.now);
    }
    sentences
}
