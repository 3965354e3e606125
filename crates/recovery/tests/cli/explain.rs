use assert_cmd::Command;

use super::world::World;

fn explain(topic: &str, question: &str) -> (Option<i32>, String, String) {
    let world = World::new();
    let before = world.snapshot();
    let output =
        Command::from_std(world.command(&["explain", topic])).write_stdin(question).output().unwrap();
    assert_eq!(world.snapshot(), before, "no file is written");
    let said = world.said(output);
    (said.code, said.stdout, said.stderr)
}

#[test]
fn an_answer_is_all_that_is_printed() {
    let (code, stdout, stderr) = explain("model", r#"[{"in": "haiku"}]"#);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout, "[{\"family\":\"haiku\",\"next\":\"sonnet\"}]\n");
}

#[test]
fn an_unknown_topic_lists_the_topics() {
    let (code, stdout, stderr) = explain("weather", "{}");
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    for topic in ["mcp-error", "failure", "circular", "model", "liveness", "limit"] {
        assert!(stderr.contains(topic), "{stderr}");
    }
}

#[test]
fn a_broken_question_is_exit_2_with_a_hint() {
    let (code, stdout, stderr) = explain("model", "{");
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("hint: see the examples of `recovery explain --help`"), "{stderr}");
}
