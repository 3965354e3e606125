//! Instruction counts of one whole process, by valgrind's callgrind.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::tool::Tool;

/// A counted process is some fifty times slower than a free one.
const LIMIT: Duration = Duration::from_secs(60);

/// What one counted process did.
pub(crate) struct Counted {
    /// Instructions of the whole process, start included.
    pub(crate) instructions: u64,
    /// What it printed.
    pub(crate) stdout: String,
}

/// Counts the instructions of `program` on this input. `prepare` sets working folder and environment.
pub(crate) fn count(
    program: &Path,
    input: &[u8],
    scratch: &Path,
    prepare: impl Fn(Tool) -> Tool,
) -> Result<Counted> {
    let out = scratch.join("callgrind.out");
    let _ = std::fs::remove_file(&out);
    let tool = Tool::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .limit(LIMIT)
        .next_step("apt-get install valgrind");
    let said = prepare(tool).capture(input)?;
    if !said.status.success() {
        bail!("{} ended with {} under valgrind: {}", program.display(), said.status, said.stderr.trim_end());
    }
    let text = std::fs::read_to_string(&out).with_context(|| format!("reading {}", out.display()))?;
    let instructions = total(&text).with_context(|| format!("no total in {}", out.display()))?;
    Ok(Counted { instructions, stdout: said.stdout })
}

/// The total of the first event (`Ir`, instructions read) in a callgrind file: its `summary:` line, in files of
/// several parts its `totals:`.
fn total(text: &str) -> Option<u64> {
    let events = text.lines().find_map(|line| line.strip_prefix("events:"))?;
    if events.split_whitespace().next() != Some("Ir") {
        return None;
    }
    let of = |key: &str| {
        text.lines()
            .rev()
            .find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    of("totals:").or_else(|| of("summary:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_that_of_the_instructions() {
        assert_eq!(total("version: 1\nevents: Ir\nfn=(1) main\n12 30\nsummary: 4711\n"), Some(4711));
        assert_eq!(total("events: Ir Dr\nsummary: 90 7\n\n\ntotals: 91 8\n"), Some(91));
    }

    #[test]
    fn a_file_that_counts_something_else_or_was_cut_has_none() {
        assert_eq!(total("events: Cycles Ir\nsummary: 5 6\n"), None);
        assert_eq!(total("events: Ir\nfn=(1) main\n12 30\n"), None);
        assert_eq!(total("events: Ir\nsummary: many\n"), None);
        assert_eq!(total(""), None);
    }
}
