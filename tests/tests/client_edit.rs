//! Real client: edits that do not find their text.

use end_to_end::{
    fake_api::{call, edit, read, text},
    sandbox::Sandbox,
    stories,
};

stories! { Default, Separate: an_edit_that_fails_three_times_on_one_file, two_files_are_two_streaks }

fn an_edit_that_fails_three_times_on_one_file(sandbox: &Sandbox) {
    let file = sandbox.write("src/parser.rs", "fn parse() {}\n");
    sandbox.api.script([call(read(&file))]);
    sandbox.api.script((0..4).map(|n| call(edit(&file, &format!("fn guess_{n}()"), "fn parse()"))));
    sandbox.api.script([text("I give up.")]);

    let _ = sandbox.run_print("Mend the parser", &[]);

    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 6);
    for failure in 1..=4 {
        let result = &requests[failure + 1].new_tool_results()[0];
        assert!(result.contains("String to replace not found"), "{result}");
    }
    for request in &requests[..4] {
        assert!(request.contexts().is_empty(), "too early: {:?}", request.contexts());
    }
    let told = requests[4].new_advice("DEGRADATION");
    assert_eq!(told.len(), 1, "{:?}", requests[4].contexts());
    assert!(told[0].contains("parser.rs") && told[0].contains("3 times"), "{told:?}");
    assert!(requests[5].new_contexts().is_empty(), "{:?}", requests[5].new_contexts());
}

fn two_files_are_two_streaks(sandbox: &Sandbox) {
    let files = ["src/a.rs", "src/b.rs"].map(|name| sandbox.write(name, "fn parse() {}\n"));
    sandbox.api.script(files.iter().map(|file| call(read(file))));
    for _ in 0..2 {
        sandbox.api.script(files.iter().map(|file| call(edit(file, "fn guess()", "fn parse()"))));
    }
    sandbox.api.script([text("I give up.")]);

    let _ = sandbox.run_print("Mend them", &[]);

    let requests = sandbox.api.requests();
    assert_eq!(requests.len(), 7);
    assert!(requests[6].contexts().is_empty(), "{:?}", requests[6].contexts());
}
