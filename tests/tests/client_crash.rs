//! Real client: a session that is killed, and the next one.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use end_to_end::{
    fake_api::{bash, call, text},
    process::run,
    sandbox::Sandbox,
    stories,
    wait::wait_until,
    wiring::program_folder,
};

/// Far more than a client takes to begin a call.
const SOON: Duration = Duration::from_secs(60);
/// Past the five minutes for which a session without its process may still be coming back.
const LONG_SILENT_S: u64 = 400;

stories! {
    Default, Separate:
    a_session_killed_in_mid_tool_is_told_to_the_next,
    a_session_killed_long_ago_is_told_to_the_next,
    a_session_that_ended_well_is_not_told,
    a_change_left_open_by_a_dead_session_is_told_with_its_next_task,
}

/// Starts a session, kills it while its command runs, and returns its id.
fn kill_in_mid_tool(sandbox: &Sandbox) -> String {
    let begun = sandbox.scratch().join("begun");
    let command = format!("echo migrating > '{}'; sleep 300; true", begun.display());
    sandbox.api.script([call(bash(command))]);
    let mut session = sandbox.session(&[]);
    session.send("Migrate the tables");
    wait_until(SOON, "the command to run", || begun.exists());
    let id = session.id();
    session.kill();
    id
}

/// Two prompts in a new session: the first request holds the context, the second prompt adds nothing.
fn assert_told_once(sandbox: &Sandbox, killed: &str) {
    sandbox.api.script([text("I see."), text("Good.")]);
    let before = sandbox.api.requests().len();
    let mut session = sandbox.session(&[]);
    session.prompt("Where were we?");
    session.prompt("Go on then");
    session.end();

    let requests = &sandbox.api.requests()[before..];
    assert_eq!(requests.len(), 2);
    let told = requests[0].advice("CRASH RECOVERY");
    let all = told.join("\n");
    assert!(!told.is_empty(), "nothing was told; contexts: {:?}", requests[0].contexts());
    assert!(all.contains(&killed[..8]), "which session: {all}");
    assert!(all.contains("echo migrating"), "which command: {all}");
    assert_eq!(told.iter().filter(|line| line.contains(&killed[..8])).count(), 1, "told once: {all}");
    assert!(requests[1].new_contexts().is_empty(), "{:?}", requests[1].new_contexts());
    assert_eq!(requests[1].advice("CRASH RECOVERY"), told, "it stays in the conversation");
}

fn a_session_killed_in_mid_tool_is_told_to_the_next(sandbox: &Sandbox) {
    let killed = kill_in_mid_tool(sandbox);
    assert_told_once(sandbox, &killed);
}

fn a_session_killed_long_ago_is_told_to_the_next(sandbox: &Sandbox) {
    let killed = kill_in_mid_tool(sandbox);
    age_heartbeat(sandbox, &killed);
    assert_told_once(sandbox, &killed);
}

fn a_session_that_ended_well_is_not_told(sandbox: &Sandbox) {
    sandbox.api.script([call(bash("echo done")), text("Done."), text("I see.")]);
    let _ = sandbox.run_print("Do it", &[]);
    let _ = sandbox.run_print("Where were we?", &[]);
    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        assert!(request.contexts().is_empty(), "{:?}", request.contexts());
    }
}

fn a_change_left_open_by_a_dead_session_is_told_with_its_next_task(sandbox: &Sandbox) {
    sandbox.write(".comet/config.yaml", "schema: comet.project.v1\nworkflows: [classic]\n");
    let state = "workflow: full\nphase: build\nbuild_mode: direct\ndirect_override: true\ntdd_mode: direct\n\
        review_mode: \"off\"\nisolation: current\nverify_mode: null\nverify_result: pending\narchived: false\n\
        design_doc: null\nplan: docs/superpowers/plans/sort-labels.md\nverified_at: null\n";
    sandbox.write("openspec/changes/sort-labels/.comet.yaml", state);
    let tasks = "- [x] Read the labels <!-- comet-task:read -->\n- [ ] Sort the labels <!-- comet-task:sort -->\n\
        - [ ] Write them <!-- comet-task:write -->\n";
    sandbox.write("openspec/changes/sort-labels/tasks.md", tasks);
    let plan = "# Plan\n<!-- comet-task-authority: openspec/changes/sort-labels/tasks.md -->\n\
        <!-- comet-task-ref:read -->\n<!-- comet-task-ref:sort -->\n<!-- comet-task-ref:write -->\n";
    sandbox.write("docs/superpowers/plans/sort-labels.md", plan);
    let killed = kill_in_mid_tool(sandbox);

    sandbox.api.script([text("I see."), text("Good.")]);
    let before = sandbox.api.requests().len();
    let mut session = sandbox.session(&[]);
    session.prompt("Where were we?");
    session.prompt("Go on then");
    session.end();

    let requests = &sandbox.api.requests()[before..];
    let told = requests[0].advice("CRASH RECOVERY").join("\n");
    assert!(told.contains(&killed[..8]), "which session: {told}");
    assert!(told.contains("change sort-labels is open (phase build, 1 of 3 tasks done"), "{told}");
    assert!(told.contains("next: \"Sort the labels\""), "which task: {told}");
    assert!(requests[1].new_contexts().is_empty(), "{:?}", requests[1].new_contexts());

    let command = "recovery change check sort-labels";
    assert!(told.contains(&format!("`{command}`")), "which command: {told}");
    let mut recovery = sandbox.command(&program_folder().join("recovery"));
    recovery.args(command.split(' ').skip(1));
    let shown = run(&mut recovery, SOON).expect("the command starts");
    assert!(shown.is_success(), "{}{}", shown.stdout, shown.stderr);
    assert!(
        shown.stdout.contains("[ ] sort: Sort the labels"),
        "the command goes on from there: {}",
        shown.stdout
    );
}

/// Sets the killed session's last sign of life back.
fn age_heartbeat(sandbox: &Sandbox, session: &str) {
    let path = sandbox.project().join("sessions").join(session).join("heartbeat");
    assert!(path.is_file(), "the killed session left no heartbeat at {}", path.display());
    let then = SystemTime::now() - Duration::from_secs(LONG_SILENT_S);
    let seconds = then.duration_since(UNIX_EPOCH).expect("it is later than 1970").as_secs();
    fs::write(&path, format!("{seconds:010}\n")).expect("the heartbeat is writable");
    let file = fs::File::options().write(true).open(&path).expect("the heartbeat is writable");
    file.set_modified(then).expect("a file's time can be set");
}
