//! What an assistant's sentence is worth to its successor: a decision, a rejection, a risk.
//!
//! Told by a few words of English and Chinese: a sentence that has none of them counts as a decision, since only texts
//! that stand where decisions stand (after an error, before a change) are asked about.

use crate::scan;

/// What a sentence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// What is done, and why.
    Decided,
    /// What is not done, and why.
    Rejected,
    /// What may go wrong.
    Risk,
}

const REJECTED: [&str; 22] = [
    "reject",
    "ruled out",
    "rule out",
    "won't work",
    "will not work",
    "wouldn't work",
    "doesn't work",
    "does not work",
    "didn't work",
    "did not work",
    "didn't help",
    "did not help",
    "dead end",
    "abandon",
    "discard",
    "not viable",
    "revert",
    "gave up",
    "give up on",
    "放弃",
    "不采用",
    "行不通",
];

const RISK: [&str; 17] = [
    "risk",
    "might break",
    "may break",
    "could break",
    "be careful",
    "caution",
    "beware",
    "may change",
    "might change",
    "not tested",
    "untested",
    "not verified",
    "not sure",
    "unsure",
    "fragile",
    "风险",
    "未测试",
];

const DECISION: [&str; 17] = [
    "decision:",
    "decided",
    "i'll go with",
    "i will go with",
    "going with",
    "root cause",
    "we will use",
    "i will use",
    "i'll use",
    "chose ",
    "choosing",
    "settled on",
    "settling on",
    "approach:",
    "决定",
    "结论",
    "根因",
];

/// Returns what a sentence is. A rejection outweighs a risk: it says what not to try again.
pub fn sense(sentence: &str) -> Sense {
    if holds_one_of(sentence, &REJECTED) {
        Sense::Rejected
    } else if holds_one_of(sentence, &RISK) {
        Sense::Risk
    } else {
        Sense::Decided
    }
}

/// Whether a text says of itself that it decides or rejects something, wherever it stands.
pub fn names_a_decision(text: &str) -> bool {
    holds_one_of(text, &DECISION) || holds_one_of(text, &REJECTED)
}

/// Returns the sentences of a text, trimmed: cut at line ends and behind `.`, `!`, `?` with a blank, and `。`.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(cut).map(str::trim).filter(|sentence| !sentence.is_empty())
}

fn cut(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .find_map(|(at, c)| match c {
                '。' => Some(at + c.len_utf8()),
                '.' | '!' | '?' if rest[at + 1..].starts_with(' ') => Some(at + 1),
                _ => None,
            })
            .unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        Some(sentence)
    })
}

/// Words count where a word begins, in any case; those of scripts without blanks anywhere.
fn holds_one_of(text: &str, words: &[&str]) -> bool {
    let bytes = text.as_bytes();
    let begins = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    // A transcript may be nothing but texts: one pass, and a look at the first letter before anything else.
    (0..bytes.len()).filter(|&at| begins(at) && text.is_char_boundary(at)).any(|at| {
        let first = bytes[at].to_ascii_lowercase();
        words.iter().any(|word| word.as_bytes()[0] == first && scan::starts_with(&text[at..], word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sentence_is() {
        for (sentence, expected) in [
            ("Decision: keep dots, split only on double underscore.", Sense::Decided),
            ("I'll merge in two passes instead of one.", Sense::Decided),
            ("A single pass won't work, keys are lost.", Sense::Rejected),
            ("Reverting the cache, it is a dead end.", Sense::Rejected),
            ("The order of keys may change.", Sense::Risk),
            ("It is risky, so I rejected it.", Sense::Rejected),
            ("The asterisk is parsed first.", Sense::Decided),
            ("单次合并行不通", Sense::Rejected),
            ("这里有风险", Sense::Risk),
            ("", Sense::Decided),
        ] {
            assert_eq!(sense(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn a_decision_names_itself() {
        for (text, named) in [
            ("The ROOT CAUSE is the split in line 40", true),
            ("decision: keep dots", true),
            ("That doesn't work.", true),
            ("Undecided", false),
            ("Let me look at the file.", false),
            ("我决定保留", true),
        ] {
            assert_eq!(names_a_decision(text), named, "{text}");
        }
    }

    #[test]
    fn sentences_are_cut_where_they_end() {
        let of = |text| sentences(text).collect::<Vec<_>>();
        assert_eq!(of("One. Two! Three?  Four\n\n- five"), ["One.", "Two!", "Three?", "Four", "- five"]);
        assert_eq!(of("see a.rs and b.c."), ["see a.rs and b.c."]);
        assert_eq!(of("一。二"), ["一。", "二"]);
        assert!(of(" \n ").is_empty());
    }
}
