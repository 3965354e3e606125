//! The first fields of a payload, without parsing it.

/// Session, event and tool of a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// `session_id`.
    pub session_id: &'a str,
    /// `hook_event_name`.
    pub event: &'a str,
    /// `cwd`.
    pub cwd: Option<&'a str>,
    /// `agent_id`: the call was made by a subagent.
    pub agent_id: Option<&'a str>,
    /// `tool_name`; None for the events that have none (`PostToolBatch` among them).
    pub tool: Option<&'a str>,
}

/// Returns the head when the bytes hold all of it.
///
/// The client sends `session_id` first and `tool_name` (or `tool_calls`) right after `hook_event_name`; anything
/// else, an escape in a wanted value included, gives None.
pub(crate) fn scan(bytes: &[u8]) -> Option<Head<'_>> {
    let mut at = Scanner { bytes: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), position: 0 };
    let mut head = Head::default();
    at.expect(b'{')?;
    loop {
        let key = at.string()?;
        at.expect(b':')?;
        match key {
            "session_id" => head.session_id = at.string()?,
            "hook_event_name" => head.event = at.string()?,
            "cwd" => head.cwd = Some(at.string()?),
            "agent_id" => head.agent_id = Some(at.string()?),
            "tool_name" => head.tool = Some(at.string()?),
            "tool_calls" => return head.complete(),
            _ => at.skip_value()?,
        }
        if head.tool.is_some() && !head.event.is_empty() {
            return head.complete();
        }
        at.expect(b',')?;
    }
}

impl Head<'_> {
    fn complete(self) -> Option<Self> {
        (!self.session_id.is_empty() && !self.event.is_empty()).then_some(self)
    }
}

/// A plain loop: the vectors of a library are chosen by asking the processor, and in a virtual machine each such
/// question costs as much as the whole head.
fn quote_or_escape(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'))
}

struct Scanner<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.position)?.is_ascii_whitespace() {
            self.position += 1;
        }
        Some(self.bytes[self.position])
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.position += 1)
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let rest = &self.bytes[self.position..];
        let end = quote_or_escape(rest)?;
        (rest[end] == b'"').then(|| self.position += end + 1)?;
        std::str::from_utf8(&rest[..end]).ok()
    }

    /// Any value; strings inside may have escapes.
    fn skip_value(&mut self) -> Option<()> {
        self.peek()?;
        let mut depth = 0_usize;
        loop {
            match *self.bytes.get(self.position)? {
                b'"' => {
                    self.skip_string()?;
                    if depth == 0 {
                        return Some(());
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return Some(()),
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.position += 1;
                        return Some(());
                    }
                }
                b',' if depth == 0 => return Some(()),
                _ => {}
            }
            self.position += 1;
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.position += 1;
        loop {
            let rest = self.bytes.get(self.position..)?;
            let stop = quote_or_escape(rest)?;
            self.position += stop + 1;
            if rest[stop] == b'"' {
                return Some(());
            }
            self.position += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = r#"{"session_id":"5e55","transcript_path":"/h/.claude/x.jsonl","cwd":"/h/pröject","prompt_id":"p","permission_mode":"default","effort":{"level":"medium","s":"}\"]"},"hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"fi"#;

    #[test]
    fn reads_what_the_client_sends_first() {
        let head = scan(REAL.as_bytes()).unwrap();
        assert_eq!((head.session_id, head.event, head.tool), ("5e55", "PostToolUse", Some("Read")));
        assert_eq!(head.cwd, Some("/h/pröject"));
    }

    #[test]
    fn a_batch_ends_the_head_without_a_tool() {
        let head =
            scan(br#"{ "session_id": "a", "hook_event_name": "PostToolBatch", "tool_calls": ["#).unwrap();
        assert_eq!((head.event, head.tool), ("PostToolBatch", None));
    }

    #[test]
    fn every_cut_before_the_tool_name_is_unknown() {
        let end = REAL.find(r#","tool_input"#).unwrap();
        for cut in 0..end {
            assert_eq!(scan(&REAL.as_bytes()[..cut]), None, "cut at {cut}");
        }
        assert!(scan(&REAL.as_bytes()[..end]).is_some());
    }

    #[test]
    fn what_needs_decoding_or_another_order_is_left_to_the_parser() {
        for text in [
            r#"{"session_id":"a\u0062","hook_event_name":"PostToolUse","tool_name":"Read","#,
            r#"{"tool_name":"Read","tool_input":{}}"#,
            r#"["session_id"]"#,
            r#"{"session_id":5,"hook_event_name":"PostToolUse","tool_name":"Read"}"#,
            "",
            "\u{feff}",
        ] {
            assert_eq!(scan(text.as_bytes()), None, "{text}");
        }
    }
}
