//! Names from outside become file names here and nowhere else.

use std::borrow::Cow;
use std::fmt::Write;

const MAX: usize = 128;

/// Returns a name that is safe as a file name on every platform.
///
/// Letters, digits, `.`, `_`, `-` up to 128 characters stay as they are; anything else, a leading dot, a name Windows
/// reserves, becomes `=`, 16 hexadecimal digits of a hash of the whole name, and 40 allowed characters of it.
#[must_use]
pub fn file_name(outside: &str) -> Cow<'_, str> {
    let plain = !outside.is_empty()
        && outside.len() <= MAX
        && outside.bytes().all(allowed)
        && !outside.starts_with('.')
        && !outside.ends_with('.')
        && !reserved(outside);
    if plain {
        return Cow::Borrowed(outside);
    }
    let mut name = String::with_capacity(57);
    // Writing into a String cannot fail.
    let _ = write!(name, "={:016x}", hash(outside.as_bytes()));
    name.extend(outside.chars().filter(|c| c.is_ascii() && allowed(*c as u8)).take(40));
    name.truncate(name.trim_end_matches('.').len());
    Cow::Owned(name)
}

/// FNV-1a, 64 bits: the same in every run and every version; a name or a spread, never a secret.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A name that stands for a long or private text, such as a path: 16 hexadecimal digits.
#[must_use]
pub fn hash_name(text: &str) -> String {
    format!("{:016x}", hash(text.as_bytes()))
}

/// The id of a fact: what the payload gives, shortened if it is long; else a number used once.
#[must_use]
pub fn fact_id(given: Option<&str>, now: crate::Now) -> String {
    const MAX_ID: usize = 96;
    match given {
        Some(id) if id.len() <= MAX_ID && id.bytes().all(|byte| byte.is_ascii_graphic()) => id.to_owned(),
        Some(id) => file_name(id).into_owned(),
        None => format!("n{:x}-{:x}", now.0, crate::platform::nonce()),
    }
}

const fn allowed(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-')
}

/// Device names of Windows, with or without an extension.
fn reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let numbered = |prefix: &str| {
        stem.len() == 4
            && stem.get(..3).is_some_and(|s| s.eq_ignore_ascii_case(prefix))
            && stem.as_bytes()[3].is_ascii_digit()
    };
    ["con", "prn", "aux", "nul"].iter().any(|word| stem.eq_ignore_ascii_case(word))
        || numbered("com")
        || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay() {
        for name in
            ["5f0c2a9e-3b1d-4c57-9d42-7a6e10b8c001", "mcp__pagegrab__scrape", "a.b_c-d", "s-edge-7200"]
        {
            assert_eq!(file_name(name), name);
        }
        assert_eq!(file_name(&"x".repeat(128)).len(), 128);
    }

    #[test]
    fn everything_else_is_escaped_and_stays_apart() {
        let odd = [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            "a\0b",
            "übung",
            ".hidden",
            "CON",
            "nul.txt",
            "com1",
            "a:b",
            "trailing.",
            "=0",
            " ",
        ];
        let mut seen = std::collections::BTreeSet::new();
        for name in odd {
            let safe = file_name(name).into_owned();
            assert!(safe.starts_with('=') && safe.len() <= 57, "{name:?} -> {safe}");
            assert!(safe.bytes().skip(1).all(allowed) && !safe.ends_with('.'), "{safe}");
            assert_eq!(file_name(name), safe, "stable");
            assert!(seen.insert(safe));
        }
        assert!(file_name(&"x".repeat(129)).starts_with('='));
    }
}
