//! Words in what a person writes: matched as words, so that "show" holds no "how". Chinese has no gaps between words;
//! there a phrase is found wherever it stands.

use std::collections::HashSet;

/// A text, taken apart for matching.
#[derive(Debug)]
pub struct Words {
    /// Words with what joins them: `pre-commit` and `main.rs` are one word each.
    joined: Vec<String>,
    /// The same text without white space, for phrases with Chinese in them.
    packed: String,
}

/// Whether a character belongs to a script that is written without gaps.
#[must_use]
pub fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

fn lower(text: &str) -> String {
    text.to_lowercase().replace(['\u{2019}', '\u{2bc}', '\u{ff07}'], "'")
}

fn is_letter(c: char) -> bool {
    (c.is_alphanumeric() || c == '_') && !is_cjk(c)
}

impl Words {
    /// Takes a text apart.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let text = lower(text);
        let mut joined = Vec::new();
        let mut word = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let joins = matches!(c, '-' | '\'' | '.')
                && !word.is_empty()
                && chars.peek().is_some_and(|next| is_letter(*next));
            if is_letter(c) || joins {
                word.push(c);
            } else if !word.is_empty() {
                joined.push(std::mem::take(&mut word));
            }
        }
        if !word.is_empty() {
            joined.push(word);
        }
        Self { joined, packed: text.chars().filter(|c| !c.is_whitespace()).collect() }
    }

    /// Whether a phrase stands in the text: its words one after another, or, with Chinese in it, its characters.
    #[must_use]
    pub fn has(&self, phrase: &str) -> bool {
        if phrase.chars().any(is_cjk) {
            return self.packed.contains(&lower(phrase).split_whitespace().collect::<String>());
        }
        let wanted = Self::of(phrase).joined;
        !wanted.is_empty()
            && self.joined.windows(wanted.len()).any(|window| {
                window.iter().zip(&wanted).all(|(word, wanted)| {
                    // "what's" is "what" with something behind it; "don't" is one word.
                    word == wanted
                        || word.split_once('\'').is_some_and(|(stem, end)| {
                            stem == wanted && matches!(end, "s" | "re" | "ll" | "d" | "ve")
                        })
                })
            })
    }

    /// Every word that could be the name of a change; a name is one joined word.
    #[must_use]
    pub fn into_names(self) -> HashSet<String> {
        self.joined
            .into_iter()
            .map(|word| word.split('\'').next().map(str::to_owned).unwrap_or(word))
            .collect()
    }

    /// Whether one of the phrases stands in the text.
    #[must_use]
    pub fn has_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.has(phrase))
    }
}

/// Words of texts that may show that a request belongs to them: at least four letters, not too common; of Chinese, every
/// four characters in a row.
#[derive(Debug, Default)]
pub struct Topics {
    words: HashSet<String>,
}

/// Letters, or Chinese characters, that a topic has at least.
const TOPIC_LETTERS: usize = 4;

impl Topics {
    /// Takes the topics of a text up, without what stands in its comments.
    pub fn add(&mut self, text: &str, generic: &[&str]) {
        for_each_topic(&without_comments(text), generic, |word| {
            self.words.insert(word);
        });
    }

    /// The topics of a request that are among these, in its order, each once.
    #[must_use]
    pub fn shared(&self, request: &str, generic: &[&str]) -> Vec<String> {
        let mut shared = Vec::new();
        for_each_topic(request, generic, |word| {
            if self.words.contains(&word) && !shared.contains(&word) {
                shared.push(word);
            }
        });
        shared
    }
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<!--") {
        kept.push_str(&rest[..at]);
        match rest[at..].find("-->") {
            Some(end) => rest = &rest[at + end + 3..],
            None => return kept,
        }
    }
    kept.push_str(rest);
    kept
}

fn for_each_topic(text: &str, generic: &[&str], mut each: impl FnMut(String)) {
    let text = lower(text);
    for word in text.split(|c: char| !c.is_alphanumeric() || is_cjk(c)) {
        if word.chars().filter(|c| c.is_alphabetic()).count() >= TOPIC_LETTERS && !generic.contains(&word) {
            each(word.to_owned());
        }
    }
    for run in text.split(|c| !is_cjk(c)) {
        let chars: Vec<char> = run.chars().collect();
        for window in chars.windows(TOPIC_LETTERS) {
            let topic: String = window.iter().collect();
            let bare = generic.iter().fold(topic.clone(), |bare, word| bare.replace(word, ""));
            // What is left beside common words has to be a word of its own.
            if bare.chars().count() > 1 {
                each(topic);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_not_pieces_of_words() {
        for (text, phrase, found) in [
            ("show it to me", "how", false),
            ("How does it work?", "how", true),
            ("somehow", "how", false),
            ("what's that", "what", true),
            ("whatever", "what", false),
            ("please continue.", "continue", true),
            ("discontinue it", "continue", false),
            ("the pre-commit hook", "commit", false),
            ("read commit.rs", "commit", false),
            ("commit, then push", "commit", true),
            ("COMMIT", "commit", true),
            ("carry   on\nnow", "carry on", true),
            ("carry that on", "carry on", false),
            ("don\u{2019}t resume it", "don't resume", true),
            ("do not resume", "do not resume", true),
            ("do not ever resume", "do not resume", false),
            ("请继续吧", "继续", true),
            ("请continue这个", "continue", true),
            ("不要走comet了", "不要走 comet", true),
            ("不走 Comet", "不走 comet", true),
            ("add-export: go on", "add-export", true),
            ("re-add-export", "add-export", false),
            ("add-exports", "add-export", false),
            ("add-export's tasks", "add-export", true),
            ("docs/add-export/tasks", "add-export", true),
            ("", "how", false),
        ] {
            assert_eq!(Words::of(text).has(phrase), found, "{phrase:?} in {text:?}");
        }
    }

    #[test]
    fn topics() {
        let generic = ["plan", "update", "实现", "任务"];
        let mut topics = Topics::default();
        topics.add(
            "# Nightly export\n- [ ] fill the outbox-table <!-- comet-task:secret-word --> in v2026 Plan",
            &generic,
        );
        topics.add("夜间导出任务 实现任务", &generic);
        for (request, shared) in [
            ("make the EXPORT faster", vec!["export"]),
            ("exports", vec![]),
            ("the outbox", vec!["outbox"]),
            ("fill it", vec!["fill"]),
            ("the", vec![]),
            ("update the plan", vec![]),
            ("2026", vec![]),
            ("secret word", vec![]),
            ("把夜间导出做完", vec!["夜间导出"]),
            ("导出", vec![]),
            ("实现任务", vec![]),
        ] {
            assert_eq!(topics.shared(request, &generic), shared, "{request}");
        }
    }
}
