//! Claims: one wins, none is lost, none is taken from somebody else.

use std::{fs, sync::Barrier, thread};

use serde_json::json;
use session_state::Now;
use session_state::process::ProcessId;
use systems::run::claim::{self, Claimed, FILE, NotClaimed, NotReleased, Owner};
use systems::run::judgement::Row;

use crate::home::Home;

fn owner(session: &str) -> Owner {
    Owner { session_id: Some(session.to_owned()), process: Some(ProcessId::of(std::process::id())) }
}

fn nobody() -> Owner {
    Owner { session_id: None, process: None }
}

#[test]
fn of_many_at_once_exactly_one_wins() {
    let home = Home::new();
    home.add("error", "loaf-1", json!({}));
    let barrier = Barrier::new(16);
    let won: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|number| {
                let (home, barrier) = (&home, &barrier);
                scope.spawn(move || {
                    let (registry, run) = (home.registry(), home.find("loaf-1"));
                    barrier.wait();
                    claim::take(&registry, &run, &owner(&format!("s-{number}")), Now::read()).ok()
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(won.len(), 1);
    assert_eq!(claim::of(&home.find("loaf-1")), Claimed::Ours(won[0].clone()));
    let mut names: Vec<_> = fs::read_dir(home.folder("error", "loaf-1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [FILE, "run.json"], "no temporary file is left");
    assert_eq!(home.judge("loaf-1").row, Row::AlreadyClaimed);
}

#[test]
fn a_claim_is_given_back_by_its_owner_by_its_id_or_once_its_process_is_gone() {
    let home = Home::new();
    home.add("error", "loaf-1", json!({}));
    let record = fs::read(home.folder("error", "loaf-1").join("run.json")).unwrap();
    let take =
        |owner: &Owner| claim::take(&home.registry(), &home.find("loaf-1"), owner, Now::read()).unwrap();
    let release = |id: Option<&str>, owner: &Owner| claim::release(&home.find("loaf-1"), id, owner);

    assert!(matches!(release(None, &owner("a")), Err(NotReleased::NotClaimed)));
    take(&owner("a"));
    assert!(matches!(release(None, &owner("b")), Err(NotReleased::NotYours(_))));
    assert!(matches!(release(None, &nobody()), Err(NotReleased::NotYours(_))));
    assert!(matches!(release(Some("guess"), &owner("a")), Err(NotReleased::NotYours(_))));
    release(None, &owner("a")).unwrap();

    let by_id = take(&owner("a"));
    release(Some(&by_id.claim_id), &nobody()).unwrap();

    let same_process = Owner { session_id: None, process: Some(ProcessId::of(std::process::id())) };
    take(&same_process);
    release(None, &same_process).unwrap();

    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    take(&Owner { session_id: Some("a".into()), process: Some(ProcessId::of(child.id())) });
    assert!(matches!(release(None, &owner("b")), Err(NotReleased::NotYours(_))), "it is alive");
    child.kill().unwrap();
    child.wait().unwrap();
    release(None, &owner("b")).unwrap();
    assert_eq!(fs::read(home.folder("error", "loaf-1").join("run.json")).unwrap(), record);
    assert_eq!(fs::read_dir(home.folder("error", "loaf-1")).unwrap().count(), 1);
}

#[test]
fn a_run_that_was_taken_up_meanwhile_is_not_claimed() {
    let home = Home::new();
    home.add("error", "loaf-1", json!({}));
    let run = home.find("loaf-1");
    fs::create_dir_all(home.path().join("workspaces/bakery/running")).unwrap();
    fs::rename(home.folder("error", "loaf-1"), home.folder("running", "loaf-1")).unwrap();
    assert!(matches!(claim::take(&home.registry(), &run, &nobody(), Now::read()), Err(NotClaimed::Moved)));
    assert!(!home.folder("running", "loaf-1").join(FILE).exists());

    home.add("error", "loaf-2", json!({}));
    let run = home.find("loaf-2");
    home.add("error", "loaf-2", json!({"errorMessage": "rewritten, and longer than before"}));
    assert!(matches!(claim::take(&home.registry(), &run, &nobody(), Now::read()), Err(NotClaimed::Moved)));
    assert!(!home.folder("error", "loaf-2").join(FILE).exists());
}

#[test]
fn a_claim_of_another_kind_is_neither_taken_over_nor_removed() {
    let home = Home::new();
    home.add("error", "loaf-1", json!({"recovery": {"claimId": "engine-1", "ownerSessionId": "s"}}));
    home.add("error", "loaf-2", json!({}));
    home.write("error", "loaf-2", FILE, "{\"half\": ");
    home.add("error", "loaf-3", json!({}));
    home.write(
        "error",
        "loaf-3",
        FILE,
        r#"{"schemaVersion":2,"claimId":"c","claimedAt":"2026-03-02T09:00:00Z"}"#,
    );
    let before = home.snapshot();
    for key in ["loaf-1", "loaf-2", "loaf-3"] {
        let run = home.find(key);
        assert!(
            matches!(
                claim::take(&home.registry(), &run, &nobody(), Now::read()),
                Err(NotClaimed::Already(_))
            ),
            "{key}"
        );
        assert!(matches!(claim::release(&run, Some("c"), &nobody()), Err(NotReleased::NotYours(_))), "{key}");
    }
    assert_eq!(home.snapshot(), before);
}
