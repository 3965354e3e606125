//! `heartbeat-write`: a session's sign of life, cheap enough to forget. Never says anything.

use std::io;

use hook_flow::Call;
use hook_io::{Kind, Source};
use session_state::status::{self, Status};
use session_state::{Session, heartbeat, loops, registry, retention, session_file, transcript};

/// Notes that the session lives, or that it ends.
///
/// An error means a missing sign, which no reader takes for death.
pub fn note(call: &Call<'_>) {
    let _ = match &call.event.kind {
        Kind::SessionEnd { reason } => end(call, reason),
        _ => alive(call),
    };
}

fn alive(call: &Call<'_>) -> io::Result<()> {
    let id = &*call.event.session_id;
    let (session, new) = match Session::open(call.project, id) {
        Some(session) => (session, false),
        None => (Session::make(call.project, id)?, true),
    };
    heartbeat::beat(&session.dir, call.now)?;
    // A call inside a subagent tells of the same process; only the main conversation starts and stops.
    let main = call.event.agent_id.is_none();
    let starts = main && matches!(call.event.kind, Kind::SessionStart { .. });
    if new || starts {
        status::write(&session.dir, Status::Running)?;
    }
    if starts && !new {
        session.mark_open()?;
    }
    if new || main && matches!(call.event.kind, Kind::SessionStart { .. } | Kind::UserPromptSubmit { .. }) {
        note_session(call, &session)?;
    }
    if main && matches!(call.event.kind, Kind::SessionStart { .. } | Kind::Stop) {
        loops::checkpoint(&session.dir)?;
    }
    if main && matches!(call.event.kind, Kind::SessionStart { source: Source::Startup | Source::Resume, .. })
    {
        retention::sweep(&session.sessions, &session.name, call.now);
        registry::note(call.env, call.project)?;
    }
    Ok(())
}

fn note_session(call: &Call<'_>, session: &Session) -> io::Result<()> {
    let model = match &call.event.kind {
        Kind::SessionStart { model, .. } => model.as_deref(),
        _ => None,
    };
    let seen = session_file::Seen {
        session_id: &call.event.session_id,
        transcript: call.event.transcript_path.as_deref(),
        cwd: call.event.cwd.as_deref(),
        project: &call.project.root.to_string_lossy(),
        model,
    };
    session_file::note(&session.dir, call.env, seen, call.now)
}

/// A closed terminal and SIGTERM fire the same event as an orderly end. A call that was running then is what the next
/// session wants to know: the mark among the open sessions stays.
fn end(call: &Call<'_>, reason: &str) -> io::Result<()> {
    let Some(session) = Session::open(call.project, &call.event.session_id) else { return Ok(()) };
    heartbeat::beat(&session.dir, call.now)?;
    let superseded = reason == "clear";
    status::write(&session.dir, if superseded { Status::Superseded } else { Status::Ended })?;
    session_file::note_end(&session.dir, reason, call.now)?;
    let transcript = call.event.transcript_path.as_deref().map(std::path::Path::new);
    let interrupted = !superseded && transcript.is_some_and(|path| transcript::running_call(path).is_some());
    if interrupted {
        return Ok(());
    }
    let _ = Session::unmark_open(&session.sessions, &session.name);
    if retention::is_blank(&session) {
        retention::remove(&session.sessions, &session.name);
    }
    Ok(())
}
