//! The hand-off as Markdown: headings in a fixed order, a section without facts left out, 8 KiB at most.

use session_state::{handoff, times};

use crate::findings::Findings;

/// Room for the title and the line below it, in bytes.
const HEAD_BYTES: usize = 420;
/// Room for a heading with its blank lines, and for the remark of what was left out.
const HEADING_BYTES: usize = 24;
const REMARK_BYTES: usize = 18;

/// A heading and the bytes its items have for certain; what others leave over is given out afterwards.
struct Section {
    heading: &'static str,
    share: usize,
    items: Vec<String>,
}

/// Writes the hand-off.
pub(crate) fn write(findings: &Findings) -> String {
    let section = |heading, share, items| Section { heading, share, items };
    let sections = [
        section("Task", SHARES[0], findings.task()),
        section("Unfinished call", SHARES[1], findings.unfinished()),
        section("Files Modified", SHARES[2], findings.files()),
        section("Failed last", SHARES[3], findings.failed()),
        section("Decided", SHARES[4], findings.decided()),
        section("Rejected", SHARES[5], findings.rejected()),
        section("Risks", SHARES[6], findings.risks()),
        section("Remaining", SHARES[7], findings.remaining()),
        section("Transcript", SHARES[8], findings.transcript()),
    ];
    let mut text = head(findings);
    for (section, shown) in sections.iter().zip(fit(&sections)) {
        if shown.is_empty() {
            continue;
        }
        text.push_str(&format!("\n## {}\n\n", section.heading));
        for item in &shown {
            text.push_str(&format!("- {item}\n"));
        }
        let left_out = section.items.len() - shown.len();
        if left_out > 0 {
            text.push_str(&format!("- {left_out} more\n"));
        }
    }
    text
}

/// The shares of the sections in their order.
const SHARES: [usize; 9] = [1_300, 600, 950, 800, 1_200, 450, 350, 750, 900];

const _: () = {
    let (mut sum, mut at) = (HEAD_BYTES, 0);
    while at < SHARES.len() {
        sum += SHARES[at] + HEADING_BYTES + REMARK_BYTES;
        at += 1;
    }
    assert!(sum <= handoff::MAX_BYTES, "the shares fill more than a hand-off holds");
};

fn head(findings: &Findings) -> String {
    let id = cut(&rules::text::one_line(&findings.session_id, 128), 160);
    let last = findings
        .last_s
        .map(|at| format!(" Last sign of life {}.", times::rfc3339_utc_s(at)))
        .unwrap_or_default();
    format!(
        "{}{id}\n\nTaken from the transcript of a dead session at {}.{last} Facts as they stood there; the latest first.\n",
        handoff::TITLE,
        times::rfc3339_utc_s(findings.saved.seconds()),
    )
}

/// Which items are shown: in each section as many as its share holds, then as many as there is room for in all.
fn fit(sections: &[Section]) -> Vec<Vec<String>> {
    let mut left: usize = handoff::MAX_BYTES - HEAD_BYTES;
    let mut shown: Vec<Vec<String>> = Vec::new();
    for section in sections {
        let mut room = section.share;
        let first = (room / section.items.len().clamp(1, 2)).saturating_sub(3);
        let mut items = Vec::new();
        for item in &section.items {
            // Its first items say most: a part of each is better than nothing of one.
            let item = if items.len() < 2 { cut(item, first) } else { item.clone() };
            let bytes = item.len() + 3;
            if bytes > room {
                break;
            }
            room -= bytes;
            items.push(item);
        }
        left -= section.share - room + HEADING_BYTES + REMARK_BYTES;
        shown.push(items);
    }
    for (section, items) in sections.iter().zip(&mut shown) {
        while let Some(item) = section.items.get(items.len()).filter(|item| item.len() + 3 <= left) {
            left -= item.len() + 3;
            items.push(item.clone());
        }
    }
    shown
}

/// The start of a text of at most `bytes`, with a mark where it was cut.
fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    const MARK: &str = "…";
    let keep =
        (0..=bytes.saturating_sub(MARK.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}{MARK}", &text[..keep])
}
