//! Every sentence there is, with its length: a change of words shows in review.

#![allow(missing_docs, clippy::unwrap_used, reason = "everything here is a test")]

use rules::advice::{
    self, Advice, Changed, HowEnded, Interrupted, LoopOwner, OpenChange, RunCutOff, UnfinishedWork,
};
use rules::api::ApiClass;
use rules::text::utf16_len;

const WORK: UnfinishedWork<'_> = UnfinishedWork {
    failed: Some(("Bash", "cargo test parser", "error: expected Eof, found a comma")),
    task: Some("Let the parser nest tokens"),
    open: Some(("Say where a bracket was opened", 2)),
    decided: Some("Keep dots, split only on double underscore."),
};

const CHANGE: OpenChange<'_> = OpenChange {
    name: "sort-labels",
    phase: Some("build"),
    tasks: Some((1, 3)),
    next: Some("Sort the labels by their number"),
    others: 0,
};

fn all() -> Vec<Advice> {
    let other = Some(("WebFetch", "static pages only"));
    let mut all = vec![
        advice::mcp_backoff("docsearch", "connection closed", 1, 1),
        advice::mcp_fallback("docsearch", 5, "ECONNREFUSED", other),
        advice::mcp_fallback("docsearch", 5, "ECONNREFUSED", None),
        advice::mcp_not_connected("docsearch", other),
        advice::mcp_login("docsearch"),
        advice::mcp_rate_limited("docsearch"),
        advice::degradation("mcp__pagegrab__scrape", 2, "ECONNREFUSED", ("WebFetch", "no JavaScript")),
        advice::degradation_no_alternative("mcp__pagegrab__scrape", 2, "ECONNREFUSED"),
        advice::edit_missed("Edit", "src/a.rs", 3, Changed::AfterRead("11:02".into())),
        advice::edit_missed("Edit", "src/a.rs", 3, Changed::NotSinceRead),
        advice::edit_missed("Write", "src/a.rs", 3, Changed::Unknown),
        advice::model_overload(3, ApiClass::Overload, Some("sonnet")),
        advice::model_overload(3, ApiClass::Server, None),
        advice::network(3),
        advice::usage_limit(Some("15:30 (Europe/Berlin)")),
        advice::usage_limit(None),
        advice::model_limit(Some("opus"), Some("Dec 3, 8:20pm (UTC)")),
        advice::request_limit(),
    ];
    let permanent = [ApiClass::Auth, ApiClass::Billing, ApiClass::ModelNotFound, ApiClass::TooLong];
    all.extend(permanent.map(|class| advice::permanent(class).unwrap()));
    let interrupted = |how| {
        advice::interrupted_session(&Interrupted {
            id: "3f2a9c1e-0000-4000-8000-000000000000",
            at: Some("11:40"),
            running: Some(("Bash", "cargo test -p api")),
            prompt: Some("make the api tests pass"),
            edited: &["src/a.rs", "src/b.rs"],
            since_commit: true,
            how,
        })
    };
    let sentences = [
        interrupted(HowEnded::Gone),
        interrupted(HowEnded::Ended),
        advice::unfinished_work(&WORK, 300).unwrap(),
        advice::more_interrupted(&["11111111-x", "22222222-x"]),
        advice::loop_set_inactive("sessions/old/ralph.json", 10_800, LoopOwner::Gone, Some(7)),
        advice::loop_restored("sessions/old/ralph.json", "sessions/old/ralph.json.damaged-1"),
        advice::loop_damaged("sessions/old/ralph.json"),
        advice::loop_reported(".claude/ralph-loop.local.md", 10_800),
        advice::claims_removed(&["src_auth", "docs"]),
        advice::claims_stay(&["elsewhere"]),
        advice::plan_open(".working-state/current-plan.md", 2, 1),
        advice::handoff("sessions/old/handoffs/scavenged.md"),
        advice::workflow_interrupted(Some("small-flow"), "run-1-a", "in_progress", Some("1"), 4_000),
        advice::workflow_interrupted(None, "run-1-a", "pending", None, 86_400),
        advice::run_interrupted("shop-101", Some("Nightly build"), RunCutOff::ProcessGone, 1_300),
        advice::run_interrupted("shop-101", None, RunCutOff::Recorded, 7_200),
        advice::change_open(&CHANGE),
        advice::change_open(&OpenChange { others: 2, ..CHANGE }),
        advice::change_open(&OpenChange { name: "sort-labels", ..OpenChange::default() }),
    ];
    all.extend(sentences.iter().map(|sentence| advice::crash_recovery(&[sentence]).unwrap()));
    all
}

#[test]
fn every_sentence_with_its_length() {
    let lines: Vec<String> = all()
        .iter()
        .flat_map(|one| {
            let line = |who: &str, text: &String| format!("{:4} {who}: {text}", utf16_len(text));
            one.agent
                .iter()
                .map(|t| line("agent", t))
                .chain(one.person.iter().map(|t| line("person", t)))
                .collect::<Vec<_>>()
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn facts_and_no_shouting() {
    for one in all() {
        for text in one.agent.iter().chain(&one.person) {
            assert!(utf16_len(text) <= 340, "{text}");
            assert!(text.starts_with(one.tag.text()), "{text}");
            assert!(!text.contains('\n') && !text.contains('!'), "{text}");
            for order in ["you must", "important", "always", "never ", "please"] {
                assert!(!text.to_lowercase().contains(order), "{text}");
            }
        }
    }
}

/// What a watcher of panes looks for must not come from us.
#[test]
fn free_of_the_words_a_watcher_looks_for() {
    for one in all().iter().filter(|one| one.tag != advice::Tag::Limit) {
        for text in one.agent.iter().chain(&one.person) {
            for word in
                ["usage limit", "rate limit", "hit your", "resets ", "press enter", "too many requests"]
            {
                assert!(!text.to_lowercase().contains(word), "{word}: {text}");
            }
        }
    }
}

#[test]
fn the_crash_text_stays_within_its_budget_and_says_what_it_left_out() {
    let sentences: Vec<String> =
        (0..30).map(|number| format!("sentence {number} {}", "x".repeat(60))).collect();
    let text = advice::crash_recovery(&sentences).unwrap().agent.unwrap();
    assert!(utf16_len(&text) <= 700, "{}", utf16_len(&text));
    assert!(text.ends_with("more not shown."), "{text}");
    assert!(advice::crash_recovery::<String>(&[]).is_none());
}

#[test]
fn unfinished_work_uses_its_room_and_never_more() {
    let long = "word ".repeat(60);
    let work = UnfinishedWork {
        failed: Some(("Bash", &long, &long)),
        task: Some(&long),
        open: Some((&long, 0)),
        decided: Some(&long),
    };
    let mut length = 0;
    for room in 0..800 {
        let text = advice::unfinished_work(&work, room).unwrap_or_default();
        assert!(utf16_len(&text) <= room && utf16_len(&text) >= length, "{room}: {text}");
        length = utf16_len(&text);
    }
    assert_eq!(advice::unfinished_work(&UnfinishedWork::default(), 800), None);
    let whole = advice::unfinished_work(&WORK, 800).unwrap();
    let exact = utf16_len(&whole);
    assert_eq!(advice::unfinished_work(&WORK, exact).as_ref(), Some(&whole));
    assert_ne!(advice::unfinished_work(&WORK, exact - 1), Some(whole.clone()));
    for part in
        ["cargo test parser", "expected Eof", "nest tokens", "bracket was opened", "and 2 more", "Keep dots"]
    {
        assert!(whole.contains(part), "{part}: {whole}");
    }
    let no_call = UnfinishedWork { failed: Some(("mcp__a__b", "", "")), ..UnfinishedWork::default() };
    assert_eq!(advice::unfinished_work(&no_call, 80).unwrap(), "Its last failure: mcp__a__b.");
}
