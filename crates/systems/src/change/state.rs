//! `.comet.yaml`: where a change stands. Strict: an unknown name or a value that is not allowed makes it invalid, and
//! an invalid one is reported, never rewritten and never read as something else.

use serde::Serialize;

use super::yaml::{self, Value};
use rules::text::safe_line;

/// Longest part of the file in an error, in characters.
const SHOWN_CHARS: usize = 200;
/// More is no state of a change.
pub(crate) const LIMIT: usize = 1024 * 1024;

/// How a change is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Workflow {
    /// With design and plan.
    Full,
    /// A small repair.
    Hotfix,
    /// A small alteration.
    Tweak,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Being opened.
    Open,
    /// Being designed.
    Design,
    /// Being built.
    Build,
    /// Being verified.
    Verify,
    /// Being archived, or archived.
    Archive,
}

impl Workflow {
    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Hotfix => "hotfix",
            Self::Tweak => "tweak",
        }
    }
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 5] = [Self::Open, Self::Design, Self::Build, Self::Verify, Self::Archive];

    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Design => "design",
            Self::Build => "build",
            Self::Verify => "verify",
            Self::Archive => "archive",
        }
    }

    /// The phase of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == word)
    }
}

/// What a name may hold.
enum Holds {
    Word(&'static [&'static str]),
    Flag,
    Path,
    Hash,
    Text,
    Count,
    One,
}

/// A name that the file may have.
struct Name {
    name: &'static str,
    /// Without it the file is no state of this system.
    required: bool,
    /// Whether it may hold nothing.
    empty: bool,
    holds: Holds,
}

const fn name(name: &'static str, holds: Holds) -> Name {
    Name { name, required: false, empty: true, holds }
}

const fn required(name: &'static str, holds: Holds) -> Name {
    Name { name, required: true, empty: true, holds }
}

const fn filled(name: &'static str, holds: Holds) -> Name {
    Name { name, required: true, empty: false, holds }
}

const WORKFLOWS: &[&str] = &["full", "hotfix", "tweak"];

/// Every name of FORMATS 8.2.
const NAMES: [Name; 30] = [
    filled("workflow", Holds::Word(WORKFLOWS)),
    filled("phase", Holds::Word(&["open", "design", "build", "verify", "archive"])),
    name("language", Holds::Word(&["en", "zh-CN"])),
    name("context_compression", Holds::Word(&["off", "beta"])),
    required(
        "build_mode",
        Holds::Word(&["subagent-driven-development", "executing-plans", "direct", "autonomous"]),
    ),
    name("build_pause", Holds::Word(&["plan-ready"])),
    name("subagent_dispatch", Holds::Word(&["confirmed"])),
    name("tdd_mode", Holds::Word(&["tdd", "direct"])),
    name("review_mode", Holds::Word(&["off", "standard", "thorough"])),
    required("isolation", Holds::Word(&["branch", "worktree", "current"])),
    required("verify_mode", Holds::Word(&["light", "full"])),
    filled("verify_result", Holds::Word(&["pending", "pass", "fail"])),
    name("verify_failures", Holds::Count),
    name("branch_status", Holds::Word(&["pending", "handled"])),
    name("archive_confirmation", Holds::Word(&["pending", "confirmed"])),
    filled("archived", Holds::Flag),
    name("auto_transition", Holds::Flag),
    name("direct_override", Holds::Flag),
    required("design_doc", Holds::Path),
    required("plan", Holds::Path),
    name("verification_report", Holds::Path),
    name("handoff_context", Holds::Path),
    name("handoff_hash", Holds::Hash),
    name("base_ref", Holds::Text),
    name("bound_branch", Holds::Text),
    name("created_at", Holds::Text),
    required("verified_at", Holds::Text),
    name("run_id", Holds::Text),
    name("classic_profile", Holds::Word(WORKFLOWS)),
    name("classic_migration", Holds::One),
];

/// Names of a run that very old files carry beside `run_id` and `skill`; their system moves them away by itself.
const OLD_RUN_NAMES: [&str; 14] = [
    "skill",
    "skill_version",
    "skill_hash",
    "orchestration",
    "current_step",
    "iteration",
    "pending",
    "pending_ref",
    "trajectory_ref",
    "context_ref",
    "artifacts_ref",
    "checkpoint_ref",
    "run_status",
    "run_retries",
];

/// A valid state.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// How the change is done.
    pub workflow: Workflow,
    /// Where it stands.
    pub phase: Phase,
    /// `build_mode`.
    pub build_mode: Option<String>,
    /// Whether building is paused with the plan ready.
    pub build_pause: bool,
    /// Whether handing work to subagents is confirmed.
    pub subagent_dispatch: bool,
    /// `tdd_mode`.
    pub tdd_mode: Option<String>,
    /// `review_mode`; `off` is a mode.
    pub review_mode: Option<String>,
    /// `isolation`.
    pub isolation: Option<String>,
    /// `verify_mode`.
    pub verify_mode: Option<String>,
    /// `pending`, `pass` or `fail`.
    pub verify_result: String,
    /// How often verification failed; newer files only.
    pub verify_failures: Option<u64>,
    /// `language`.
    pub language: Option<String>,
    /// `context_compression`; `off` is a value.
    pub context_compression: Option<String>,
    /// Path of the design, from the project's root.
    pub design_doc: Option<String>,
    /// Path of the plan, from the project's root.
    pub plan: Option<String>,
    /// Path of the report, from the project's root.
    pub verification_report: Option<String>,
    /// `base_ref`.
    pub base_ref: Option<String>,
    /// `bound_branch`.
    pub bound_branch: Option<String>,
    /// `created_at`.
    pub created_at: Option<String>,
    /// `run_id`.
    pub run_id: Option<String>,
    /// Whether archiving is confirmed.
    pub archive_confirmed: bool,
    /// Whether it is archived.
    pub archived: bool,
    /// `auto_transition`.
    pub auto_transition: Option<bool>,
    /// `direct_override`.
    pub direct_override: Option<bool>,
}

/// A field whose value is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidField {
    /// Name.
    pub field: String,
    /// What is wrong, in words.
    pub reason: String,
}

/// Why a text is no valid state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFaults {
    /// It does not parse; why.
    pub damaged: Option<String>,
    /// Names that must be there.
    pub missing: Vec<&'static str>,
    /// Values that are not allowed.
    pub invalid: Vec<InvalidField>,
    /// Names that this system does not have, as they may be shown.
    pub unknown: Vec<String>,
}

impl StateFaults {
    /// Whether all that is wrong are names that are not known here.
    #[must_use]
    pub fn has_only_unknown_names(&self) -> bool {
        self.damaged.is_none() && self.missing.is_empty() && self.invalid.is_empty()
    }

    /// All of it in one sentence part; goes after the name of the file.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.damaged.clone());
        if !self.missing.is_empty() {
            parts.push(format!("lacks {}", self.missing.join(", ")));
        }
        if !self.unknown.is_empty() {
            parts.push(format!("has unknown fields: {}", self.unknown.join(", ")));
        }
        if !self.invalid.is_empty() {
            let fields: Vec<String> =
                self.invalid.iter().map(|invalid| format!("{} {}", invalid.field, invalid.reason)).collect();
            parts.push(fields.join(", "));
        }
        parts.join("; ")
    }
}

/// Reads a state.
///
/// Errors: everything that makes it invalid, all at once.
pub fn parse(text: &str) -> Result<State, StateFaults> {
    let damaged =
        |what: String| StateFaults { damaged: Some(safe_line(&what, SHOWN_CHARS)), ..StateFaults::default() };
    let document = yaml::parse(text).map_err(|error| damaged(error.to_string()))?;
    let Value::Map(members) = &document else {
        return Err(damaged("is empty or no map of names and values".to_owned()));
    };
    let mut faults = StateFaults::default();
    let old_run =
        ["run_id", "skill"].iter().all(|name| document.get(name).is_some_and(|v| *v != Value::Null));
    for (given, value) in members {
        match NAMES.iter().find(|known| known.name == given) {
            Some(known) => {
                if let Err(reason) = fits(known, value) {
                    faults.invalid.push(InvalidField { field: given.clone(), reason });
                }
            }
            None if old_run && OLD_RUN_NAMES.contains(&given.as_str()) => {}
            None => faults.unknown.push(safe_line(given, SHOWN_CHARS)),
        }
    }
    faults.missing = NAMES
        .iter()
        .filter(|known| known.required && document.get(known.name).is_none())
        .map(|known| known.name)
        .collect();
    if faults != StateFaults::default() {
        return Err(faults);
    }
    let text =
        |name: &str| document.get(name).and_then(Value::text).filter(|t| !t.is_empty()).map(str::to_owned);
    let flag = |name: &str| match document.get(name) {
        Some(Value::Flag(flag)) => Some(*flag),
        _ => None,
    };
    let (Some(workflow), Some(phase)) = (
        text("workflow").and_then(|word| match word.as_str() {
            "full" => Some(Workflow::Full),
            "hotfix" => Some(Workflow::Hotfix),
            "tweak" => Some(Workflow::Tweak),
            _ => None,
        }),
        text("phase").and_then(|word| Phase::of(&word)),
    ) else {
        return Err(damaged("has no workflow and phase".to_owned()));
    };
    Ok(State {
        workflow,
        phase,
        build_mode: text("build_mode"),
        build_pause: text("build_pause").is_some(),
        subagent_dispatch: text("subagent_dispatch").is_some(),
        tdd_mode: text("tdd_mode"),
        review_mode: text("review_mode"),
        isolation: text("isolation"),
        verify_mode: text("verify_mode"),
        verify_result: text("verify_result").unwrap_or_default(),
        verify_failures: match document.get("verify_failures") {
            Some(Value::Number(number)) => number.parse().ok(),
            _ => None,
        },
        language: text("language"),
        context_compression: text("context_compression"),
        design_doc: text("design_doc"),
        plan: text("plan"),
        verification_report: text("verification_report"),
        base_ref: text("base_ref"),
        bound_branch: text("bound_branch"),
        created_at: text("created_at"),
        run_id: text("run_id"),
        archive_confirmed: text("archive_confirmation").as_deref() == Some("confirmed"),
        archived: flag("archived").unwrap_or_default(),
        auto_transition: flag("auto_transition"),
        direct_override: flag("direct_override"),
    })
}

/// Whether a value is one that the name may hold; if not, why.
fn fits(name: &Name, value: &Value) -> Result<(), String> {
    let empty = *value == Value::Null || value.text() == Some("");
    if empty {
        return if name.empty { Ok(()) } else { Err("must not be empty".to_owned()) };
    }
    let holds = match &name.holds {
        Holds::Word(words) => {
            return match value.text() {
                Some(text) if words.contains(&text) => Ok(()),
                _ => Err(format!("must be one of {}", words.join(", "))),
            };
        }
        Holds::Flag => (matches!(value, Value::Flag(_)), "must be true or false"),
        Holds::Path => (
            value.text().is_some_and(is_relative_path),
            "must be a path inside the project (no drive, no leading / \\ ~, no ..)",
        ),
        Holds::Hash => (value.text().is_some_and(is_sha256), "must be 64 lower-case hexadecimal digits"),
        Holds::Text => (value.text().is_some(), "must be text"),
        Holds::Count => (
            matches!(value, Value::Number(number) if number.parse::<u64>().is_ok()),
            "must be a whole number",
        ),
        Holds::One => (matches!(value, Value::Number(number) if number == "1"), "must be 1"),
    };
    if holds.0 { Ok(()) } else { Err(holds.1.to_owned()) }
}

/// Whether a path stays inside the project wherever it is read.
#[must_use]
pub fn is_relative_path(path: &str) -> bool {
    let bytes = path.as_bytes();
    let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    !drive
        && !path.starts_with(['/', '\\', '~'])
        && !path.contains('\0')
        && path.split(['/', '\\']).all(|part| part != "..")
}

/// 64 lower-case hexadecimal digits.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// What of the settings for building is missing or contradicts itself; only a full workflow has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationReadiness {
    /// Names.
    pub missing_fields: Vec<&'static str>,
    /// Names with the reason.
    pub invalid_fields: Vec<InvalidField>,
}

impl ConfigurationReadiness {
    /// Whether nothing is left to set.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.missing_fields.is_empty() && self.invalid_fields.is_empty()
    }
}

/// Judges the settings for building (FORMATS 8.2).
#[must_use]
pub fn configuration_readiness(state: &State) -> ConfigurationReadiness {
    let mut readiness = ConfigurationReadiness::default();
    if state.workflow != Workflow::Full {
        return readiness;
    }
    for (name, value) in [
        ("build_mode", &state.build_mode),
        ("tdd_mode", &state.tdd_mode),
        ("review_mode", &state.review_mode),
    ] {
        if value.is_none() {
            readiness.missing_fields.push(name);
        }
    }
    let mode = state.build_mode.as_deref();
    if mode == Some("subagent-driven-development") && !state.subagent_dispatch {
        readiness.missing_fields.push("subagent_dispatch");
    }
    let mut invalid = |field: &str, reason: &str| {
        readiness.invalid_fields.push(InvalidField { field: field.to_owned(), reason: reason.to_owned() });
    };
    if mode == Some("autonomous") && state.review_mode.as_deref() == Some("off") {
        invalid("review_mode", "autonomous full build requires review_mode=standard or thorough");
    }
    if mode == Some("direct") && state.direct_override != Some(true) {
        invalid("direct_override", "full workflow direct execution requires direct_override=true");
    }
    readiness
}

/// Review rounds that a review mode allows; None when no mode is set.
#[must_use]
pub fn review_rounds_allowed(state: &State) -> Option<u64> {
    match state.review_mode.as_deref()? {
        "off" => Some(0),
        "standard" => Some(1),
        _ => Some(2),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The least a state has.
    pub(crate) const LEAST: &str = "workflow: full\nphase: build\nbuild_mode: null\nisolation:\nverify_mode: ~\n\
        verify_result: pending\narchived: false\ndesign_doc: null\nplan: null\nverified_at: null\n";

    pub(crate) fn least(more: &str) -> Result<State, StateFaults> {
        let mut text = LEAST.to_owned();
        for line in more.lines() {
            let name = line.split(':').next().unwrap();
            text = text
                .lines()
                .filter(|old| old.split(':').next() != Some(name))
                .fold(String::new(), |kept, old| kept + old + "\n");
            text.push_str(line);
            text.push('\n');
        }
        parse(&text)
    }

    #[test]
    fn the_least_state_is_valid_and_off_is_a_word() {
        let state = least("review_mode: off\ncontext_compression: off").unwrap();
        assert_eq!(state.review_mode.as_deref(), Some("off"));
        assert_eq!(state.context_compression.as_deref(), Some("off"));
        assert_eq!((state.workflow, state.phase, state.archived), (Workflow::Full, Phase::Build, false));
    }

    #[test]
    fn each_required_name() {
        for known in NAMES.iter().filter(|known| known.required) {
            let text: String = LEAST
                .lines()
                .filter(|line| !line.starts_with(&format!("{}:", known.name)))
                .fold(String::new(), |text, line| text + line + "\n");
            let faults = parse(&text).unwrap_err();
            assert_eq!(faults.missing, [known.name]);
        }
    }

    #[test]
    fn values_that_are_not_allowed() {
        for (line, valid) in [
            ("phase: shipping", false),
            ("phase:", false),
            ("workflow: tweak", true),
            ("archived: null", false),
            ("archived: \"true\"", false),
            ("archived: off", false),
            ("verify_result: null", false),
            ("verify_result: ''", false),
            ("review_mode: false", false),
            ("review_mode: ''", true),
            ("build_mode: autonomous", true),
            ("verify_failures: 3", true),
            ("verify_failures: -1", false),
            ("verify_failures: many", false),
            ("classic_migration: 1", true),
            ("classic_migration: 2", false),
            ("plan: docs/plans/a.md", true),
            ("plan: /etc/passwd", false),
            ("plan: \\server", false),
            ("plan: ~/a.md", false),
            ("plan: C:/a.md", false),
            ("plan: docs/../../a.md", false),
            ("plan: docs\\..\\a.md", false),
            ("plan: docs/a..b.md", true),
            ("plan: [a]", false),
            ("base_ref: 1234567", false),
            ("base_ref: \"1234567\"", true),
            ("created_at: 2026-03-01", true),
            ("shipping: true", false),
            ("skill: x", false),
        ] {
            assert_eq!(least(line).is_ok(), valid, "{line}: {:?}", least(line));
        }
        let hash = "a".repeat(64);
        for (hash, valid) in [
            (&hash[..63], false),
            (&hash[..], true),
            (&(hash.clone() + "a")[..], false),
            (&hash.to_uppercase()[..], false),
        ] {
            assert_eq!(least(&format!("handoff_hash: {hash}")).is_ok(), valid, "{hash}");
        }
    }

    #[test]
    fn very_old_files_carry_a_run() {
        assert!(least("run_id: r-1\nskill: comet\ncurrent_step: build\npending: null").is_ok());
        assert_eq!(least("run_id: r-1\ncurrent_step: build").unwrap_err().unknown, ["current_step"]);
    }

    #[test]
    fn no_text_is_no_state() {
        for text in ["", "just words", "- a", "a: [", "a: 1\na: 2"] {
            assert!(parse(text).unwrap_err().damaged.is_some(), "{text}");
        }
    }

    #[test]
    fn readiness() {
        let of = |more: &str| {
            let readiness = configuration_readiness(&least(more).unwrap());
            let invalid: Vec<String> =
                readiness.invalid_fields.into_iter().map(|field| field.field).collect();
            (readiness.missing_fields, invalid)
        };
        assert_eq!(of(""), (vec!["build_mode", "tdd_mode", "review_mode"], vec![]));
        assert_eq!(of("workflow: hotfix"), (vec![], vec![]));
        let set = "tdd_mode: tdd\nreview_mode: off\n";
        assert_eq!(of(&format!("{set}build_mode: executing-plans")), (vec![], vec![]));
        assert_eq!(
            of(&format!("{set}build_mode: subagent-driven-development")),
            (vec!["subagent_dispatch"], vec![])
        );
        assert_eq!(
            of(&format!("{set}build_mode: subagent-driven-development\nsubagent_dispatch: confirmed")),
            (vec![], vec![])
        );
        assert_eq!(of(&format!("{set}build_mode: autonomous")), (vec![], vec!["review_mode".to_owned()]));
        assert_eq!(of("tdd_mode: tdd\nreview_mode: standard\nbuild_mode: autonomous"), (vec![], vec![]));
        for (line, invalid) in
            [("", true), ("direct_override: false", true), ("direct_override: true", false)]
        {
            assert_eq!(
                of(&format!("{set}build_mode: direct\n{line}")).1.len(),
                usize::from(invalid),
                "{line}"
            );
        }
    }

    #[test]
    fn review_rounds() {
        for (mode, rounds) in [("", None), ("off", Some(0)), ("standard", Some(1)), ("thorough", Some(2))] {
            assert_eq!(review_rounds_allowed(&least(&format!("review_mode: {mode}")).unwrap()), rounds);
        }
    }
}
