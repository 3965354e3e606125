//! `cargo xtask deps`: what a hook may be made of, and who may know whom.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::tool::Tool;
use crate::workspace::{DEFAULT_HOOK, HOOKS, Workspace};

/// Crates that cost a hook its start-up time or its size: patterns, zone data, Markdown, YAML, hashes, ids, loggers,
/// argument parsers.
const NOT_IN_A_HOOK: [&str; 26] = [
    "anyhow",
    "chrono-tz",
    "clap",
    "clap_builder",
    "comrak",
    "fancy-regex",
    "jsonc-parser",
    "lazy-regex",
    "markdown",
    "pulldown-cmark",
    "rand",
    "regex",
    "regex-automata",
    "regex-lite",
    "regex-syntax",
    "saphyr",
    "serde_norway",
    "serde_yaml",
    "serde_yaml_ng",
    "serde_yml",
    "sha2",
    "tokio",
    "tracing-subscriber",
    "uuid",
    "yaml-rust",
    "yaml-rust2",
];

/// The library crates in order: each may know those before it that are named beside it, and no other of ours.
const MAY_KNOW: [(&str, &[&str]); 10] = [
    ("bounded-command", &[]),
    ("hook-io", &[]),
    ("rules", &[]),
    ("screens", &["rules"]),
    ("session-state", &["rules"]),
    ("hook-flow", &["hook-io", "rules", "session-state"]),
    ("leftovers", &["rules", "session-state"]),
    ("scavenging", &["rules", "session-state"]),
    ("systems", &["bounded-command", "rules", "session-state"]),
    ("watcher", &["bounded-command", "rules", "scavenging", "screens", "session-state"]),
];

/// What a hook may know of ours.
const A_HOOK_MAY_KNOW: [&str; 5] = ["hook-io", "rules", "session-state", "hook-flow", "leftovers"];

/// Checks both rules and says each breach.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut breaches = Vec::new();
    for hook in HOOKS {
        let tree = Tool::cargo()
            .args([
                "tree",
                "--locked",
                "-e",
                "normal",
                "--prefix",
                "none",
                "--format",
                "{p}",
                "--package",
                hook,
            ])
            .cwd(&workspace.root)
            .read()?;
        breaches.extend(unwanted(&tree).into_iter().map(|name| {
            format!("{hook} holds {name}: `cargo tree -e normal -p {hook} -i {name}` shows through whom")
        }));
    }
    breaches.extend(strangers(&direct_dependencies(workspace)?));
    if breaches.is_empty() {
        println!(
            "Dependencies: {} hooks hold none of {} heavy crates; the layers hold.",
            HOOKS.len(),
            NOT_IN_A_HOOK.len()
        );
        return Ok(());
    }
    bail!("the dependency rule is broken:\n  {}", breaches.join("\n  "))
}

/// The crates of a tree (`cargo tree --prefix none`, `name vVERSION ...` a line) that a hook must not hold.
fn unwanted(tree: &str) -> BTreeSet<&str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| NOT_IN_A_HOOK.contains(name)).collect()
}

/// Packages of the workspace and the packages of the workspace that each is built with.
type Known = BTreeMap<String, BTreeSet<String>>;

fn direct_dependencies(workspace: &Workspace) -> Result<Known> {
    let text =
        Tool::cargo().args(["metadata", "--no-deps", "--format-version", "1"]).cwd(&workspace.root).read()?;
    let metadata: Value = serde_json::from_str(&text).context("`cargo metadata` did not print JSON")?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let known = packages.iter().map(|package| {
        // `kind` is null for what a program is built with, else `dev` or `build`.
        let built_with = list(&package["dependencies"]).into_iter().filter(|dep| dep["kind"].is_null());
        let built_with = built_with.map(|dep| name(&dep)).filter(|dep| ours.contains(dep)).collect();
        (name(package), built_with)
    });
    Ok(known.collect())
}

/// Says who knows whom without right.
fn strangers(known: &Known) -> Vec<String> {
    let mut breaches = Vec::new();
    for (package, knows) in known {
        let hooks: BTreeSet<&str> = HOOKS.into_iter().filter(|hook| *hook != DEFAULT_HOOK).collect();
        let layer = MAY_KNOW.iter().find(|(name, _)| name == package).map(|(_, may)| *may);
        for other in knows {
            let allowed = match layer {
                Some(may) => may.contains(&other.as_str()),
                None if package == DEFAULT_HOOK => {
                    hooks.contains(other.as_str()) || A_HOOK_MAY_KNOW.contains(&other.as_str())
                }
                None if hooks.contains(package.as_str()) => A_HOOK_MAY_KNOW.contains(&other.as_str()),
                None => true,
            };
            if !allowed {
                breaches.push(format!("{package} must not know {other}"));
            }
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(package: &str, knows: &[&str]) -> Known {
        Known::from([(package.to_owned(), knows.iter().map(|&name| name.to_owned()).collect())])
    }

    #[test]
    fn a_heavy_crate_is_found_by_its_whole_name() {
        let tree = "error-tracker v0.1.0 (/src/hooks/error-tracker)\nserde v1.0.2\nregex v1.13.0\nregex v1.13.0 (*)\n";
        assert_eq!(unwanted(tree), BTreeSet::from(["regex"]));
        assert_eq!(unwanted("clap_lex v1.0.0\nregexes v0.1.0\n"), BTreeSet::new());
    }

    #[test]
    fn hooks_do_not_know_each_other_but_for_the_combined_one() {
        assert_eq!(
            strangers(&known("error-tracker", &["heartbeat-write", "rules"])),
            ["error-tracker must not know heartbeat-write"]
        );
        assert!(
            strangers(&known("recovery-hooks", &["heartbeat-write", "error-tracker", "hook-io"])).is_empty()
        );
        assert_eq!(
            strangers(&known("recovery-hooks", &["recovery"])),
            ["recovery-hooks must not know recovery"]
        );
    }

    #[test]
    fn a_layer_knows_only_those_below_it() {
        assert_eq!(strangers(&known("rules", &["session-state"])), ["rules must not know session-state"]);
        assert_eq!(strangers(&known("hook-io", &["rules"])), ["hook-io must not know rules"]);
        assert!(strangers(&known("leftovers", &["rules", "session-state"])).is_empty());
        assert!(strangers(&known("recovery", &["systems", "leftovers"])).is_empty());
    }
}
