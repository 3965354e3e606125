//! The journal under many writers, torn lines and any cut.

#![allow(missing_docs, clippy::unwrap_used, reason = "everything here is a test")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use rules::fact::{Fact, What};
use rules::streak::{Applied, State};
use session_state::journal::Journal;
use session_state::{Dir, Now};

const KEY: &str = "tool:a";

fn fact(what: What, id: &str) -> Fact<'static> {
    Fact::new(what, KEY, id.to_owned())
}

fn failures(dir: &Dir) -> u64 {
    let journal = Journal::open(dir).unwrap().unwrap();
    journal.state().streak(KEY).map_or(0, |streak| streak.n)
}

fn temporary() -> (tempfile::TempDir, Dir) {
    let top = tempfile::tempdir().unwrap();
    let dir = Dir::open(top.path()).unwrap();
    (top, dir)
}

fn write_raw(top: &Path, bytes: &[u8]) {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(top.join("journal.jsonl"))
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

#[test]
fn no_journal_is_no_error_and_none_is_made_by_looking() {
    let (top, dir) = temporary();
    assert!(Journal::open(&dir).unwrap().is_none());
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
}

#[test]
fn lines_that_do_not_parse_are_skipped_and_swallow_nothing() {
    let (top, dir) = temporary();
    Journal::open_or_make(&dir).unwrap().append(&[fact(What::Fail, "1")]).unwrap();
    write_raw(
        top.path(),
        b"not json\n\n{\"v\":9,\"k\":\"fail\",\"id\":\"n\",\"key\":\"tool:a\"}\n{\"v\":1,\"k\":\"fa",
    );
    Journal::open_or_make(&dir).unwrap().append(&[fact(What::Fail, "2")]).unwrap();
    assert_eq!(failures(&dir), 2, "the torn line got its newline, the newer version was left alone");
}

#[test]
fn a_second_wiring_is_told_that_it_repeats() {
    let (_top, dir) = temporary();
    let first = Journal::open_or_make(&dir).unwrap().append(&[fact(What::Fail, "1")]).unwrap();
    let second = Journal::open_or_make(&dir).unwrap().append(&[fact(What::Fail, "1")]).unwrap();
    assert_eq!((first, second), (vec![Applied::Fresh], vec![Applied::Repeated]));
    assert_eq!(failures(&dir), 1);
}

#[test]
fn a_line_has_at_most_1024_bytes() {
    let (top, dir) = temporary();
    let mut long = fact(What::Fail, "1");
    long.txt = "x".repeat(5_000).into();
    Journal::open_or_make(&dir).unwrap().append(&[long]).unwrap();
    assert!(fs::metadata(top.path().join("journal.jsonl")).unwrap().len() <= 1_024);
    assert_eq!(failures(&dir), 1, "evidence gives way, the fact stays");
    let mut hopeless = fact(What::Fail, "2");
    hopeless.id = "y".repeat(2_000).into();
    assert!(Journal::open_or_make(&dir).unwrap().append(&[hopeless]).is_err());
    assert_eq!(failures(&dir), 1);
}

#[test]
fn links_and_special_files_are_not_followed() {
    let (top, dir) = temporary();
    let elsewhere = top.path().join("elsewhere");
    fs::write(&elsewhere, "keep").unwrap();
    std::os::unix::fs::symlink(&elsewhere, top.path().join("journal.jsonl")).unwrap();
    assert!(Journal::open_or_make(&dir).is_err());
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "keep");
}

#[test]
fn reading_stays_bounded_and_exact_over_thousands_of_facts() {
    let (top, dir) = temporary();
    for number in 0..3_000 {
        let mut journal = Journal::open_or_make(&dir).unwrap();
        journal.append(&[fact(What::Fail, &number.to_string())]).unwrap();
        journal.carry_on(Now(0)).unwrap();
    }
    assert_eq!(failures(&dir), 3_000);
    // What lies far back is not read any more: damage there changes nothing.
    let path = top.path().join("journal.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    assert!(bytes.len() > 256 * 1024);
    let half = bytes.len() / 2;
    bytes[..half].fill(b'#');
    fs::write(&path, bytes).unwrap();
    assert_eq!(failures(&dir), 3_000);
}

#[test]
fn thirty_two_writers_lose_nothing_and_each_step_is_seen_by_one() {
    const WRITERS: usize = 32;
    const EACH: usize = 40;
    let (top, dir) = temporary();
    let seen: Vec<u64> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let path = top.path();
                scope.spawn(move || {
                    let dir = Dir::open(path).unwrap();
                    let mut seen = Vec::new();
                    for number in 0..EACH {
                        let mut journal = Journal::open_or_make(&dir).unwrap();
                        journal.append(&[fact(What::Fail, &format!("{writer}-{number}"))]).unwrap();
                        seen.push(journal.state().streak(KEY).unwrap().n);
                        journal.carry_on(Now(0)).unwrap();
                    }
                    seen
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(failures(&dir), (WRITERS * EACH) as u64);
    let mut sorted = seen;
    sorted.sort_unstable();
    assert!(sorted.iter().copied().eq(1..=(WRITERS * EACH) as u64), "every count exactly once");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Cut anywhere, the journal reads as what stands whole before the cut, and takes one more fact.
    #[test]
    fn any_truncation_leaves_the_whole_lines(count in 1..20_usize, cut in 0..4_000_usize) {
        let (top, dir) = temporary();
        for number in 0..count {
            Journal::open_or_make(&dir).unwrap().append(&[fact(What::Fail, &number.to_string())]).unwrap();
        }
        let path = top.path().join("journal.jsonl");
        let bytes = fs::read(&path).unwrap();
        let kept = &bytes[..cut.min(bytes.len())];
        fs::write(&path, kept).unwrap();
        let newlines = kept.iter().filter(|byte| **byte == b'\n').count();
        // A line that lost nothing but its newline is whole.
        let tail = kept.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let whole = newlines + usize::from(tail.ends_with(b"}"));
        prop_assert_eq!(failures(&dir), newlines as u64, "what follows the last newline may still be in the writing");
        Journal::open_or_make(&dir).unwrap().append(&[fact(What::Fail, "one more")]).unwrap();
        prop_assert_eq!(failures(&dir), whole as u64 + 1);
    }

    /// However facts and carried states are mixed, a reader of the file has the state of all facts.
    #[test]
    fn carried_states_change_nothing(facts in prop::collection::vec((0..4_usize, 0..200_u32), 1..200)) {
        let (_top, dir) = temporary();
        let mut straight = State::default();
        for (what, id) in &facts {
            let what = [What::Fail, What::Fail, What::Fail, What::Ok][*what];
            let fact = fact(what, &id.to_string());
            let mut journal = Journal::open_or_make(&dir).unwrap();
            let applied = journal.append(std::slice::from_ref(&fact)).unwrap();
            prop_assert_eq!(applied[0], straight.apply(&fact));
            journal.carry_on(Now(0)).unwrap();
            prop_assert_eq!(journal.state(), &straight);
        }
        let read = Journal::open(&dir).unwrap().unwrap();
        prop_assert_eq!(read.state(), &straight);
    }

    /// Any bytes at all: no panic, and a fact still gets in.
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
        let (top, dir) = temporary();
        write_raw(top.path(), &bytes);
        let mut journal = Journal::open_or_make(&dir).unwrap();
        prop_assert_eq!(journal.append(&[fact(What::Fail, "x")]).unwrap(), vec![Applied::Fresh]);
    }
}
