//! Failed shell commands: an outage, an answer, a failed check, or none of these.
//!
//! The client reports any exit but 0 as a failure; its error text is `Exit code N` and the output, both streams mixed.
//! What that means depends on the command. No shell is parsed here in full: a command line is cut into simple
//! commands at `&&`, `||`, `;`, `|`, `&` and line ends outside of quotes and substitutions, and one of them is
//! taken as the one whose exit was reported (see [`program`]).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{mcp, scan, text};

/// What a failed command means for the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BashOutcome {
    /// The program cannot run (126, 127) or did not reach its peer.
    Outage,
    /// Exit 1 that only says "no": nothing found, files differ, condition false.
    Answer,
    /// A test, build or lint that found something.
    Check,
    /// Any other failure.
    Other,
}

impl BashOutcome {
    /// Returns the word used in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outage => "outage",
            Self::Answer => "answer",
            Self::Check => "check",
            Self::Other => "other",
        }
    }
}

/// Returns what a failed command means.
///
/// In this order: exit 126 or 127, or a network client's own report that it got no connection: outage. A test,
/// build or lint: check. Any other transport error as first error line: outage. Exit 1 of a program for which that is
/// an answer, with no error line: answer.
pub fn outcome(command: &str, error: &str) -> BashOutcome {
    let code = exit_code(error);
    if matches!(code, Some(126 | 127)) {
        return BashOutcome::Outage;
    }
    let error_line = first_error_line(error);
    let client = error_line.is_some_and(is_client_report);
    if client {
        return BashOutcome::Outage;
    }
    if is_check(command) {
        return BashOutcome::Check;
    }
    if error_line.is_some_and(is_transport_line) {
        return BashOutcome::Outage;
    }
    let decisive = decisive(command);
    if is_answer(&decisive, code) && !answer_has_error_line(&decisive, error) {
        return BashOutcome::Answer;
    }
    BashOutcome::Other
}

/// Returns the program whose exit status was most likely reported, without its folder.
///
/// Of several commands the last one that can fail by itself counts: those before it had to succeed for it to run, and
/// `echo`, `true`, `cd`, `export` and the like do not fail on their own. Of a pipeline the last stage gives the status;
/// under `pipefail` the first one does, since what follows it (`tail`, `tee`) rarely fails. Assignments, `sudo`,
/// `env`, `time`, `timeout 5`, `nohup`, `exec` and the like are looked through. Empty when there is no command.
pub fn program(command: &str) -> &str {
    let decisive = decisive(command);
    decisive.first().map_or("", |word| base_name(word))
}

/// Returns the program that an outage is about: the one an error line names (`sh: 1: rgx: not found`, `curl: (7) ...`),
/// else [`program`].
pub fn culprit<'a>(command: &'a str, error: &'a str) -> &'a str {
    named_in(error).map(base_name).filter(|name| !name.is_empty()).unwrap_or_else(|| program(command))
}

/// Returns `N` of a first line `Exit code N`.
pub fn exit_code(error: &str) -> Option<i32> {
    let number = error.trim_start().strip_prefix("Exit code ")?;
    number.lines().next()?.trim().parse().ok()
}

/// Returns the first line of the output that reports an error, trimmed.
///
/// A line counts when one of the usual words begins a word of it (`error`, `fatal`, `failed`, `cannot`, `refused`
/// ...), not when it only says that there were none (`0 errors`, `no failures`).
pub fn first_error_line(error: &str) -> Option<&str> {
    output(error).lines().map(str::trim).find(|line| is_error_line(line))
}

/// Returns the last line of the output that reports an error (as [`first_error_line`] counts them), trimmed; without one
/// the last line that is not blank. None: it said nothing.
pub fn last_error_line(error: &str) -> Option<&str> {
    let mut lines = output(error).lines().rev().map(str::trim).filter(|line| !line.is_empty());
    lines.clone().find(|line| is_error_line(line)).or_else(|| lines.next())
}

/// Returns a few words for advice: `ECONNREFUSED`, `command not found`, `exit 3`.
pub fn cause<'a>(error: &'a str) -> Cow<'a, str> {
    match exit_code(error) {
        Some(127) => return "command not found".into(),
        Some(126) => return "not executable".into(),
        _ => {}
    }
    let line = first_error_line(error);
    if let Some(line) = line {
        if scan::contains(line, "resolve host") {
            return "host not found".into();
        }
        let reason = client_reason(line).unwrap_or(line);
        if mcp::classify(reason) != mcp::McpClass::Result {
            return Cow::Owned(mcp::cause(reason).into_owned());
        }
        return text::quoted(line, 60).into();
    }
    match exit_code(error) {
        Some(code) => format!("exit {code}").into(),
        None => "no error text".into(),
    }
}

/// Returns whether a command belongs to a row `Bash(prefix)` of a fallback table.
///
/// The prefix is compared word by word, so `npm test` matches `npm test -- x` and not `npm tests`; a trailing `:*` or
/// ` *` says the same, a `*` elsewhere stands for any text. The whole line is compared, and the command in it that
/// decides, without assignments and wrappers (`cd app && CI=1 npm test`). An empty prefix or `*` matches every command.
pub fn command_matches(command: &str, prefix: &str) -> bool {
    let prefix = prefix.trim();
    let prefix = prefix.strip_suffix(":*").or_else(|| prefix.strip_suffix(" *")).unwrap_or(prefix).trim();
    if prefix.is_empty() || prefix == "*" {
        return true;
    }
    let decisive = decisive(command);
    if prefix.contains('*') {
        return glob(prefix, command.trim())
            || decisive_text(&decisive, command).is_some_and(|t| glob(prefix, t));
    }
    let begins =
        |words: &mut dyn Iterator<Item = &str>| prefix.split_whitespace().all(|p| words.next() == Some(p));
    begins(&mut command.split_whitespace()) || begins(&mut decisive.iter().copied())
}

// Cutting a command line

/// How a simple command is joined to the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    /// First, or after `;`, `&` or a line end.
    Sequence,
    And,
    Or,
    Pipe,
}

/// Cuts a line into simple commands. Quotes, substitutions and groups stay whole.
fn simple_commands(line: &str) -> Vec<(Join, &str)> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let (mut start, mut join, mut at, mut depth) = (0, Join::Sequence, 0, 0_u32);
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied();
        let (width, following) = match bytes[at] {
            b'\\' => {
                at += 2;
                continue;
            }
            b'\'' => {
                at = skip_past(bytes, at + 1, b'\'');
                continue;
            }
            quote @ (b'"' | b'`') => {
                at = skip_past(bytes, at + 1, quote);
                continue;
            }
            b'$' if matches!(next, Some(b'(')) => {
                depth += 1;
                at += 2;
                continue;
            }
            b'(' if depth > 0 => {
                depth += 1;
                at += 1;
                continue;
            }
            b')' if depth > 0 => {
                depth -= 1;
                at += 1;
                continue;
            }
            _ if depth > 0 => {
                at += 1;
                continue;
            }
            b'#' if at == 0 || bytes[at - 1].is_ascii_whitespace() => {
                found.push((join, &line[start..at]));
                at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at);
                (start, join) = (at, Join::Sequence);
                continue;
            }
            b'&' if next == Some(b'&') => (2, Join::And),
            b'|' if next == Some(b'|') => (2, Join::Or),
            // `|&` pipes both streams.
            b'|' if next == Some(b'&') => (2, Join::Pipe),
            b'|' if at > 0 && bytes[at - 1] == b'>' => (0, Join::Pipe),
            b'|' => (1, Join::Pipe),
            // `2>&1`, `&>file`, `<&3` are no separators.
            b'&' if at > 0 && matches!(bytes[at - 1], b'>' | b'<') || next == Some(b'>') => {
                (0, Join::Sequence)
            }
            b'&' | b';' | b'\n' => (1, Join::Sequence),
            _ => (0, Join::Sequence),
        };
        if width == 0 {
            at += 1;
            continue;
        }
        let piece = &line[start..at];
        // After `&&` or `|` a line end only continues the command.
        if piece.trim().is_empty() && following == Join::Sequence {
            at += width;
            start = at;
            continue;
        }
        // The body of a here-document is no command: what follows it on later lines is left alone.
        if bytes[at] == b'\n' && piece.contains("<<") && !piece.contains("<<<") {
            at = after_here_document(line, piece, at + 1);
            found.push((join, piece));
            (start, join) = (at, Join::Sequence);
            continue;
        }
        found.push((join, piece));
        at += width;
        (start, join) = (at, following);
    }
    found.push((join, line.get(start..).unwrap_or("")));
    found.retain(|(_, piece)| !piece.trim().is_empty());
    found
}

fn skip_past(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' && quote != b'\'' { 2 } else { 1 };
    }
    at + 1
}

/// The offset behind the line that ends a here-document opened in `piece`; `from` is the start of its body.
fn after_here_document(line: &str, piece: &str, from: usize) -> usize {
    let mark = piece.split("<<").last().unwrap_or("").trim_start_matches('-').trim_start();
    let mark = mark.split_whitespace().next().unwrap_or("").trim_matches(['\'', '"', '\\']);
    let mut at = from;
    for body in line.get(from..).unwrap_or("").split_inclusive('\n') {
        at += body.len();
        if body.trim() == mark {
            break;
        }
    }
    at
}

/// Commands that do not fail by themselves, or only set something up.
const QUIET: [&str; 21] = [
    "cd", "pushd", "popd", "echo", "printf", "true", ":", "export", "unset", "set", "source", ".", "pwd",
    "sleep", "alias", "umask", "ulimit", "shopt", "exit", "return", "date",
];

/// The words of the simple command whose status was most likely reported, its wrappers taken off.
fn decisive(command: &str) -> Vec<&str> {
    let commands = simple_commands(command);
    let pipefail = command.contains("pipefail");
    let mut chosen: Option<Vec<&str>> = None;
    let mut fallback: Option<Vec<&str>> = None;
    let mut pipeline_is_chosen = false;
    for (join, piece) in commands {
        let words = strip_wrappers(words(piece));
        let Some(first) = words.first() else { continue };
        if join == Join::Pipe {
            if pipefail && pipeline_is_chosen {
                continue;
            }
            chosen = Some(words);
            pipeline_is_chosen = true;
            continue;
        }
        pipeline_is_chosen = false;
        if QUIET.contains(first) || matches!(*first, "fi" | "done" | "}" | ")" | "esac" | ";;") {
            // Under pipefail `echo x | prog` still has to let `prog` decide.
            fallback.get_or_insert(words);
            continue;
        }
        chosen = Some(words);
        pipeline_is_chosen = true;
    }
    chosen.or(fallback).unwrap_or_default()
}

/// The text of a command from its first word on.
fn decisive_text<'a>(decisive: &[&'a str], command: &'a str) -> Option<&'a str> {
    let first = decisive.first()?;
    // Both are slices of the same line.
    let at = (first.as_ptr() as usize).checked_sub(command.as_ptr() as usize)?;
    let rest = command.get(at..)?;
    simple_commands(rest).first().map(|(_, piece)| piece.trim())
}

/// Splits a simple command at blanks outside of quotes; quotes stay, but for those around a whole word.
fn words(piece: &str) -> Vec<&str> {
    let bytes = piece.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && !bytes[at].is_ascii_whitespace() {
            at = match bytes[at] {
                quote @ (b'\'' | b'"' | b'`') => skip_past(bytes, at + 1, quote),
                b'\\' => at + 2,
                b'$' if bytes.get(at + 1) == Some(&b'(') => past_substitution(bytes, at + 2),
                _ => at + 1,
            };
        }
        at = at.min(bytes.len());
        while !piece.is_char_boundary(at) {
            at += 1;
        }
        let word = &piece[start..at];
        let bare = ['"', '\''].iter().find_map(|&q| word.strip_prefix(q)?.strip_suffix(q));
        found.push(bare.unwrap_or(word));
    }
    found
}

/// The offset behind the bracket that closes a substitution.
fn past_substitution(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 1_u32;
    while at < bytes.len() && depth > 0 {
        match bytes[at] {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Takes off what stands before the program: assignments, shell keywords, programs that run another one.
fn strip_wrappers(mut words: Vec<&str>) -> Vec<&str> {
    loop {
        let Some(&first) = words.first() else { return words };
        let skip = match base_name(first) {
            _ if is_assignment(first) => 1,
            "if" | "then" | "else" | "elif" | "do" | "while" | "until" | "!" | "{" | "(" | "((" | "time"
            | "nohup" | "exec" | "builtin" | "setsid" | "doas" | "caffeinate" => 1,
            "sudo" | "env" | "nice" | "ionice" | "stdbuf" | "command" | "chronic" | "unbuffer" | "strace" => {
                // `command -v x` asks a question of its own.
                if first == "command" && matches!(words.get(1), Some(&("-v" | "-V"))) {
                    return words;
                }
                1 + options(&words[1..], &["-u", "-g", "-n", "-c", "-C", "-S", "-o", "-e"])
            }
            "timeout" | "gtimeout" => {
                let options = options(&words[1..], &["-s", "-k", "--signal", "--kill-after"]);
                // The duration.
                2 + options
            }
            _ => 0,
        };
        if skip == 0 {
            // `(cd x` and `{cmd`: the bracket may be glued to the word.
            if let Some(rest) =
                first.strip_prefix('(').filter(|rest| !rest.is_empty() && !rest.starts_with('('))
            {
                words[0] = rest;
                continue;
            }
            return words;
        }
        words.drain(..skip.min(words.len()));
    }
}

/// How many leading words are options; those in `with_value` take the next word too.
fn options(words: &[&str], with_value: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += if with_value.contains(word) { 2 } else { 1 };
    }
    at
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// The last part of a path, with either slash, and without what Windows adds.
fn base_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.trim_end_matches([')', '}', ';']);
    [".exe", ".cmd", ".bat"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Compares with a pattern in which `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = "";
    let mut open = false;
    for part in parts {
        open = true;
        last = part;
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    // The last part has to stand at the end, unless the pattern ends in `*`.
    !open && rest.is_empty() || open && (last.is_empty() || text.ends_with(last))
}

// Reading the output

fn output(error: &str) -> &str {
    let error = error.trim_start();
    match exit_code(error) {
        Some(_) => error.split_once('\n').map_or("", |(_, rest)| rest),
        None => error,
    }
}

/// Beginnings of words that report an error.
const ERROR_WORDS: [&str; 25] = [
    "error",
    "fatal",
    "fail",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable",
    "denied",
    "refused",
    "not found",
    "no such",
    "exception",
    "traceback",
    "panic",
    "invalid",
    "unknown",
    "undefined",
    "timed out",
    "unreachable",
    "econn",
    "etimedout",
    "enotfound",
    "aborted",
    "usage:",
];

fn is_error_line(line: &str) -> bool {
    let bytes = line.as_bytes();
    (0..bytes.len()).any(|at| {
        // `AssertionError` and `SyntaxError` carry the word at their end.
        let starts_word = at == 0 || !bytes[at - 1].is_ascii_alphanumeric() || bytes[at].is_ascii_uppercase();
        if !starts_word || !line.is_char_boundary(at) {
            return false;
        }
        let Some(word) = ERROR_WORDS.iter().find(|word| scan::starts_with(&line[at..], word)) else {
            return false;
        };
        let counted = matches!(*word, "error" | "fail");
        let before = line[..at].trim_end();
        let none = counted
            && (before.ends_with('0')
                && !before.ends_with(|c: char| c.is_alphabetic())
                && !before[..before.len() - 1].ends_with(|c: char| c.is_ascii_digit())
                || scan::ends_with(before, "no")
                || scan::ends_with(before, "without"));
        !none
    })
}

/// Network clients that say in their own name that they got no connection.
fn client_reason(line: &str) -> Option<&str> {
    if let Some(rest) = scan::strip_prefix(line, "curl: (") {
        let (code, rest) = scan::leading_number(rest)?;
        // Could not resolve proxy or host, connect, timed out, TLS, empty reply, send, receive, SSL certificate.
        return matches!(code, 5 | 6 | 7 | 28 | 35 | 52 | 55 | 56 | 60)
            .then_some(rest.trim_start_matches([')', ' ']));
    }
    let (name, rest) = line.split_once(": ")?;
    let program = base_name(name.trim_start_matches("fatal: "));
    const CLIENTS: [&str; 22] = [
        "ssh",
        "scp",
        "sftp",
        "rsync",
        "wget",
        "psql",
        "pg_dump",
        "pg_restore",
        "mysql",
        "redis-cli",
        "mongosh",
        "nc",
        "ncat",
        "telnet",
        "ftp",
        "ping",
        "host",
        "docker",
        "kubectl",
        "helm",
        "git",
        "http",
    ];
    if CLIENTS.contains(&program) && tells_of_no_connection(rest) {
        return Some(rest);
    }
    // `fatal: unable to access 'https://...': Could not resolve host: ...`
    if scan::starts_with(line, "fatal: unable to access ") && tells_of_no_connection(line) {
        return line.split_once("': ").map(|(_, rest)| rest);
    }
    None
}

fn is_client_report(line: &str) -> bool {
    client_reason(line).is_some()
}

fn tells_of_no_connection(text: &str) -> bool {
    scan::contains_any(
        text,
        &[
            "connection refused",
            "connection timed out",
            "connection reset",
            "connection closed by",
            "connection unexpectedly closed",
            "could not resolve",
            "couldn't resolve",
            "name or service not known",
            "temporary failure in name resolution",
            "no route to host",
            "network is unreachable",
            "failed to connect",
            "couldn't connect",
            "could not connect",
            "operation timed out",
            "connection to server at",
        ],
    )
}

/// Whether an error line has the shape of a transport error, whoever printed it.
fn is_transport_line(line: &str) -> bool {
    const STARTS: [&str; 10] = [
        "cannot connect to the docker daemon",
        "the connection to the server ",
        "unable to connect to the server",
        "could not resolve host",
        "couldn't resolve host",
        "connection to server at ",
        "could not connect to ",
        "failed to connect to ",
        "error response from daemon: get \"http",
        "npm error network",
    ];
    let bare = ["error: ", "fatal: ", "npm error ", "npm err! ", "err! "]
        .iter()
        .find_map(|start| scan::strip_prefix(line, start))
        .unwrap_or(line);
    if STARTS.iter().any(|start| scan::starts_with(bare, start) || scan::starts_with(line, start)) {
        return true;
    }
    // npm names the code first: `npm error code ECONNREFUSED`.
    let code = scan::strip_prefix(bare, "code ").unwrap_or(bare);
    if [line, bare, code].iter().any(|text| is_transport(mcp::classify(text))) {
        return true;
    }
    // A program's own name in front: `tool: connect ECONNREFUSED 127.0.0.1:80`.
    line.split_once(": ").is_some_and(|(name, rest)| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'))
            && is_transport(mcp::classify(rest))
    })
}

fn is_transport(class: mcp::McpClass) -> bool {
    matches!(class, mcp::McpClass::Connection | mcp::McpClass::Timeout)
}

/// The program that an error line names: `/bin/sh: 1: rgx: not found`, `zsh: command not found: rgx`, `curl: (7) ...`.
fn named_in(error: &str) -> Option<&str> {
    let line = first_error_line(error)?;
    if line.starts_with("curl: (") {
        return Some("curl");
    }
    let one_word = |name: &&str| !name.is_empty() && !name.contains(char::is_whitespace);
    if let Some((_, name)) = line.split_once("command not found: ") {
        return Some(name.trim()).filter(one_word);
    }
    for end in [": command not found", ": not found", ": Permission denied", ": cannot execute"] {
        if let Some(before) = line.find(end).map(|at| &line[..at]) {
            return before.rsplit(": ").next().filter(one_word);
        }
    }
    // `'rgx' is not recognized as an internal or external command` of Windows.
    line.strip_prefix('\'')?.split_once("' is not recognized").map(|(name, _)| name)
}

// Programs for which exit 1 is an answer

fn is_answer(words: &[&str], code: Option<i32>) -> bool {
    let Some(&first) = words.first() else { return false };
    let program = base_name(first);
    let rest = &words[1..];
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(word));
    // xargs gives 123 when a program it ran said no.
    if program == "xargs" && code == Some(123) {
        let skip = options(rest, &["-n", "-P", "-I", "-L", "-d", "-s", "-a", "-E"]);
        return is_answer(rest.get(skip..).unwrap_or(&[]), Some(1));
    }
    match (program, code) {
        ("systemctl", Some(1..=4)) => has(&["is-active", "is-enabled", "is-failed"]),
        ("jq", Some(1 | 4)) => has(&["-e", "--exit-status"]),
        ("getent", Some(2)) => true,
        (_, Some(1)) => match program {
            "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "ugrep" | "pgrep" | "pidof"
            | "diff" | "zdiff" | "sdiff" | "colordiff" | "cmp" | "zcmp" | "test" | "[" | "[[" | "(("
            | "let" | "expr" | "which" | "type" | "hash" | "false" | "lsof" | "fuser" | "mountpoint"
            | "locate" | "whereis" | "findstr" | "fc" | "look" => true,
            "command" => has(&["-v", "-V"]),
            "git" => git_answers(rest),
            "nc" | "ncat" => has(&["-z", "-zv", "-vz"]),
            "kill" => has(&["-0"]),
            "tmux" => has(&["has-session", "has"]),
            "docker" | "podman" => false,
            _ => false,
        },
        _ => false,
    }
}

fn git_answers(words: &[&str]) -> bool {
    let words = &words[options(words, &["-C", "-c", "--git-dir", "--work-tree"]).min(words.len())..];
    let Some((&verb, rest)) = words.split_first() else { return false };
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(word));
    match verb {
        "grep" | "check-ignore" | "check-attr" => true,
        "diff" | "diff-index" | "diff-files" | "diff-tree" => {
            has(&["--exit-code", "--quiet", "--check", "--no-index"])
        }
        "merge-base" => has(&["--is-ancestor"]),
        "show-ref" => has(&["--verify", "--quiet", "-q", "--exists"]) || rest.is_empty(),
        "config" => true,
        "rev-parse" | "symbolic-ref" => has(&["-q", "--quiet"]),
        "ls-remote" => has(&["--exit-code"]),
        _ => false,
    }
}

/// Whether an answering program complained instead. Its output is data, so only lines in its own name count.
fn answer_has_error_line(words: &[&str], error: &str) -> bool {
    let program = words.first().map_or("", |word| base_name(word));
    output(error).lines().map(str::trim).any(|line| {
        let rest = line.strip_prefix(program).and_then(|rest| rest.strip_prefix(": "));
        rest.is_some_and(|rest| !rest.starts_with("Only in"))
            || ["/bin/sh: ", "/bin/bash: ", "bash: ", "sh: ", "zsh: ", "fatal: ", "error: ", "usage: "]
                .iter()
                .any(|start| scan::starts_with(line, start))
    })
}

// Tests, builds and lints

/// Returns whether a command line holds a test, build or lint, by the first words of one of its commands.
pub fn is_check(command: &str) -> bool {
    simple_commands(command).into_iter().any(|(_, piece)| checks(&strip_wrappers(words(piece))))
}

fn checks(words: &[&str]) -> bool {
    let Some((&first, rest)) = words.split_first() else { return false };
    let name = base_name(first);
    // What is called by a path or by an interpreter may be a script whose name says what it does.
    let is_path = first.contains('/');
    // The first word that is no option.
    let verb_at =
        options(rest, &["-C", "-f", "--prefix", "--filter", "--cwd", "-F", "--dir", "-w", "--workspace"]);
    let verb = rest.get(verb_at).copied().unwrap_or("");
    let after = rest.get(verb_at + 1..).unwrap_or(&[]);
    let verb_in = |list: &[&str]| list.contains(&verb);
    match name {
        // Runners by themselves
        "pytest" | "py.test" | "tox" | "nox" | "nosetests" | "nose2" | "behave" | "jest" | "vitest"
        | "mocha" | "ava" | "tap" | "karma" | "rspec" | "minitest" | "cucumber" | "phpunit" | "pest"
        | "ctest" | "bats" | "shellspec" | "playwright" | "cypress" => true,
        // Linters, formatters in check mode, type checkers
        "eslint" | "stylelint" | "prettier" | "biome" | "oxlint" | "tslint" | "standard" | "tsc"
        | "vue-tsc" | "mypy" | "pyright" | "basedpyright" | "ruff" | "flake8" | "pylint" | "black"
        | "isort" | "bandit" | "rubocop" | "phpstan" | "psalm" | "phpcs" | "shellcheck" | "shfmt"
        | "hadolint" | "yamllint" | "markdownlint" | "markdownlint-cli2" | "actionlint" | "golangci-lint"
        | "staticcheck" | "gofmt" | "govet" | "clang-tidy" | "clang-format" | "cppcheck" | "ktlint"
        | "detekt" | "swiftlint" | "sqlfluff" | "tflint" | "vale" | "rustfmt" | "luacheck" | "credo"
        | "typos" => true,
        // Compilers and build programs
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "rustc" | "javac" | "kotlinc" | "scalac"
        | "ghc" | "swiftc" | "webpack" | "rollup" | "esbuild" | "parcel" | "tsup" | "ninja" | "msbuild"
        | "xcodebuild" | "ant" | "nim" | "gradle" | "gradlew" | "mvn" | "mvnw" | "sbt" | "bazel"
        | "bazelisk" | "buck2" | "rake" | "scons" | "waf" => true,
        "make" | "gmake" | "just" | "task" | "mage" | "invoke" | "ninja-build" => {
            verb.is_empty() || says_check(verb)
        }
        "cargo" => {
            let toolchain = verb.starts_with('+');
            let verb = if toolchain { after.first().copied().unwrap_or("") } else { verb };
            [
                "test",
                "t",
                "build",
                "b",
                "check",
                "c",
                "clippy",
                "nextest",
                "bench",
                "fmt",
                "doc",
                "miri",
                "llvm-cov",
                "tarpaulin",
                "hack",
                "deny",
                "udeps",
                "rustc",
                "rustdoc",
                "insta",
                "machete",
            ]
            .contains(&verb)
                || (verb == "xtask" && after.first().is_some_and(|task| says_check(task)))
        }
        "npm" | "pnpm" | "yarn" | "bun" => match verb {
            "test" | "t" | "tst" | "build" | "lint" => true,
            "run" | "run-script" | "rum" => {
                after.iter().find(|w| !w.starts_with('-')).is_some_and(|s| says_check(s))
            }
            "exec" | "dlx" | "x" => checks(after.get(options(after, &[])..).unwrap_or(&[])),
            // `yarn typecheck`, `pnpm vitest`
            "add" | "install" | "i" | "ci" | "remove" | "" => false,
            other => says_check(other) || checks(&rest[verb_at..]),
        },
        "npx" | "bunx" | "pnpx" | "uvx" | "pipx" => {
            let verb_at = if verb == "run" { verb_at + 1 } else { verb_at };
            checks(rest.get(verb_at..).unwrap_or(&[]))
        }
        "node" => rest.iter().any(|word| word.starts_with("--test")) || says_check_script(verb),
        "deno" => verb_in(&["test", "lint", "check", "fmt", "bench"]),
        "vite" | "next" | "nuxt" | "astro" | "ng" | "turbo" | "nx" | "lerna" | "moon" | "expo" | "remix" => {
            rest.iter().any(|word| says_check(word))
        }
        "go" => verb_in(&["test", "build", "vet", "install", "generate"]),
        "python" | "python3" | "py" => {
            if let Some(at) = rest.iter().position(|&word| word == "-m") {
                let module = rest.get(at + 1).copied().unwrap_or("");
                return matches!(
                    module,
                    "unittest" | "build" | "compileall" | "py_compile" | "doctest" | "coverage"
                ) || checks(rest.get(at + 1..).unwrap_or(&[]));
            }
            (verb.ends_with("manage.py") && after.first() == Some(&"test")) || says_check_script(verb)
        }
        "uv" | "poetry" | "pipenv" | "rye" | "hatch" | "pdm" | "pixi" | "bundle" | "mise" | "devbox"
        | "direnv" => says_check(verb) || (verb_in(&["run", "exec"]) && checks(strip_options(after))),
        "coverage" => verb == "run",
        "cmake" | "meson" => {
            rest.iter().any(|word| matches!(*word, "--build" | "compile" | "test" | "-B" | "-S" | "setup"))
        }
        "dotnet" | "swift" | "zig" | "flutter" | "dart" | "mix" | "rebar3" | "dune" | "cabal" | "stack"
        | "lein" | "crystal" | "elm" | "forge" | "hardhat" | "buf" | "composer" | "rails" | "pre-commit"
        | "prek" | "helm" | "terraform" | "tofu" | "docker" | "podman" | "wasm-pack" | "trunk" | "tauri"
        | "mdbook" | "gleam" | "nix" | "lake" => {
            verb_in(&[
                "test", "build", "check", "lint", "analyze", "validate", "compile", "format", "fmt", "spec",
                "eunit", "ct", "credo", "dialyzer", "make", "eval",
            ]) || (matches!(name, "pre-commit" | "prek") && verb == "run")
        }
        "php" => after.first() == Some(&"test") || checks(&rest[verb_at.min(rest.len())..]),
        "bash" | "sh" | "zsh" | "ruby" | "perl" => says_check_script(verb),
        "xargs" | "watch" => checks(strip_options(rest)),
        _ => is_path && says_check_script(first),
    }
}

fn strip_options<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    &words[options(words, &["-n", "-P", "--with", "--group", "--extra", "-p"]).min(words.len())..]
}

/// Whether the name of a task, target or script (`test:unit`, `lint-fix`, `run_tests`) is that of a check.
fn says_check(name: &str) -> bool {
    const WORDS: [&str; 26] = [
        "test",
        "tests",
        "testing",
        "build",
        "builds",
        "lint",
        "lints",
        "linting",
        "check",
        "checks",
        "typecheck",
        "tsc",
        "compile",
        "format",
        "fmt",
        "verify",
        "unit",
        "e2e",
        "spec",
        "specs",
        "coverage",
        "validate",
        "clippy",
        "vet",
        "all",
        "prettier",
    ];
    !name.starts_with('-')
        && name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|part| WORDS.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

/// The same for a script: its last name, without its ending.
fn says_check_script(path: &str) -> bool {
    let name = base_name(path);
    says_check(name.split_once('.').map_or(name, |(stem, _)| stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_line() {
        for (error, line) in [
            (
                "Exit code 101\nerror: a\nwarning\nerror: could not compile\nbye",
                Some("error: could not compile"),
            ),
            ("Exit code 1\n2 passed\n\n  expected 4, got 5  \n\n", Some("expected 4, got 5")),
            ("Exit code 1", None),
            ("Exit code 1\n0 errors", Some("0 errors")),
            ("String to replace not found in file.", Some("String to replace not found in file.")),
            ("", None),
        ] {
            assert_eq!(last_error_line(error), line, "{error:?}");
        }
    }

    #[test]
    fn the_program_that_decides() {
        for (command, expected) in [
            ("ls", "ls"),
            ("", ""),
            ("   ", ""),
            ("cd /tmp && cargo test", "cargo"),
            ("cd", "cd"),
            ("FOO=1 BAR=\"a b\" /usr/bin/make all", "make"),
            ("sudo -u root systemctl restart x", "systemctl"),
            ("env -i A=1 python3 x.py", "python3"),
            ("time timeout -k 5 10 curl -s x", "curl"),
            ("nohup ./server.sh &", "server.sh"),
            ("cat x | grep y", "grep"),
            ("set -o pipefail; cargo test 2>&1 | tail -5", "cargo"),
            ("set -euo pipefail\ncurl -f x | jq .", "curl"),
            ("echo a; rg b", "rg"),
            ("rg b; echo done", "rg"),
            ("curl -s x && echo up", "curl"),
            ("curl -s x || exit 1", "curl"),
            ("a && b || c", "c"),
            ("echo 'a && b' && jq .", "jq"),
            ("echo \"x | y\" | wc -l", "wc"),
            ("x=$(grep a b | wc -l) node app.js", "node"),
            ("make 2>&1", "make"),
            ("make &> log", "make"),
            ("cat <<'EOF' > x\nrm y && false\nEOF\nnode x", "node"),
            ("if grep -q a b; then echo yes; fi", "grep"),
            ("(cd x && npm test)", "npm"),
            ("! grep a b", "grep"),
            ("\"C:\\tools\\rg.exe\" x", "rg"),
            ("command -v jq", "command"),
            ("# only a comment\nls", "ls"),
            ("ls # a; b", "ls"),
            ("true", "true"),
        ] {
            assert_eq!(program(command), expected, "{command}");
        }
    }

    #[track_caller]
    fn check(expected: BashOutcome, rows: &[(&str, &str)]) {
        for (command, error) in rows {
            assert_eq!(outcome(command, error), expected, "{command} / {error}");
        }
    }

    #[test]
    fn what_cannot_run_or_reach_is_an_outage() {
        check(
            BashOutcome::Outage,
            &[
                ("rgx foo", "Exit code 127\n/bin/sh: 1: rgx: not found"),
                ("npm test", "Exit code 127\nsh: 1: jest: not found"),
                ("./x.sh", "Exit code 126\n/bin/bash: ./x.sh: Permission denied"),
                ("curl -s localhost:9", "Exit code 7\ncurl: (7) Failed to connect to localhost port 9"),
                ("curl h", "Exit code 6\n  % Total    % Received\ncurl: (6) Could not resolve host: h"),
                (
                    "git push",
                    "Exit code 128\nssh: connect to host git.example.com port 22: Connection refused\nfatal: Could not read",
                ),
                (
                    "git fetch",
                    "Exit code 128\nfatal: unable to access 'https://h/r/': Could not resolve host: h",
                ),
                (
                    "psql -c x",
                    "Exit code 2\npsql: error: connection to server at \"db\" failed: Connection refused",
                ),
                ("node app.js", "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5432"),
                ("npm install", "Exit code 1\nnpm error code ECONNREFUSED\nnpm error more"),
                (
                    "docker ps",
                    "Exit code 1\nCannot connect to the Docker daemon at unix:///x. Is it running?",
                ),
                ("kubectl get pods", "Exit code 1\nThe connection to the server localhost:8080 was refused"),
                ("curl x | jq .", "Exit code 4\ncurl: (28) Operation timed out"),
            ],
        );
    }

    #[test]
    fn exit_one_without_complaint_is_an_answer() {
        check(
            BashOutcome::Answer,
            &[
                ("grep -rn foo src", "Exit code 1"),
                ("cd src && rg foo", "Exit code 1"),
                ("ls | grep foo", "Exit code 1\n"),
                ("diff a b", "Exit code 1\n1c1\n< an error\n---\n> two failed"),
                ("test -f x", "Exit code 1"),
                ("[ -d x ]", "Exit code 1"),
                ("[[ $A == b ]] && echo yes", "Exit code 1"),
                ("git diff --exit-code", "Exit code 1\n-error: old"),
                ("git -C sub grep foo", "Exit code 1"),
                ("git merge-base --is-ancestor a b", "Exit code 1"),
                ("which jqq", "Exit code 1"),
                ("command -v jqq", "Exit code 1"),
                ("pgrep foo", "Exit code 1"),
                ("cmp a b", "Exit code 1\na b differ: byte 1, line 1"),
                ("find . -name x | xargs grep foo", "Exit code 123"),
                ("systemctl is-active nginx", "Exit code 3\ninactive"),
                ("jq -e .a x.json", "Exit code 1\nnull"),
            ],
        );
        check(
            BashOutcome::Other,
            &[
                ("grep foo x", "Exit code 2\ngrep: x: No such file or directory"),
                ("grep foo x", "Exit code 1\ngrep: x: binary file matches"),
                ("diff a b", "Exit code 2"),
                ("git diff", "Exit code 1"),
                ("git grep", "Exit code 1\nfatal: no pattern given"),
                ("grep foo x", ""),
                ("jq .a x", "Exit code 1"),
            ],
        );
    }

    #[test]
    fn tests_builds_and_lints_are_checks() {
        for command in [
            "cargo test -p api",
            "cargo +nightly clippy",
            "cd app && npm test",
            "CI=1 npm run test:unit",
            "pnpm --filter web lint",
            "yarn typecheck",
            "npx jest a",
            "npx --yes eslint .",
            "bun test",
            "pytest -q",
            "python -m pytest x",
            "python3 -m unittest",
            "uv run pytest",
            "poetry run mypy .",
            "./gradlew build",
            "mvn -q verify",
            "make",
            "make -C sub test",
            "go test ./...",
            "go vet ./...",
            "dotnet test",
            "tsc --noEmit",
            "gcc -c x.c",
            "cmake --build out",
            "./run_tests.sh",
            "bash scripts/lint.sh",
            "bundle exec rspec",
            "php artisan test",
            "vendor/bin/phpunit",
            "cargo build 2>&1 | tail -3",
            "deno lint",
            "node --test",
            "mix test",
        ] {
            assert!(is_check(command), "{command}");
            assert_eq!(outcome(command, "Exit code 1\nerror: something"), BashOutcome::Check, "{command}");
        }
        for command in [
            "ls",
            "npm install",
            "npm run dev",
            "make deploy",
            "cargo run",
            "cargo add x",
            "node app.js",
            "python x.py",
            "test -f x",
            "cat tests/a.rs",
            "git status",
            "grep test x",
            "docker run x",
            "echo cargo test",
        ] {
            assert!(!is_check(command), "{command}");
        }
        check(
            BashOutcome::Check,
            &[
                ("npm test", "Exit code 1\n> a@1 test\nError: connect ECONNREFUSED 127.0.0.1:5432"),
                ("cargo test", "Exit code 101\nerror: test failed"),
            ],
        );
    }

    #[test]
    fn other_failures_say_nothing() {
        check(
            BashOutcome::Other,
            &[
                ("false_alarm", "Exit code 1\npartial output\nsome error text"),
                ("cat x", "Exit code 1\ncat: x: No such file or directory"),
                (
                    "node app.js",
                    "Exit code 1\nTypeError: x is undefined\nError: connect ECONNREFUSED 1.1.1.1:1",
                ),
                ("cat log", "Exit code 1\nfound 3 lines that say connection refused"),
                ("x", "Exit code 143\nCommand timed out after 1s"),
            ],
        );
    }

    #[test]
    fn the_first_line_that_reports_an_error() {
        for (error, expected) in [
            ("Exit code 1", None),
            ("Exit code 1\n0 errors, 0 failures\nall fine", None),
            ("Exit code 1\nno errors\nwithout failures", None),
            ("Exit code 1\n> build\n  10 errors\n", Some("10 errors")),
            ("Exit code 1\nerror: broken", Some("error: broken")),
            ("Exit code 1\nok\nAssertionError: x\nerror: y", Some("AssertionError: x")),
            ("Exit code 1\nterror and unfailing mirrors", None),
            ("cat: x: No such file or directory", Some("cat: x: No such file or directory")),
            ("", None),
        ] {
            assert_eq!(first_error_line(error), expected, "{error}");
        }
    }

    #[test]
    fn exit_codes_are_read_from_the_first_line() {
        for (error, expected) in [
            ("Exit code 1", Some(1)),
            ("Exit code 127\nx", Some(127)),
            ("Exit code -1", Some(-1)),
            ("Exit code x", None),
            ("Exit code 99999999999", None),
            ("x\nExit code 1", None),
            ("", None),
        ] {
            assert_eq!(exit_code(error), expected, "{error}");
        }
    }

    #[test]
    fn the_culprit_is_named_by_the_shell() {
        for (command, error, expected) in [
            ("make all", "Exit code 127\n/bin/sh: 1: rgx: not found", "rgx"),
            ("a.sh", "Exit code 127\n/bin/bash: line 1: nosuch: command not found", "nosuch"),
            ("a", "Exit code 127\nzsh: command not found: jqq", "jqq"),
            ("./x.sh", "Exit code 126\n/bin/bash: line 1: ./x.sh: Permission denied", "x.sh"),
            ("curl a | jq .", "Exit code 4\ncurl: (7) Failed to connect", "curl"),
            ("node x", "Exit code 1\nError: connect ECONNREFUSED 1.1.1.1:1", "node"),
            ("node x", "Exit code 1", "node"),
        ] {
            assert_eq!(culprit(command, error), expected, "{error}");
        }
    }

    #[test]
    fn rows_match_whole_words() {
        for (command, prefix, expected) in [
            ("npm test", "npm test", true),
            ("npm test -- x", "npm test", true),
            ("npm tests", "npm test", false),
            ("npm  test", "npm test", true),
            ("npm", "npm test", false),
            ("cd app && npm test", "npm test", true),
            ("cd app && CI=1 npm test 2>&1", "npm test", true),
            ("CI=1 npm test", "CI=1 npm test", true),
            ("echo npm test", "npm test", false),
            ("npm run build", "npm run:*", true),
            ("npm run build", "npm run *", true),
            ("npm run", "npm run:*", true),
            ("npm runs", "npm run:*", false),
            ("npm run build --prod", "npm run * --prod", true),
            ("npm run build --dev", "npm run * --prod", false),
            ("git push origin main", "git * main", true),
            ("ls", "*", true),
            ("ls", "", true),
        ] {
            assert_eq!(command_matches(command, prefix), expected, "{command} / {prefix}");
        }
    }

    #[test]
    fn causes_are_a_few_words() {
        for (error, expected) in [
            ("Exit code 127\nsh: 1: x: not found", "command not found"),
            ("Exit code 7\ncurl: (7) Failed to connect to h port 9", "failed to connect"),
            ("Exit code 6\ncurl: (6) Could not resolve host: h", "host not found"),
            ("Exit code 1\nError: connect ECONNREFUSED 1.1.1.1:1", "ECONNREFUSED"),
            ("Exit code 3\nline", "exit 3"),
            ("Exit code 1\nerror: no \"x\"", "\"error: no 'x'\""),
            ("", "no error text"),
        ] {
            assert_eq!(cause(error), expected, "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_cut_without_panic(command in "[ a-z$()'\"`\\\\|&;<>#é\n-]{0,40}", error in "\\PC{0,40}") {
            let _ = (program(&command), outcome(&command, &error), is_check(&command));
            let _ = (culprit(&command, &error), command_matches(&command, "a*b"), first_error_line(&error));
        }
    }
}
