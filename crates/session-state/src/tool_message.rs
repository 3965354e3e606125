//! Which model message a tool call belongs to, from the end of the transcript.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use serde::Deserialize;

use crate::platform;

/// How much of the transcript's end is looked at, in bytes.
const TAIL: u64 = 256 * 1024;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
}

/// Returns `message.id` of the assistant's line that holds the call. None when it is not found.
///
/// The client writes one line a block; blocks of one message share its id (CONTRACT 8).
#[must_use]
pub fn id(transcript: &Path, tool_use_id: &str) -> Option<String> {
    let file = File::open(transcript).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || tool_use_id.is_empty() {
        return None;
    }
    let from = found.len().saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(found.len() - from).ok()?];
    let read = platform::read_at(&file, &mut bytes, from).ok()?;
    bytes.truncate(read);
    // The call's own line comes before its result, and names the id as a value of its own.
    let wanted = format!("\"id\":\"{tool_use_id}\"");
    let at = memchr::memmem::find(&bytes, wanted.as_bytes())?;
    let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |before| before + 1);
    let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |after| at + after);
    let line: Line<'_> = serde_json::from_slice(&bytes[start..end]).ok()?;
    Some(line.message.id.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn calls_of_one_message_share_its_id() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for (message, call) in [("msg_1", "toolu_a"), ("msg_1", "toolu_b"), ("msg_2", "toolu_c")] {
            writeln!(
                file,
                r#"{{"type":"assistant","message":{{"model":"m","id":"{message}","content":[{{"type":"tool_use","id":"{call}","input":{{}}}}]}}}}"#
            )
            .unwrap();
        }
        writeln!(
            file,
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"toolu_c"}}]}}}}"#
        )
        .unwrap();
        let of = |call: &str| id(file.path(), call);
        assert_eq!(of("toolu_a").as_deref(), Some("msg_1"));
        assert_eq!(of("toolu_a"), of("toolu_b"));
        assert_eq!(of("toolu_c").as_deref(), Some("msg_2"));
        assert_eq!(of("toolu_d"), None);
        assert_eq!(id(Path::new("/nonexistent/x.jsonl"), "toolu_a"), None);
        assert_eq!(id(Path::new("/"), "toolu_a"), None);
    }
}
