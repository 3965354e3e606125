//! When nothing is written, and what a kill or a second process between two steps does.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::SystemTime;

use super::world::{ID, World, answered, asked, ran};
use crate::{Outcome, Step};

fn at_work() -> World {
    World::new(&[asked("Port the parser"), ran("t1", "cargo test")])
}

fn left(world: &World) -> Vec<String> {
    let Ok(entries) = fs::read_dir(world.folder().join("handoffs")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn it_is_saved_once_for_its_owner_alone() {
    let world = at_work();
    let Outcome::Saved { bytes, read } = world.scavenge().unwrap() else { panic!("not saved") };
    let metadata = fs::metadata(world.handoff()).unwrap();
    assert_eq!((metadata.len(), metadata.mode() & 0o7777), (bytes as u64, 0o600));
    assert!(read > 0);
    assert_eq!(world.status(), "scavenged\n");
    let before = fs::read(world.handoff()).unwrap();
    assert_eq!(world.scavenge().unwrap(), Outcome::AlreadyThere);
    assert_eq!(fs::read(world.handoff()).unwrap(), before);
    assert_eq!(left(&world), ["scavenged.md"]);
}

#[test]
fn another_programs_hand_off_stays_whatever_its_name() {
    let world = at_work();
    world.write(&format!("sessions/{ID}/handoffs/scavenged.md"), "# Scavenged\n\n- earlier finding\n");
    assert_eq!(world.scavenge().unwrap(), Outcome::AlreadyThere);
    assert_eq!(fs::read_to_string(world.handoff()).unwrap(), "# Scavenged\n\n- earlier finding\n");
    assert_eq!(world.status(), "scavenged\n", "so that it is not tried every minute");

    let world = at_work();
    world.write(&format!("sessions/{ID}/handoffs/stage-1.md"), "# Stage\n");
    assert!(matches!(world.scavenge().unwrap(), Outcome::Saved { .. }));
    assert_eq!(fs::read_to_string(world.folder().join("handoffs/stage-1.md")).unwrap(), "# Stage\n");
}

#[test]
fn a_status_that_settles_it_stays() {
    for word in ["ended\n", "superseded\n", "scavenged\n"] {
        let world = at_work();
        world.write(&format!("sessions/{ID}/status"), word);
        assert_eq!(world.scavenge().unwrap(), Outcome::AlreadyThere);
        assert_eq!((world.status().as_str(), left(&world).len()), (word, 0));
    }
    let world = at_work();
    fs::remove_file(world.folder().join("status")).unwrap();
    assert!(matches!(world.scavenge().unwrap(), Outcome::Saved { .. }));
    assert_eq!(world.status(), "scavenged\n");
}

#[test]
fn nothing_is_known_without_a_transcript_or_without_anything_in_it() {
    let world = at_work();
    for bytes in [&b""[..], b"\n\n", b"{\"type\":\"summary\"}\n", b"no json", b"\0\0\xff\xfe"] {
        world.bytes(bytes);
        assert_eq!(world.scavenge().unwrap(), Outcome::NothingKnown, "{bytes:?}");
    }
    fs::remove_file(world.transcript()).unwrap();
    assert_eq!(world.scavenge().unwrap(), Outcome::NothingKnown);
    let elsewhere = world.project().join("t.jsonl");
    fs::write(&elsewhere, asked("x").to_string()).unwrap();
    symlink(&elsewhere, world.transcript()).unwrap();
    assert_eq!(world.scavenge().unwrap(), Outcome::NothingKnown, "no link is followed");
    assert_eq!((world.status().as_str(), left(&world).len()), ("running\n", 0));
}

#[test]
fn a_transcript_that_grows_is_waited_for() {
    for moment in [Step::Settling, Step::Read] {
        let world = at_work();
        let grow = |step| {
            if step == moment {
                let longer = fs::read_to_string(world.transcript()).unwrap()
                    + "\n"
                    + &answered("t1", "ok").to_string();
                fs::write(world.transcript(), longer).unwrap();
            }
        };
        assert_eq!(world.scavenge_while(grow).unwrap(), Outcome::Growing, "{moment:?}");
        assert_eq!((world.status().as_str(), left(&world).len()), ("running\n", 0));
        world.settle();
        assert!(matches!(world.scavenge().unwrap(), Outcome::Saved { .. }), "when it has come to rest");
    }
}

#[test]
fn a_transcript_that_grew_since_the_last_tick_is_waited_for() {
    let world = at_work();
    let seen = crate::stamp(&world.transcript());
    assert!(seen.is_some());
    world.says(&[asked("Port the parser"), ran("t1", "cargo test"), answered("t1", "ok")]);
    let outcome = world.asked(&mut |_| {}, |request| request.seen = seen).unwrap();
    assert_eq!(outcome, Outcome::Growing);
    let seen = crate::stamp(&world.transcript());
    let outcome = world.asked(&mut |_| {}, |request| request.seen = seen).unwrap();
    assert!(matches!(outcome, Outcome::Saved { .. }));
}

#[test]
fn a_fresh_transcript_that_rests_is_no_growing_one() {
    let mut world = at_work();
    fs::File::options()
        .append(true)
        .open(world.transcript())
        .unwrap()
        .set_modified(SystemTime::now())
        .unwrap();
    world.now = session_state::Now::read();
    assert!(matches!(world.scavenge().unwrap(), Outcome::Saved { .. }));
}

#[test]
fn a_session_that_comes_back_meanwhile_is_left_alone() {
    let beats: [(&str, &str); 3] = [
        ("heartbeat", "1772442500\n"),
        ("status", "ended\n"),
        ("session.json", "{\"v\":1,\"session_id\":\"other\"}"),
    ];
    for (file, text) in beats {
        for moment in [Step::Settling, Step::Read] {
            let world = at_work();
            let back = |step| {
                if step == moment {
                    world.write(&format!("sessions/{ID}/{file}"), text);
                }
            };
            assert_eq!(world.scavenge_while(back).unwrap(), Outcome::Growing, "{file} {moment:?}");
            assert!(left(&world).is_empty() && world.status() != "scavenged\n", "{file}");
        }
        // After the hand-off is there, its status is its own again.
        let world = at_work();
        let back = |step| {
            if step == Step::Written {
                world.write(&format!("sessions/{ID}/{file}"), text);
            }
        };
        assert!(matches!(world.scavenge_while(back).unwrap(), Outcome::Saved { .. }));
        assert_ne!(world.status(), "scavenged\n", "{file}");
    }
}

#[test]
fn of_two_one_saves() {
    let world = at_work();
    let mut inner = None;
    let outer = world.scavenge_while(|step| {
        if step == Step::Read {
            inner = Some(world.scavenge().unwrap());
        }
    });
    assert!(matches!(inner, Some(Outcome::Saved { .. })), "{inner:?}");
    assert!(matches!(outer, Ok(Outcome::AlreadyThere | Outcome::Growing)), "{outer:?}");
    assert_eq!(left(&world), ["scavenged.md"]);

    let world = at_work();
    let saved = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| world.scavenge().unwrap())).collect();
        workers
            .into_iter()
            .filter_map(|w| matches!(w.join().unwrap(), Outcome::Saved { .. }).then_some(()))
            .count()
    });
    assert_eq!((saved, world.status().as_str()), (1, "scavenged\n"));
}

#[test]
fn a_kill_at_any_step_leaves_a_whole_file_or_none_and_the_next_goes_on() {
    for moment in [Step::Settling, Step::Read, Step::Written] {
        let world = at_work();
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            world.scavenge_while(|step| assert!(step != moment, "killed here"))
        }));
        assert!(killed.is_err());
        assert_eq!(world.status(), "running\n");
        let next = world.scavenge().unwrap();
        let expected =
            matches!((moment, &next), (Step::Written, Outcome::AlreadyThere) | (_, Outcome::Saved { .. }));
        assert!(expected, "{moment:?}: {next:?}");
        assert!(fs::read_to_string(world.handoff()).unwrap().contains("## Transcript"));
        assert_eq!((world.status().as_str(), left(&world).len()), ("scavenged\n", 1));
    }
}

#[test]
fn a_session_that_went_on_and_died_again_is_saved_again_and_its_old_hand_off_kept() {
    let world = at_work();
    let first = world.text();
    // Taken up again: its hooks say so.
    world.write(&format!("sessions/{ID}/status"), "running\n");
    assert_eq!(world.scavenge().unwrap(), Outcome::AlreadyThere, "no beat since: it was not");
    world.write(&format!("sessions/{ID}/status"), "running\n");
    world.write(&format!("sessions/{ID}/heartbeat"), "4000000000\n");
    world.says(&[asked("Port the parser"), asked("and the lexer")]);
    assert!(world.text().contains("and the lexer"));
    let mut names = left(&world);
    names.sort();
    assert_eq!(names.len(), 2);
    assert_eq!(fs::read_to_string(world.folder().join("handoffs").join(&names[0])).unwrap(), first);
    assert!(names[0].starts_with("scavenged-1"), "{names:?}");
}

#[test]
fn links_in_the_place_of_folder_or_file_are_errors_or_stay() {
    let world = at_work();
    let elsewhere = world.project().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, world.folder().join("handoffs")).unwrap();
    assert_eq!(world.scavenge().unwrap(), Outcome::AlreadyThere);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}
