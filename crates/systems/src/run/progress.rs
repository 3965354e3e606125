//! `progress.ndjson`: what happened to jobs and steps, one event a line, appended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use session_state::times;

/// Where a job or step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// At work.
    Running,
    /// Done.
    Completed,
    /// Not needed.
    Skipped,
    /// Failed.
    Failed,
    /// Asked to pause.
    PauseRequested,
    /// Paused.
    Paused,
    /// At work again.
    Resumed,
}

impl Status {
    /// The word for it in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::PauseRequested => "pause_requested",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
        }
    }
}

/// The file, folded: later events win.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Events that could be read.
    pub events: usize,
    /// Lines that are none: torn, or of another program.
    pub skipped_lines: usize,
    /// Where each job is. A step speaks for its job when the job itself was never named.
    pub jobs: BTreeMap<String, Status>,
    /// Why a job or step failed last.
    pub last_reason: Option<String>,
    /// Time of the last event, seconds since 1970.
    pub last_at_s: Option<i64>,
    /// Times of all events that have a readable one.
    pub times_s: Vec<i64>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: Kind,
    status: Status,
    job: String,
    at: String,
    #[serde(default)]
    reason: serde_json::Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Job,
    Step,
}

/// Reads the file. Lines that are no events are counted and skipped: the last one may be torn.
#[must_use]
pub fn parse(bytes: &[u8]) -> Progress {
    let mut progress = Progress::default();
    let mut from_steps = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            continue;
        }
        // An array of the right length would pass for the object.
        let event = Some(line)
            .filter(|line| line.starts_with(b"{"))
            .and_then(|line| serde_json::from_slice::<Line>(line).ok())
            .filter(|event| !event.job.is_empty() && !event.at.is_empty());
        let Some(event) = event else {
            progress.skipped_lines += 1;
            continue;
        };
        progress.events += 1;
        if let Some(at) = times::parse(&event.at) {
            progress.last_at_s = Some(at);
            progress.times_s.push(at);
        }
        if event.status == Status::Running {
            // A new try: what failed before is no longer the cause.
            progress.last_reason = None;
        } else if event.status == Status::Failed
            && let Some(reason) = event.reason.as_str().filter(|reason| !reason.is_empty())
        {
            progress.last_reason = Some(reason.to_owned());
        }
        match event.kind {
            Kind::Job => {
                progress.jobs.insert(event.job, event.status);
            }
            Kind::Step => from_steps.push((event.job, event.status)),
        }
    }
    for (job, status) in from_steps {
        // That one step is done does not make its job done.
        let status = if status == Status::Completed { Status::Running } else { status };
        progress.jobs.entry(job).or_insert(status);
    }
    progress
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(kind: &str, status: &str, job: &str, more: &str) -> String {
        format!(r#"{{"type":"{kind}","status":"{status}","job":"{job}","at":"2026-03-02T09:00:00Z"{more}}}"#)
    }

    #[test]
    fn later_events_win_and_torn_lines_are_skipped() {
        let text = [
            event("job", "running", "plan", ""),
            event("job", "completed", "plan", ""),
            event("job", "failed", "build", ",\"reason\":\"no space\""),
            event("job", "running", "build", ",\"index\":1"),
            event("step", "failed", "build", ",\"step\":\"x\",\"reason\":\"reset\""),
            r#"{"type":"job","status":"compl"#.to_owned(),
        ]
        .join("\r\n");
        let progress = parse(text.as_bytes());
        assert_eq!((progress.events, progress.skipped_lines), (5, 1));
        assert_eq!(progress.jobs["plan"], Status::Completed);
        assert_eq!(progress.jobs["build"], Status::Running);
        assert_eq!(progress.last_reason.as_deref(), Some("reset"));
        assert_eq!(progress.last_at_s, Some(1_772_442_000));
    }

    #[test]
    fn what_is_no_event() {
        for line in [
            "",
            "[]",
            "{}",
            "null",
            &event("phase", "running", "a", ""),
            &event("job", "exploded", "a", ""),
            &event("job", "running", "", ""),
            r#"{"type":"job","status":"running","job":"a"}"#,
            r#"["job","running","a","2026-03-02T09:00:00Z",null]"#,
        ] {
            assert_eq!(parse(line.as_bytes()).events, 0, "{line}");
        }
        assert_eq!(parse(event("job", "skipped", "a", ",\"unknown\":[1]").as_bytes()).events, 1);
    }

    #[test]
    fn a_job_that_is_known_by_its_steps_alone() {
        let text = format!("{}\n{}", event("step", "completed", "a", ""), event("step", "failed", "b", ""));
        let jobs = parse(text.as_bytes()).jobs;
        assert_eq!((jobs["a"], jobs["b"]), (Status::Running, Status::Failed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let progress = parse(&bytes);
            prop_assert!(progress.events + progress.skipped_lines <= bytes.len());
        }

        #[test]
        fn a_file_cut_anywhere_has_no_more_events(cut in 0_usize..400) {
            let text = [event("job", "running", "a", ""), event("job", "failed", "a", ""), event("job", "running", "b", "")].join("\n");
            let cut = cut.min(text.len());
            prop_assert!(parse(&text.as_bytes()[..cut]).events <= 3);
        }
    }
}
