//! `run.json`: one run, as the engine wrote it.

use serde::Serialize;
use serde_json::{Map, Value};
use session_state::times;

use super::withheld;
use crate::json;

/// More than this is no record.
pub const LIMIT: usize = 4 * 1024 * 1024;

/// Fields that must be there as text (FORMATS 7).
const NEEDED: [&str; 4] = ["runKey", "workspace", "workflowPath", "startedAt"];

/// Where a run is in its life: a folder of the registry, and a field of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Waits for a place.
    Queued,
    /// At work, or so the engine believes.
    Running,
    /// Ended with a failure or by an interruption.
    Error,
    /// Ended well.
    Completed,
}

impl Stage {
    /// All stages.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Running, Self::Error, Self::Completed];

    /// The word for it, in the record and as a folder.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Error => "error",
            Self::Completed => "completed",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.word() == word)
    }

    /// Whether the run has ended.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Error | Self::Completed)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// All jobs were done.
    Success,
    /// There was nothing to do.
    Skipped,
    /// A job failed.
    Failed,
    /// Something ended it from outside.
    Interrupted,
}

impl Ending {
    fn of(word: &str) -> Option<Self> {
        [Self::Success, Self::Skipped, Self::Failed, Self::Interrupted]
            .into_iter()
            .find(|ending| ending.word() == word)
    }

    /// The word for it in the record.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What the record names as the job to go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailedJob {
    /// Nothing, or empty text.
    None,
    /// A job.
    Named(String),
    /// Something that is no name of a job.
    Unusable,
}

/// What a run was started in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launcher {
    /// `tmux`, `cmux`, `native`, or another word.
    pub kind: String,
    /// Name of the tmux session.
    pub session: Option<String>,
    /// Pane, such as `%12`.
    pub pane: Option<String>,
}

/// Somebody recovers the run already, as a field of the record says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedClaim {
    /// Its id.
    pub id: String,
    /// Who holds it.
    pub owner: Option<String>,
}

/// One run. Fields of another type than expected count as absent.
#[derive(Clone, Debug)]
pub struct Record {
    /// Key, unique within its workspace.
    pub key: String,
    /// Workspace.
    pub workspace: String,
    /// Stage the record claims.
    pub stage: Stage,
    /// Generation of the run.
    pub run_id: Option<String>,
    /// Name for people.
    pub display_name: Option<String>,
    /// Id of the workflow.
    pub workflow_id: Option<String>,
    /// Name of the workflow.
    pub workflow_name: Option<String>,
    /// File of the workflow.
    pub workflow_path: String,
    /// Repository the run was started in.
    pub repository: Option<String>,
    /// Branch of its worktree.
    pub branch: Option<String>,
    /// Start, seconds since 1970.
    pub started_s: Option<i64>,
    /// End, seconds since 1970.
    pub finished_s: Option<i64>,
    /// How it ended; unknown words are dropped.
    pub ending: Option<Ending>,
    /// The ending is a word nobody knows.
    pub unknown_ending: bool,
    /// Exit code.
    pub exit_code: Option<i64>,
    /// What went wrong, as it was written.
    pub error: Option<String>,
    /// Why it counts as failed.
    pub failure_reason: Option<String>,
    /// The job to go on with.
    pub failed_job: FailedJob,
    /// The process it ran in.
    pub pid: Option<u32>,
    /// Nothing was carried out.
    pub dry_run: bool,
    /// What it was started in.
    pub launcher: Option<Launcher>,
    /// The engine found nobody behind it.
    pub stale: bool,
    /// Why, as the engine wrote it.
    pub stale_reason: Option<String>,
    /// The repair that is open.
    pub active_repair: Option<String>,
    /// Whether it works on a job of the board (`env.AGIFLOW_JOB_ID`); the id is not shown.
    pub has_job_id: bool,
    /// A field that says the job is blocked. Where the board keeps this is not public.
    pub blocked_by: Option<&'static str>,
    /// Somebody recovers it already.
    pub claim: Option<RecordedClaim>,
    /// A format version above the one known.
    pub newer: Option<u64>,
    /// Paths the record lists as its logs.
    pub listed_logs: Vec<String>,
    /// Everything that was read, with what is never shown.
    pub(crate) all: Map<String, Value>,
}

/// Why a file is no record. The texts go after the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoRecord {
    /// It cannot be read.
    #[error("cannot be read ({0})")]
    Unreadable(String),
    /// It is not JSON.
    #[error("is damaged: not JSON")]
    Damaged,
    /// It is JSON of something else.
    #[error("is no run record: {0} is missing")]
    Foreign(&'static str),
    /// Its stage is none that is known.
    #[error("is no run record: its stage is not known")]
    UnknownStage,
}

/// Reads a record.
///
/// # Errors
/// It is not JSON, or lacks what a record must have.
pub fn parse(bytes: &[u8]) -> Result<Record, NoRecord> {
    let all = json::object(bytes).map_err(|why| match why {
        json::NotRead::NotAnObject => NoRecord::Foreign("an object"),
        _ => NoRecord::Damaged,
    })?;
    let text = |name: &str| text_of(all.get(name)).map(str::to_owned);
    let needed = |at: usize| text(NEEDED[at]).ok_or(NoRecord::Foreign(NEEDED[at]));
    let (key, workspace, workflow_path, started) = (needed(0)?, needed(1)?, needed(2)?, needed(3)?);
    let stage = text_of(all.get("stage")).ok_or(NoRecord::Foreign("stage"))?;
    let stage = Stage::of(stage).ok_or(NoRecord::UnknownStage)?;
    let env = all.get("env").and_then(Value::as_object);
    let ending = text("outcome");
    Ok(Record {
        key,
        workspace,
        stage,
        run_id: text("runId"),
        display_name: text("displayName"),
        workflow_id: text("workflowId"),
        workflow_name: text("workflowName"),
        workflow_path,
        repository: text("originalRepoPath"),
        branch: text("worktreeBranch"),
        started_s: times::parse(&started),
        finished_s: all.get("finishedAt").and_then(times::of_json),
        unknown_ending: ending.as_deref().is_some_and(|word| Ending::of(word).is_none()),
        ending: ending.as_deref().and_then(Ending::of),
        exit_code: all.get("exitCode").and_then(Value::as_i64),
        error: text("errorMessage"),
        failure_reason: text("failureReason"),
        failed_job: failed_job(all.get("failedJob")),
        pid: all
            .get("pid")
            .and_then(Value::as_u64)
            .and_then(|pid| u32::try_from(pid).ok())
            .filter(|pid| *pid > 0),
        dry_run: all.get("dryRun") == Some(&Value::Bool(true)),
        launcher: all.get("launcher").and_then(Value::as_object).map(|launcher| Launcher {
            kind: text_of(launcher.get("type")).unwrap_or_default().to_owned(),
            session: text_of(launcher.get("sessionName")).map(str::to_owned),
            pane: text_of(launcher.get("paneId")).map(str::to_owned),
        }),
        stale: all.get("stale") == Some(&Value::Bool(true)),
        stale_reason: text("staleReason"),
        active_repair: text("activeRepairId"),
        has_job_id: env
            .and_then(|env| text_of(env.get("AGIFLOW_JOB_ID")))
            .is_some_and(|id| !id.trim().is_empty() && id != "null"),
        blocked_by: blocked(&all),
        claim: claim(&all),
        newer: ["schemaVersion", "formatVersion"]
            .iter()
            .find_map(|name| all.get(*name).and_then(Value::as_u64))
            .filter(|version| *version > 1),
        listed_logs: listed_logs(&all),
        all,
    })
}

fn text_of(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}

fn failed_job(value: Option<&Value>) -> FailedJob {
    const LONGEST: usize = 200;
    match value {
        None | Some(Value::Null) => FailedJob::None,
        Some(Value::String(name)) if name.trim().is_empty() => FailedJob::None,
        Some(Value::String(name)) if name.len() <= LONGEST && !name.chars().any(char::is_control) => {
            FailedJob::Named(name.clone())
        }
        Some(_) => FailedJob::Unusable,
    }
}

/// Looks for a field that says so in the plainest words; none of these names is public.
fn blocked(all: &Map<String, Value>) -> Option<&'static str> {
    const COLUMNS: [&str; 6] = ["column", "jobColumn", "jobStatus", "jobState", "boardColumn", "columnName"];
    const FLAGS: [&str; 2] = ["blocked", "jobBlocked"];
    let says = |name: &&&str| {
        text_of(all.get(**name)).is_some_and(|word| word.trim().eq_ignore_ascii_case("blocked"))
    };
    let flag = |name: &&&str| all.get(**name) == Some(&Value::Bool(true));
    COLUMNS.iter().find(says).or_else(|| FLAGS.iter().find(flag)).copied()
}

/// A claim has an id; where the engine keeps it is not public, so it is looked for at the top and one level below.
fn claim(all: &Map<String, Value>) -> Option<RecordedClaim> {
    let of = |fields: &Map<String, Value>| {
        let id = text_of(fields.get("claimId"))?.to_owned();
        Some(RecordedClaim { id, owner: text_of(fields.get("ownerSessionId")).map(str::to_owned) })
    };
    let inner = all.iter().filter_map(|(name, value)| Some((name, value.as_object()?)));
    of(all).or_else(|| {
        inner.filter_map(|(name, fields)| Some((name, of(fields)?))).find_map(|(name, claim)| {
            // What is withheld is not looked into.
            (!withheld::is_withheld(name)).then_some(claim)
        })
    })
}

fn listed_logs(all: &Map<String, Value>) -> Vec<String> {
    let entries = all.get("runDirectory").and_then(|dir| dir.get("entries")).and_then(Value::as_array);
    let is_log = |entry: &&Value| {
        text_of(entry.get("kind")).is_some_and(|kind| kind.to_ascii_lowercase().contains("log"))
    };
    let path = |entry: &Value| text_of(entry.get("path")).map(str::to_owned);
    entries.into_iter().flatten().filter(is_log).filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEAST: &str = r#"{"runKey":"k","workspace":"w","workflowPath":"/f","startedAt":"2026-03-02T09:00:00Z","stage":"error""#;

    fn with(more: &str) -> Record {
        parse(format!("\u{feff}{LEAST}{more}}}\r\n").as_bytes()).unwrap()
    }

    #[test]
    fn the_least_a_record_needs() {
        let record = with("");
        assert_eq!(
            (record.key.as_str(), record.stage, record.started_s),
            ("k", Stage::Error, Some(1_772_442_000))
        );
        assert_eq!(record.failed_job, FailedJob::None);
        assert!(!record.has_job_id && record.claim.is_none() && record.newer.is_none());
        for (at, name) in NEEDED.iter().enumerate() {
            for absent in ["null", "\"\"", "7", "[]"] {
                let mut all: Value = serde_json::from_str(&format!("{LEAST}}}")).unwrap();
                all[*name] = serde_json::from_str(absent).unwrap();
                assert_eq!(parse(all.to_string().as_bytes()).err(), Some(NoRecord::Foreign(NEEDED[at])));
            }
        }
        let odd = format!("{LEAST}}}").replace("error", "elsewhere");
        assert_eq!(parse(odd.as_bytes()).err(), Some(NoRecord::UnknownStage));
        for damaged in ["", "{", "nonsense", "{\"runKey\":\"\u{0}"] {
            assert_eq!(parse(damaged.as_bytes()).err(), Some(NoRecord::Damaged), "{damaged}");
        }
        assert_eq!(parse(b"[]").err(), Some(NoRecord::Foreign("an object")));
    }

    #[test]
    fn a_failed_job_is_a_name_or_nothing() {
        for (json, expected) in [
            (r#""""#, FailedJob::None),
            (r#""  ""#, FailedJob::None),
            ("null", FailedJob::None),
            (r#""build""#, FailedJob::Named("build".into())),
            (r#""a\nb""#, FailedJob::Unusable),
            ("5", FailedJob::Unusable),
            ("{}", FailedJob::Unusable),
        ] {
            assert_eq!(with(&format!(",\"failedJob\":{json}")).failed_job, expected, "{json}");
        }
        let longest = "j".repeat(200);
        assert_eq!(
            with(&format!(",\"failedJob\":\"{longest}\"")).failed_job,
            FailedJob::Named(longest.clone())
        );
        assert_eq!(with(&format!(",\"failedJob\":\"{longest}j\"")).failed_job, FailedJob::Unusable);
    }

    #[test]
    fn an_unknown_ending_is_dropped_and_remembered() {
        let record = with(",\"outcome\":\"exploded\"");
        assert!(record.ending.is_none() && record.unknown_ending);
        assert_eq!(with(",\"outcome\":\"interrupted\"").ending, Some(Ending::Interrupted));
    }

    #[test]
    fn a_job_id_is_told_from_an_empty_one() {
        for (env, has) in [
            (r#"{"AGIFLOW_JOB_ID":"job-1"}"#, true),
            (r#"{"AGIFLOW_JOB_ID":""}"#, false),
            (r#"{"AGIFLOW_JOB_ID":"null"}"#, false),
            (r#"{"AGIFLOW_JOB_ID":null}"#, false),
            ("{}", false),
            ("[]", false),
        ] {
            assert_eq!(with(&format!(",\"env\":{env}")).has_job_id, has, "{env}");
        }
    }

    #[test]
    fn claims_and_blocks_in_plain_words_are_seen() {
        assert_eq!(with(r#","recovery":{"claimId":"c-1","ownerSessionId":"s-2"}"#).claim.unwrap().id, "c-1");
        assert_eq!(with(r#","claimId":"c-3"}"#.trim_end_matches('}')).claim.unwrap().id, "c-3");
        assert!(with(r#","env":{"claimId":"c-1"}"#).claim.is_none(), "not in what is withheld");
        assert_eq!(with(r#","jobColumn":"Blocked""#).blocked_by, Some("jobColumn"));
        assert_eq!(with(r#","blocked":true"#).blocked_by, Some("blocked"));
        assert_eq!(with(r#","blocked":false,"column":"doing""#).blocked_by, None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn any_value_in_any_field_is_survived(
            name in "runKey|workspace|stage|outcome|pid|launcher|env|failedJob|runDirectory|finishedAt|activeRepairId|x",
            value in prop_oneof![
                Just("null".to_owned()), Just("true".into()), Just("-1".into()), Just("1e999".into()),
                Just("18446744073709551615".into()), Just("[[{}]]".into()), Just("{\"entries\":[1,{}]}".into()),
                any::<String>().prop_map(|text| Value::from(text).to_string()),
            ],
        ) {
            let _ = parse(format!("{LEAST},\"{name}\":{value}}}").as_bytes());
        }
    }
}
