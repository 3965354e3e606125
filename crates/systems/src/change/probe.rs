//! Whether a request of a person belongs to a change that was interrupted: the eleven rows of FORMATS 8.6, in order.

use std::collections::HashSet;

use rules::change;
use rules::words::{Topics, Words};
use serde::Serialize;
use serde_json::Value;

use super::next_action::phase_command;
use super::shown::clean;
use super::state::{Phase, State};

/// Name and version of question and answer.
pub const SCHEMA: &str = "comet.resume_probe.v1";
/// More of a request is not read.
pub const LIMIT: usize = 1024 * 1024;

const QUOTE_CHARS: usize = 120;
const MAX_TOPICS: usize = 3;

const RESUME: [&str; 16] = [
    "continue",
    "resume",
    "carry on",
    "finish",
    "run it",
    "commit",
    "verify",
    "archive",
    "继续",
    "接着",
    "恢复",
    "跑完",
    "提交",
    "验证",
    "归档",
    "修刚才",
];
const QUESTION: [&str; 13] = [
    "what",
    "why",
    "how",
    "explain",
    "summarize",
    "reliable",
    "靠谱吗",
    "是什么",
    "为什么",
    "解释",
    "总结",
    "取名",
    "命名",
];
/// Words that are in every change; those from `this` on are in every request too.
const GENERIC: [&str; 79] = [
    "add",
    "build",
    "cache",
    "change",
    "code",
    "design",
    "docs",
    "file",
    "fix",
    "implement",
    "plan",
    "readme",
    "task",
    "test",
    "update",
    "修改",
    "更新",
    "修复",
    "添加",
    "文档",
    "任务",
    "计划",
    "实现",
    "this",
    "that",
    "these",
    "those",
    "with",
    "without",
    "from",
    "into",
    "onto",
    "over",
    "under",
    "about",
    "after",
    "before",
    "when",
    "then",
    "than",
    "what",
    "which",
    "where",
    "while",
    "will",
    "would",
    "should",
    "could",
    "must",
    "have",
    "been",
    "being",
    "does",
    "done",
    "make",
    "made",
    "need",
    "needs",
    "want",
    "wants",
    "please",
    "just",
    "only",
    "also",
    "more",
    "most",
    "some",
    "such",
    "very",
    "each",
    "every",
    "they",
    "them",
    "their",
    "there",
    "here",
    "your",
    "like",
    "because",
];

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the person wrote.
    pub utterance: String,
    /// Whether it is work that leaves something behind.
    pub non_trivial_work: bool,
    /// Whether a change is being worked on already.
    pub already_in_flow: bool,
}

/// Why a request cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Nothing was asked.
    #[error("standard input is empty")]
    Empty,
    /// More than [`LIMIT`].
    #[error("standard input is longer than {} KiB", LIMIT / 1024)]
    TooLong,
    /// A version that is not known here.
    #[error("schema_version is {0}, not {SCHEMA}")]
    Version(String),
    /// There is no text in it.
    #[error("utterance is no text")]
    NoUtterance,
}

/// Reads a request: a JSON object, or a plain text, which then counts as work that leaves something behind.
pub fn read_request(bytes: &[u8]) -> Result<Request, RequestError> {
    if bytes.len() > LIMIT {
        return Err(RequestError::TooLong);
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() {
        return Err(RequestError::Empty);
    }
    let plain = |utterance: &str| Request {
        utterance: utterance.trim().to_owned(),
        non_trivial_work: true,
        already_in_flow: false,
    };
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text) else { return Ok(plain(text)) };
    match fields.get("schema_version") {
        Some(Value::String(version)) if version == SCHEMA => {}
        other => {
            let given = other.map_or_else(|| "missing".to_owned(), |value| clean(&value.to_string(), 60));
            return Err(RequestError::Version(given));
        }
    }
    let context = |field: &str| {
        fields.get("agent_context").and_then(|context| context.get(field)).and_then(Value::as_bool)
            == Some(true)
    };
    Ok(Request {
        utterance: fields
            .get("utterance")
            .and_then(Value::as_str)
            .ok_or(RequestError::NoUtterance)?
            .trim()
            .to_owned(),
        non_trivial_work: context("non_trivial_work"),
        already_in_flow: context("already_in_comet_flow"),
    })
}

/// A change that somebody might mean.
#[derive(Clone, Debug)]
pub struct Active {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub standing: Standing,
    /// Ticked and all tasks, where they can be read.
    pub tasks: Option<(usize, usize)>,
    /// The first open task.
    pub next_task: Option<String>,
}

/// How a change stands.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It has a valid state.
    Valid(Box<State>),
    /// It has none.
    NoState,
    /// Its state is not valid; why.
    Invalid(String),
    /// It is archived and its delivery is open; what is to be delivered, in words.
    Delivery(Box<State>, String),
    /// It is archived, its delivery is open, and what is known of it cannot be read; why.
    DeliveryUnknown(Option<Box<State>>, String),
}

/// What may be done about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// There is nothing to resume.
    None,
    /// Resume.
    AutoResume,
    /// Ask.
    AskUser,
    /// Answer the request by itself.
    OutOfScope,
}

/// How sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Nothing to be sure of.
    None,
    /// Not very.
    Low,
    /// Quite.
    High,
}

/// What an answer rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// `user`, `state` or `repo`.
    pub source: &'static str,
    /// The words.
    pub quote: String,
}

/// Something a person may choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What it means.
    pub label: String,
    /// The command that does it; null when it is done without one.
    pub command: Option<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    schema_version: &'static str,
    /// What may be done.
    pub action: Action,
    /// The change.
    #[serde(rename = "changeName")]
    pub change_name: Option<String>,
    /// Its phase; `invalid` when it has no valid state.
    pub phase: Option<&'static str>,
    /// The client's command; only when it goes on or is asked.
    #[serde(rename = "nextCommand")]
    pub next_command: Option<&'static str>,
    /// How sure that is.
    pub confidence: Confidence,
    /// Why.
    pub reason: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What to ask the person; only when asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What the person may choose; only when asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
}

impl Answer {
    /// An answer about no change.
    fn about_none(action: Action, confidence: Confidence, reason: impl Into<String>) -> Self {
        Self {
            schema_version: SCHEMA,
            action,
            change_name: None,
            phase: None,
            next_command: None,
            confidence,
            reason: reason.into(),
            evidence: Vec::new(),
            question: None,
            options: Vec::new(),
        }
    }

    fn about(action: Action, change: &Active, confidence: Confidence, reason: &str) -> Self {
        Self {
            change_name: Some(change.name.clone()),
            phase: Some(change.phase_name()),
            next_command: change.command().filter(|_| matches!(action, Action::AutoResume | Action::AskUser)),
            ..Self::about_none(action, confidence, reason)
        }
    }

    fn with(mut self, source: &'static str, quote: impl AsRef<str>) -> Self {
        self.evidence.push(Evidence { source, quote: clean(quote.as_ref(), QUOTE_CHARS) });
        self
    }

    fn ask(mut self, question: String, options: Vec<Choice>) -> Self {
        self.question = Some(question);
        self.options = options;
        self
    }

    /// The answer where the project has turned the probe off.
    #[must_use]
    pub fn turned_off() -> Self {
        Self::about_none(Action::None, Confidence::None, "ambient_resume is false in .comet/config.yaml")
    }

    /// The answer where the changes cannot be read.
    #[must_use]
    pub fn unreadable(problem: &str) -> Self {
        let reason = format!("the changes cannot be read: {}", clean(problem, 300));
        Self::about_none(Action::None, Confidence::None, reason)
    }

    /// Whether there is something a person should hear.
    #[must_use]
    pub fn speaks(&self) -> bool {
        matches!(self.action, Action::AutoResume | Action::AskUser)
    }
}

impl Active {
    fn state(&self) -> Option<&State> {
        match &self.standing {
            Standing::Valid(state) | Standing::Delivery(state, _) => Some(state),
            Standing::DeliveryUnknown(state, _) => state.as_deref(),
            Standing::NoState | Standing::Invalid(_) => None,
        }
    }

    fn phase_name(&self) -> &'static str {
        match &self.standing {
            Standing::DeliveryUnknown(..) => "archive",
            _ => self.state().map_or("invalid", |state| state.phase.name()),
        }
    }

    fn command(&self) -> Option<&'static str> {
        match &self.standing {
            Standing::DeliveryUnknown(..) => None,
            _ => self.state().map(|state| phase_command(state.phase, state.workflow)),
        }
    }

    /// The command that an option offers: a recorded failure goes back to building, as the one question about such a
    /// change says too.
    fn way_on(&self) -> Option<&'static str> {
        match &self.standing {
            Standing::Valid(state) if state.phase == Phase::Verify && state.verify_result == "fail" => {
                Some(phase_command(Phase::Build, state.workflow))
            }
            _ => self.command(),
        }
    }

    /// Whether a person has to decide before anything goes on.
    #[must_use]
    pub fn is_at_decision_point(&self) -> bool {
        match &self.standing {
            Standing::Valid(state) => {
                state.phase == Phase::Archive
                    || state.verify_result == "fail"
                    || state.phase == Phase::Build && state.build_pause
            }
            _ => true,
        }
    }

    /// The change in a few words: its name, where it stands, what is next.
    fn in_words(&self) -> String {
        let phase = match &self.standing {
            Standing::NoState => "without Comet state".to_owned(),
            Standing::Invalid(_) => "state not valid".to_owned(),
            Standing::Delivery(..) | Standing::DeliveryUnknown(..) => "archived, delivery open".to_owned(),
            Standing::Valid(state) => state.phase.name().to_owned(),
        };
        match self.tasks {
            Some((done, all)) if all > 0 => format!("{} ({phase}, {done} of {all} tasks done)", self.name),
            _ => format!("{} ({phase})", self.name),
        }
    }
}

/// What is looked at only where a row needs it: it costs a process or many files.
pub trait Surroundings {
    /// Number of uncommitted files; 0 also when that cannot be told.
    fn dirty_files(&mut self) -> usize;
    /// The texts of a change: proposal, design, tasks.
    fn texts(&mut self, change: &Active) -> Vec<String>;
}

/// Answers before anything is looked at: rows 1 and 2. None: the others decide.
#[must_use]
pub fn answer_without_changes(request: &Request) -> Option<Answer> {
    if request.already_in_flow {
        return Some(Answer::about_none(Action::OutOfScope, Confidence::Low, "already in Comet flow"));
    }
    change::opts_out(&Words::of(&request.utterance)).then(|| {
        Answer::about_none(Action::OutOfScope, Confidence::Low, "user opted out of Comet resume")
            .with("user", &request.utterance)
    })
}

/// The words of a request that could be names of changes.
#[derive(Debug)]
pub struct Named(HashSet<String>);

impl Named {
    /// Takes a request apart.
    #[must_use]
    pub fn in_request(utterance: &str) -> Self {
        Self(Words::of(utterance).into_names())
    }

    /// Whether it names this change.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Answers a request: all rows, in order. `changes` are the active ones and the archived ones with an open delivery;
/// `others` is how many more there are than could be looked at.
#[must_use]
pub fn answer(
    request: &Request,
    changes: &[Active],
    others: usize,
    around: &mut impl Surroundings,
) -> Answer {
    if let Some(answer) = answer_without_changes(request) {
        return answer;
    }
    let words = Words::of(&request.utterance);
    match changes {
        [] => Answer::about_none(Action::None, Confidence::None, "no active Comet changes"),
        [one] if others == 0 => one_change(request, &words, one, around),
        several => {
            let named = several.iter().filter(|change| words.has(&change.name));
            match named.max_by_key(|change| change.name.len()) {
                Some(named) => named_change(named, around),
                None => which_change(several, others),
            }
        }
    }
}

/// Row 4.
fn which_change(changes: &[Active], others: usize) -> Answer {
    const MOST: usize = 6;
    let mut options: Vec<Choice> = changes
        .iter()
        .take(MOST)
        .map(|change| Choice {
            label: format!("go on with {}", change.in_words()),
            command: Some(match change.way_on() {
                Some(command) => format!("{command} {}", change.name),
                None => format!("recovery change check {}", change.name),
            }),
        })
        .collect();
    let left_out = changes.len().saturating_sub(MOST) + others;
    if left_out > 0 {
        options.push(Choice {
            label: format!("see the other {left_out}"),
            command: Some("recovery change check".to_owned()),
        });
    }
    options.push(alone());
    Answer::about_none(Action::AskUser, Confidence::Low, "multiple active changes require a change name").ask(
        format!("{} changes are open. Which of them does this request belong to?", changes.len() + others),
        options,
    )
}

/// Row 5.
fn named_change(change: &Active, around: &mut impl Surroundings) -> Answer {
    let dirty = around.dirty_files();
    if dirty > 0 {
        return whose_files(change, dirty);
    }
    if change.is_at_decision_point() {
        return decision(change, "active change is at a decision point");
    }
    Answer::about(Action::AutoResume, change, Confidence::High, "request names an active change")
        .with("user", &change.name)
}

/// Rows 6 to 11.
fn one_change(request: &Request, words: &Words, change: &Active, around: &mut impl Surroundings) -> Answer {
    let dirty = around.dirty_files();
    if dirty > 0 {
        return whose_files(change, dirty);
    }
    if change.is_at_decision_point() {
        return decision(
            change,
            match &change.standing {
                Standing::Delivery(..) => "archived change has pending delivery",
                Standing::DeliveryUnknown(..) => "archived change execution history is unavailable",
                Standing::NoState => "active OpenSpec change is missing Comet state",
                _ => "active change is at a decision point",
            },
        );
    }
    let resume = words.has_any(&RESUME);
    if !resume && !request.non_trivial_work && words.has_any(&QUESTION) {
        return Answer::about(
            Action::OutOfScope,
            change,
            Confidence::Low,
            "user asked a question without workflow work",
        );
    }
    let named = words.has(&change.name);
    let mut topics = Topics::default();
    for text in around.texts(change) {
        topics.add(&text, &GENERIC);
    }
    let mut shared = topics.shared(&request.utterance, &GENERIC);
    shared.truncate(MAX_TOPICS);
    if resume || named || !shared.is_empty() {
        let mut answer = Answer::about(
            Action::AutoResume,
            change,
            Confidence::High,
            "single active change and request is related",
        )
        .with("state", format!("phase: {}", change.phase_name()));
        if named {
            answer = answer.with("user", &change.name);
        }
        return shared.iter().fold(answer, |answer, topic| answer.with("repo", topic));
    }
    if request.non_trivial_work {
        return unrelated(change);
    }
    Answer::about(Action::OutOfScope, change, Confidence::Low, "request is not workflow work")
}

/// The choice that every question has.
fn alone() -> Choice {
    Choice { label: "none of them: do the request by itself, outside of Comet".to_owned(), command: None }
}

fn leave(change: &Active) -> Choice {
    Choice { label: format!("leave {} as it is and do the request by itself", change.name), command: None }
}

fn choice(label: impl Into<String>, command: Option<&str>) -> Choice {
    Choice { label: label.into(), command: command.map(str::to_owned) }
}

fn whose_files(change: &Active, dirty: usize) -> Answer {
    let files = if dirty == 1 { "1 file is".to_owned() } else { format!("{dirty} files are") };
    let go_on = change.way_on();
    Answer::about(
        Action::AskUser,
        change,
        Confidence::Low,
        "uncommitted worktree changes require attribution",
    )
    .with("repo", format!("{dirty} dirty file(s)"))
    .ask(
        format!("{files} not committed. Do they belong to {}?", change.in_words()),
        vec![
            choice(format!("yes: they are work on {}, go on with it", change.name), go_on),
            choice(
                format!(
                    "no: they are other work; commit or stash that first, then go on with {}",
                    change.name
                ),
                go_on,
            ),
            choice("look at them first", Some("git status --short")),
            leave(change),
        ],
    )
}

fn decision(change: &Active, reason: &str) -> Answer {
    let name = &change.name;
    let check = format!("recovery change check {name}");
    let answer = Answer::about(Action::AskUser, change, Confidence::Low, reason);
    let (answer, question, options) = match &change.standing {
        Standing::NoState => (
            answer,
            format!("{name} has OpenSpec files but no .comet.yaml. Should Comet take it over?"),
            vec![
                choice("take it into Comet from its beginning", Some("/comet-open")),
                choice("it is finished or given up: leave it", None),
                leave(change),
            ],
        ),
        Standing::Invalid(why) => (
            answer.with("state", why),
            format!(
                "The state of {name} is not valid ({}). What should happen to it?",
                clean(why, QUOTE_CHARS)
            ),
            vec![
                choice("see what is wrong and correct .comet.yaml", Some(&check)),
                choice("put .comet.yaml back from git", None),
                leave(change),
            ],
        ),
        Standing::Delivery(_, what) => (
            answer.with("state", "archived: true").with("state", "delivery is not complete"),
            format!("{name} is archived, but {what} is not proven. What about the delivery?"),
            vec![
                choice(
                    "look whether it is done already",
                    Some(&format!("recovery change delivery {name} --verify")),
                ),
                choice(format!("deliver it now: {what}"), Some("/comet-archive")),
                leave(change),
            ],
        ),
        Standing::DeliveryUnknown(_, why) => (
            answer.with("state", "archived: true").with("state", "delivery is not complete"),
            format!(
                "{name} is archived, but what is recorded of its delivery cannot be read ({}). Was it delivered?",
                clean(why, QUOTE_CHARS)
            ),
            vec![
                choice("look at what git says", Some(&format!("recovery change delivery {name} --verify"))),
                choice("it was delivered: correct or set aside the record", None),
                leave(change),
            ],
        ),
        Standing::Valid(state) => {
            let (question, options) = open_decision(change, state, &check);
            (answer.with("state", format!("phase: {}", state.phase.name())), question, options)
        }
    };
    answer.ask(question, options)
}

fn open_decision(change: &Active, state: &State, check: &str) -> (String, Vec<Choice>) {
    let name = &change.name;
    if state.phase == Phase::Archive {
        return (
            format!("{name} is built and verified. Should it be archived?"),
            vec![
                choice("archive it", Some("/comet-archive")),
                choice("look at it once more before", Some(check)),
                leave(change),
            ],
        );
    }
    if state.verify_result == "fail" {
        let times = match state.verify_failures {
            Some(count) if count > 1 => format!(" {count} times"),
            _ => String::new(),
        };
        return (
            format!("Verification of {name} failed{times}. How should it go on?"),
            vec![
                choice("repair what was found", Some(phase_command(Phase::Build, state.workflow))),
                choice("the findings are settled: verify again", Some("/comet-verify")),
                choice("see the findings first", Some(check)),
                leave(change),
            ],
        );
    }
    (
        format!("The plan of {name} is ready and building is paused. May it begin?"),
        vec![
            choice("end the pause and build", Some(phase_command(Phase::Build, state.workflow))),
            choice("change the plan first, keep the pause", None),
            choice("see plan and tasks", Some(check)),
            leave(change),
        ],
    )
}

fn unrelated(change: &Active) -> Answer {
    let next = match &change.next_task {
        Some(task) => format!(", next: {}", clean(task, 80)),
        None => String::new(),
    };
    Answer::about(
        Action::AskUser,
        change,
        Confidence::Low,
        "single active change exists but request looks unrelated",
    )
    .with("state", format!("phase: {}", change.phase_name()))
    .ask(
        format!("{} is open{next}. Is this request part of it?", change.in_words()),
        vec![
            choice(format!("yes: it is part of {}", change.name), change.command()),
            choice("no: it is a change of its own", Some("/comet-open")),
            leave(change),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::state::tests::least;

    #[derive(Default)]
    struct Around {
        dirty: usize,
        texts: &'static [&'static str],
        asked_git: bool,
    }

    impl Surroundings for Around {
        fn dirty_files(&mut self) -> usize {
            self.asked_git = true;
            self.dirty
        }

        fn texts(&mut self, _change: &Active) -> Vec<String> {
            self.texts.iter().map(|text| (*text).to_owned()).collect()
        }
    }

    fn request(utterance: &str, non_trivial_work: bool) -> Request {
        Request { utterance: utterance.into(), non_trivial_work, already_in_flow: false }
    }

    fn active(name: &str, standing: Standing) -> Active {
        Active { name: name.into(), standing, tasks: Some((1, 3)), next_task: Some("Sort the labels".into()) }
    }

    fn valid(more: &str) -> Standing {
        Standing::Valid(Box::new(least(more).unwrap()))
    }

    fn check(answer: &Answer, action: Action, reason: &str, change: Option<&str>, command: Option<&str>) {
        assert_eq!(
            (answer.action, answer.reason.as_str(), answer.change_name.as_deref(), answer.next_command),
            (action, reason, change, command)
        );
        let asks = action == Action::AskUser;
        assert_eq!(answer.question.is_some(), asks);
        assert_eq!(answer.options.len() >= 3, asks, "{:?}", answer.options);
        if let Some(question) = &answer.question {
            assert!(question.ends_with('?') && question.len() > 30, "{question}");
        }
        let confidence = match action {
            Action::None => Confidence::None,
            Action::AutoResume => Confidence::High,
            _ => Confidence::Low,
        };
        assert_eq!(answer.confidence, confidence);
    }

    const ONE: &str = "sort-labels";

    fn ask_one(utterance: &str, non_trivial: bool, standing: Standing, mut around: Around) -> Answer {
        answer(&request(utterance, non_trivial), &[active(ONE, standing)], 0, &mut around)
    }

    #[test]
    fn rows_1_to_3() {
        let mut around = Around { dirty: 3, ..Around::default() };
        let changes = [active(ONE, valid(""))];
        let in_flow = Request { already_in_flow: true, ..request("do not resume", true) };
        let said = answer(&in_flow, &changes, 0, &mut around);
        check(&said, Action::OutOfScope, "already in Comet flow", None, None);
        for words in ["Do not resume, fix the lint", "skip comet: continue", "只回答这个问题", "不走comet"]
        {
            let said = answer(&request(words, true), &changes, 0, &mut around);
            check(&said, Action::OutOfScope, "user opted out of Comet resume", None, None);
            assert_eq!(said.evidence[0].source, "user");
        }
        let said = answer(&request("continue", true), &[], 0, &mut around);
        check(&said, Action::None, "no active Comet changes", None, None);
        assert!(!around.asked_git, "git is asked only where a row needs it");
    }

    #[test]
    fn rows_4_and_5() {
        let changes = [active(ONE, valid("")), active("sort-labels-again", valid("build_pause: plan-ready"))];
        let say = |words: &str, dirty| {
            answer(&request(words, true), &changes, 0, &mut Around { dirty, ..Around::default() })
        };
        let said = say("continue the labels", 0);
        check(&said, Action::AskUser, "multiple active changes require a change name", None, None);
        assert!(said.options[0].label.contains("sort-labels (build, 1 of 3 tasks done)"));
        assert_eq!(said.options[0].command.as_deref(), Some("/comet-build sort-labels"));
        let said = say("work on sort-labels", 0);
        check(&said, Action::AutoResume, "request names an active change", Some(ONE), Some("/comet-build"));
        let said = say("work on sort-labels", 2);
        let dirty = "uncommitted worktree changes require attribution";
        check(&said, Action::AskUser, dirty, Some(ONE), Some("/comet-build"));
        assert_eq!(said.evidence[0].quote, "2 dirty file(s)");
        let said = say("work on sort-labels-again", 0);
        check(
            &said,
            Action::AskUser,
            "active change is at a decision point",
            Some("sort-labels-again"),
            Some("/comet-build"),
        );
        let said = answer(&request("go", true), &changes[..1], 9_999, &mut Around::default());
        check(&said, Action::AskUser, "multiple active changes require a change name", None, None);
        assert!(said.question.unwrap().starts_with("10000 changes"));
    }

    #[test]
    fn an_option_for_a_failed_verification_goes_back_to_building() {
        let failed = || active("press-flowers", valid("phase: verify\nverify_result: fail"));
        let several = [active(ONE, valid("phase: verify")), failed()];
        let said = answer(&request("continue", true), &several, 0, &mut Around::default());
        let commands: Vec<_> = said.options.iter().filter_map(|option| option.command.as_deref()).collect();
        assert_eq!(commands, ["/comet-verify sort-labels", "/comet-build press-flowers"]);
        let mut dirty = Around { dirty: 1, ..Around::default() };
        let said = answer(&request("continue", true), &[failed()], 0, &mut dirty);
        assert_eq!(said.options[0].command.as_deref(), Some("/comet-build"));
        assert_eq!(said.next_command, Some("/comet-verify"), "the field stays that of the phase");
    }

    #[test]
    fn row_6_comes_before_row_7() {
        let around = || Around { dirty: 1, ..Around::default() };
        let dirty = "uncommitted worktree changes require attribution";
        check(
            &ask_one("continue", true, valid(""), around()),
            Action::AskUser,
            dirty,
            Some(ONE),
            Some("/comet-build"),
        );
        check(
            &ask_one("continue", true, Standing::NoState, around()),
            Action::AskUser,
            dirty,
            Some(ONE),
            None,
        );
    }

    #[test]
    fn row_7_every_decision_point() {
        let state = || Box::new(least("phase: archive\narchived: true").unwrap());
        let at = "active change is at a decision point";
        for (standing, reason, command) in [
            (
                Standing::Delivery(state(), "the push of main".into()),
                "archived change has pending delivery",
                Some("/comet-archive"),
            ),
            (
                Standing::DeliveryUnknown(Some(state()), "torn".into()),
                "archived change execution history is unavailable",
                None,
            ),
            (Standing::NoState, "active OpenSpec change is missing Comet state", None),
            (Standing::Invalid("has unknown fields: x".into()), at, None),
            (valid("phase: archive"), at, Some("/comet-archive")),
            (valid("phase: verify\nverify_result: fail"), at, Some("/comet-verify")),
            (valid("verify_result: fail"), at, Some("/comet-build")),
            (valid("build_pause: plan-ready"), at, Some("/comet-build")),
        ] {
            let said = ask_one("what is continue", false, standing, Around::default());
            check(&said, Action::AskUser, reason, Some(ONE), command);
        }
        for standing in
            [valid("phase: design\nbuild_pause: plan-ready"), valid("phase: verify"), valid("phase: open")]
        {
            assert_eq!(ask_one("continue", true, standing, Around::default()).action, Action::AutoResume);
        }
    }

    #[test]
    fn rows_8_to_11() {
        let around =
            || Around { texts: &["Why: the nightly export", "- [ ] fill outbox"], ..Around::default() };
        let question = "user asked a question without workflow work";
        let related = "single active change and request is related";
        let other = "single active change exists but request looks unrelated";
        for (words, non_trivial, action, reason) in [
            ("what does the export do?", false, Action::OutOfScope, question),
            ("为什么这样", false, Action::OutOfScope, question),
            ("what does the export do?", true, Action::AutoResume, related),
            ("how do I continue?", false, Action::AutoResume, related),
            ("show the parser", false, Action::OutOfScope, "request is not workflow work"),
            ("show the parser", true, Action::AskUser, other),
            ("sort-labels", false, Action::AutoResume, related),
            ("carry on", true, Action::AutoResume, related),
            ("继续上次的工作", true, Action::AutoResume, related),
            ("the outbox is slow", false, Action::AutoResume, related),
            ("sort the table with this", true, Action::AskUser, other),
            ("add a test and update the plan", true, Action::AskUser, other),
            ("hello", false, Action::OutOfScope, "request is not workflow work"),
        ] {
            let said = ask_one(words, non_trivial, valid(""), around());
            let command = matches!(action, Action::AutoResume | Action::AskUser).then_some("/comet-build");
            check(&said, action, reason, Some(ONE), command);
        }
        let said = ask_one("the outbox export", true, valid(""), around());
        let quotes: Vec<&str> = said.evidence.iter().map(|evidence| evidence.quote.as_str()).collect();
        assert_eq!(quotes, ["phase: build", "outbox", "export"]);
    }

    #[test]
    fn requests() {
        let whole = |utterance: &str, more: &str| {
            read_request(
                format!("{{\"schema_version\": \"{SCHEMA}\", \"utterance\": {utterance}{more}}}").as_bytes(),
            )
        };
        assert_eq!(whole("\" go \"", "").unwrap(), request("go", false));
        let context = ", \"agent_context\": {\"non_trivial_work\": true, \"already_in_comet_flow\": true}";
        let said = whole("\"go\"", context).unwrap();
        assert!(said.non_trivial_work && said.already_in_flow);
        assert!(
            !whole("\"go\"", ", \"agent_context\": {\"non_trivial_work\": \"true\"}")
                .unwrap()
                .non_trivial_work
        );
        assert_eq!(whole("7", ""), Err(RequestError::NoUtterance));
        assert_eq!(read_request("\u{feff}go on".as_bytes()).unwrap(), request("go on", true));
        assert_eq!(read_request(b"{ not json").unwrap(), request("{ not json", true));
        assert_eq!(read_request(b"42").unwrap(), request("42", true));
        assert_eq!(read_request(b" \n"), Err(RequestError::Empty));
        assert!(read_request(&vec![b'a'; LIMIT]).is_ok());
        assert_eq!(read_request(&vec![b'a'; LIMIT + 1]), Err(RequestError::TooLong));
        assert!(matches!(read_request(b"{\"utterance\": \"go\"}"), Err(RequestError::Version(_))));
        assert!(matches!(
            read_request(b"{\"schema_version\": \"comet.resume_probe.v2\", \"utterance\": \"go\"}"),
            Err(RequestError::Version(_))
        ));
    }
}
