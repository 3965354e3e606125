//! `ralph.json`: another program's loop. Two of its values are ours to change, every other byte stays.
//!
//! `ralph-state.json` of another system has the same members under other names of times; both are read here.

use std::io;

use crate::clock::Now;
use crate::dir::{Dir, FileKind, FileStat};
use crate::json_members::Members;
use crate::{layout, lock, times};

/// A loop file larger than this is none.
const LIMIT: usize = 1024 * 1024;

/// What a loop file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopFile {
    /// It runs, or was left running.
    pub active: bool,
    /// Rounds done.
    pub iteration: Option<i64>,
    /// The session it belongs to; an empty or `null` one is nobody's.
    pub session_id: Option<String>,
    /// When it was last looked at, seconds since 1970: the newest of the times such files have. None: unreadable,
    /// which is never old.
    pub last_checked_s: Option<i64>,
}

/// Reads a loop file. None: it is damaged.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<LoopFile> {
    let members = Members::of(text(bytes)?)?;
    let time = |name: &str| times::of_json(&members.value(name)?);
    Some(LoopFile {
        active: members.get("active").is_some_and(|value| value.get() == "true"),
        iteration: members.value("iteration"),
        session_id: members.value("session_id").filter(|id: &String| !id.is_empty() && id != "null"),
        last_checked_s: ["last_checked_at", "updated_at", "started_at"].into_iter().filter_map(time).max(),
    })
}

/// Reads the loop file of a folder. None: there is none that could be read.
#[must_use]
pub fn read(dir: &Dir, name: &str) -> Option<(FileStat, Vec<u8>)> {
    let stat = dir.stat(name).filter(|stat| stat.kind == FileKind::File)?;
    Some((stat, dir.read(name, LIMIT).ok()?))
}

/// Returns the file with `active` false and the reason set, all else byte for byte. None: damaged, or not active.
#[must_use]
pub fn deactivated(bytes: &[u8], reason: &str) -> Option<Vec<u8>> {
    let text = text(bytes)?;
    let members = Members::of(text)?;
    let active = members.span("active", text).filter(|span| &text[span.clone()] == "true")?;
    let reason = serde_json::to_string(reason).ok()?;
    let mut edits = vec![(active.clone(), "false".to_owned())];
    match members.span("deactivation_reason", text) {
        Some(span) => edits.push((span, reason)),
        None => {
            edits.push((active.end..active.end, another(text, active.start, "deactivation_reason", &reason)))
        }
    }
    // From the end, so that offsets stay true.
    edits.sort_by_key(|(span, _)| std::cmp::Reverse((span.start, span.end)));
    let mut out = text.to_owned();
    for (span, new) in edits {
        out.replace_range(span, &new);
    }
    let bom = bytes.len() - text.len();
    Some([&bytes[..bom], out.as_bytes()].concat())
}

/// Sets a loop inactive if the file is still the one that was judged. Returns whether it was done.
pub fn deactivate(dir: &Dir, name: &str, judged: FileStat, reason: &str) -> io::Result<bool> {
    let file = dir.open_file(name)?;
    let Some(_lock) = lock::FileLock::take(&file)? else { return Ok(false) };
    let Some((stat, bytes)) = read(dir, name) else { return Ok(false) };
    if stat != judged {
        return Ok(false);
    }
    let Some(new) = deactivated(&bytes, reason) else { return Ok(false) };
    dir.replace_if(name, &new, || dir.stat(name) == Some(judged))
}

/// Takes a copy of the loop of a session when it is sound and has changed.
pub fn checkpoint(dir: &Dir) -> io::Result<()> {
    let Some((_, bytes)) = read(dir, layout::LOOP) else { return Ok(()) };
    if parse(&bytes).is_none() || dir.read(layout::LOOP_CHECKPOINT, LIMIT).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    dir.replace(layout::LOOP_CHECKPOINT, &bytes, true)
}

/// Puts the last sound copy, inactive, in the place of a damaged loop; its bytes are kept under the name returned.
/// None: the copy is another session's, or the file is no longer the one that was judged.
pub fn restore(dir: &Dir, judged: FileStat, session: &str, now: Now) -> io::Result<Option<String>> {
    let file = dir.open_file(layout::LOOP)?;
    let Some(_lock) = lock::FileLock::take(&file)? else { return Ok(None) };
    let Some((stat, damaged)) = read(dir, layout::LOOP) else { return Ok(None) };
    let Ok(copy) = dir.read(layout::LOOP_CHECKPOINT, LIMIT) else { return Ok(None) };
    let Some(sound) = parse(&copy) else { return Ok(None) };
    if stat != judged || parse(&damaged).is_some() || sound.session_id.is_some_and(|id| id != session) {
        return Ok(None);
    }
    let saved = format!("{}{}", layout::LOOP_DAMAGED, now.seconds());
    // On disk before the damaged file gives way.
    dir.create_new_synced(&saved, &damaged)?;
    let new = deactivated(&copy, "stale").unwrap_or(copy);
    Ok(dir.replace_if(layout::LOOP, &new, || dir.stat(layout::LOOP) == Some(judged))?.then_some(saved))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).ok()
}

/// One more member, written as the file writes its own.
fn another(text: &str, a_value: usize, name: &str, value: &str) -> String {
    let first = &text[text.find('{').map_or(0, |at| at + 1)..];
    let indent = &first[..first.len() - first.trim_start().len()];
    let colon = if text[..a_value].ends_with(char::is_whitespace) { ": " } else { ":" };
    let comma = match (indent.is_empty(), colon) {
        (false, _) => format!(",{indent}"),
        (true, ": ") => ", ".to_owned(),
        (true, _) => ",".to_owned(),
    };
    format!("{comma}\"{name}\"{colon}{value}")
}

/// What the head of a plugin's loop document says (`.claude/ralph-loop.local.md`): it is only ever reported.
#[must_use]
pub fn parse_front_matter(text: &str) -> Option<LoopFile> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some("---") {
        return None;
    }
    let mut found = LoopFile::default();
    for line in lines {
        if line == "---" {
            return Some(found);
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim().trim_matches('"');
        match name.trim() {
            "active" => found.active = value == "true",
            "iteration" => found.iteration = value.parse().ok(),
            "session_id" => {
                found.session_id = Some(value.to_owned()).filter(|id| !id.is_empty() && id != "null")
            }
            "started_at" => found.last_checked_s = times::parse(value),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn only_two_values_change() {
        for (before, after) in [
            (
                r#"{"active": true, "iteration": 7, "x": 1.0e5}"#,
                r#"{"active": false, "deactivation_reason": "stale", "iteration": 7, "x": 1.0e5}"#,
            ),
            (r#"{"active":true,"i":[1,2 ]}"#, r#"{"active":false,"deactivation_reason":"stale","i":[1,2 ]}"#),
            (
                "{\r\n  \"a\": \"\\u00fc\",\r\n  \"active\": true\r\n}\r\n",
                "{\r\n  \"a\": \"\\u00fc\",\r\n  \"active\": false,\r\n  \"deactivation_reason\": \"stale\"\r\n}\r\n",
            ),
            (
                r#"{"deactivation_reason": null, "active": true}"#,
                r#"{"deactivation_reason": "stale", "active": false}"#,
            ),
            (
                r#"{"active": false, "active": true}"#,
                r#"{"active": false, "active": false, "deactivation_reason": "stale"}"#,
            ),
            ("\u{feff}{\"active\":true}", "\u{feff}{\"active\":false,\"deactivation_reason\":\"stale\"}"),
        ] {
            let got = deactivated(before.as_bytes(), "stale").unwrap();
            assert_eq!(String::from_utf8(got.clone()).unwrap(), after);
            assert!(!parse(&got).unwrap().active);
        }
        for none in [
            r#"{"active": false}"#,
            r#"{"active": "true"}"#,
            "{}",
            "",
            "{\"active\": true",
            "[true]",
            "{\"active\":true}x",
        ] {
            assert_eq!(deactivated(none.as_bytes(), "stale"), None, "{none}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("active|a|[a-z\"{]{0,3}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn all_other_members_and_bytes_stay(
            others in prop::collection::btree_map("[a-z\"{},:]{0,6}", json(), 0..6),
            reason in prop::option::of(json()),
            pretty in any::<bool>(),
        ) {
            let mut before: serde_json::Map<String, Value> = others.into_iter().collect();
            before.insert("active".into(), true.into());
            before.extend(reason.map(|reason| ("deactivation_reason".to_owned(), reason)));
            let text = if pretty { serde_json::to_string_pretty(&before) } else { serde_json::to_string(&before) };
            let bytes = deactivated(text.unwrap().as_bytes(), "stale").unwrap();
            let mut expected = before;
            expected.insert("active".into(), false.into());
            expected.insert("deactivation_reason".into(), "stale".into());
            let after: serde_json::Map<String, Value> = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(&after, &expected);
            // Written by the same writer it would look the same, but for the place of a new member.
            let whole = if pretty { serde_json::to_string_pretty(&after) } else { serde_json::to_string(&after) };
            prop_assert_eq!(whole.unwrap().len(), bytes.len());
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
            let _ = deactivated(&bytes, "stale");
        }
    }

    #[test]
    fn what_is_read() {
        let file = parse(br#"{"session_id":"s","active":true,"iteration":4,"started_at":"2026-03-02T08:40:00.000Z","last_checked_at":"2026-03-02T09:30:00Z"}"#).unwrap();
        assert_eq!(
            file,
            LoopFile {
                active: true,
                iteration: Some(4),
                session_id: Some("s".into()),
                last_checked_s: Some(1_772_443_800)
            }
        );
        let bare = parse(br#"{"active":true,"session_id":"null","last_checked_at":"soon"}"#).unwrap();
        assert_eq!((bare.session_id, bare.last_checked_s), (None, None));
        for damaged in ["", "{", "{\"active\": true, \"last_che", "null", "[]"] {
            assert_eq!(parse(damaged.as_bytes()), None, "{damaged}");
        }
    }

    #[test]
    fn the_head_of_a_document() {
        let text = "---\nactive: true\niteration: 3\nsession_id: s-1\ncompletion_promise: \"DONE\"\nstarted_at: \"2026-03-02T10:36:40Z\"\n---\n\nGo on.\n";
        let found = parse_front_matter(text).unwrap();
        assert_eq!(
            (found.active, found.iteration, found.session_id.as_deref()),
            (true, Some(3), Some("s-1"))
        );
        assert_eq!(parse_front_matter("active: true\n"), None);
        assert_eq!(parse_front_matter("---\nactive: true\n"), None);
    }

    #[test]
    fn a_file_that_changed_since_it_was_judged_is_left_alone() {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open(top.path()).unwrap();
        std::fs::write(top.path().join("ralph.json"), r#"{"active": true}"#).unwrap();
        let judged = dir.stat("ralph.json").unwrap();
        std::fs::write(top.path().join("ralph.json"), r#"{"active": true, "iteration": 1}"#).unwrap();
        assert!(!deactivate(&dir, "ralph.json", judged, "stale").unwrap());
        let judged = dir.stat("ralph.json").unwrap();
        assert!(deactivate(&dir, "ralph.json", judged, "stale").unwrap());
        assert!(!deactivate(&dir, "ralph.json", judged, "stale").unwrap(), "once");
        assert_eq!(dir.names(9), ["ralph.json"], "nothing is left behind");
    }

    #[test]
    fn a_damaged_loop_is_restored_from_its_own_copy_and_loses_no_byte() {
        let top = tempfile::tempdir().unwrap();
        let dir = Dir::open(top.path()).unwrap();
        let write = |name: &str, text: &str| std::fs::write(top.path().join(name), text).unwrap();
        write("ralph.json", r#"{"active": true, "session_id": "s", "iteration": 3}"#);
        checkpoint(&dir).unwrap();
        write("ralph.json", r#"{"active": tr"#);
        checkpoint(&dir).unwrap();
        let judged = dir.stat("ralph.json").unwrap();
        assert_eq!(restore(&dir, judged, "other", Now(5_000)).unwrap(), None, "another session's copy");
        assert_eq!(restore(&dir, judged, "s", Now(5_000)).unwrap().as_deref(), Some("ralph.json.damaged-5"));
        let read = |name: &str| std::fs::read_to_string(top.path().join(name)).unwrap();
        assert_eq!(read("ralph.json.damaged-5"), r#"{"active": tr"#);
        assert!(
            read("ralph.json").contains(r#""active": false"#)
                && read("ralph.json").contains(r#""iteration": 3"#)
        );
    }
}
