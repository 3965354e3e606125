//! Sessions that are gone: saved once, and everything that only looks like one left alone.

use std::fs;

use session_state::process::ProcessId;
use session_state::session_file::SessionFile;
use session_state::status::{self, Status};
use session_state::{Session, heartbeat};

use crate::night::{Night, session_of};
use crate::stage::Stage;

/// A conversation that broke off in the middle of a call.
fn write_transcript(night: &Night, id: &str) -> std::path::PathBuf {
    let path = night.top.path().join(format!("{}.jsonl", session_of(id)));
    let lines = [
        r#"{"type":"user","uuid":"u1","timestamp":"2026-03-02T19:50:00Z","message":{"role":"user","content":"Move the invoices to the new table"}}"#,
        r#"{"type":"assistant","uuid":"a1","timestamp":"2026-03-02T19:51:00Z","message":{"role":"assistant","model":"claude-sonnet-5-5","content":[{"type":"text","text":"I copy them in batches."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make copy-invoices"}}]}}"#,
    ];
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

fn dying() -> Night {
    let night = Night::new();
    night.hooked("%1");
    write_transcript(&night, "%1");
    night
}

fn scavenged(night: &Night, id: &str) -> Option<String> {
    fs::read_to_string(night.session_folder(&session_of(id)).join("handoffs/scavenged.md")).ok()
}

fn count(night: &mut Night, word: &str) -> usize {
    let snapshot = night.tick().snapshot;
    snapshot.sessions.iter().find(|(name, _)| name == word).map_or(0, |(_, count)| *count)
}

#[test]
fn a_killed_session_is_saved_once_when_its_last_beat_is_old_enough() {
    let mut night = dying();
    night.minutes(1);
    night.stage().kill("%1");
    // The beat was at 20:00: five minutes old at 20:05, and that is not yet over five minutes.
    let told = night.until(20, 5);
    assert_eq!(told, [""; 0]);
    assert_eq!(count(&mut night, "not_yet"), 1);
    night.stage().pass(60_000);
    let told = night.minutes(2);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("dead session=session-1 pane=- scavenge: saved"), "{told:?}");
    let text = scavenged(&night, "%1").unwrap();
    assert!(text.contains("Move the invoices") && text.contains("make copy-invoices"), "{text}");
    assert_eq!(night.minutes(30), [""; 0]);
    night.restart();
    assert_eq!(night.minutes(30), [""; 0]);
    assert_eq!(night.stage().heard.len(), 1);
    assert_eq!(night.stage().heard[0]["action"], "scavenge");
    let log = fs::read_to_string(night.folder().join("error-recovery.log")).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    let log = fs::read_to_string(night.project.state.join("logs/error-recovery.log")).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[test]
fn what_only_looks_dead_is_left_alone() {
    type Prepare = fn(&Night);
    let rows: [(&str, Prepare, &str); 7] = [
        ("idle", |_| {}, "idle"),
        (
            "killed, damaged heartbeat",
            |night| {
                night.stage().kill("%1");
                fs::write(night.session_folder("session-1").join("heartbeat"), "soon\n").unwrap();
            },
            "unknown",
        ),
        (
            "killed, a heartbeat of tomorrow",
            |night| {
                night.stage().kill("%1");
                fs::write(night.session_folder("session-1").join("heartbeat"), "1772900000\n").unwrap();
            },
            "unknown",
        ),
        (
            "nobody can judge its process, its pane is gone",
            |night| {
                let pid = night.stage().client("%1").pid;
                night.stage().hidden.insert(pid);
                night.stage().close("%1");
            },
            "unknown",
        ),
        (
            "nobody can judge its process, its pane is there",
            |night| {
                let pid = night.stage().client("%1").pid;
                night.stage().hidden.insert(pid);
            },
            "idle",
        ),
        ("ended", |night| mark(night, Status::Ended), ""),
        ("superseded", |night| mark(night, Status::Superseded), ""),
    ];
    for (name, prepare, verdict) in rows {
        let mut night = dying();
        prepare(&night);
        let told = night.minutes(120);
        assert_eq!(told, [""; 0], "{name}");
        assert!(scavenged(&night, "%1").is_none(), "{name}");
        if !verdict.is_empty() {
            assert_eq!(count(&mut night, verdict), 1, "{name}");
        }
    }
}

fn mark(night: &Night, word: Status) {
    night.stage().kill("%1");
    status::write(&Session::open(&night.project, "session-1").unwrap().dir, word).unwrap();
}

#[test]
fn an_orphan_is_told_of_once_and_lives() {
    let mut night = dying();
    night.hooked("%2");
    let pid = night.stage().client("%1").pid;
    night.stage().client("%1").writes_file = false;
    night.minutes(2);
    night.stage().close("%1");
    let told = night.minutes(60);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(&format!("pid {pid} lives")), "{told:?}");
    assert!(night.stage().living.contains_key(&pid));
    assert_eq!(night.tick().snapshot.orphans[0].pid, Some(pid));
    assert!(scavenged(&night, "%1").is_none());
}

#[test]
fn without_an_answer_of_the_server_nobody_is_an_orphan() {
    use watcher::world::TerminalError;
    let mut night = dying();
    night.minutes(2);
    night.stage().close("%1");
    night.stage().troubles.insert(crate::stage::OWN.into(), TerminalError::Failed("timed out".into()));
    assert_eq!(night.minutes(20), [""; 0]);
    // Nor where the client told its pane and nobody the server.
    let mut night = dying();
    night.hooked("%2");
    let folder = night.session_folder("session-1");
    let mut file: SessionFile =
        serde_json::from_slice(&fs::read(folder.join("session.json")).unwrap()).unwrap();
    file.tmux.as_mut().unwrap().socket = None;
    night.write_session("session-1", &file);
    night.stage().client("%1").writes_file = false;
    night.stage().close("%1");
    assert_eq!(night.minutes(20), [""; 0]);
}

#[test]
fn a_session_that_never_beat_counts_from_its_start() {
    let mut night = dying();
    fs::remove_file(night.session_folder("session-1").join("heartbeat")).unwrap();
    night.minutes(1);
    night.stage().kill("%1");
    assert_eq!(night.until(20, 6), [""; 0]);
    let told = night.minutes(2);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(scavenged(&night, "%1").is_some(), "{told:?}");
}

#[test]
fn a_transcript_that_grows_is_waited_for() {
    use std::io::Write as _;
    let mut night = dying();
    night.stage().kill("%1");
    let path = night.top.path().join("session-1.jsonl");
    // Somebody writes a line a minute until 20:20: each time right before a look.
    let grow = |path: std::path::PathBuf| {
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(file, "{{\"type\":\"system\"}}").unwrap();
    };
    night.until(20, 5);
    // Its last change lies in the present of the machine, not in that of the stage: only its size tells.
    let mut told = Vec::new();
    for _ in 0..3 {
        grow(path.clone());
        told.extend(night.minutes(1));
    }
    let told_growing = told.len();
    told.extend(night.minutes(3));
    assert!(told_growing <= 1);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(scavenged(&night, "%1").is_some());
}

#[test]
fn after_a_sleep_the_dead_wait_an_interval_too() {
    let mut night = dying();
    night.minutes(2);
    night.stage().kill("%1");
    night.stage().sleep(9_000);
    assert_eq!(night.tick().lines, [""; 0]);
    night.stage().pass(60_000);
    assert_eq!(night.tick().lines.len(), 1);
}

#[test]
fn another_projects_session_in_a_shared_state_folder_is_that_ones() {
    let mut night = Night::new();
    let other = night.top.path().join("other");
    fs::create_dir_all(&other).unwrap();
    let file = SessionFile {
        v: 1,
        session_id: "theirs".into(),
        process: Some(ProcessId { pid: 7, start: Some(1), ..ProcessId::default() }),
        project: Some(other.display().to_string()),
        started_s: 1,
        ..SessionFile::default()
    };
    night.write_session("theirs", &file);
    let session = Session::open(&night.project, "theirs").unwrap();
    heartbeat::beat(&session.dir, session_state::Now(1_000_000)).unwrap();
    let ticked = night.tick();
    assert_eq!(ticked.snapshot.sessions, []);
    assert_eq!(night.minutes(10), [""; 0]);
    assert_eq!(status::read(&session.dir), None);
}

#[test]
fn a_hand_off_whose_place_is_taken_is_told_of_once() {
    let mut night = dying();
    night.stage().kill("%1");
    fs::write(night.session_folder("session-1").join("handoffs"), "mine").unwrap();
    let told = night.minutes(60);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(fs::read_to_string(night.session_folder("session-1").join("handoffs")).unwrap(), "mine");
}

#[test]
fn a_dry_run_says_who_would_be_saved() {
    let mut night = dying();
    night.is_dry = true;
    night.stage().kill("%1");
    let told = night.minutes(60);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("would be saved"), "{told:?}");
    assert!(scavenged(&night, "%1").is_none());
    assert_eq!(night.stage().heard.len(), 0);
}

/// Kills a client in the middle of its work.
pub(crate) fn crash(stage: &mut Stage, id: &str) {
    stage.kill(id);
}
