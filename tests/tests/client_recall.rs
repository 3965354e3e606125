//! Real client: what a killed session knew reaches the next one. `cargo xtask bench-recall` measures all moments.

use end_to_end::{
    recall::{self, MAX_CONTEXT, moments::MOMENTS},
    story::client_or_skip,
};

/// These need most of the parts: running call, failure, decision, both prompts, lists of things to do.
const TRIED: [&str; 3] = ["during an Edit", "after a compaction", "with all of it"];

#[test]
fn what_a_killed_session_knew_reaches_the_next_one() {
    let Some(client) = client_or_skip() else { return };
    let moments = MOMENTS.iter().filter(|moment| TRIED.contains(&moment.name));
    assert_eq!(moments.clone().count(), TRIED.len());
    for moment in moments {
        let recall = recall::measure(&client, moment);
        let lost = recall.missing_in_file();
        assert!(lost.is_empty(), "{}: {lost:?} not in\n{}", moment.name, recall.file);
        let lost = recall.missing_in_context();
        assert!(lost.is_empty(), "{}: {lost:?} not in\n{}", moment.name, recall.context);
        assert!(recall.context_length() <= MAX_CONTEXT, "{}", recall.context);
        let id = recall.session.get(..8).unwrap_or_default();
        assert!(recall.context.contains(id), "names the session: {}", recall.context);
        assert!(recall.context.contains("handoffs/scavenged.md"), "names the hand-off: {}", recall.context);
    }
}
