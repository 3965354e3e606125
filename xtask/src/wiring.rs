//! The wiring of a project: which programs the client starts at which event.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::tool::Tool;
use crate::workspace::HOOKS;

/// The settings files of a project that the client reads hooks from, relative to it.
const SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// One hook entry of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wired {
    /// The event it is wired to.
    pub(crate) event: String,
    /// Which tools, sources or errors start it; empty: all.
    matcher: String,
    command: String,
    /// Present in the exec form, absent in the shell form.
    args: Option<Vec<String>>,
}

impl Wired {
    /// Whether the client would start it for this subject. Patterns count as a match: better one process counted
    /// too many than one too few.
    pub(crate) fn starts_for(&self, subject: &str) -> bool {
        let plain = self.matcher.chars().all(|c| c.is_ascii_alphanumeric() || "_-| ,".contains(c));
        self.matcher.is_empty() || !plain || self.matcher.split(['|', ',']).any(|name| name.trim() == subject)
    }

    /// The command as the client would start it.
    pub(crate) fn tool(&self) -> Tool {
        match &self.args {
            Some(args) => Tool::new(&self.command).args(args),
            None => Tool::new("sh").args(["-c", &self.command]),
        }
        .limit(Duration::from_secs(5))
    }

    /// The command as a person would write it.
    pub(crate) fn shown(&self) -> String {
        let mut text = self.command.clone();
        for arg in self.args.iter().flatten() {
            text.push(' ');
            text.push_str(arg);
        }
        text
    }
}

/// Our entries in the settings of a project.
pub(crate) fn of_project(project: &Path) -> Result<Vec<Wired>> {
    let mut wired = Vec::new();
    for name in SETTINGS {
        let file = project.join(name);
        if file.exists() {
            wired.extend(of_file(&file)?);
        }
    }
    Ok(wired)
}

/// Our entries in one settings file or a plugin's `hooks.json`.
pub(crate) fn of_file(file: &Path) -> Result<Vec<Wired>> {
    let bytes = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    let value = serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", file.display()))?;
    Ok(of_settings(&value))
}

fn of_settings(settings: &Value) -> Vec<Wired> {
    let mut wired = Vec::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            for entry in group["hooks"].as_array().into_iter().flatten() {
                let Some(command) = entry["command"].as_str().filter(|command| is_ours(command)) else {
                    continue;
                };
                let matcher = group["matcher"].as_str().filter(|matcher| *matcher != "*").unwrap_or_default();
                let strings = |args: &Vec<Value>| {
                    args.iter().filter_map(|arg| arg.as_str().map(str::to_owned)).collect()
                };
                wired.push(Wired {
                    event: event.clone(),
                    matcher: matcher.to_owned(),
                    command: command.to_owned(),
                    args: entry["args"].as_array().map(strings),
                });
            }
        }
    }
    wired
}

/// Whether a command, in either form, starts one of our programs: a word of it ends in the name of one.
fn is_ours(command: &str) -> bool {
    let mut words = command.split(|c: char| c.is_whitespace() || ";&|\"'".contains(c));
    words.any(|word| word.rsplit('/').next().is_some_and(|name| HOOKS.contains(&name)))
}

/// The most processes of ours that one event starts, by event.
pub(crate) fn processes_per_event(wired: &[Wired]) -> BTreeMap<&str, usize> {
    let mut most = BTreeMap::new();
    for one in wired {
        // Those that can meet in one event: for a plain matcher its own names and what is wired to all.
        let subjects: Vec<&str> = one.matcher.split(['|', ',']).map(str::trim).collect();
        for subject in subjects {
            let started =
                wired.iter().filter(|other| other.event == one.event && other.starts_for(subject)).count();
            let entry = most.entry(one.event.as_str()).or_insert(0);
            *entry = started.max(*entry);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(matcher: &str, command: &str) -> Value {
        json!({"matcher": matcher, "hooks": [{"type": "command", "command": command, "args": [], "timeout": 5}]})
    }

    #[test]
    fn entries_of_others_do_not_count() {
        let settings = json!({"hooks": {
            "Stop": [entry("", "/opt/bin/recovery-hooks"), entry("", "/opt/bin/lint"), entry("", "my-recovery-hooks")],
        }});
        let wired = of_settings(&settings);
        assert_eq!(processes_per_event(&wired), BTreeMap::from([("Stop", 1)]));
    }

    #[test]
    fn the_shell_form_is_one_process_although_it_names_the_program_twice() {
        let command = "command -v recovery-hooks >/dev/null 2>&1 && exec recovery-hooks; exit 0";
        let settings = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
        let wired = of_settings(&settings);
        assert_eq!(wired.len(), 1);
        assert_eq!(wired[0].args, None);
    }

    #[test]
    fn entries_that_meet_in_one_event_are_added_up() {
        let both = json!({"hooks": {"PostToolUse": [
            entry("Read|Bash", "/b/error-tracker"), entry("*", "/b/heartbeat-write"), entry("Edit", "/b/tool-degradation"),
        ]}});
        assert_eq!(processes_per_event(&of_settings(&both)), BTreeMap::from([("PostToolUse", 2)]));
        let all = json!({"hooks": {"PostToolUse": [entry("mcp__.*", "/b/error-tracker"), entry("", "/b/heartbeat-write")]}});
        assert_eq!(processes_per_event(&of_settings(&all)), BTreeMap::from([("PostToolUse", 2)]));
    }

    #[test]
    fn a_plain_matcher_names_whole_tools() {
        let wired = |matcher: &str| {
            of_settings(&json!({"hooks": {"PostToolUse": [entry(matcher, "/b/error-tracker")]}}))
        };
        assert!(wired("Read|Bash")[0].starts_for("Bash"));
        assert!(!wired("Read|Bash")[0].starts_for("BashOutput"));
        assert!(wired("")[0].starts_for("Bash"));
        assert!(wired("mcp__.*")[0].starts_for("mcp__docsearch__query"));
    }

    #[test]
    fn settings_without_hooks_have_none() {
        assert!(of_settings(&json!({"model": "opus"})).is_empty());
        assert!(of_settings(&json!({"hooks": {"Stop": [{"matcher": "x"}]}})).is_empty());
    }
}
