//! Ten moments at which a session is killed.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::json;

use super::{Fact, Kind, Moment};
use crate::{
    fake_api::{ToolCall, Turn, agent, bash, call, edit, read, text, tool},
    sandbox::Sandbox,
    session::Session,
    wait::wait_until,
};

/// Far more than a client takes to begin a call.
const SOON: Duration = Duration::from_secs(60);

/// Without it the client has no lists of things to do when it is started with `-p`.
const LIST_TOOLS: &str = "CLAUDE_CODE_ENABLE_TODO_TOOLS";

const fn fact(kind: Kind, phrase: &'static str) -> Fact {
    Fact { kind, phrase }
}

/// All of them.
pub const MOMENTS: [Moment; 10] = [
    Moment {
        name: "during a Bash call",
        facts: &[
            fact(Kind::Task, "Let the configuration reader accept nested keys"),
            fact(Kind::Edited, "src/reader.conf"),
            fact(Kind::Decision, "Dots stay, only a double underscore splits"),
            fact(Kind::Running, "sh migrate.sh --all"),
        ],
        play: during_a_bash_call,
    },
    Moment {
        name: "between two turns",
        facts: &[
            fact(Kind::Task, "Rename the billing table to invoices"),
            fact(Kind::Edited, "schema/billing.sql"),
            fact(Kind::Decision, "A view keeps the old name alive"),
        ],
        play: between_turns,
    },
    Moment {
        name: "during an Edit",
        facts: &[
            fact(Kind::Task, "Make the retry pause grow"),
            fact(Kind::Running, "src/retry.conf"),
            fact(Kind::Decision, "The pause doubles up to a minute"),
        ],
        play: during_an_edit,
    },
    Moment {
        name: "after a failed test",
        facts: &[
            fact(Kind::Task, "Fix the rounding of prices"),
            fact(Kind::Edited, "src/prices.conf"),
            fact(Kind::Failing, "sh check.sh prices"),
            fact(Kind::Failing, "expected 1.05, got 1.04"),
        ],
        play: after_a_failed_test,
    },
    Moment {
        name: "while the API answers",
        facts: &[
            fact(Kind::Task, "Speed up the start page"),
            fact(Kind::Task, "and leave the login page as it is"),
            fact(Kind::Edited, "web/start.html"),
            fact(Kind::Decision, "Images load when they come into view"),
        ],
        play: while_the_api_answers,
    },
    Moment {
        name: "with a list of tasks",
        facts: &[
            fact(Kind::Task, "Split the importer into three stages"),
            fact(Kind::Todo, "Write the validating stage"),
            fact(Kind::Edited, "stages/fetch.conf"),
            fact(Kind::Running, "sleep 301"),
        ],
        play: with_a_list_of_tasks,
    },
    Moment {
        name: "after a compaction",
        facts: &[
            fact(Kind::Task, "Move the settings into one file"),
            fact(Kind::Task, "Go on with the second half"),
            fact(Kind::Edited, "etc/settings.conf"),
            fact(Kind::Running, "sh move.sh second"),
        ],
        play: after_a_compaction,
    },
    Moment {
        name: "with a subagent at work",
        facts: &[
            fact(Kind::Task, "Compare the three search libraries"),
            fact(Kind::Running, "A part of the work"),
        ],
        play: with_a_subagent,
    },
    Moment {
        name: "after a way that failed",
        facts: &[
            fact(Kind::Task, "Stop the worker from losing jobs"),
            fact(Kind::Failing, "sh check.sh queue"),
            fact(Kind::Failing, "job 7 was lost"),
            fact(Kind::Decision, "The job is confirmed after the write"),
            fact(Kind::Edited, "queue/worker.conf"),
            fact(Kind::Running, "sh check.sh queue --again"),
        ],
        play: after_a_way_that_failed,
    },
    Moment {
        name: "with all of it",
        facts: &[
            fact(Kind::Task, "Let the exporter write dates with zones"),
            fact(Kind::Task, "Now the readers too"),
            fact(Kind::Todo, "Cover the change of daylight saving time"),
            fact(Kind::Failing, "sh check.sh zones"),
            fact(Kind::Failing, "offset is missing in line 12"),
            fact(Kind::Decision, "Offsets are written out"),
            fact(Kind::Edited, "export/dates.conf"),
            fact(Kind::Running, "sh check.sh readers"),
        ],
        play: with_all_of_it,
    },
];

/// A project file that can be edited, and the two calls that do it: the client wants it read first.
fn change(sandbox: &Sandbox, file: &str) -> [ToolCall; 2] {
    let path = sandbox.write(file, "value = old\n");
    [read(&path), edit(&path, "old", "new")]
}

/// An answer of some text and one call.
fn saying(text: &str, call: ToolCall) -> Turn {
    Turn::Message { text: text.into(), calls: vec![call], stop_reason: None }
}

/// A script that fails like a test.
fn failing_check(sandbox: &Sandbox, error: &str) {
    sandbox.write("check.sh", &format!("echo 'running 9 checks'\necho 'error: {error}'\nexit 1\n"));
}

/// A script that never ends, and the file by which it is seen to run.
fn endless(sandbox: &Sandbox, name: &str) -> PathBuf {
    let begun = sandbox.scratch().join("begun");
    sandbox.write(name, &format!("echo begun > '{}'\nsleep 300\n:\n", begun.display()));
    begun
}

/// Kills a session once a file is there and the transcript holds the call.
fn kill_while(sandbox: &Sandbox, session: Session, begun: &std::path::Path, call: &str) -> String {
    wait_until(SOON, "the call to run", || begun.exists());
    kill_when_written(sandbox, session, call)
}

/// The client writes its transcript with a delay: what is not written cannot be known. Notes of the client do not count.
fn kill_when_written(sandbox: &Sandbox, session: Session, phrase: &str) -> String {
    let id = session.id();
    wait_until(SOON, &format!("the transcript to hold {phrase:?}"), || {
        sandbox
            .transcripts()
            .iter()
            .flat_map(|one| &one.lines)
            .any(|line| line["message"].to_string().contains(phrase))
    });
    session.kill();
    id
}

fn during_a_bash_call(sandbox: &Sandbox) -> String {
    let [look, write] = change(sandbox, "src/reader.conf");
    let begun = endless(sandbox, "migrate.sh");
    sandbox.api.script([
        call(look),
        saying("Dots stay, only a double underscore splits.", write),
        call(bash("sh migrate.sh --all")),
    ]);
    let mut session = sandbox.session(&[]);
    session.send("Let the configuration reader accept nested keys");
    kill_while(sandbox, session, &begun, "migrate.sh --all")
}

fn between_turns(sandbox: &Sandbox) -> String {
    let [look, write] = change(sandbox, "schema/billing.sql");
    sandbox.api.script([
        call(look),
        saying("A view keeps the old name alive.", write),
        text("The table has its new name."),
    ]);
    let mut session = sandbox.session(&[]);
    session.prompt("Rename the billing table to invoices");
    kill_when_written(sandbox, session, "The table has its new name.")
}

fn during_an_edit(sandbox: &Sandbox) -> String {
    let [look, write] = change(sandbox, "src/retry.conf");
    // An edit takes no time: a hook of the user's holds it up.
    let begun = sandbox.scratch().join("begun");
    let hold = format!("echo begun > '{}'; sleep 300; :", begun.display());
    let hook =
        json!({ "matcher": "Edit", "hooks": [{ "type": "command", "command": hold, "timeout": 300 }] });
    let path = sandbox.config().join("settings.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".into());
    let mut settings: serde_json::Value = serde_json::from_str(&text).expect("the sandbox writes JSON");
    settings["hooks"]["PreToolUse"] = json!([hook]);
    fs::write(&path, settings.to_string()).expect("the sandbox is writable");
    sandbox.api.script([call(look), saying("The pause doubles up to a minute.", write)]);
    let mut session = sandbox.session(&[]);
    session.send("Make the retry pause grow");
    kill_while(sandbox, session, &begun, "old_string")
}

fn after_a_failed_test(sandbox: &Sandbox) -> String {
    let [look, write] = change(sandbox, "src/prices.conf");
    failing_check(sandbox, "expected 1.05, got 1.04");
    sandbox.api.script([call(look), call(write), call(bash("sh check.sh prices")), Turn::Stall]);
    let mut session = sandbox.session(&[]);
    session.send("Fix the rounding of prices");
    wait_until(SOON, "the question after the test", || sandbox.api.requests().len() == 4);
    kill_when_written(sandbox, session, "got 1.04")
}

fn while_the_api_answers(sandbox: &Sandbox) -> String {
    let [look, write] = change(sandbox, "web/start.html");
    sandbox.api.script([
        call(look),
        saying("Images load when they come into view.", write),
        text("It is twice as fast."),
        Turn::Stall,
    ]);
    let mut session = sandbox.session(&[]);
    session.prompt("Speed up the start page");
    session.send("Go on, and leave the login page as it is");
    wait_until(SOON, "the second question", || sandbox.api.requests().len() == 4);
    kill_when_written(sandbox, session, "leave the login page")
}

fn with_a_list_of_tasks(sandbox: &Sandbox) -> String {
    sandbox.set_variable(LIST_TOOLS, "1");
    let [look, write] = change(sandbox, "stages/fetch.conf");
    let begun = sandbox.scratch().join("begun");
    let tasks = ["Write the fetching stage", "Write the validating stage"];
    let mut script: Vec<Turn> = tasks
        .map(|subject| call(tool("TaskCreate", json!({ "subject": subject, "description": subject }))))
        .into();
    script.extend([
        call(look),
        call(write),
        call(tool("TaskUpdate", json!({ "taskId": "1", "status": "completed" }))),
        call(bash(format!("echo begun > '{}'; sleep 301; :", begun.display()))),
    ]);
    sandbox.api.script(script);
    let mut session = sandbox.session(&[]);
    session.send("Split the importer into three stages");
    kill_while(sandbox, session, &begun, "sleep 301")
}

fn after_a_compaction(sandbox: &Sandbox) -> String {
    let [look, write] = change(sandbox, "etc/settings.conf");
    let begun = endless(sandbox, "move.sh");
    sandbox.api.script([
        call(look),
        call(write),
        text("Half of it is moved."),
        text("<summary>Settings are being moved.</summary>"),
        call(bash("sh move.sh second")),
    ]);
    let mut session = sandbox.session(&[]);
    session.prompt("Move the settings into one file");
    session.prompt("/compact");
    session.send("Go on with the second half");
    kill_while(sandbox, session, &begun, "move.sh second")
}

fn with_a_subagent(sandbox: &Sandbox) -> String {
    const ASKED: &str = "Measure the second library";
    let begun = endless(sandbox, "measure.sh");
    sandbox.api.script([call(agent(ASKED))]);
    sandbox.api.script_for(ASKED, [call(bash("sh measure.sh second"))]);
    let mut session = sandbox.session(&[]);
    session.send("Compare the three search libraries");
    kill_while(sandbox, session, &begun, "measure.sh second")
}

fn after_a_way_that_failed(sandbox: &Sandbox) -> String {
    let [look, write] = change(sandbox, "queue/worker.conf");
    let begun = sandbox.scratch().join("begun");
    sandbox.write(
        "check.sh",
        &format!(
            "[ \"$2\" = --again ] && {{ echo begun > '{}'; sleep 300; :; }}\necho 'error: job 7 was lost'\nexit 1\n",
            begun.display()
        ),
    );
    sandbox.api.script([
        saying("I try a longer pause first.", bash("sh check.sh queue")),
        saying("A longer pause does not work. The job is confirmed after the write.", look),
        call(write),
        call(bash("sh check.sh queue --again")),
    ]);
    let mut session = sandbox.session(&[]);
    session.send("Stop the worker from losing jobs");
    kill_while(sandbox, session, &begun, "queue --again")
}

fn with_all_of_it(sandbox: &Sandbox) -> String {
    // The older one of the client's two kinds of lists.
    sandbox.set_variable(LIST_TOOLS, "1");
    sandbox.set_variable("CLAUDE_CODE_ENABLE_TASKS", "0");
    let [look, write] = change(sandbox, "export/dates.conf");
    let begun = sandbox.scratch().join("begun");
    sandbox.write(
        "check.sh",
        &format!(
            "[ \"$1\" = readers ] && {{ echo begun > '{}'; sleep 300; :; }}\necho 'error: offset is missing in line 12'\nexit 1\n",
            begun.display()
        ),
    );
    let item =
        |content: &str, status: &str| json!({ "content": content, "activeForm": content, "status": status });
    sandbox.api.script([
        call(tool(
            "TodoWrite",
            json!({ "todos": [
                item("Write out the zones", "in_progress"),
                item("Cover the change of daylight saving time", "pending"),
            ] }),
        )),
        call(bash("sh check.sh zones")),
        saying("The offset is dropped by the formatter. Offsets are written out.", look),
        call(write),
        call(tool(
            "TodoWrite",
            json!({ "todos": [
                item("Write out the zones", "completed"),
                item("Cover the change of daylight saving time", "pending"),
            ] }),
        )),
        text("The exporter writes zones."),
        call(bash("sh check.sh readers")),
    ]);
    let mut session = sandbox.session(&[]);
    session.prompt("Let the exporter write dates with zones");
    session.send("Now the readers too");
    kill_while(sandbox, session, &begun, "check.sh readers")
}
