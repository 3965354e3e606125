//! The circular fix: an approach that resembles what already failed.
//!
//! An approach is split at everything that is not a letter or a digit; stop words go; writing without blanks
//! (Chinese, Japanese, Korean) is cut into pairs of neighbours. Two approaches of at least [`MIN_WORDS`] words are
//! similar when more than 0.3 of all their words are common, and a fix is circular when at least two of the last
//! three failed attempts are similar to it (FORMATS 6, split as the document's own example needs it).

use std::collections::BTreeSet;

/// Approaches with fewer different words are no evidence: two words in common say nothing.
pub const MIN_WORDS: usize = 3;

/// How many of the latest failed attempts are looked at.
const LOOK_BACK: usize = 3;

/// How many of those must be similar.
const NEEDED: usize = 2;

const STOP_WORDS: [&str; 13] =
    ["with", "using", "the", "a", "an", "and", "or", "but", "in", "on", "at", "to", "for"];

/// Returns the different words of an approach, lower case, without stop words.
pub fn words(approach: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for piece in approach.split(|c: char| !c.is_alphanumeric()) {
        let mut rest = piece;
        while let Some(first) = rest.chars().next() {
            let cjk = is_cjk(first);
            let end = rest.find(|c: char| is_cjk(c) != cjk).unwrap_or(rest.len());
            let (run, tail) = rest.split_at(end);
            rest = tail;
            if cjk {
                found.extend(neighbours(run));
            } else {
                let word = run.to_lowercase();
                if word != "trying" && !STOP_WORDS.contains(&word.as_str()) {
                    found.insert(word);
                }
            }
        }
    }
    found
}

/// Returns the share of common words, 0 to 1 (Jaccard); 0 when one side has fewer than [`MIN_WORDS`].
pub fn similarity(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    let (common, all) = overlap(one, other);
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

/// Returns whether `current` repeats what failed: similar to two of the last three of `previous_failed` (oldest
/// first).
pub fn is_circular(previous_failed: &[impl AsRef<str>], current: &str) -> bool {
    if previous_failed.len() < NEEDED {
        return false;
    }
    let current = words(current);
    let latest = &previous_failed[previous_failed.len().saturating_sub(LOOK_BACK)..];
    let similar = latest.iter().filter(|approach| {
        let (common, all) = overlap(&words(approach.as_ref()), &current);
        // In whole numbers: 3 of 10 is exactly the border and must not count.
        common * 10 > all * 3
    });
    similar.count() >= NEEDED
}

/// Counts the common words and all words; both 0 when there is too little to compare.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> (usize, usize) {
    if one.len() < MIN_WORDS || other.len() < MIN_WORDS {
        return (0, 0);
    }
    let common = one.intersection(other).count();
    (common, one.len() + other.len() - common)
}

fn neighbours(run: &str) -> Vec<String> {
    let chars: Vec<char> = run.chars().collect();
    if chars.len() == 1 {
        return vec![run.to_owned()];
    }
    chars.windows(2).map(|pair| pair.iter().collect()).collect()
}

/// Whether a character belongs to a script that is written without blanks between words.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circular(previous: &[&str], current: &str) -> bool {
        is_circular(previous, current)
    }

    #[test]
    fn two_similar_of_the_last_three_are_needed() {
        let similar = "increase the socket timeout value";
        let other = "swap json library";
        let now = "Raise socket timeout value";
        assert!(!circular(&[similar], now));
        assert!(circular(&[similar, similar], now));
        assert!(circular(&[similar, other, similar], now));
        assert!(!circular(&[similar, other, other], now));
        assert!(
            !circular(&[similar, similar, other, other], now),
            "the second similar one is the fourth last"
        );
        assert!(circular(&[other, similar, other, similar], now));
    }

    #[test]
    fn the_border_is_strict() {
        // 3 common of 10 is not enough, 4 of 13 is.
        let now = "one two three four five six";
        let at_border = "one two three seven eight nine ten";
        assert_eq!(similarity(&words(now), &words(at_border)), 0.3);
        assert!(!circular(&[at_border, at_border], now));
        let now = "one two three four five six seven";
        let above = "one two three four b1 b2 b3 b4 b5 b6";
        assert!(circular(&[above, above], now));
    }

    #[test]
    fn little_text_is_no_evidence() {
        assert!(!circular(&["", ""], ""));
        assert!(!circular(&["for the", "with a"], "using an"));
        assert!(!circular(&["fix tests", "fix tests"], "fix tests"), "two words");
        assert!(circular(&["fix parser tests", "fix parser tests"], "fix parser tests"), "three words");
        assert!(!circular(&["fix fix fix", "fix fix fix"], "fix fix fix"), "one word three times");
    }

    #[test]
    fn case_punctuation_and_repetition_do_not_matter() {
        assert!(circular(
            &["Cache the DB-connection (pooled)", "cache/db/connection"],
            "cache... DB connection!"
        ));
        assert_eq!(words("Retry, retry: RETRY the Retry-After"), words("retry after"));
    }

    #[test]
    fn writing_without_blanks_is_compared_by_pairs() {
        assert_eq!(words("重试登录").into_iter().collect::<Vec<_>>(), ["登录", "试登", "重试"]);
        assert!(circular(&["增加登录接口的重试次数", "给登录接口增加重试"], "再次增加登录接口重试次数"));
        assert!(!circular(&["重写缓存模块", "删除临时文件"], "给登录接口增加重试"));
        assert!(words("用async处理").contains("async"), "mixed scripts are cut apart");
    }
}
