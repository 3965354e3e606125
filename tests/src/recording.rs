//! Panes of the real client, provoked and recorded: so that the reading of screens is held against each new version.
//!
//! A [`Scene`] is a state that can be provoked, with what is right for it. Its screens are written in the form of
//! `crates/screens/tests/screens`: one text file a capture, and a row of `INDEX.json`.

mod scenes;

use std::{
    fs,
    io::Write as _,
    panic::{self, AssertUnwindSafe},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};

use crate::{
    client::Client,
    sandbox::Sandbox,
    tmux::Tmux,
    wait::{try_wait_for, wait_until},
    wiring::{RawHook, Wiring, program_folder},
};

/// Seconds after the reset at which a screen is judged once more.
const LATER_S: u64 = 600;
/// A screen that looks the same for so long has been drawn.
const STILL: Duration = Duration::from_millis(400);
const SOON: Duration = Duration::from_secs(60);
/// Stands for the sandbox's folder; cut to its length, so that nothing moves.
const FOLDER: &str = "/home/dev/place-of-work/of/a/developer";
const INDEX: &str = "INDEX.json";

/// What a version of the client can do.
#[derive(Clone, Copy, Debug)]
pub struct Abilities {
    /// It tells of failed turns by a hook (2.1.78).
    pub stop_failure: bool,
    /// Its limits open a menu (2.1.80).
    pub menu: bool,
    /// It continues by itself after a limit (2.1.234).
    pub continues: bool,
}

impl Abilities {
    /// Of a version such as `2.1.332`.
    pub fn of(version: &str) -> Self {
        let numbers: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
        let since = |first: [u32; 3]| numbers.as_slice() >= first.as_slice();
        Self { stop_failure: since([2, 1, 78]), menu: since([2, 1, 80]), continues: since([2, 1, 234]) }
    }
}

/// What is right for a screen. Where a list is given, each of it is.
#[derive(Clone, Debug)]
pub struct Right {
    verdicts: &'static [&'static str],
    kind: Option<&'static str>,
    /// What the screen says about the reset, epoch seconds; its seconds are cut off.
    reset_s: Option<u64>,
    marker_row: Option<&'static str>,
    keys: &'static [&'static str],
    keys_after_reset: &'static [&'static str],
    /// After the back-off, where trying again is switched on.
    keys_after_backoff: Option<&'static str>,
}

/// A state that can be provoked.
pub struct Scene {
    name: &'static str,
    /// Drawn once and then still: recorded in several widths and forms.
    is_still: bool,
    /// Whether a version has this state.
    is_in: fn(Abilities) -> bool,
    provoke: fn(&Sandbox, Abilities) -> (Tmux, Right),
}

/// What came of a scene.
#[derive(Debug)]
pub enum Outcome {
    /// All of its screens are read as they should be.
    Ok,
    /// These are not.
    Differs(Vec<String>),
    /// This version has no such state.
    NotInThisVersion,
    /// It did not come about.
    NotProvoked(String),
}

/// Records every scene of a client into `folder`, and tells of each how it went.
///
/// # Panics
/// The folder cannot be written.
pub fn record(client: &Client, folder: &Path, mut tell: impl FnMut(&str, &Outcome)) {
    fs::create_dir_all(folder).expect("the folder can be made");
    let abilities = Abilities::of(&client.version);
    for scene in scenes::ALL {
        let outcome = if (scene.is_in)(abilities) {
            record_scene(scene, client, abilities, folder)
        } else {
            Outcome::NotInThisVersion
        };
        tell(scene.name, &outcome);
    }
}

fn record_scene(scene: &Scene, client: &Client, abilities: Abilities, folder: &Path) -> Outcome {
    let mut sandbox = Sandbox::new(client.clone(), Wiring::Raw(Vec::new()));
    let failures = sandbox.scratch();
    if abilities.stop_failure {
        sandbox.wire_raw(vec![RawHook::recording("StopFailure", &failures)]);
    }
    // The harness fails by panicking; here that is an answer.
    let recorded = panic::catch_unwind(AssertUnwindSafe(|| {
        let (terminal, right) = (scene.provoke)(&sandbox, abilities);
        captures(scene, &sandbox, &terminal, &client.version, &right)
    }));
    let captures = match recorded {
        Ok(captures) => captures,
        Err(message) => {
            let text = message.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| message.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
            return Outcome::NotProvoked(text.to_owned());
        }
    };
    let mut faults = Vec::new();
    for capture in &captures {
        keep(folder, capture);
        faults.extend(capture.faults().into_iter().map(|fault| format!("{}: {fault}", capture.name())));
    }
    if faults.is_empty() { Outcome::Ok } else { Outcome::Differs(faults) }
}

/// One recorded screen: its row of the index, and its text.
struct Capture {
    row: Value,
    text: String,
}

impl Capture {
    fn name(&self) -> &str {
        self.row["name"].as_str().unwrap_or_default()
    }

    /// What `recovery explain screen` says otherwise than it should.
    fn faults(&self) -> Vec<String> {
        let row = &self.row;
        let mut question = json!({
            "screen": self.text,
            "now": row["now"],
            "pane": {
                "pane_id": "%1",
                "in_mode": row["in_mode"],
                "foreground": row["foreground"],
                "width": row["columns"],
                "height": row["lines"],
                "host_tz": row["zone"],
                "capture": format!("capture-pane {}", row["capture"].as_str().unwrap_or_default()),
                "client": row["client"],
                "session_status": row["status"],
                "waiting_for": row["waiting_for"],
                "stop_failure": row["stop_failure"],
            },
        });
        let answer = explain(&question);
        let mut faults = Vec::new();
        let mut one_of = |what: &str, found: &Value, right: &Value| {
            if right.as_array().is_some_and(|right| !right.contains(found)) {
                faults.push(format!("{what} {found}, right: {right}"));
            }
        };
        one_of("verdict", &answer["verdict"], &row["verdicts"]);
        one_of("kind", &answer["kind"], &json!([row["kind"]]));
        one_of("marker", &answer["marker_row"], &json!([row["marker_row"]]));
        one_of("keys", &answer["keys"], &row["keys"]);
        if row["reset_at"].is_string() {
            one_of("reset", &answer["reset_at"], &json!([row["reset_at"]]));
            let reset = row["reset_at"].as_str().and_then(from_rfc3339).unwrap_or_default();
            question["now"] = json!(rfc3339(reset + LATER_S));
            question["memory"] = answer["memory"].clone();
            one_of("keys after the reset", &explain(&question)["keys"], &row["keys_after_reset"]);
        }
        faults
    }
}

fn explain(question: &Value) -> Value {
    let mut command = Command::new(program_folder().join("recovery"));
    command.args(["explain", "screen"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("`recovery` is built");
    let mut input = child.stdin.take().expect("it was asked for");
    input.write_all(question.to_string().as_bytes()).expect("it reads its question");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("one answer")
}

/// The screens of a state: as it stands, and if it is still: narrow, narrow and joined, wide, and with colours.
fn captures(scene: &Scene, sandbox: &Sandbox, terminal: &Tmux, version: &str, right: &Right) -> Vec<Capture> {
    let forms: &[(u32, &str, &str)] = if scene.is_still {
        &[
            (100, "-p", ""),
            (100, "-p -e", "-100-colours"),
            (60, "-p", "-60"),
            (60, "-p -J", "-60-joined"),
            (180, "-p", "-180"),
        ]
    } else {
        &[(160, "-p", "")]
    };
    let capture = |(columns, form, suffix): &(u32, &str, &str)| {
        if scene.is_still {
            terminal.tmux(&["resize-window", "-x", &columns.to_string(), "-y", "50"]);
            wait_until_still(terminal);
        }
        let args: Vec<&str> = ["capture-pane"].into_iter().chain(form.split(' ')).collect();
        let text = format!("{}\n", normalised(terminal.tmux(&args).trim_end_matches('\n'), sandbox));
        let facts = terminal.tmux(&["display-message", "-p", "#{pane_in_mode} #{pane_current_command}"]);
        let (in_mode, foreground) = facts.trim().split_once(' ').unwrap_or(("0", ""));
        let client = sandbox.live_sessions().into_iter().next().unwrap_or_default();
        let failure = sandbox.recorded(&sandbox.scratch(), "StopFailure").pop().map(|payload| {
            let told = payload["last_assistant_message"].as_str().map(|told| normalised(told, sandbox));
            json!({ "error": payload["error"], "last_assistant_message": told })
        });
        let row = json!({
            "name": format!("{}-{version}{suffix}", scene.name),
            "client": version,
            "columns": columns,
            "lines": 50,
            "capture": form,
            "now": rfc3339(now_s()),
            "zone": "UTC",
            "in_mode": in_mode != "0",
            "foreground": foreground,
            "status": client["status"],
            "waiting_for": client["waitingFor"],
            "stop_failure": failure,
            "verdicts": right.verdicts,
            "kind": right.kind,
            "reset_at": right.reset_s.map(|reset| rfc3339(reset / 60 * 60)),
            "marker_row": right.marker_row,
            "keys": right.keys,
            "keys_after_reset": right.keys_after_reset,
            "keys_after_backoff": right.keys_after_backoff,
        });
        Capture { row, text }
    };
    forms.iter().map(capture).collect()
}

fn wait_until_still(terminal: &Tmux) {
    let mut last = String::new();
    wait_until(SOON, "the screen to be drawn", || {
        std::thread::sleep(STILL);
        let now = terminal.screen();
        let is_still = now == last;
        last = now;
        is_still
    });
}

/// Nothing of this machine in it.
fn normalised(text: &str, sandbox: &Sandbox) -> String {
    let project = sandbox.project();
    let root = project.parent().unwrap_or(&project).display().to_string();
    let place = FOLDER.get(..root.len()).unwrap_or(FOLDER);
    let address = sandbox.api.base_url();
    let port = address.rsplit(':').next().unwrap_or_default();
    text.replace(&root, place).replace(&format!(":{port}"), ":40000")
}

/// Writes the text and the row; a row of the same name is replaced.
fn keep(folder: &Path, capture: &Capture) {
    fs::write(folder.join(format!("{}.txt", capture.name())), &capture.text).expect("the folder is writable");
    let index = folder.join(INDEX);
    // Line by line: the rows of others stay as they are.
    let rows = fs::read_to_string(&index).unwrap_or_default();
    let rows = rows.lines().map(|line| line.trim_end_matches(',')).filter(|line| {
        serde_json::from_str::<Value>(line).is_ok_and(|row| row["name"] != capture.row["name"])
    });
    let lines: Vec<String> = rows.map(str::to_owned).chain([capture.row.to_string()]).collect();
    fs::write(index, format!("[\n{}\n]\n", lines.join(",\n"))).expect("the folder is writable");
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// `2026-11-30T20:45:02Z`.
fn rfc3339(epoch_s: u64) -> String {
    let at = i64::try_from(epoch_s).ok().and_then(|epoch_s| DateTime::from_timestamp(epoch_s, 0));
    at.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Reads what [`rfc3339`] writes.
fn from_rfc3339(text: &str) -> Option<u64> {
    u64::try_from(DateTime::parse_from_rfc3339(text).ok()?.timestamp()).ok()
}

/// Waits for a condition of a scene without failing.
fn comes(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    try_wait_for(limit, || condition().then_some(())).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_otherwise_is_found() {
        let rule = "─".repeat(40);
        let banner = "❯ Begin\n  ⎿ \u{a0}You've hit your 5-hour limit · resets 10:20pm (UTC)";
        let mut capture = Capture {
            text: format!("{banner}\n\n{rule}\n❯\u{a0}\n{rule}\n  ? for shortcuts\n"),
            row: json!({
                "now": "2026-11-30T20:45:02Z", "in_mode": false, "foreground": "claude", "columns": 100,
                "lines": 50, "zone": "UTC", "capture": "-p", "client": "2.1.332", "status": "idle",
                "verdicts": ["limited"], "kind": "usage_limit", "marker_row": null, "keys": ["none"],
                "reset_at": "2026-11-30T22:20:00Z", "keys_after_reset": ["resume_once"],
            }),
        };
        assert_eq!(capture.faults(), Vec::<String>::new());
        for (field, wrong, word) in [
            ("verdicts", json!(["working"]), "verdict"),
            ("kind", json!("billing"), "kind"),
            ("marker_row", json!("a row"), "marker"),
            ("keys", json!(["enter_once"]), "keys"),
            ("reset_at", json!("2026-11-30T22:21:00Z"), "reset"),
            ("keys_after_reset", json!(["none"]), "keys after the reset"),
        ] {
            let right = std::mem::replace(&mut capture.row[field], wrong);
            let faults = capture.faults();
            assert!(faults.len() == 1 && faults[0].starts_with(&format!("{word} ")), "{field}: {faults:?}");
            capture.row[field] = right;
        }
    }

    #[test]
    fn abilities_begin_with_a_version() {
        for (version, stop_failure, menu, continues) in [
            ("1.0.128", false, false, false),
            ("2.1.77", false, false, false),
            ("2.1.78", true, false, false),
            ("2.1.80", true, true, false),
            ("2.1.233", true, true, false),
            ("2.1.234", true, true, true),
            ("2.2.0", true, true, true),
        ] {
            let found = Abilities::of(version);
            assert_eq!((found.stop_failure, found.menu, found.continues), (stop_failure, menu, continues));
        }
    }
}
