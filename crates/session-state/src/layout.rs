//! The name of every file and folder, in one place.

/// Folder of all session folders, in the project's root (or where `RECOVERY_STATE_DIR` points).
pub const SESSIONS: &str = "sessions";
/// Folder of the log.
pub const LOGS: &str = "logs";
/// The log: one line for each thing done.
pub const LOG: &str = "error-recovery.log";
/// In [`SESSIONS`]: one empty file for each session that has not ended well.
pub const OPEN_SESSIONS: &str = ".open";
/// In [`OPEN_SESSIONS`]: what stays as it is although it was told (plans, and work of other systems), and to whom.
pub const TOLD: &str = ".told";
/// Makes a folder invisible to git.
pub const GITIGNORE: &str = ".gitignore";
/// All that [`GITIGNORE`] holds.
pub const GITIGNORE_TEXT: &[u8] = b"*\n";

/// In a session's folder: the facts.
pub const JOURNAL: &str = "journal.jsonl";
/// Empty; exists while a streak is open or advice is queued.
pub const OPEN: &str = "open";
/// Epoch seconds of the last sign of life.
pub const HEARTBEAT: &str = "heartbeat";
/// Process, terminal, transcript, times.
pub const SESSION: &str = "session.json";
/// One word: running, ended, superseded or scavenged.
pub const STATUS: &str = "status";
/// Locked by whoever writes views.
pub const STATE_LOCK: &str = ".state.lock";
/// Empty; the crash check was done for this session.
pub const RECOVERY_CHECKED: &str = ".recovery-checked";
/// The crash context this session was given, for a conversation that lost it.
pub const CRASH_CONTEXT: &str = "crash-context.txt";
/// View: `{"attempt", "last_attempt_ts"}` of an MCP tool.
pub const MCP_RETRY: &str = "mcp-retry-";
/// View: a number.
pub const FAIL_COUNT: &str = "fail-count-";
/// View: `{"consecutive_failures", "current_model"}`.
pub const FAILURE_TRACKER: &str = "failure-tracker.json";
/// Another program's loop.
pub const LOOP: &str = "ralph.json";
/// The last valid copy of [`LOOP`], ours.
pub const LOOP_CHECKPOINT: &str = "ralph.json.checkpoint";
/// Prefix of the copy of a damaged [`LOOP`], ours.
pub const LOOP_DAMAGED: &str = "ralph.json.damaged-";
/// Folder of hand-over documents; `scavenged.md` in it is ours.
pub const HANDOFFS: &str = "handoffs";
/// What a dead session knew.
pub const SCAVENGED: &str = "scavenged.md";

/// Folder of claims, in the project's root.
pub const CLAIMS: &str = ".claims";
/// Folder of plans and tables people write.
pub const WORKING_STATE: &str = ".working-state";
/// The plan in work.
pub const CURRENT_PLAN: &str = "current-plan.md";
/// The fallback table.
pub const FALLBACK_TOOLS: &str = "fallback-tools.md";

/// Of agent-studio: the folder of everything, below the project's root.
pub const WORKFLOWS: &str = ".claude/context";
/// Of agent-studio: folders of runs, below the project's root.
pub const WORKFLOW_RUNS: [&str; 2] = [".claude/context/runtime/runs", ".claude/context/runs"];
/// Of agent-studio and workflow-mcp: the record in a run's folder.
pub const RUN_RECORD: &str = "run.json";
/// Of workflow-mcp: the folder in the home folder, unless [`crate::env::WORKFLOW_MCP_HOME`] names another.
pub const RUN_HOME: &str = ".workflow-mcp";
/// Of workflow-mcp: the folder of the workspaces.
pub const RUN_WORKSPACES: &str = "workspaces";
/// Ours, beside a record of workflow-mcp: who recovers the run.
pub const RUN_CLAIM: &str = "recovery-claim.json";
/// Of Comet: the folder of a project's own files, and of a change's own files.
pub const COMET: &str = ".comet";
/// Of Comet: the project's configuration.
pub const COMET_CONFIG: &str = "config.yaml";
/// Of Comet: roots of changes, below the project's root; having both is a conflict.
pub const CHANGES: [&str; 2] = ["docs/openspec/changes", "openspec/changes"];
/// Of Comet: the folder of archived changes among the others.
pub const ARCHIVED_CHANGES: &str = "archive";
/// Of Comet: the state of a change.
pub const CHANGE_STATE: &str = ".comet.yaml";
/// Of Comet: the tasks of a change.
pub const CHANGE_TASKS: &str = "tasks.md";

/// Whether a name in a session's folder is one of ours: such files may be removed with the session.
#[must_use]
pub fn is_ours(name: &str) -> bool {
    const OWN: [&str; 11] = [
        JOURNAL,
        OPEN,
        HEARTBEAT,
        SESSION,
        STATUS,
        STATE_LOCK,
        RECOVERY_CHECKED,
        CRASH_CONTEXT,
        FAILURE_TRACKER,
        GITIGNORE,
        LOG,
    ];
    OWN.contains(&name) || is_view(name) || is_log(name) || name == LOOP_CHECKPOINT || is_temporary(name)
}

/// Whether a name is that of the log or of one of its older generations (`.1` and so on).
#[must_use]
pub fn is_log(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(LOG) else { return false };
    rest.is_empty()
        || rest
            .strip_prefix('.')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a name is that of a counter file (`mcp-retry-…`, `fail-count-…`).
#[must_use]
pub fn is_view(name: &str) -> bool {
    name.starts_with(MCP_RETRY) || name.starts_with(FAIL_COUNT)
}

/// The name of a replacement in the making; a left-over one is no state.
pub(crate) fn temporary(name: &str, nonce: u64) -> String {
    format!(".{name}.{nonce:016x}.recovery-tmp")
}

/// The name a [`temporary`] one stands for. None: it is no such name.
pub(crate) fn original(name: &str) -> Option<&str> {
    let inner = name.strip_prefix('.')?.strip_suffix(".recovery-tmp")?;
    let (original, nonce) = inner.rsplit_once('.')?;
    (nonce.len() == 16 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(original)
}

/// Whether a name is that of a replacement in the making.
#[must_use]
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".recovery-tmp")
}
