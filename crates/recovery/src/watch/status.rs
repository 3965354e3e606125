//! `recovery watch status`.

use serde_json::json;
use session_state::{Dir, Now, times};
use watcher::{
    instance::{self, Incumbent},
    snapshot::{self, PaneView, Snapshot},
};

use crate::{exit_status::ExitStatus, printer::Printer};

/// Says who watches and what the last tick saw.
pub(super) fn run(as_json: bool, folder: &Dir, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let incumbent = instance::incumbent(folder);
    let seen = Snapshot::read(folder).filter(|seen| seen.v <= snapshot::VERSION);
    if as_json {
        printer.line(json!({ "v": 1, "watcher": incumbent, "last_tick": seen }));
        return Ok(ExitStatus::Success);
    }
    for line in lines(incumbent.as_ref(), seen.as_ref(), Now::read()) {
        printer.line(line);
    }
    Ok(ExitStatus::Success)
}

fn lines(incumbent: Option<&Incumbent>, seen: Option<&Snapshot>, now: Now) -> Vec<String> {
    let mut lines = vec![match incumbent {
        Some(one) => format!(
            "watching: pid {}, since {}, every {} s",
            one.process.pid,
            times::local_clock(one.since_s, now),
            one.interval_s
        ),
        None => "nobody watches; `recovery watch --detach` begins".to_owned(),
    }];
    let Some(seen) = seen else { return lines };
    let skipped = seen.skipped.as_deref().map(|why| format!(" (let pass: {why})")).unwrap_or_default();
    lines.push(format!("last look: {}{skipped}", times::local_clock(seen.at_s, now)));
    lines.push(format!("projects: {}", seen.projects.len()));
    let sessions: Vec<String> = seen.sessions.iter().map(|(word, count)| format!("{count} {word}")).collect();
    lines
        .push(format!("sessions: {}", if sessions.is_empty() { "none".into() } else { sessions.join(", ") }));
    lines.extend(seen.panes.iter().map(|pane| pane_line(pane, now)));
    for orphan in &seen.orphans {
        let pid = orphan.pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string());
        let age = orphan.last_s.map(|last| format!(", last sign of life {}", times::local_clock(last, now)));
        lines.push(format!(
            "orphan: session {} in {}, pid {pid}{}: its terminal is gone, it is left alone",
            orphan.session,
            orphan.project,
            age.unwrap_or_default()
        ));
    }
    lines.extend(seen.troubles.iter().map(|trouble| format!("trouble: {trouble}")));
    lines
}

/// What a pane waits for.
pub(super) fn pane_line(pane: &PaneView, now: Now) -> String {
    let resets = pane.resets_s.map(|at| format!(", resets {}", times::local_clock(at, now)));
    let kind = pane.kind.as_deref().map(|kind| format!(" ({kind})"));
    format!(
        "pane {}: {}{}{}: {}",
        pane.pane,
        pane.state,
        kind.unwrap_or_default(),
        resets.unwrap_or_default(),
        pane.why
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use watcher::snapshot::Orphan;

    #[test]
    fn what_a_person_sees() {
        let now = Now(1_772_452_800_000);
        assert_eq!(lines(None, None, now), ["nobody watches; `recovery watch --detach` begins"]);
        let seen = Snapshot {
            v: 1,
            at_s: now.seconds(),
            projects: vec!["/p".into()],
            sessions: vec![("alive".into(), 2), ("orphan".into(), 1)],
            panes: vec![PaneView {
                pane: "%3".into(),
                state: "limited".into(),
                kind: Some("usage_limit".into()),
                why: "waits for the reset".into(),
                ..PaneView::default()
            }],
            orphans: vec![Orphan {
                session: "s-1".into(),
                project: "/p".into(),
                pid: Some(7),
                ..Orphan::default()
            }],
            ..Snapshot::default()
        };
        let said = lines(None, Some(&seen), now);
        assert_eq!(
            said[2..],
            [
                "projects: 1",
                "sessions: 2 alive, 1 orphan",
                "pane %3: limited (usage_limit): waits for the reset",
                "orphan: session s-1 in /p, pid 7: its terminal is gone, it is left alone",
            ]
        );
    }
}
