//! `recovery change` and `recovery resume-probe`.

use std::{fs, process::Stdio, thread};

use serde_json::{Value, json};

use crate::{
    schema,
    world::{Said, World},
};

const CHANGE: &str = "docs/openspec/changes/sort-labels";
const PLAN: &str = "docs/superpowers/plans/labels.md";
const TASKS: &str = "# Labels\n- [x] Read the labels <!-- comet-task:read -->\n- [ ] Sort the labels <!-- comet-task:sort -->\n- [ ] Print them <!-- comet-task:print -->\n";

fn state(more: &[(&str, &str)]) -> String {
    let mut fields = vec![
        ("workflow", "full"),
        ("phase", "build"),
        ("build_mode", "executing-plans"),
        ("tdd_mode", "direct"),
        ("review_mode", "off"),
        ("isolation", "current"),
        ("verify_mode", "null"),
        ("verify_result", "pending"),
        ("verified_at", "null"),
        ("archived", "false"),
        ("design_doc", "null"),
        ("plan", PLAN),
        ("created_at", "2025-11-03"),
        ("base_ref", "abcdef0"),
    ];
    for (name, value) in more {
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some(field) => field.1 = value,
            None => fields.push((name, value)),
        }
    }
    fields.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

/// A project with one change at its second task.
fn project() -> World {
    let world = World::new();
    world.write(
        ".comet/config.yaml",
        "schema: comet.project.v1\nworkflows: [classic]\nclassic:\n  artifact_layout: docs\n",
    );
    add_change(&world, "sort-labels", &state(&[]), TASKS);
    world.write(
        PLAN,
        format!(
            "<!-- comet-task-authority: {CHANGE}/tasks.md -->\n<!-- comet-task-ref:read -->\n\
             <!-- comet-task-ref:sort -->\n<!-- comet-task-ref:print -->\n"
        ),
    );
    world
}

fn add_change(world: &World, name: &str, state: &str, tasks: &str) {
    world.write(&format!("docs/openspec/changes/{name}/.comet.yaml"), state);
    world.write(&format!("docs/openspec/changes/{name}/tasks.md"), tasks);
}

/// Runs a verb with `--json` and checks its output against its schema.
fn json_of(world: &World, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut all = vec!["change"];
    all.extend(arguments);
    all.push("--json");
    let said = world.run(&all);
    let value: Value = serde_json::from_str(&said.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{}\n{}", said.stdout, said.stderr));
    let name = value["schema"].as_str().unwrap().strip_prefix("recovery.").unwrap().to_owned();
    schema::assert_valid(&name, &value);
    (said.code, value)
}

fn probe(world: &World, utterance: &str) -> Value {
    let said = ask(world, &["resume-probe", "--stdin"], utterance);
    let value: Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}{}", said.stdout, said.stderr));
    schema::assert_valid("change-resume-probe.v1", &value);
    value
}

fn ask(world: &World, arguments: &[&str], stdin: &str) -> Said {
    let output = assert_cmd::Command::from_std(world.command(arguments))
        .write_stdin(stdin.to_owned())
        .output()
        .unwrap();
    world.said(output)
}

fn checkpoint(world: &World, stage: &str, ids: &[&str], rounds: u64) -> String {
    let (_, tasks) = json_of(world, &["tasks"]);
    json!({"schemaVersion": 1, "taskIds": ids, "revision": tasks["revision"], "stage": stage,
        "sessionId": "worker-1", "evidence": ["commit 1"], "unresolved": [], "reviewRounds": rounds})
    .to_string()
}

#[test]
fn the_view_for_people() {
    let world = project();
    world.write(
        &format!("{CHANGE}/.comet/coordination.json"),
        checkpoint(&world, "task-review", &["sort"], 0),
    );
    let said = world.succeed(&["change", "check", "sort-labels", "build"]);
    insta::assert_snapshot!(said.stdout, @r#"
    sort-labels (build, full workflow) in docs/openspec/changes/sort-labels
      done       1 of 3 tasks
      next       review, task sort
                 [ ] sort: Sort the labels (line 3)
                 The work is done and its review was going on. 0 rounds of review used.
      plan       docs/superpowers/plans/labels.md: ready, canonical
      checkpoint task-review by worker-1, 0 of 0 review rounds used
      wrong      nothing
      go on      /comet-build sort-labels
    "#);
    let said = world.succeed(&["change", "tasks"]);
    insta::assert_snapshot!(said.stdout, @r#"
    sort-labels: 1 of 3 tasks done
      [x] read: Read the labels (line 2)
      [ ] sort: Sort the labels (line 3)
      [ ] print: Print them (line 4)
      revision   cf772fe6db1b5a8392a0f9384f0d952a014ead382b1e0c3a5654bf55693afef7
      go on      recovery change task-complete sort-labels sort --expect cf772fe6db1b5a8392a0f9384f0d952a014ead382b1e0c3a5654bf55693afef7
    "#);
}

#[test]
fn the_view_of_what_is_wrong() {
    let world = project();
    add_change(
        &world,
        "torn-state",
        "phase: [",
        "- [ ] a <!-- comet-task:a -->\n- [ ] b <!-- comet-task:a -->\n",
    );
    let said = world.run(&["change", "check", "torn-state"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(1), ""));
    insta::assert_snapshot!(said.stdout, @r#"
    torn-state (.comet.yaml not valid) in docs/openspec/changes/torn-state
      done       nothing is recorded: tasks.md has no task that can be read
      next       not known: the state has to be put right first
      wrong      docs/openspec/changes/torn-state/.comet.yaml is no YAML (line 2: while parsing a node, did not find expected node content)
                 -> correct it from git or with `comet state`; it was not changed
                 docs/openspec/changes/torn-state/tasks.md Duplicate Classic task ID: a
                 -> correct that line; until then no task can be ticked
      go on      git log -3 -- docs/openspec/changes/torn-state/.comet.yaml
    "#);
    let said = world.run(&["change", "check"]);
    assert_eq!(said.code, Some(1));
    insta::assert_snapshot!(said.stdout, @r#"
    sort-labels  build       1 of 3   done  next: reconcile-task, task sort
    torn-state   not valid   0 of 0   done  next: -  wrong: docs/openspec/changes/torn-state/.comet.yaml is no YAML (line 2: while parsing a node, did not find expected node content)
      go on      recovery change check sort-labels
    "#);
}

#[test]
fn check_for_programs() {
    let world = project();
    let before = world.snapshot();
    for arguments in [
        &["check"][..],
        &["check", "sort-labels"],
        &["check", "sort-labels", "build"],
        &["check", "build"],
        &["check", "--recover"],
        &["check", "--details"],
        &["check", "sort-labels", "--recover", "--details"],
        &["tasks"],
        &["checkpoint"],
        &["delivery"],
    ] {
        let (code, value) = json_of(&world, arguments);
        assert_eq!(code, Some(0), "{arguments:?}");
        assert_eq!(value["change"], "sort-labels");
    }
    assert_eq!(world.snapshot(), before, "reading writes nothing");
    let (_, value) = json_of(&world, &["check", "--recover", "--details"]);
    assert_eq!(value["nextAction"]["kind"], "reconcile-task");
    assert_eq!(value["nextAction"]["taskId"], "sort");
    assert_eq!(value["taskState"]["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(value["recovery"]["unfinished"].as_array().unwrap().len(), 3);
    let (code, value) = json_of(&world, &["check", "sort-labels", "verify"]);
    assert_eq!(
        (code, &value["expectedPhase"], &value["phase"]),
        (Some(1), &json!("verify"), &json!("build"))
    );
    for arguments in [
        &["check", "gone"][..],
        &["check", "../x"],
        &["check", "sort-labels", "shipping"],
        &["tasks", "gone"],
    ] {
        let (code, value) = json_of(&world, arguments);
        assert_eq!((code, &value["schema"]), (Some(1), &json!("recovery.change-error.v1")), "{arguments:?}");
        assert!(value["hint"].is_string());
    }
}

#[test]
fn a_layout_that_cannot_be_read_is_an_error_and_no_empty_list() {
    let world = project();
    fs::create_dir_all(world.project.join("openspec/changes")).unwrap();
    let (code, value) = json_of(&world, &["check"]);
    assert_eq!((code, &value["layout"]["status"]), (Some(1), &json!("conflict")));
    let said = ask(&world, &["resume-probe", "--stdin"], "continue");
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains("\"action\": \"none\"") && said.stderr.contains("hint:"), "{}", said.stderr);
    fs::remove_dir_all(world.project.join("openspec")).unwrap();
    fs::remove_dir_all(world.project.join("docs/openspec")).unwrap();
    let (code, value) = json_of(&world, &["check", "sort-labels"]);
    assert_eq!((code, &value["layout"]["status"]), (Some(1), &json!("missing")));
    world.write(".comet/config.yaml", "schema: comet.project.v7\n");
    let (_, value) = json_of(&world, &["tasks"]);
    assert_eq!(value["layout"]["status"], "unavailable");
    fs::remove_dir_all(world.project.join(".comet")).unwrap();
    // Without a configuration two places are a conflict all the same, and one of them is not taken for the other.
    for (made, status) in [("docs/openspec/changes", "unavailable"), ("openspec/changes", "conflict")] {
        fs::create_dir_all(world.project.join(made)).unwrap();
        let (code, value) = json_of(&world, &["check"]);
        assert_eq!((code, &value["layout"]["status"]), (Some(1), &json!(status)), "{made}");
    }
    fs::remove_dir_all(world.project.join("openspec")).unwrap();
    fs::remove_dir_all(world.project.join("docs/openspec")).unwrap();
    let said = world.run(&["change", "check"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("no Comet project") && said.stderr.contains("hint: "), "{}", said.stderr);
}

#[test]
fn ticking() {
    let world = project();
    let (_, tasks) = json_of(&world, &["tasks"]);
    let revision = tasks["revision"].as_str().unwrap();
    let (code, value) = json_of(&world, &["task-complete", "sort-labels", "sort", "--expect", revision]);
    assert_eq!(
        (code, &value["newlyCompleted"], &value["planSync"]),
        (Some(0), &json!(true), &json!("canonical"))
    );
    assert_eq!(world.read(&format!("{CHANGE}/tasks.md")), TASKS.replace("[ ] Sort", "[x] Sort"));
    let said = world.succeed(&["change", "task-complete", "print", "--expect", revision]);
    assert!(said.stdout.contains("print ticked: 3 of 3"), "{}", said.stdout);
    for (arguments, part) in [
        (&["change", "task-complete", "gone", "--expect", revision][..], "Unknown Classic task ID: gone"),
        (&["change", "task-complete", "sort", "--expect", "0"], "Task requirements changed"),
    ] {
        let said = world.run(arguments);
        assert_eq!(said.code, Some(1));
        assert!(said.stderr.contains(part) && said.stderr.contains("hint: "), "{}", said.stderr);
    }
    assert_eq!(world.run(&["change", "task-complete", "sort"]).code, Some(2), "a revision is needed");
    let left: Vec<String> = fs::read_dir(world.project.join(CHANGE))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left.len(), 2, "no lock and nothing temporary is left: {left:?}");
}

#[test]
fn ids_plan_and_checkpoint() {
    let world = project();
    world.write(&format!("{CHANGE}/tasks.md"), "- [ ] One\r\n- [x] Two <!-- comet-task:two -->\r\n");
    let (_, value) = json_of(&world, &["tasks"]);
    assert_eq!((&value["needsIds"], &value["assigned"]), (&json!(true), &json!(0)));
    let said =
        world.run(&["change", "task-complete", "two", "--expect", value["revision"].as_str().unwrap()]);
    assert!(said.stderr.contains("--assign-ids"), "{}", said.stderr);
    let (_, value) = json_of(&world, &["tasks", "--assign-ids"]);
    assert_eq!((&value["needsIds"], &value["assigned"]), (&json!(false), &json!(1)));
    let named = world.read(&format!("{CHANGE}/tasks.md"));
    assert_eq!(json_of(&world, &["tasks", "--assign-ids"]).1["assigned"], 0);
    assert_eq!(world.read(&format!("{CHANGE}/tasks.md")), named);

    world.write(PLAN, "- [ ] Two <!-- comet-task:two -->\r\n");
    let (code, value) = json_of(&world, &["sync-plan"]);
    assert_eq!((code, &value["planSync"], &value["changed"]), (Some(0), &json!("synced"), &json!(true)));
    assert_eq!(world.read(PLAN), "- [x] Two <!-- comet-task:two -->\r\n");
    world.write(PLAN, "- [ ] Three\n");
    let (code, value) = json_of(&world, &["sync-plan"]);
    assert_eq!(
        (code, &value["planSync"], &value["unmappedCount"]),
        (Some(1), &json!("mapping-required"), &json!(1))
    );
    let said = world.run(&["change", "sync-plan"]);
    assert!(said.code == Some(1) && said.stderr.contains("mapping-required"), "{}", said.stderr);
    assert_eq!(world.read(PLAN), "- [ ] Three\n");

    let given = checkpoint(&world, "checkoff", &["two"], 1);
    world.write("given.json", &given);
    let (code, value) = json_of(&world, &["checkpoint", "sort-labels", "--file", "given.json"]);
    assert_eq!(
        (code, &value["written"], &value["checkpoint"]["stage"]),
        (Some(0), &json!(true), &json!("checkoff"))
    );
    let before = world.snapshot();
    world.write("given.json", given.replace("\"reviewRounds\":1", "\"reviewRounds\":0"));
    assert_eq!(json_of(&world, &["checkpoint", "--file", "given.json"]).0, Some(1));
    world.write("given.json", &given);
    assert_eq!(world.snapshot(), before);
    let said = ask(&world, &["change", "checkpoint", "--file", "-"], &given.replace("checkoff", "done"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let (_, value) = json_of(&world, &["checkpoint"]);
    assert_eq!((&value["stale"], &value["checkpoint"]["stage"]), (&json!(false), &json!("done")));
    assert!(world.read(&format!("{CHANGE}/.comet/subagent-progress.md")).contains("Stage: done\n"));
}

#[test]
fn thirty_processes_that_tick_at_once_lose_nothing() {
    const MANY: usize = 30;
    let world = project();
    let tasks: String = (0..MANY).map(|n| format!("- [ ] Task {n} <!-- comet-task:t{n} -->\r\n")).collect();
    world.write(&format!("{CHANGE}/tasks.md"), &tasks);
    world.write(PLAN, &tasks);
    let (_, value) = json_of(&world, &["tasks"]);
    let revision = value["revision"].as_str().unwrap().to_owned();
    let children: Vec<_> = (0..MANY)
        .map(|number| {
            world
                .command(&["change", "task-complete", &format!("t{number}"), "--expect", &revision])
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(world.read(&format!("{CHANGE}/tasks.md")), tasks.replace("[ ]", "[x]"));
    assert_eq!(world.read(PLAN), tasks.replace("[ ]", "[x]"));
    assert_eq!(fs::read_dir(world.project.join(CHANGE)).unwrap().count(), 2, "no lock is left");
}

#[test]
fn a_lock_is_waited_for_and_a_dead_one_taken_over() {
    let world = project();
    let (_, value) = json_of(&world, &["tasks"]);
    let revision = value["revision"].as_str().unwrap().to_owned();
    let lock = world.project.join(CHANGE).join(".comet-state.lock");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let write = |pid: u32| {
        let owner = json!({"pid": pid, "nonce": "n", "createdAt": 1, "hostname": host.trim()});
        fs::write(&lock, owner.to_string()).unwrap();
    };
    write(std::process::id());
    assert_eq!(json_of(&world, &["check"]).1["lock"], "held");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| world.run(&["change", "task-complete", "sort", "--expect", &revision]));
        // It waits as long as we hold the lock: its temporary file is the sign that it has come to it.
        let folder = world.project.join(CHANGE);
        let arrived = || {
            fs::read_dir(&folder)
                .unwrap()
                .flatten()
                .any(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"))
        };
        while !arrived() && !waiting.is_finished() {
            thread::yield_now();
        }
        assert_eq!(world.read(&format!("{CHANGE}/tasks.md")), TASKS);
        fs::remove_file(&lock).unwrap();
        assert_eq!(waiting.join().unwrap().code, Some(0));
    });
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    write(child.id());
    if !host.is_empty() {
        assert_eq!(json_of(&world, &["check"]).1["lock"], "stale");
        world.succeed(&["change", "task-complete", "print", "--expect", &revision]);
        assert!(!lock.exists());
    }
}

#[test]
fn the_probe_and_a_real_working_tree() {
    let world = project();
    world.git(&["init", "-q", "-b", "main"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    let before = world.snapshot();
    let said = probe(&world, "continue");
    assert_eq!((&said["action"], &said["nextCommand"]), (&json!("auto_resume"), &json!("/comet-build")));
    let related = probe(&world, "make the labels nicer");
    assert_eq!(
        (&related["action"], &related["evidence"][1]["quote"]),
        (&json!("auto_resume"), &json!("labels"))
    );
    let other = probe(&world, "translate the manual");
    assert_eq!(other["reason"], "single active change exists but request looks unrelated");
    assert!(other["question"].as_str().unwrap().contains("next: Sort the labels"), "{other}");
    let question =
        r#"{"schema_version": "comet.resume_probe.v1", "utterance": "show me how", "agent_context": {}}"#;
    assert_eq!(probe(&world, question)["reason"], "user asked a question without workflow work");
    let shown = r#"{"schema_version": "comet.resume_probe.v1", "utterance": "show me", "agent_context": {}}"#;
    assert_eq!(probe(&world, shown)["reason"], "request is not workflow work");
    assert_eq!(world.snapshot(), before, "asking writes nothing, not even git's index");

    world.write("src/new.rs", "x");
    let dirty = probe(&world, "continue");
    assert_eq!(dirty["reason"], "uncommitted worktree changes require attribution");
    assert_eq!(dirty["evidence"][0]["quote"], "1 dirty file(s)");
    assert!(dirty["options"].as_array().unwrap().len() >= 3);
    for number in 0..1_500 {
        world.write(&format!("src/{}{number}", "a-long-name-".repeat(6)), "");
    }
    assert_eq!(
        probe(&world, "continue")["action"],
        "ask_user",
        "an answer that is too long to be read whole"
    );
    fs::remove_dir_all(world.project.join("src")).unwrap();

    world.write(".comet/config.yaml", world.read(".comet/config.yaml") + "ambient_resume: false\n");
    let off = probe(&world, "continue");
    assert_eq!((&off["action"], &off["confidence"]), (&json!("none"), &json!("none")));
}

#[test]
fn what_the_probe_does_not_take() {
    let world = project();
    for stdin in [
        "",
        " \n",
        r#"{"schema_version": "comet.resume_probe.v9", "utterance": "x"}"#,
        r#"{"schema_version": "comet.resume_probe.v1"}"#,
    ] {
        let said = ask(&world, &["resume-probe", "--stdin"], stdin);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{stdin}");
    }
    assert_eq!(world.run(&["resume-probe"]).code, Some(2));
    let nowhere = World::new();
    assert_eq!(probe(&nowhere, "continue")["reason"], "no active Comet changes");
    let said = ask(&world, &["resume-probe", "no-such-folder", "--stdin"], "continue");
    assert_eq!(said.code, Some(1));
    let inner = ask(&world, &["resume-probe", CHANGE, "--stdin"], "continue");
    assert!(inner.stdout.contains("\"changeName\": \"sort-labels\""), "{}", inner.stdout);
}

/// Moves the change to the archive, as its system does.
fn archive(world: &World, action: &str) -> String {
    let folder = "docs/openspec/changes/archive/2025-11-09-sort-labels";
    fs::create_dir_all(world.project.join("docs/openspec/changes/archive")).unwrap();
    fs::rename(world.project.join(CHANGE), world.project.join(folder)).unwrap();
    let archived = state(&[("phase", "archive"), ("verify_result", "pass"), ("archived", "true")]);
    world.write(&format!("{folder}/.comet.yaml"), &archived);
    let read = systems::change::state::parse(&archived).unwrap();
    let mut delivery = json!({"schemaVersion": 1, "action": action, "targetBranch": "main", "authorizationId": "given-1",
        "changeIdentity": systems::change::delivery::identity(&read, "sort-labels").unwrap()});
    if action != "local" {
        delivery["remote"] = json!("origin");
        delivery["authorizedRemoteUrl"] = json!(world.home.join("remote.git"));
    }
    world.write(&format!("{folder}/.comet/delivery.json"), delivery.to_string());
    folder.to_owned()
}

fn verified(world: &World) -> (String, Value) {
    let (_, value) = json_of(world, &["delivery", "sort-labels", "--verify"]);
    (value["verification"]["status"].as_str().unwrap().to_owned(), value["verification"].clone())
}

#[test]
fn a_list_of_many() {
    let world = project();
    let (code, value) = json_of(&world, &["check"]);
    assert_eq!((code, &value["schema"]), (Some(0), &json!("recovery.change-check.v1")), "one needs no list");
    archive(&world, "push");
    let (code, value) = json_of(&world, &["check"]);
    assert_eq!((code, &value["total"], &value["archivedWithDelivery"]), (Some(0), &json!(0), &json!(1)));
    let (code, value) = json_of(&world, &["check", "sort-labels", "--recover"]);
    assert_eq!((code, &value["delivery"]["status"]), (Some(0), &json!("needsVerification")));
    assert_eq!(value["archivedAs"], "2025-11-09-sort-labels");

    add_change(&world, "going-on", &state(&[("plan", "null"), ("workflow", "tweak")]), TASKS);
    add_change(&world, "torn-state", "phase: [", "- [ ] a\n");
    world.write("docs/openspec/changes/no-state/proposal.md", "## Why\n");
    world.write("docs/openspec/changes/Not-A-Change/.comet.yaml", state(&[]));
    let before = world.snapshot();
    let (code, value) = json_of(&world, &["check"]);
    assert_eq!((code, &value["total"], &value["leftOut"]), (Some(1), &json!(3), &json!(0)));
    let states: Vec<(&str, &str)> = value["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["change"].as_str().unwrap(), entry["state"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [("going-on", "valid"), ("no-state", "missing"), ("torn-state", "damaged"), ("sort-labels", "valid")]
    );
    assert_eq!(value["changes"][0]["nextCommand"], "/comet-tweak");
    let said = probe(&world, "continue");
    assert_eq!(said["reason"], "multiple active changes require a change name");
    assert_eq!(said["options"].as_array().unwrap().len(), 5);
    assert_eq!(world.snapshot(), before);
    let (code, value) = json_of(&world, &["tasks"]);
    assert_eq!(code, Some(1));
    assert_eq!(value["hint"], "name one of: going-on, no-state, torn-state");
    let (code, value) = json_of(&world, &["check", "torn-state", "--details", "--recover"]);
    assert_eq!((code, &value["nextAction"]), (Some(1), &json!(null)));
}

#[test]
fn a_real_archive_kept_here() {
    let world = project();
    world.git(&["init", "-q", "-b", "main"]);
    let folder = archive(&world, "local");
    let (_, value) = json_of(&world, &["delivery", "sort-labels"]);
    assert_eq!(
        (&value["verification"]["status"], &value["verification"]["verified"]),
        (&json!("needsVerification"), &json!(false))
    );
    assert_eq!(verified(&world).1["archiveCommitted"], false);
    assert_eq!(probe(&world, "continue")["reason"], "uncommitted worktree changes require attribution");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "archive"]);
    let before = world.snapshot();
    let (status, facts) = verified(&world);
    assert_eq!((status.as_str(), &facts["archiveCommitted"]), ("complete", &json!(true)));
    assert_eq!(facts["commit"].as_str().unwrap().len(), 40);
    assert_eq!(probe(&world, "continue")["action"], "none", "what is delivered is no open change");
    assert_eq!(world.snapshot(), before);
    world.git(&["checkout", "-qb", "other"]);
    assert_eq!(verified(&world).0, "needsVerification", "another branch is checked out");
    assert_eq!(probe(&world, "continue")["action"], "none", "which opens nothing again");
    world.git(&["checkout", "-q", "main"]);
    world.write(&format!("{folder}/tasks.md"), "altered\n");
    assert_eq!(verified(&world).0, "needsVerification", "the archive was altered since");
    world.git(&["checkout", "-q", "--", "."]);
    world.write(&format!("{folder}/more.md"), "new\n");
    assert_eq!(verified(&world).0, "needsVerification", "something was added since");
}

#[test]
fn a_real_archive_that_was_pushed() {
    let world = project();
    world.git(&["init", "-q", "--bare", &world.home.join("remote.git").to_string_lossy()]);
    world.git(&["init", "-q", "-b", "main"]);
    world.git(&["remote", "add", "origin", &world.home.join("remote.git").to_string_lossy()]);
    archive(&world, "push");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "archive"]);
    let (status, facts) = verified(&world);
    assert_eq!((status.as_str(), &facts["remoteStatus"]), ("needsVerification", &json!("unavailable")));
    let said = probe(&world, "continue");
    assert_eq!(
        (&said["reason"], &said["nextCommand"]),
        (&json!("archived change has pending delivery"), &json!("/comet-archive"))
    );
    assert!(said["question"].as_str().unwrap().contains("its push to origin, branch main"), "{said}");
    world.git(&["push", "-q", "origin", "main"]);
    let (status, facts) = verified(&world);
    assert_eq!((status.as_str(), &facts["remoteStatus"]), ("complete", &json!("verified")));
    assert_eq!(probe(&world, "continue")["action"], "none");
    world.git(&["remote", "set-url", "origin", "https://example.org/other.git"]);
    assert_eq!(verified(&world).1["remoteStatus"], "unavailable", "another address than was authorised");
}

#[test]
fn a_repository_cannot_make_us_run_anything() {
    let world = project();
    world.git(&["init", "-q", "-b", "main"]);
    let trap = world.project.join("trap.sh");
    crate::world::program(&trap, &format!("#!/bin/sh\ntouch {}\n", world.home.join("sprung").display()));
    let trap = trap.to_string_lossy().into_owned();
    for name in ["core.fsmonitor", "diff.external", "core.pager", "core.sshCommand"] {
        world.git(&["config", name, &trap]);
    }
    fs::create_dir_all(world.project.join(".git/hooks")).unwrap();
    fs::copy(&trap, world.project.join(".git/hooks/post-index-change")).unwrap();
    let sprung = world.home.join("sprung");
    world.git(&["status", "--short"]);
    assert!(sprung.exists(), "the trap works");
    archive(&world, "local");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "archive"]);
    fs::remove_file(&sprung).unwrap();
    probe(&world, "continue");
    assert_eq!(verified(&world).0, "complete");
    assert!(!sprung.exists());
}
