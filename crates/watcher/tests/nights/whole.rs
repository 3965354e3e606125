//! A whole night: three limits, a sleep and a crash; every key with its time and pane.

use std::fs;

use crate::client::{Ending, View};
use crate::limits::limit;
use crate::night::Night;

#[test]
fn three_limits_a_sleep_and_a_crash() {
    let mut night = Night::new();
    night.settings.menu = true;
    for id in ["%1", "%2", "%3", "%4"] {
        night.hooked(id);
    }
    night.stage().place("%2").in_front = true;
    // %1: a limit at 20:00, resumed after 22:20, runs into the next one at 23:30, which ends at 03:20.
    limit(&night, "%1", "You've hit your 5-hour limit · resets 10:20pm (UTC)", View::Line);
    let again = Ending::Failed {
        class: "usage_limit",
        text: "You've hit your 5-hour limit · resets 3:20am (UTC)".into(),
        view: View::Line,
    };
    night.stage().client("%1").turns = [(4_000, again), (7_200, Ending::Done)].into();
    // %2: works, is limited at 21:00 with the menu open.
    night.stage().after(3_600, |stage| {
        let now = stage.now();
        let text = "You've hit your 5-hour limit · resets 10:20pm (UTC)";
        stage.client("%2").fail(now, "usage_limit", text, View::Menu(0));
    });
    // %3: armed; continues by itself at 22:21.
    limit(
        &night,
        "%3",
        "You've hit your 5-hour limit · resets 10:20pm (UTC)",
        View::Armed("Continuing automatically at 10:20pm".into()),
    );
    night.stage().after(2 * 3_600 + 21 * 60, |stage| {
        stage.client("%3").view = View::Working;
        let now = stage.now();
        stage.client("%3").beat(now);
    });
    // %4: crashes at 01:00 in the middle of a call.
    fs::write(
        night.top.path().join("session-4.jsonl"),
        r#"{"type":"user","uuid":"u1","timestamp":"2026-03-02T19:50:00Z","message":{"role":"user","content":"Write the changelog"}}
"#,
    )
    .unwrap();
    for minute in 0..300 {
        night.stage().after(minute * 60, |stage| {
            let now = stage.now();
            stage.client("%4").beat(now);
        });
    }
    night.stage().client("%4").view = View::Working;
    night.stage().after(5 * 3_600, |stage| crate::dead::crash(stage, "%4"));

    let mut told = night.until(2, 0);
    // The lid is shut from 2:00 to 4:00, over the reset of 3:20.
    night.stage().sleep(7_200);
    told.extend(night.until(7, 0));

    let sent = night.sent();
    let keys: Vec<&str> = sent.iter().map(|sent| &sent[9..]).collect();
    assert_eq!(
        keys,
        [
            "%2 enter",
            "%2 text continue",
            "%2 enter",
            "%1 text continue",
            "%1 enter",
            "%1 text continue",
            "%1 enter",
        ],
        "{sent:?}"
    );
    let times: Vec<&str> = sent.iter().map(|sent| &sent[..5]).collect();
    let within = |at: usize, from: &str, to: &str| assert!(times[at] >= from && times[at] <= to, "{sent:?}");
    within(0, "22:23", "22:25");
    within(1, "22:24", "22:26");
    within(3, "22:23", "22:26");
    // Two looks after waking: the first draws no conclusions.
    within(5, "04:01", "04:02");
    assert_eq!(night.stage().client("%3").prompts, [""; 0]);
    assert_eq!(night.stage().client("%1").prompts, ["continue", "continue"]);
    let saved: Vec<&String> = told.iter().filter(|line| line.contains("scavenge")).collect();
    assert_eq!(saved.len(), 1, "{told:?}");
    assert!(night.session_folder("session-4").join("handoffs/scavenged.md").is_file());
    // The same night once more gives the same keys at the same times.
    assert_eq!(told.len(), 5, "{told:?}");
}
