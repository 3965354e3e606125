use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{ME, World, ended_process, write};

fn pipe(world: &World, relative: &str) {
    fs::create_dir_all(world.path(relative).parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(world.path(relative)).status().unwrap().success());
}

#[test]
fn links_are_neither_followed_nor_removed() {
    let world = World::new();
    let outside = world.home().join("keep");
    let stale = format!(r#"{{"active": true, "last_checked_at": "{}"}}"#, world.iso(90_000));
    write(&outside.join("ralph.json"), &stale);
    write(&outside.join("notes.lock"), &ended_process().pid.to_string());
    fs::File::open(outside.join("notes.lock"))
        .unwrap()
        .set_modified(std::time::SystemTime::now() - Duration::from_secs(90_000))
        .unwrap();
    fs::create_dir_all(world.path("sessions/a")).unwrap();
    fs::create_dir_all(world.path(".claims")).unwrap();
    symlink(outside.join("ralph.json"), world.path("sessions/a/ralph.json")).unwrap();
    symlink(&outside, world.path("sessions/b")).unwrap();
    symlink(outside.join("notes.lock"), world.path(".claims/a.lock")).unwrap();
    symlink(&outside, world.path(".claims/all")).unwrap();
    symlink(&outside, world.path(".working-state")).unwrap();
    write(&outside.join("current-plan.md"), "- [ ] theirs\n");
    symlink(&outside, world.path(".omc")).unwrap();
    assert_eq!(world.start(ME), None);
    assert_eq!(fs::read_to_string(outside.join("ralph.json")).unwrap(), stale);
    assert!(outside.join("notes.lock").exists() && world.has(".claims/a.lock"));
}

#[test]
fn a_state_folder_that_is_a_link_means_silence() {
    let world = World::new();
    let outside = world.home().join("keep");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, world.path("sessions")).unwrap();
    world.write(".working-state/current-plan.md", "- [ ] one\n");
    assert_eq!(world.start(ME), None);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn pipes_folders_and_huge_files_in_the_place_of_state_do_not_stop_it() {
    let world = World::new();
    pipe(&world, "sessions/a/ralph.json");
    pipe(&world, "sessions/b/session.json");
    pipe(&world, "sessions/b/heartbeat");
    pipe(&world, "sessions/b/status");
    world.write("sessions/.open/b", "");
    pipe(&world, ".claims/a.lock");
    pipe(&world, ".working-state/current-plan.md");
    pipe(&world, ".claude/ralph-loop.local.md");
    fs::create_dir_all(world.path("sessions/c/ralph.json")).unwrap();
    fs::create_dir_all(world.path("sessions/d")).unwrap();
    fs::File::create(world.path("sessions/d/ralph.json")).unwrap().set_len(1 << 30).unwrap();
    fs::File::create(world.path(".claims/b.lock")).unwrap().set_len(1 << 30).unwrap();
    world.age(".claims/b.lock", 1_200);
    world.write("sessions/e", "a file in the place of a folder");
    assert!(
        Command::new("mkfifo").arg(world.home().join(".claude/sessions/77.json")).status().unwrap().success()
    );
    let said = world.start(ME).unwrap();
    assert!(said.contains("1 old claim stays"), "a body that cannot be read proves nothing: {said}");
    assert!(world.has(".claims/b.lock"));
}

#[test]
fn names_that_lead_out_of_the_project_stay_in_it() {
    let world = World::new();
    let id = "../../../evil";
    world.write(".working-state/current-plan.md", "- [ ] one\n");
    let own = json!({"pid": ended_process().pid, "sessionId": id, "cwd": world.project(), "status": "busy",
        "startedAt": world.now.0, "updatedAt": world.now.0});
    write(&world.home().join(".claude/sessions/5.json"), &own.to_string());
    assert!(world.start("../../up").is_some());
    let mut outside: Vec<_> = fs::read_dir(world.project().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    outside.sort();
    assert_eq!(outside, ["home", "project"]);
    let names: Vec<_> =
        fs::read_dir(world.path("sessions")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        names.iter().all(|name| name.to_str().is_some_and(|name| name.starts_with(['=', '.']))),
        "{names:?}"
    );
}

#[test]
fn a_tree_that_cannot_be_written_is_left_in_silence() {
    let world = World::new();
    world.ralph("old", 10_800);
    world.write(".claims/a.lock", "");
    world.age(".claims/a.lock", 1_200);
    let lock = |mode: u32| {
        for folder in ["sessions/old", "sessions", ".claims", ""] {
            fs::set_permissions(world.path(folder), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    lock(0o555);
    // A superuser may write everywhere.
    let forbidden = fs::write(world.path("probe"), "").is_err();
    if forbidden {
        assert_eq!(world.start(ME), None);
        assert!(world.has(".claims/a.lock"));
    }
    lock(0o755);
}

#[test]
fn damaged_state_of_ours_is_passed_over() {
    let world = World::new();
    for (name, text) in
        [("a", ""), ("b", "{"), ("c", "[1]"), ("d", "{\"v\": 99, \"process\": 3}"), ("e", "\u{0}")]
    {
        world.write(&format!("sessions/{name}/session.json"), text);
        world.write(&format!("sessions/.open/{name}"), "");
    }
    fs::write(world.home().join(".claude/sessions/1.json"), b"\xff\xfe{}").unwrap();
    world.write("sessions/.open/.told", "\u{0}\nx\n");
    world.write(".working-state/current-plan.md", "- [ ] one\n");
    assert!(world.start(ME).is_some_and(|said| said.contains("current-plan")));
}

/// How long a start takes, at best of several.
fn best(world: &World, rounds: u32) -> Duration {
    (0..rounds)
        .map(|round| {
            let begun = Instant::now();
            assert_eq!(world.start(&format!("t{round}")), None);
            begun.elapsed()
        })
        .min()
        .unwrap()
}

#[test]
fn ten_thousand_folders_cost_a_look_each_and_no_more() {
    let world = World::new();
    let fill = |from: usize, to: usize| {
        for number in from..to {
            fs::create_dir_all(world.path(&format!("sessions/old-{number}"))).unwrap();
        }
    };
    fill(0, 1_000);
    let some = best(&world, 5);
    fill(1_000, 10_000);
    let many = best(&world, 5);
    // Ten times the folders: about ten times the time, far from a hundred.
    assert!(many < some * 40, "{some:?} {many:?}");
}
