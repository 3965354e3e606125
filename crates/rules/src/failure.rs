//! What an error text says about the work: the build is broken, a check failed, the context is full, or none of these.
//!
//! Checked in this order (FORMATS 6). The origin's word lists are the floor; here a word counts only in the shape in
//! which tools print it, since `unexpected` holds `expected`, and `context deadline exceeded` is a time-out.

use serde::{Deserialize, Serialize};

/// The class of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FailureClass {
    /// The program does not compile, parse, link or find its parts.
    BrokenBuild,
    /// It runs, and a check says it does the wrong thing.
    VerificationFailed,
    /// The conversation no longer fits the model.
    ContextExhausted,
    /// Anything else.
    Unknown,
}

impl FailureClass {
    /// The name in answers and state files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BrokenBuild => "BROKEN_BUILD",
            Self::VerificationFailed => "VERIFICATION_FAILED",
            Self::ContextExhausted => "CONTEXT_EXHAUSTED",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// Returns the class of an error text.
#[must_use]
pub fn classify(error: &str) -> FailureClass {
    let text = error.to_lowercase();
    if text.lines().any(breaks_build) {
        FailureClass::BrokenBuild
    } else if text.lines().any(fails_check) {
        FailureClass::VerificationFailed
    } else if text.lines().any(fills_context) {
        FailureClass::ContextExhausted
    } else {
        FailureClass::Unknown
    }
}

/// Words of compilers, interpreters and linkers that mean nothing else.
const BUILD: [&str; 44] = [
    "syntax error",
    "compilation error",
    "compilation failed",
    "compile error",
    "module not found",
    "cannot find module",
    "could not find module",
    "import error",
    "cannot import name",
    "no module named",
    "does not provide an export named",
    "err_module_not_found",
    "can't resolve '",
    "could not resolve \"",
    "failed to resolve import",
    "unexpected token",
    "indentation error",
    "parse error",
    "parsing error",
    "could not compile",
    "failed to compile",
    "build failed",
    "build failure",
    "cannot find symbol",
    "undefined reference to",
    "undefined symbols for architecture",
    "unresolved import",
    "unresolved external symbol",
    "linker command failed",
    "ld returned 1 exit status",
    "linking with `cc` failed",
    "no required module provides package",
    "cannot find package",
    "is not in std",
    "imported and not used",
    "declared and not used",
    "multiple definition of",
    "fatal error: no input files",
    "unterminated string literal",
    "error: aborting due to",
    "语法错误",
    "编译错误",
    "编译失败",
    "构建失败",
];

/// Errors that are named at the beginning of a line, followed by a colon.
const BUILD_NAMES: [&str; 7] = [
    "syntaxerror",
    "indentationerror",
    "taberror",
    "importerror",
    "modulenotfounderror",
    "compileerror",
    "parseerror",
];

fn breaks_build(line: &str) -> bool {
    BUILD.iter().any(|words| line.contains(words))
        || names_error(line, &BUILD_NAMES)
        || has_compiler_code(line)
        || has_position(line)
}

/// `SyntaxError: …`, also as `Uncaught SyntaxError: …`; not `AssertionError: SyntaxError not raised`.
fn names_error(line: &str, names: &[&str]) -> bool {
    let line = line.trim_start().trim_start_matches("uncaught ").trim_start_matches("e   ").trim_start();
    names
        .iter()
        .any(|name| line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')))
}

/// `error[E0308]`, `error TS2304:`, `error CS1002:`, `error C2065:`, `error LNK2019:`.
fn has_compiler_code(line: &str) -> bool {
    line.match_indices("error").any(|(at, word)| {
        let rest = &line[at + word.len()..];
        if let Some(code) = rest.strip_prefix("[e") {
            return code.starts_with(|c: char| c.is_ascii_digit());
        }
        ["ts", "cs", "lnk", "c", "bc", "fs"].iter().any(|family| {
            rest.strip_prefix(' ').and_then(|code| code.strip_prefix(family)).is_some_and(|code| {
                let digits = code.bytes().take_while(u8::is_ascii_digit).count();
                digits >= 3 && code[digits..].starts_with(':')
            })
        })
    })
}

/// `a.c:3:5: error: …`, `a.java:3: error: …`, `a.go:7:2: undefined: x`: what a compiler says of a place.
fn has_position(line: &str) -> bool {
    const SAYS: [&str; 5] =
        [" error: ", " fatal error: ", " undefined: ", " undeclared name: ", " syntax error: "];
    SAYS.iter().any(|says| {
        line.find(says).is_some_and(|at| {
            let place = line[..at].trim_end_matches(':');
            place != &line[..at]
                && place
                    .rsplit(':')
                    .next()
                    .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        })
    })
}

/// Words of test runners and assertions.
const CHECK: [&str; 24] = [
    "verification failed",
    "assertion failed",
    "assertion `",
    "assertion error",
    "assertion failure",
    "test failed",
    "tests failed",
    "test failure",
    "failing test",
    "failed test",
    "there were failing tests",
    "test result: failed",
    "--- fail:",
    "failed (failures=",
    "failed (errors=",
    "test suite failed",
    "unexpected status code",
    "status code mismatch",
    "snapshot assertion",
    "does not match snapshot",
    "toequal(",
    "tobe(",
    "断言失败",
    "测试失败",
];

const CHECK_NAMES: [&str; 4] = [
    "assertionerror",
    "assertionerror [err_assertion]",
    "expectationfailed",
    "junit.framework.assertionfailederror",
];

/// What a test runner says behind a count of failures.
const AFTER_A_COUNT: [&str; 10] =
    ["passed", "skipped", "in", "out", "of", "total", "ignored", "pending", "error", "errors"];

fn fails_check(line: &str) -> bool {
    CHECK.iter().any(|words| line.contains(words))
        || names_error(line, &CHECK_NAMES)
        || line.contains("assertionerror:")
        || line.contains("assertionfailederror")
        || counts_failures(line)
        || line.trim_start().trim_start_matches("e ").trim_start().starts_with("assert ")
        || line.contains(" - assert ")
        || compares(line)
        || wrong_status(line)
}

/// `1 failed, 7 passed`, `3 failing`, `Tests: 2 failed`, `# fail 1`; none of them when the number is 0.
fn counts_failures(line: &str) -> bool {
    let mut words =
        line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        if word.bytes().all(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte != b'0')
            && matches!(words.peek(), Some(&"failed" | &"failing" | &"failures"))
        {
            // `2 failed attempts to connect` is none of a test runner.
            words.next();
            return words.peek().is_none_or(|next| {
                next.bytes().all(|byte| byte.is_ascii_digit()) || AFTER_A_COUNT.contains(next)
            });
        }
    }
    line.starts_with("# fail ") && !line.ends_with(" 0")
}

/// `expected 200 but got 404`, `expected: 3, received: 4`, `expected x to equal y`; never `unexpected`.
fn compares(line: &str) -> bool {
    const THEN: [&str; 13] = [
        " but ",
        " got",
        " received",
        " actual",
        " to equal",
        " to be",
        " to have",
        " to contain",
        " to match",
        " to throw",
        " was:",
        " instead",
        " found",
    ];
    word(line, "expected").any(|rest| THEN.iter().any(|then| rest.contains(then)) || rest.starts_with(':'))
}

/// `status code 500`, `returned status 404`: an answer of another kind than was wanted.
fn wrong_status(line: &str) -> bool {
    word(line, "status code").any(|rest| {
        let rest = rest.trim_start_matches([' ', ':', '=', '(']);
        rest.starts_with(['4', '5'])
            && rest.as_bytes().get(1..3).is_some_and(|more| more.iter().all(u8::is_ascii_digit))
            || rest.starts_with("mismatch")
    })
}

/// What follows each place where the words stand on their own.
fn word<'a>(line: &'a str, words: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(words).filter_map(move |(at, found)| {
        let before = line[..at].chars().next_back();
        let rest = &line[at + found.len()..];
        let after = rest.chars().next();
        let joined = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        (!joined(before) && !joined(after)).then_some(rest)
    })
}

fn fills_context(line: &str) -> bool {
    const FULL: [&str; 17] = [
        "context length",
        "context window",
        "context_length_exceeded",
        "maximum context",
        "context limit",
        "context exhausted",
        "context is full",
        "exceeds the context",
        "exceeded the context",
        "out of context",
        "token limit",
        "too many tokens",
        "maximum number of tokens",
        "prompt is too long",
        "input is too long",
        "conversation is too long",
        "上下文长度",
    ];
    FULL.iter().any(|words| line.contains(words)) || line.contains("maximum length") && line.contains("token")
}

#[cfg(test)]
mod tests {
    use super::*;
    use FailureClass::{BrokenBuild, ContextExhausted, Unknown, VerificationFailed};

    #[track_caller]
    fn all(class: FailureClass, texts: &[&str]) {
        for text in texts {
            assert_eq!(classify(text), class, "{text}");
        }
    }

    #[test]
    fn builds() {
        all(
            BrokenBuild,
            &[
                "Exit code 1\nNode error: Cannot find module 'left-pad'",
                "Exit code 1\nModuleNotFoundError: No module named 'yaml'",
                "Exit code 1\nImportError: cannot import name 'x' from 'y'",
                "Exit code 1\n  File \"b.py\", line 9\nIndentationError: unindent does not match",
                "Exit code 1\nUncaught SyntaxError: Unexpected token ')'",
                "Exit code 101\nerror[E0425]: cannot find value `x`\n  expected one of",
                "Exit code 2\nsrc/a.ts(3,5): error TS2304: Cannot find name 'x'.",
                "Exit code 1\nmain.c:3:5: error: expected ';' before '}' token",
                "Exit code 1\nApp.java:4: error: ';' expected",
                "Exit code 1\n./main.go:7:2: undefined: foo",
                "Exit code 1\n/usr/bin/ld: a.o: undefined reference to `f'",
                "Exit code 1\nError [ERR_MODULE_NOT_FOUND]: x",
                "Program.cs(1,9): error CS1002: ; expected",
                "编译失败",
            ],
        );
    }

    #[test]
    fn checks() {
        all(
            VerificationFailed,
            &[
                "AssertionError: Expected 3 but got 4",
                "Exit code 1\nFAILED tests/test_x.py::test_y - assert 1 == 2\n1 failed, 3 passed in 0.1s",
                "Exit code 101\nassertion `left == right` failed\n  left: 1",
                "Exit code 101\ntest result: FAILED. 1 passed; 1 failed",
                "Exit code 1\n--- FAIL: TestAdd (0.00s)",
                "Exit code 1\nTests:       2 failed, 3 passed, 5 total",
                "Exit code 1\n  3 passing\n  1 failing",
                "Exit code 1\nexpect(received).toBe(expected)",
                "Exit code 1\nFAILED (failures=1)",
                "request returned status code 500",
                "AssertionError: SyntaxError not raised",
                "Exit code 8\n98% tests passed, 1 tests failed out of 50",
            ],
        );
    }

    #[test]
    fn full_contexts() {
        all(
            ContextExhausted,
            &[
                "Prompt is too long: 210000 tokens",
                "This model's maximum context length is 200000 tokens",
                "error: context_length_exceeded",
                "token limit reached",
            ],
        );
    }

    #[test]
    fn words_inside_other_meanings() {
        all(
            Unknown,
            &[
                "",
                "rpc error: context deadline exceeded",
                "error: no context exists with the name: \"prod\"",
                "container has no security context",
                "Exit code 1\nunexpected end of file",
                "Exit code 127\nzsh: command not found: foo",
                "connect ECONNREFUSED 127.0.0.1:5432",
                "0 failed, 7 passed",
                "0 errors found",
                "3 failed attempts to connect",
                "Exit code 1\ntests/handles_failure.rs is missing",
                "Exit code 1\nrm: cannot remove 'error.rs': Permission denied",
                "Exit code 1\nthe status code is in the log",
            ],
        );
    }
}
