//! Our entries in a settings file: put in, brought up to date, taken out. Pure.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::document::{Document, DocumentError, HOOKS, Step};
use crate::{
    programs::{OwnCommand, Program, own_command},
    wiring::{HookEntry, MatcherGroup, Wiring},
};

/// One entry of ours, where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnEntry {
    /// Key under `hooks`; any, a file may hold entries for events that we never use.
    pub(crate) event: String,
    pub(crate) command: OwnCommand,
    /// Index of the matcher group under the event, and of the entry inside it.
    group: usize,
    entry: usize,
    /// Whether the group is asked for everything that the event brings.
    matches_all: bool,
    value: Value,
}

impl OwnEntry {
    fn path(&self) -> [Step<'_>; 5] {
        [
            Step::Key(HOOKS),
            Step::Key(&self.event),
            Step::Index(self.group),
            Step::Key(HOOKS),
            Step::Index(self.entry),
        ]
    }
}

/// What was done to one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Added,
    Updated,
    Removed,
}

/// One change of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) deed: Deed,
    pub(crate) event: String,
    pub(crate) program: Program,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deed = match self.deed {
            Deed::Added => "added",
            Deed::Updated => "updated",
            Deed::Removed => "removed",
        };
        write!(f, "{}: {} {deed}", self.event, self.program)
    }
}

/// Returns every entry of ours, in the order of the file.
pub(crate) fn own_entries(document: &Document) -> Vec<OwnEntry> {
    let root = document.value();
    let mut own = Vec::new();
    for (event, groups) in root.get(HOOKS).and_then(Value::as_object).into_iter().flatten() {
        for (group_index, group) in groups.as_array().into_iter().flatten().enumerate() {
            let matches_all = match group.get("matcher") {
                None => true,
                Some(matcher) => matcher.as_str().is_some_and(|matcher| matcher.is_empty() || matcher == "*"),
            };
            let entries = group.get(HOOKS).and_then(Value::as_array).into_iter().flatten();
            for (entry_index, entry) in entries.enumerate() {
                if let Some(command) = own_command(entry) {
                    own.push(OwnEntry {
                        event: event.clone(),
                        command,
                        group: group_index,
                        entry: entry_index,
                        matches_all,
                        value: entry.clone(),
                    });
                }
            }
        }
    }
    own
}

/// Makes our entries exactly those of the wiring and touches nothing else.
///
/// An entry that is there already, whatever folder it points to, is updated where it stands; missing ones join ours
/// or get a group at the end; those of another wiring go.
///
/// # Errors
///
/// `hooks`, or an event that we need, is not of the shape that the client reads.
pub(crate) fn wire(document: &mut Document, wiring: &Wiring) -> Result<Vec<Change>, DocumentError> {
    check_shapes(document, wiring)?;
    let own = own_entries(document);
    let mut kept = vec![false; own.len()];
    let mut changes = Vec::new();
    for wanted in &wiring.events {
        let event = wanted.event.name();
        let mut missing: Vec<&(Program, HookEntry)> = Vec::new();
        let mut our_group = None;
        for wanted_entry in &wanted.entries {
            let (program, entry) = wanted_entry;
            let standing = own.iter().position(|standing| {
                standing.event == event && standing.command.program == *program && standing.matches_all
            });
            let Some(index) = standing else {
                missing.push(wanted_entry);
                continue;
            };
            kept[index] = true;
            our_group.get_or_insert(own[index].group);
            if !same_value(&own[index].value, entry) && document.replace(&own[index].path(), entry) {
                changes.push(Change { deed: Deed::Updated, event: event.to_owned(), program: *program });
            }
        }
        changes.extend(missing.iter().map(|(program, _)| Change {
            deed: Deed::Added,
            event: event.to_owned(),
            program: *program,
        }));
        add(document, event, our_group, missing.into_iter().map(|(_, entry)| entry.clone()).collect());
    }
    // From the end, so that the places of the others stay true. What was added stands behind all of these.
    for (entry, _) in own.iter().zip(&kept).rev().filter(|(_, kept)| !**kept) {
        remove(document, entry);
        changes.push(Change {
            deed: Deed::Removed,
            event: entry.event.clone(),
            program: entry.command.program,
        });
    }
    Ok(changes)
}

/// Takes all entries of ours out, with the groups, lists and the `hooks` key that this leaves empty.
pub(crate) fn unwire(document: &mut Document) -> Vec<Change> {
    let own = own_entries(document);
    for entry in own.iter().rev() {
        remove(document, entry);
    }
    own.into_iter()
        .map(|entry| Change { deed: Deed::Removed, event: entry.event, program: entry.command.program })
        .collect()
}

fn same_value(standing: &Value, wanted: &impl Serialize) -> bool {
    serde_json::to_value(wanted).is_ok_and(|wanted| wanted == *standing)
}

fn check_shapes(document: &Document, wiring: &Wiring) -> Result<(), DocumentError> {
    let root = document.value();
    let Some(hooks) = root.get(HOOKS) else { return Ok(()) };
    let wrong = |path: &[Step<'_>], what: String, expected| {
        let at = document.position(path).unwrap_or(super::document::Position { line: 1, column: 1 });
        DocumentError::WrongShape { at, what, expected }
    };
    if !hooks.is_object() {
        return Err(wrong(&[Step::Key(HOOKS)], "\"hooks\"".to_owned(), "an object"));
    }
    for wanted in &wiring.events {
        let event = wanted.event.name();
        if hooks.get(event).is_some_and(|groups| !groups.is_array()) {
            return Err(wrong(
                &[Step::Key(HOOKS), Step::Key(event)],
                format!("\"hooks\".\"{event}\""),
                "a list",
            ));
        }
    }
    Ok(())
}

fn add(document: &mut Document, event: &str, our_group: Option<usize>, entries: Vec<HookEntry>) {
    if entries.is_empty() {
        return;
    }
    if let Some(group) = our_group {
        let path = [Step::Key(HOOKS), Step::Key(event), Step::Index(group), Step::Key(HOOKS)];
        for entry in &entries {
            document.append_element(&path, entry);
        }
        return;
    }
    let group = MatcherGroup { hooks: entries };
    if !document.append_element(&[Step::Key(HOOKS), Step::Key(event)], &group) {
        let groups = [group];
        if !document.append_property(&[Step::Key(HOOKS)], event, &groups) {
            document.append_property(&[], HOOKS, &serde_json::Map::new());
            document.append_property(&[Step::Key(HOOKS)], event, &groups);
        }
    }
}

/// Takes one entry out, then whatever held nothing else.
fn remove(document: &mut Document, entry: &OwnEntry) {
    let path = entry.path();
    document.remove(&path);
    let root = document.value();
    let is_empty = |value: Option<&Value>| match value {
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        _ => false,
    };
    let groups = root.get(HOOKS).and_then(|hooks| hooks.get(&entry.event));
    let Some(group) = groups.and_then(|groups| groups.get(entry.group)) else { return };
    if !is_empty(group.get(HOOKS)) {
        return;
    }
    document.remove(&path[..3]);
    let root = document.value();
    if is_empty(root.get(HOOKS).and_then(|hooks| hooks.get(&entry.event))) {
        document.remove(&path[..2]);
    }
    if is_empty(document.value().get(HOOKS)) {
        document.remove(&path[..1]);
    }
}

#[cfg(test)]
mod tests;
