//! The one catalogue of what is ever said: every sentence for the agent and every line for the person.
//!
//! `[TAG] fact (evidence). consequence or next step.` The agent gets facts with their source, in about 160
//! characters, without orders; what only a person can do (log in, `/mcp`, `/model`) goes to the person, in one line.
//! The agent's texts are free of the words by which pane watchers recognise a limit. Values from outside are made
//! safe here once more, so no caller can forget it.

use serde::{Deserialize, Serialize};

use crate::api::ApiClass;
use crate::text::{one_line, quoted, safe_line, utf16_len};

pub use crate::text::age;

/// The largest crash recovery text, in UTF-16 units, its tag included.
pub const CRASH_RECOVERY_BUDGET: usize = 700;

/// The longest difference of a replacement that is shown, in characters.
pub const DIFFERENCE_CHARS: usize = 80;

/// The longest names, causes and paths shown, in characters.
const NAME_CHARS: usize = 64;
const SUBJECT_CHARS: usize = 48;
const CAUSE_CHARS: usize = 60;
const PATH_CHARS: usize = 90;

/// The kind of an advice; its text opens every sentence for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    /// What an earlier session left.
    CrashRecovery,
    /// A failing MCP server, while waiting may help.
    Mcp,
    /// A failing MCP server, when waiting no longer helps.
    McpFallback,
    /// A failing tool and its replacement.
    Degradation,
    /// The same fix tried again.
    CircularFix,
    /// Another model may go on.
    Model,
    /// A limit that passes.
    Limit,
    /// An error that stays until a person acts.
    PermanentError,
}

impl Tag {
    /// Every tag.
    pub const ALL: [Self; 8] = [
        Self::CrashRecovery,
        Self::Mcp,
        Self::McpFallback,
        Self::Degradation,
        Self::CircularFix,
        Self::Model,
        Self::Limit,
        Self::PermanentError,
    ];

    /// Returns the tag as it opens a text, such as `[MCP FALLBACK]`.
    pub fn text(self) -> &'static str {
        match self {
            Self::CrashRecovery => "[CRASH RECOVERY]",
            Self::Mcp => "[MCP]",
            Self::McpFallback => "[MCP FALLBACK]",
            Self::Degradation => "[DEGRADATION]",
            Self::CircularFix => "[CIRCULAR FIX]",
            Self::Model => "[MODEL]",
            Self::Limit => "[LIMIT]",
            Self::PermanentError => "[PERMANENT ERROR]",
        }
    }
}

/// One advice: a text for the agent, a line for the person, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// Its kind.
    pub tag: Tag,
    /// What the agent hears (`additionalContext`), tag included.
    pub agent: Option<String>,
    /// What the person sees (`systemMessage`), one line, tag included.
    pub person: Option<String>,
}

impl Advice {
    fn new(tag: Tag, agent: impl Into<Option<String>>, person: impl Into<Option<String>>) -> Self {
        let tagged = |text: String| format!("{} {text}", tag.text());
        Self { tag, agent: agent.into().map(tagged), person: person.into().map(tagged) }
    }
}

/// A replacement and what it cannot do (empty = nothing known).
pub type Alternative<'a> = Option<(&'a str, &'a str)>;

/// What is known about a file that an edit missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// It changed at this time of day (`hh:mm`), after it was last read.
    AfterRead(String),
    /// It did not change since it was read.
    NotSinceRead,
    /// Nothing is known.
    Unknown,
}

// MCP

/// An MCP call failed and waiting may help: failure `n` of [`crate::backoff::LIMIT`], next try after `wait_s` seconds.
pub fn mcp_backoff(server: &str, cause: &str, n: u32, wait_s: u64) -> Advice {
    let text = format!(
        "{}: {} ({n} of {} in a row). The client restarts it at the next call; next try after {wait_s} s.",
        name(server),
        reason(cause),
        crate::backoff::LIMIT,
    );
    Advice::new(Tag::Mcp, text, None)
}

/// An MCP server failed `n` times in a row: the alternative for the agent, `/mcp` for the person.
pub fn mcp_fallback(server: &str, n: u32, cause: &str, alternative: Alternative<'_>) -> Advice {
    let (server, cause) = (name(server), reason(cause));
    let text = format!(
        "{server} failed {n} times in a row ({cause}). {} Reconnecting is the person's step (/mcp).",
        is_the_alternative(alternative),
    );
    let person = format!("{server} failed {n} times in a row ({cause}): /mcp reconnects it.");
    Advice::new(Tag::McpFallback, text, person)
}

/// An MCP server is not connected and the client will not restart it by itself.
pub fn mcp_not_connected(server: &str, alternative: Alternative<'_>) -> Advice {
    let server = name(server);
    let text = format!(
        "{server} is not connected; waiting does not bring it back. {} Reconnecting is the person's step (/mcp).",
        is_the_alternative(alternative),
    );
    let person = format!("{server} is not connected: /mcp shows why and reconnects it.");
    Advice::new(Tag::McpFallback, text, person)
}

/// An MCP server wants a login, or its session expired.
pub fn mcp_login(server: &str) -> Advice {
    let server = name(server);
    let text = format!("{server} wants a new login; calls fail until the person has done it (/mcp).");
    let person = format!("{server} wants a login: /mcp, then {server}.");
    Advice::new(Tag::Mcp, text, person)
}

/// An MCP server answered that calls come too fast.
pub fn mcp_rate_limited(server: &str) -> Advice {
    let text = format!(
        "{} answered that calls come too fast; it serves again after a pause, and fewer calls pass better than many.",
        name(server)
    );
    Advice::new(Tag::Mcp, text, None)
}

// Tools

/// A tool failed `n` times in a row and another one does the job.
pub fn degradation(tool: &str, n: u32, cause: &str, alternative: (&str, &str)) -> Advice {
    let (replacement, difference) = alternative;
    let text = format!(
        "{} failed {n} times in a row ({}). {} does the job{}.",
        name(tool),
        reason(cause),
        name(replacement),
        in_brackets(difference),
    );
    Advice::new(Tag::Degradation, text, None)
}

/// A tool failed `n` times in a row and nobody named another one.
pub fn degradation_no_alternative(tool: &str, n: u32, cause: &str) -> Advice {
    let text = format!("{} failed {n} times in a row ({}). No known replacement.", name(tool), reason(cause));
    Advice::new(Tag::Degradation, text, None)
}

/// Edits of one file failed `n` times.
pub fn edit_missed(tool: &str, path: &str, n: u32, changed: Changed) -> Advice {
    let path = path_words(path);
    let fact = match tool {
        "Edit" | "MultiEdit" => format!("{tool} did not find its text in {path} {n} times"),
        _ => format!("{} could not change {path} {n} times", name(tool)),
    };
    let text = match changed {
        Changed::AfterRead(at) => {
            format!("{fact}; the file changed at {}, after it was last read.", one_line(&at, 5))
        }
        Changed::NotSinceRead => {
            format!("{fact}; the file has not changed since it was read, so the text sought differs from it.")
        }
        Changed::Unknown => format!("{fact}. A fresh Read shows what the file holds now."),
    };
    Advice::new(Tag::Degradation, text, None)
}

/// A check failed `n` times with the same error after similar edits.
///
/// `edited` are the files those edits changed, `shared` the words their approaches have in common.
pub fn circular_fix(command: &str, n: u32, error: &str, edited: &[&str], shared: &[&str]) -> Advice {
    let mut text = format!("{} failed {n} times with the same error", code(command, 60));
    if !error.trim().is_empty() {
        text.push_str(&format!(" ({})", reason(error)));
    }
    if !edited.is_empty() {
        text.push_str(&format!(" after similar edits to {}", listed(edited, 2, path_words)));
    }
    if !shared.is_empty() {
        text.push_str(&format!("; shared words: {}", listed(shared, 5, |word| safe(word, 24))));
    }
    text.push('.');
    Advice::new(Tag::CircularFix, text, None)
}

// API

/// The last `n` turns ended on overload or server errors.
///
/// `next_family` is the next larger model family; `None` when there is none or the model is unknown. The client's own
/// `fallbackModel` setting comes first: it needs nobody at the keyboard.
pub fn model_overload(n: u32, class: ApiClass, next_family: Option<&str>) -> Advice {
    let what = match class {
        ApiClass::Overload => "API overload (529)",
        _ => "API server errors",
    };
    let remedy = match next_family {
        Some(family) => format!("/model {}, or set fallbackModel", name(family)),
        None => "set fallbackModel, or wait".to_owned(),
    };
    let agent = format!(
        "the last {n} turns ended on {what}; nothing in the task causes it. For the person: {remedy}."
    );
    let person = format!("the last {n} turns ended on {what}: {remedy} in settings.json.")
        .replace(", or wait in settings.json.", " in settings.json, or wait.");
    Advice::new(Tag::Model, agent, person)
}

/// The last `n` turns ended because the API was not reached.
pub fn network(n: u32) -> Advice {
    let agent =
        format!("the last {n} turns ended because the API was not reached; another model changes nothing.");
    let person =
        format!("the API was not reached in {n} turns: check network, VPN, proxy, ANTHROPIC_BASE_URL.");
    Advice::new(Tag::Model, agent, person)
}

/// The last turn ended on a limit of the account; `reset` as the message wrote it.
pub fn usage_limit(reset: Option<&str>) -> Advice {
    let person = match reset {
        Some(reset) => format!("resets {}", safe(reset, 60)),
        None => "no reset time was given: /usage shows it.".to_owned(),
    };
    Advice::new(Tag::Limit, "the last turn ended on a usage limit.".to_owned(), person)
}

/// The last turn ended on the limit of one model family.
pub fn model_limit(family: Option<&str>, reset: Option<&str>) -> Advice {
    let agent = match family {
        Some(family) => format!("the last turn ended on a limit of {} alone.", name(family)),
        None => "the last turn ended on a limit of this model alone.".to_owned(),
    };
    let person = match reset {
        Some(reset) => format!("resets {}; /model goes on with another model before that.", safe(reset, 60)),
        None => "/model goes on with another model.".to_owned(),
    };
    Advice::new(Tag::Limit, agent, person)
}

/// The last turn ended because requests came too fast.
pub fn request_limit() -> Advice {
    Advice::new(
        Tag::Limit,
        "the last turn ended because requests came too fast; the client had already retried.".to_owned(),
        "requests came too fast (429): a pause helps, fewer parallel sessions help longer.".to_owned(),
    )
}

/// An error that stays until a person acts; `None` for classes that pass by themselves.
pub fn permanent(class: ApiClass) -> Option<Advice> {
    let (agent, person) = match class {
        ApiClass::Auth => (
            "the last turn ended on a login error; the same call fails until the person has logged in.",
            "the API refused the login: /login, or check the API key.",
        ),
        ApiClass::Billing => (
            "the last turn ended on a billing error; the same call fails until the person has solved it.",
            "the account or its administrator stops paid use: check credits and spending settings.",
        ),
        ApiClass::ModelNotFound => (
            "the last turn ended because the selected model is not available.",
            "the selected model is not available: /model picks another one.",
        ),
        ApiClass::TooLong => (
            "the last turn ended because the conversation or the request was too long.",
            "the conversation or the request is too long: /compact, or /clear for a new start.",
        ),
        _ => return None,
    };
    Some(Advice::new(Tag::PermanentError, agent.to_owned(), person.to_owned()))
}

// Crash recovery: one function a sentence, joined by `crash_recovery`

/// How a session that was interrupted went away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowEnded {
    /// Its process is gone and no end was recorded.
    Gone,
    /// Its end was recorded while a call was running.
    Ended,
}

/// A session that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted<'a> {
    /// Its full id; the first eight characters are shown, the whole in the command that resumes it.
    pub id: &'a str,
    /// Time of day (`hh:mm`, or with a date) of its last sign.
    pub at: Option<&'a str>,
    /// The call that was running: tool and what it did (a command, a path).
    pub running: Option<(&'a str, &'a str)>,
    /// The last prompt a person wrote.
    pub prompt: Option<&'a str>,
    /// Files it edited.
    pub edited: &'a [&'a str],
    /// Whether these are the edits since the last commit; else those its transcript shows.
    pub since_commit: bool,
    /// How it went away.
    pub how: HowEnded,
}

/// An interrupted session: what ran, what it edited, how to go on.
pub fn interrupted_session(session: &Interrupted<'_>) -> String {
    let id = safe(session.id, NAME_CHARS);
    let short: String = id.chars().take(8).collect();
    let mut text = format!("session {short} ended");
    if let Some(at) = session.at {
        text.push_str(&format!(" at {}", safe(at, 24)));
    }
    if let Some((tool, call)) = session.running {
        text.push_str(&format!(" while {}", name(tool)));
        if !call.trim().is_empty() {
            text.push_str(&format!(" {}", code(call, 80)));
        }
        text.push_str(" was running");
    }
    text.push_str(match session.how {
        HowEnded::Gone => " (process gone, no end mark)",
        HowEnded::Ended => " (closed, the call has no result)",
    });
    if let Some(prompt) = session.prompt.filter(|prompt| !prompt.trim().is_empty()) {
        text.push_str(&format!("; last prompt: {}", quoted(prompt, 80)));
    }
    if !session.edited.is_empty() {
        let since = if session.since_commit { " since the last commit" } else { "" };
        text.push_str(&format!("; edited{since}: {}", listed(session.edited, 4, path_words)));
    }
    text.push_str(&format!(". `claude --resume {id}` continues it."));
    text
}

/// What an interrupted session was about, beside what ran when it went away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnfinishedWork<'a> {
    /// The call that failed last and was not repeated with success: tool, what it did, its last error line.
    pub failed: Option<(&'a str, &'a str, &'a str)>,
    /// The first prompt a person wrote, unless it was the last one too.
    pub task: Option<&'a str>,
    /// The first open item of its list of things to do, and how many more are open.
    pub open: Option<(&'a str, usize)>,
    /// What it last decided.
    pub decided: Option<&'a str>,
}

/// What an interrupted session was about, in at most `room` UTF-16 units; `None` if there is no room or nothing known.
///
/// Quotations become shorter where room is short; then the last parts are left out.
pub fn unfinished_work(work: &UnfinishedWork<'_>, room: usize) -> Option<String> {
    const WIDTHS: [usize; 5] = [140, 100, 70, 50, 36];
    let parts = |width: usize| {
        let failed = work.failed.map(|(tool, call, error)| {
            let call = if call.trim().is_empty() {
                name(tool)
            } else {
                format!("{} {}", name(tool), code(call, width))
            };
            if error.trim().is_empty() {
                format!("last failure: {call}")
            } else {
                format!("last failure: {call} ({})", quoted(error, width))
            }
        });
        let task = work.task.map(|task| format!("task: {}", quoted(task, width)));
        let open = work.open.map(|(first, more)| match more {
            0 => format!("open item: {}", quoted(first, width)),
            more => format!("open items: {} and {more} more", quoted(first, width)),
        });
        let decided = work.decided.map(|decided| {
            format!("last decision: {}", quoted(decided.trim_end().trim_end_matches(['.', '。']), width))
        });
        [failed, task, open, decided].into_iter().flatten().collect::<Vec<String>>()
    };
    let fits = |parts: &[String]| {
        let text = format!("Its {}.", parts.join("; "));
        (!parts.is_empty() && utf16_len(&text) <= room).then_some(text)
    };
    let shortest = parts(WIDTHS[WIDTHS.len() - 1]);
    WIDTHS
        .into_iter()
        .find_map(|width| fits(&parts(width)))
        .or_else(|| (1..shortest.len()).rev().find_map(|some| fits(&shortest[..some])))
}

/// What is known about the owner of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopOwner {
    /// It is proven gone.
    Gone,
    /// It shows no sign of life.
    NoSign,
}

impl LoopOwner {
    fn words(self) -> &'static str {
        match self {
            Self::Gone => "its owner is gone",
            Self::NoSign => "its owner shows no sign of life",
        }
    }
}

/// A stale loop that was set inactive; `age_s` since it was last checked.
pub fn loop_set_inactive(path: &str, age_s: i64, owner: LoopOwner, iteration: Option<i64>) -> String {
    let kept = iteration.map(|n| format!(", iteration {n} kept")).unwrap_or_default();
    format!(
        "{} was active and last checked {} ago, {}: set inactive (reason stale{kept}).",
        path_words(path),
        age(age_s),
        owner.words()
    )
}

/// A damaged loop file that was restored from its checkpoint, inactive; `saved_as` holds the damaged bytes.
pub fn loop_restored(path: &str, saved_as: &str) -> String {
    format!(
        "{} was damaged: restored inactive from its checkpoint, the damaged bytes are in {}.",
        path_words(path),
        path_words(saved_as)
    )
}

/// A damaged loop file that was left as it is.
pub fn loop_damaged(path: &str) -> String {
    format!("{} is damaged and was left as it is.", path_words(path))
}

/// A stale loop of another program that is only reported.
pub fn loop_reported(path: &str, age_s: i64) -> String {
    format!("{} says active but was last checked {} ago; it was left as it is.", path_words(path), age(age_s))
}

/// Expired claims that were removed.
pub fn claims_removed(names: &[&str]) -> String {
    let what = if names.len() == 1 { "1 expired claim" } else { "expired claims" };
    match names.len() {
        1 => format!("{what} removed: {}.", listed(names, 4, |n| safe(n, 40))),
        n => format!("{n} {what} removed: {}.", listed(names, 4, |n| safe(n, 40))),
    }
}

/// Old claims that stay, because somebody still holds them or that cannot be ruled out.
pub fn claims_stay(names: &[&str]) -> String {
    let (n, what) = (names.len(), if names.len() == 1 { "old claim stays" } else { "old claims stay" });
    format!("{n} {what}, a holder may live: {}.", listed(names, 4, |n| safe(n, 40)))
}

/// A plan with open boxes, or with no boxes at all.
pub fn plan_open(path: &str, open: usize, done: usize) -> String {
    let path = path_words(path);
    match (open, done) {
        (0, 0) => format!("{path} holds a plan without boxes."),
        (1, done) => format!("{path} has 1 open box ({done} done)."),
        (open, done) => format!("{path} has {open} open boxes ({done} done)."),
    }
}

/// Further sessions that were interrupted, beside the one told in full.
pub fn more_interrupted(ids: &[&str]) -> String {
    let what = if ids.len() == 1 { "1 more session was" } else { "more sessions were" };
    let short = listed(ids, 4, |id| safe(id, NAME_CHARS).chars().take(8).collect());
    match ids.len() {
        1 => format!("{what} interrupted: {short}."),
        n => format!("{n} {what} interrupted: {short}."),
    }
}

/// A hand-off that an earlier session left.
pub fn handoff(path: &str) -> String {
    format!("{} is a hand-off of an earlier session.", path_words(path))
}

/// A run of a workflow that was cut off: what its record says, and for how long it has been silent.
pub fn workflow_interrupted(
    workflow: Option<&str>,
    run: &str,
    status: &str,
    step: Option<&str>,
    silent_s: i64,
) -> String {
    let run = name(run);
    let what = match workflow {
        Some(workflow) => format!("workflow {} (run {run})", quoted(workflow, SUBJECT_CHARS)),
        None => format!("workflow run {run}"),
    };
    let step = step.map(|step| format!(" at step {}", safe(step, 12))).unwrap_or_default();
    format!(
        "{what} was {}{step} and has been silent for {}; `recovery workflow show {run}` says where it stopped.",
        safe(status, 16),
        age(silent_s)
    )
}

/// How a run of workflow-mcp is known to have been cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunCutOff {
    /// Its record says that it goes on, and its process is gone.
    ProcessGone,
    /// Its record says so.
    Recorded,
}

/// A run of workflow-mcp that was cut off.
pub fn run_interrupted(key: &str, workflow: Option<&str>, how: RunCutOff, last_s: i64) -> String {
    let key = name(key);
    let of = workflow.map(|name| format!(" of {}", quoted(name, SUBJECT_CHARS))).unwrap_or_default();
    let how = match how {
        RunCutOff::ProcessGone => "is recorded as running and its process is gone",
        RunCutOff::Recorded => "was interrupted",
    };
    format!(
        "run {key}{of} {how} (last written {} ago); `recovery run judge {key}` says what to do about it.",
        age(last_s)
    )
}

/// A change of Comet as a bounded look sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenChange<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its phase, where that is known.
    pub phase: Option<&'a str>,
    /// Ticked and all tasks, where they can be read.
    pub tasks: Option<(usize, usize)>,
    /// The first open task.
    pub next: Option<&'a str>,
    /// How many more changes are open.
    pub others: usize,
}

/// A change that is not finished.
pub fn change_open(change: &OpenChange<'_>) -> String {
    let id = name(change.name);
    let phase = change.phase.map(|phase| format!("phase {}", safe(phase, 16)));
    let tasks = change.tasks.map(|(done, all)| format!("{done} of {all} tasks done"));
    let next = change.next.map(|next| format!("next: {}", quoted(next, 80)));
    let known: Vec<String> = [phase, tasks, next].into_iter().flatten().collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
    match change.others {
        0 => format!("change {id} is open{known}; `recovery change check {id}` says where it stopped."),
        others => format!(
            "{} changes are open; {id} was written last{known}; `recovery change check` lists them.",
            others + 1
        ),
    }
}

/// Joins sentences, the most important first, under one tag within [`CRASH_RECOVERY_BUDGET`].
///
/// Whole sentences are left out, and their number is said. No sentence, no advice.
pub fn crash_recovery<S: AsRef<str>>(sentences: &[S]) -> Option<Advice> {
    let sentences: Vec<&str> =
        sentences.iter().map(|s| s.as_ref().trim()).filter(|s| !s.is_empty()).collect();
    if sentences.is_empty() {
        return None;
    }
    let tag_units = utf16_len(Tag::CrashRecovery.text());
    let all: usize = sentences.iter().map(|s| utf16_len(s) + 1).sum();
    let room = CRASH_RECOVERY_BUDGET - tag_units;
    let mut text = String::new();
    let mut left_out = 0;
    // The remark needs room only when something is left out.
    let room = if all <= room { room } else { room - utf16_len(&remark(sentences.len())) - 1 };
    let mut used = 0;
    for sentence in sentences {
        let units = utf16_len(sentence) + 1;
        if used + units > room {
            left_out += 1;
            continue;
        }
        used += units;
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    if left_out > 0 {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&remark(left_out));
    }
    Some(Advice::new(Tag::CrashRecovery, text, None))
}

fn remark(left_out: usize) -> String {
    format!("{left_out} more not shown.")
}

// Making values from outside safe

fn safe(text: &str, max_chars: usize) -> String {
    safe_line(text, max_chars).replace(['"', '`'], "'")
}

fn name(text: &str) -> String {
    safe(text, NAME_CHARS)
}

/// A cause: our own words stay bare, a quotation (of `quoted`) stays one.
fn reason(cause: &str) -> String {
    match cause.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => quoted(inner, CAUSE_CHARS + 2),
        None => safe(cause, CAUSE_CHARS),
    }
}

/// A command or call between back quotes.
fn code(text: &str, max_chars: usize) -> String {
    format!("`{}`", safe(text, max_chars))
}

/// A path with its long ids shortened: `sessions/3f2a.../ralph.json`. A long path loses its front.
fn path_words(path: &str) -> String {
    let clean = safe(path, usize::MAX);
    let parts: Vec<String> = clean
        .split('/')
        .map(|part| if is_uuid(part) { format!("{}...", &part[..4]) } else { part.to_owned() })
        .collect();
    let joined = parts.join("/");
    let chars = joined.chars().count();
    if chars <= PATH_CHARS {
        return joined;
    }
    // The end of a path says most.
    let tail: String = joined.chars().skip(chars - (PATH_CHARS - 1)).collect();
    format!("…{tail}")
}

fn is_uuid(part: &str) -> bool {
    part.len() == 36
        && part.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// The first `most` items, and how many more there are.
fn listed(items: &[&str], most: usize, show: impl Fn(&str) -> String) -> String {
    let shown: Vec<String> = items.iter().take(most).map(|item| show(item)).collect();
    let more = items.len().saturating_sub(most);
    let mut text = shown.join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn in_brackets(difference: &str) -> String {
    if difference.trim().is_empty() {
        String::new()
    } else {
        format!(" ({})", quoted(difference, DIFFERENCE_CHARS + 2))
    }
}

fn is_the_alternative(alternative: Alternative<'_>) -> String {
    match alternative {
        Some((replacement, difference)) => {
            format!("{} is the alternative{}.", name(replacement), in_brackets(difference))
        }
        None => "No known replacement.".to_owned(),
    }
}
