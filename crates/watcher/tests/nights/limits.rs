//! Limits: when a key is sent, and all the times when none is.

use crate::client::View;
use crate::night::Night;

pub(crate) const BANNER: &str = "You've hit your 5-hour limit · resets 10:20pm (UTC)";

/// A session whose turn ended on a limit at 20:00.
fn limited() -> Night {
    let night = Night::new();
    night.hooked("%1");
    limit(&night, "%1", BANNER, View::Line);
    night
}

pub(crate) fn limit(night: &Night, id: &str, text: &str, view: View) {
    let now = night.now();
    night.stage().client(id).fail(now, "usage_limit", text, view);
}

#[test]
fn a_limit_its_hooks_tell_of_is_resumed_once_after_the_margin() {
    let mut night = limited();
    let told = night.until(22, 23);
    assert_eq!(night.sent(), [""; 0], "{told:?}");
    let told = night.until(22, 30);
    assert_eq!(night.keys(), ["%1 text continue", "%1 enter"], "{told:?}");
    assert_eq!(night.stage().client("%1").prompts, ["continue"]);
    assert!(told[0].contains("resume: resumed"), "{told:?}");
    assert_eq!(night.until(23, 59).len(), 0);
    assert_eq!(night.keys().len(), 2);
}
