use serde_json::json;

use crate::world::{ME, World, asked, called, ended_process, living_process};

const TASKS: &str = "- [x] Read the labels\n- [ ] Sort the labels\n- [ ] Write them\n";

fn project() -> World {
    let world = World::new();
    world.write(".comet/config.yaml", "schema: comet.project.v1\nworkflows: [classic]\n");
    change(&world, "sort-labels", TASKS);
    world
}

fn change(world: &World, name: &str, tasks: &str) {
    world.write(
        &format!("openspec/changes/{name}/.comet.yaml"),
        "workflow: full\nphase: build\narchived: false\n",
    );
    world.write(&format!("openspec/changes/{name}/tasks.md"), tasks);
}

fn age(world: &World, name: &str, seconds: u64) {
    for file in [".comet.yaml", "tasks.md"] {
        world.age(&format!("openspec/changes/{name}/{file}"), seconds);
    }
}

fn ask(world: &World, session: &str, prompt: &str) -> Option<String> {
    world.event(session, "UserPromptSubmit", &json!({"prompt": prompt, "prompt_id": prompt}))
}

#[test]
fn an_open_change_is_told_once_until_it_changes() {
    let world = project();
    assert_eq!(
        world.start(ME).unwrap(),
        "[CRASH RECOVERY] change sort-labels is open (phase build, 1 of 3 tasks done, next: \"Sort the labels\"); \
         `recovery change check sort-labels` says where it stopped."
    );
    assert_eq!(world.prompt(ME), None);
    assert_eq!(world.start("next"), None, "told to another session");
    change(&world, "sort-labels", &TASKS.replacen("[ ]", "[x]", 1));
    age(&world, "sort-labels", 5);
    assert!(world.start("later").unwrap().contains("2 of 3 tasks done, next: \"Write them\""));
}

#[test]
fn what_a_session_that_was_cut_off_was_told_is_told_to_the_next() {
    let world = project();
    world.session("dead", &ended_process(), &[asked("Go"), called("t", "Bash", &json!({"command": "make"}))]);
    assert!(world.start("dead").unwrap().contains("sort-labels"));
    let said = world.start(ME).unwrap();
    assert!(said.contains("session dead") && said.contains("change sort-labels is open"), "{said}");
    assert_eq!(world.start("next"), None, "who was told lives, as far as anybody knows");
}

#[test]
fn beside_the_longest_session_it_keeps_its_place() {
    let world = project();
    let long = "x".repeat(400);
    let transcript = [
        asked(&format!("Sort all the labels, {long}")),
        called("t", "Bash", &json!({"command": format!("make {long}")})),
    ];
    world.session("dead", &ended_process(), &transcript);
    let said = world.start(ME).unwrap();
    assert!(said.contains("session dead") && said.contains("claude --resume dead"), "{said}");
    assert!(
        said.contains("next: \"Sort the labels\"") && said.contains("recovery change check sort-labels"),
        "{said}"
    );
}

#[test]
fn of_several_the_last_written_is_named() {
    let world = project();
    change(&world, "add-export", "- [ ] One\n");
    age(&world, "add-export", 60);
    change(&world, "long-ago", "- [ ] One\n");
    age(&world, "long-ago", 14 * 86_400 + 60);
    for other in ["archive", "Not-A-Name"] {
        change(&world, other, "- [ ] One\n");
    }
    let said = world.start(ME).unwrap();
    assert!(said.contains("2 changes are open; sort-labels was written last"), "{said}");
    assert!(said.contains("`recovery change check` lists them"), "{said}");
}

#[test]
fn silence_where_it_is_not_sure() {
    type Spoil<'a> = &'a dyn Fn(&World);
    let silent: [(&str, Spoil<'_>); 8] = [
        ("turned off", &|world| {
            world.write(
                ".comet/config.yaml",
                "schema: comet.project.v1\nworkflows: [classic]\nambient_resume: false\n",
            );
        }),
        ("another version", &|world| {
            world.write(".comet/config.yaml", "schema: comet.project.v2\nworkflows: [classic]\n");
        }),
        ("no configuration", &|world| std::fs::remove_file(world.path(".comet/config.yaml")).unwrap()),
        ("a huge configuration", &|world| {
            let rest = "# x\n".repeat(10_000);
            world.write(
                ".comet/config.yaml",
                &format!("schema: comet.project.v1\nworkflows: [classic]\n{rest}"),
            );
        }),
        ("both roots", &|world| std::fs::create_dir_all(world.path("docs/openspec/changes")).unwrap()),
        ("archived", &|world| {
            world.write("openspec/changes/sort-labels/.comet.yaml", "phase: archive\narchived: true\n");
        }),
        ("history", &|world| age(world, "sort-labels", 14 * 86_400 + 60)),
        ("without state", &|world| {
            std::fs::remove_file(world.path("openspec/changes/sort-labels/.comet.yaml")).unwrap();
        }),
    ];
    for (why, change) in silent {
        let world = project();
        change(&world);
        assert_eq!(world.start(ME), None, "{why}");
    }
    let world = project();
    age(&world, "sort-labels", 14 * 86_400 - 60);
    assert!(world.start(ME).is_some());
}

#[test]
fn damaged_files_and_links() {
    let world = project();
    world.write("openspec/changes/sort-labels/.comet.yaml", "\u{0}: [\n");
    std::fs::write(world.path("openspec/changes/sort-labels/tasks.md"), b"\xff\xfe- [ ] x").unwrap();
    let said = world.start(ME).unwrap();
    assert!(said.contains("change sort-labels is open; `recovery change check sort-labels`"), "{said}");

    let world = project();
    std::fs::rename(world.path("openspec"), world.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), world.path("openspec")).unwrap();
    assert_eq!(world.start(ME), None);
}

#[test]
fn more_folders_than_anybody_has_say_nothing() {
    let world = project();
    for number in 0..512 {
        std::fs::create_dir_all(world.path(&format!("openspec/changes/other-{number}"))).unwrap();
    }
    assert_eq!(world.start(ME), None);
}

#[test]
fn it_is_in_the_hands_of_another_client_at_work() {
    let world = project();
    let alive = living_process().pid;
    let file = world.home().join(format!(".claude/sessions/{alive}.json"));
    let client = |status: &str, cwd| {
        json!({"pid": alive, "sessionId": "other", "cwd": cwd, "status": status}).to_string()
    };
    crate::world::write(&file, &client("busy", world.project()));
    assert_eq!(world.start("s1"), None);
    crate::world::write(&file, &client("busy", world.home()));
    assert!(world.start("s2").is_some(), "in another project");
    let world = project();
    let file = world.home().join(format!(".claude/sessions/{alive}.json"));
    crate::world::write(&file, &client("idle", world.project()));
    assert!(world.start("s3").is_some(), "it waits for its next request");
}

#[test]
fn the_first_request_decides_what_is_said() {
    for (prompt, told) in [
        ("Where were we?", true),
        ("Say hello without comet", false),
        ("/comet-build sort-labels", false),
        ("不要恢复", false),
    ] {
        assert_eq!(ask(&project(), ME, prompt).is_some(), told, "{prompt}");
    }
    let world = project();
    change(&world, "add-export", "- [ ] One\n");
    let said = ask(&world, ME, "Go on with add-export").unwrap();
    assert!(said.contains("change add-export is open"), "{said}");
}

#[test]
fn a_later_request_that_names_a_change_hears_of_it_once() {
    let world = project();
    age(&world, "sort-labels", 60);
    assert!(world.start("first").is_some());
    assert_eq!(ask(&world, ME, "Tidy the readme"), None, "told to another session");
    assert_eq!(ask(&world, ME, "continue"), None, "no name");
    assert_eq!(ask(&world, ME, "resort-labels"), None, "no word of its own");
    assert_eq!(ask(&world, ME, "<task-notification>sort-labels</task-notification>"), None, "no person");
    assert_eq!(ask(&world, ME, "sort-labels without comet"), None);
    let said = ask(&world, ME, "Now finish sort-labels").unwrap();
    assert!(said.contains("1 of 3 tasks done"), "{said}");
    assert_eq!(ask(&world, ME, "And sort-labels again"), None, "told before");
    assert_eq!(ask(&world, "first", "How far is sort-labels?"), None, "told at its start");
}

#[test]
fn a_change_this_session_works_on_is_no_news() {
    let world = World::new();
    world.write(".comet/config.yaml", "schema: comet.project.v1\nworkflows: [classic]\n");
    assert_eq!(ask(&world, ME, "Plan the labels"), None);
    change(&world, "sort-labels", TASKS);
    assert_eq!(ask(&world, ME, "Go on with sort-labels"), None);
}
