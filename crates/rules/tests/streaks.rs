//! What becomes due when: the rules in tables, and the properties that make a journal safe without a lock.

#![allow(missing_docs, clippy::unwrap_used, reason = "everything here is a test")]

use proptest::prelude::*;
use rules::fact::{Fact, What};
use rules::streak::{Applied, Due, Kind, State};

fn fact(what: What, key: &str, id: &str) -> Fact<'static> {
    Fact::new(what, key.to_owned(), id.to_owned())
}

/// A session in which one thing happens after the other, a minute apart, and what is due is said at once.
#[derive(Default)]
struct Story {
    state: State,
    calls: u32,
}

impl Story {
    fn next(&mut self, what: What, key: &str, cls: &str) -> Vec<Kind> {
        self.calls += 1;
        let mut fact = fact(what, key, &format!("call-{}", self.calls));
        fact.t = i64::from(self.calls) * 60_000;
        fact.cls = cls.to_owned().into();
        assert_eq!(self.state.apply(&fact), Applied::Fresh);
        let due: Vec<Due> = self.state.due_at(&fact.key, &fact.id).cloned().collect();
        due.iter().for_each(|due| self.say(due, 100));
        due.iter().map(|due| due.kind).collect()
    }

    fn say(&mut self, due: &Due, length: u64) {
        let mut said = fact(What::Said, &due.key, &due.id);
        said.cls = due.kind.word().into();
        said.n = length;
        self.state.apply(&said);
    }

    fn fail(&mut self, key: &str) -> Vec<Kind> {
        self.next(What::Fail, key, "connection")
    }

    fn succeed(&mut self, key: &str) {
        assert!(self.next(What::Ok, key, "").is_empty());
    }
}

#[test]
fn a_tool_is_named_at_its_second_failure_in_a_row_and_once() {
    let mut story = Story::default();
    assert_eq!(story.fail("tool:a"), []);
    assert_eq!(story.fail("tool:a"), [Kind::Degradation]);
    assert_eq!(story.fail("tool:a"), []);
    story.succeed("tool:a");
    assert_eq!(story.fail("tool:a"), [], "two in a row, not two in all");
    assert_eq!(story.fail("tool:b"), [], "each tool for itself");
}

#[test]
fn a_finding_is_said_three_times_a_session_at_most() {
    let mut story = Story::default();
    let mut said = 0;
    for _ in 0..6 {
        story.fail("tool:a");
        said += story.fail("tool:a").len();
        story.succeed("tool:a");
    }
    assert_eq!(said, 3);
    let mut backoffs = 0;
    for _ in 0..6 {
        backoffs += story.fail("mcp:s").len();
        story.succeed("mcp:s");
    }
    assert_eq!(backoffs, 3, "a server that comes and goes");
}

#[test]
fn a_server_is_waited_for_four_times_and_given_up_at_the_fifth() {
    let mut story = Story::default();
    for _ in 1..=4 {
        assert_eq!(story.fail("mcp:s"), [Kind::Backoff]);
    }
    assert_eq!(story.fail("mcp:s"), [Kind::Fallback]);
    for _ in 6..=9 {
        assert_eq!(story.fail("mcp:s"), [], "silence until the server answers");
    }
    assert_eq!(story.state.streak("mcp:s").unwrap().n, 9);
    story.succeed("mcp:s");
    assert_eq!(story.fail("mcp:s"), [Kind::Backoff], "a new streak begins anew");
}

#[test]
fn a_server_that_is_not_connected_is_told_at_once_and_once() {
    let mut story = Story::default();
    assert_eq!(story.next(What::Fail, "mcp:s", "not_connected"), [Kind::Fallback]);
    assert_eq!(story.next(What::Fail, "mcp:s", "not_connected"), []);
    assert_eq!(story.fail("mcp:s"), [], "the person was pointed to it already");
}

#[test]
fn login_and_patience_are_no_failures_in_a_row() {
    let mut story = Story::default();
    assert_eq!(story.next(What::Fail, "mcp:s", "auth"), [Kind::Login]);
    assert_eq!(story.next(What::Fail, "mcp:s", "auth"), []);
    assert_eq!(story.next(What::Fail, "mcp:s", "rate_limited"), [Kind::Wait]);
    assert_eq!(story.state.streak("mcp:s").unwrap().n, 0);
    assert!(story.state.is_open());
    story.succeed("mcp:s");
    assert!(!story.state.is_open());
}

#[test]
fn what_a_call_beside_it_said_is_due_again_at_the_next_failure() {
    let mut state = State::default();
    for (number, id) in ["1", "2", "3", "4", "5"].into_iter().enumerate() {
        let mut fact = fact(What::Fail, "mcp:s", id);
        fact.t = number as i64;
        state.apply(&fact);
    }
    assert_eq!(
        state.streak("mcp:s").unwrap().asked_at.iter().map(|asked| &*asked.id).collect::<Vec<_>>(),
        ["5", "4", "3"]
    );
    let mut beside = fact(What::Said, "mcp:s", "5");
    beside.cls = Kind::Fallback.word().into();
    beside.fp = rules::streak::BESIDE.into();
    state.apply(&beside);
    let mut next = fact(What::Fail, "mcp:s", "6");
    next.t = 300;
    state.apply(&next);
    assert_eq!(state.due_at("mcp:s", "6").map(|due| due.kind).collect::<Vec<_>>(), [Kind::Fallback]);
}

#[test]
fn a_count_another_program_left_goes_on() {
    for (given, then) in [(3, Kind::Backoff), (4, Kind::Fallback), (5, Kind::Fallback)] {
        let mut story = Story::default();
        let mut import = fact(What::Import, "mcp:s", "import:mcp:s");
        import.n = given;
        story.state.apply(&import);
        assert_eq!(story.fail("mcp:s"), [then], "given {given}");
        assert_eq!(story.state.streak("mcp:s").unwrap().n, given + 1);
        story.state.apply(&import);
        assert_eq!(story.state.streak("mcp:s").unwrap().n, given + 1, "taken over once");
    }
}

#[test]
fn edits_of_a_file_are_named_at_the_third() {
    let mut story = Story::default();
    assert_eq!(story.next(What::Fail, "file:x", "edit"), []);
    assert_eq!(story.next(What::Fail, "file:x", "edit"), []);
    assert_eq!(story.next(What::Fail, "file:x", "edit"), [Kind::Edits]);
}

#[test]
fn api_errors_are_queued_until_somebody_can_be_told() {
    let queued = |story: &Story| story.state.queued().map(|due| due.kind).collect::<Vec<_>>();
    let mut story = Story::default();
    for turn in 1..=2 {
        story.state.apply(&fact(What::Api, "api:overload", &format!("t{turn}")));
        assert_eq!(queued(&story), []);
    }
    story.state.apply(&fact(What::Api, "api:overload", "t3"));
    assert_eq!(queued(&story), [Kind::Model]);
    let due = story.state.queued().next().unwrap().clone();
    story.say(&due, 50);
    assert_eq!(queued(&story), []);
    story.state.apply(&fact(What::Api, "api:auth", "t4"));
    assert_eq!(queued(&story), [Kind::Permanent]);
    let mut good = fact(What::Turn, "", "t5");
    good.cls = "good".into();
    story.state.apply(&good);
    assert_eq!(queued(&story), [], "a good turn ends all of them");
    assert!(!story.state.is_open());
}

#[test]
fn a_budget_spent_leaves_permanent_errors() {
    let mut story = Story::default();
    story.state.apply(&fact(What::Fail, "tool:a", "first"));
    story.state.apply(&fact(What::Fail, "tool:a", "second"));
    let due = story.state.due_at("tool:a", "second").next().unwrap().clone();
    story.say(&due, 3_999);
    story.fail("tool:b");
    assert_eq!(story.fail("tool:b"), [Kind::Degradation], "3,999 of 4,000 spent");
    story.fail("tool:c");
    assert_eq!(story.fail("tool:c"), [], "4,099 spent");
    story.state.apply(&fact(What::Api, "api:billing", "t"));
    assert_eq!(story.state.queued().count(), 1);
}

#[test]
fn what_a_killed_process_did_not_say_is_said_by_a_later_one() {
    let mut state = State::default();
    for (id, t) in [("1", 0), ("2", 100), ("3", 2_100), ("4", 2_101)] {
        let mut fact = fact(What::Fail, "tool:a", id);
        fact.t = t;
        state.apply(&fact);
        let due = state.due_at("tool:a", id).count();
        assert_eq!(due, usize::from(id == "2" || id == "4"), "at {t} ms, call {id}");
    }
}

#[test]
fn a_person_can_set_streaks_back() {
    let mut story = Story::default();
    story.fail("tool:a");
    story.fail("mcp:s");
    story.state.apply(&fact(What::Reset, "tool:a", "r1"));
    assert_eq!(story.state.streak("tool:a").unwrap().n, 0);
    assert!(story.state.is_open());
    story.state.apply(&fact(What::Reset, "*", "r2"));
    assert!(!story.state.is_open());
}

fn any_fact() -> impl Strategy<Value = Fact<'static>> {
    let key = prop::sample::select(vec![
        "mcp:s",
        "mcp:t",
        "tool:a",
        "bash:b@x",
        "file:f",
        "api:overload",
        "api:limit",
        "",
    ]);
    let what = prop::sample::select(vec![
        What::Fail,
        What::Ok,
        What::Api,
        What::Turn,
        What::Said,
        What::Import,
        What::Reset,
    ]);
    let cls = prop::sample::select(vec![
        "connection",
        "auth",
        "backoff",
        "degradation",
        "good",
        "prompt",
        "model",
        "",
    ]);
    (what, key, 0..40_u32, cls, 0..10_000_i64, 0..6_u64).prop_map(|(what, key, id, cls, t, n)| {
        let mut fact = fact(what, key, &id.to_string());
        fact.cls = cls.into();
        fact.t = t;
        fact.n = n;
        fact
    })
}

proptest! {
    /// A second wiring writes every fact twice: nothing is counted or due twice.
    #[test]
    fn doubling_every_line_changes_nothing(facts in prop::collection::vec(any_fact(), 0..60)) {
        let mut once = State::default();
        let mut twice = State::default();
        for fact in &facts {
            once.apply(fact);
            twice.apply(fact);
            prop_assert_eq!(twice.apply(fact), Applied::Repeated);
        }
        prop_assert_eq!(once, twice);
    }

    /// A state survives being written down: carrying it on at any line changes nothing after it.
    #[test]
    fn a_state_carried_on_is_the_same_state(facts in prop::collection::vec(any_fact(), 0..60), at in 0..60_usize) {
        let mut straight = State::default();
        let mut carried = State::default();
        for (number, fact) in facts.iter().enumerate() {
            if number == at {
                carried = serde_json::from_str(&serde_json::to_string(&carried).unwrap()).unwrap();
            }
            prop_assert_eq!(straight.apply(fact), carried.apply(fact));
        }
        prop_assert_eq!(straight, carried);
    }
}
