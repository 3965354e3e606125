//! `crash-recovery-check`: what earlier sessions left, mended where that is safe, told once.
//!
//! At every start of a session, and at its first prompt where no start was seen; at later prompts only of an open change
//! that the prompt names. The right to scan is taken first, by a line in the session's journal: of two wirings one scans,
//! mends and tells. A process killed in between leaves state mended and untold; it is in the log.

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
        Kind::UserPromptSubmit { prompt } => {
            let session = Session::open(project, &event.session_id);
            match session.and_then(|session| Some((session.dir.stat(layout::RECOVERY_CHECKED)?, session))) {
                Some((marker, session)) => {
                    asked(event, env, project, now, &session, prompt, marker.mtime_s).ok()?
                }
                None => first(event, env, project, now, PROMPT).ok()?,
            }
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
        request: match &event.kind {
            Kind::UserPromptSubmit { prompt } if hook_flow::is_persons_prompt(prompt) => Some(prompt),
            _ => None,
        },
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

/// At a later prompt: a person names an open change, and this conversation was not told of it. It may have been told to
/// another one, and this one may have worked on something else since it began.
fn asked(
    event: &Event<'_>,
    env: &Env,
    project: &Project,
    now: Now,
    session: &Session,
    prompt: &str,
    began_s: i64,
) -> io::Result<Option<Advice>> {
    if !hook_flow::is_persons_prompt(prompt) {
        return Ok(None);
    }
    let Some(once) = leftovers::change_asked_for(project, prompt, began_s, now) else { return Ok(None) };
    let turn = format!("change:{}", once.fingerprint());
    if !Config::read(env, project).crash_recovery || !take_turn(session, &turn, now)? {
        return Ok(None);
    }
    let what = once.what();
    let Some(sentence) = once.for_who_asked(session)? else { return Ok(None) };
    write_log(project, session, &event.session_id, what, "told", std::slice::from_ref(&sentence), now);
    let advice = advice::crash_recovery(&[sentence]);
    if let Some(text) = advice.as_ref().and_then(|advice| advice.agent.as_deref()) {
        note(session, &format!("{turn}:said"), utf16_len(text), now)?;
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
    let action = if finding.weight == Weight::Mended { "mended" } else { "told" };
    write_log(scan.project, session, scan.session_id, finding.what, action, &sentences, scan.now);
    sentences
}

fn write_log(
    project: &Project,
    session: &Session,
    session_id: &str,
    what: &str,
    action: &str,
    sentences: &[String],
    now: Now,
) {
    if sentences.is_empty() {
        return;
    }
    let pane = session_file::read(&session.dir).and_then(|file| file.tmux?.pane);
    for sentence in sentences {
        let pane = pane.as_deref().unwrap_or("-");
        let entry = log::Entry { session: session_id, pane, error: what, action, result: sentence };
        // A log that cannot be written changes nothing.
        let _ = log::write(project, Some(session), entry, now);
    }
}
