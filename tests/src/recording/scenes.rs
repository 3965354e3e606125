//! The states that can be provoked, and what is right for each.

use serde_json::json;

use super::{Abilities, Right, SOON, Scene, comes, now_s};
use crate::{
    fake_api::{
        LimitClaim, Turn, bash, call, overloaded, status, text, usage_limit, usage_limit_with, with_usage,
    },
    sandbox::{Login, Sandbox},
    shifted_clock::ShiftedClock,
    tmux::Tmux,
};

const HOUR_S: u64 = 3_600;
const WAIT_ROW: &str = "Stop and wait for limit to reset";
const NATIVE_SETTING: &str = "autoContinueAtUsageLimit";

const NO_KEYS: &[&str] = &["none"];
const MAYBE_ENTER: &[&str] = &["none", "enter_on_wait_row"];

/// Nothing is limited, nothing is to be done.
const NOTHING: Right = Right {
    verdicts: &["not_limited"],
    kind: None,
    reset_s: None,
    marker_row: None,
    keys: NO_KEYS,
    keys_after_reset: NO_KEYS,
    keys_after_backoff: None,
};

fn limited(kind: &'static str, reset_s: Option<u64>) -> Right {
    Right { verdicts: &["limited"], kind: Some(kind), reset_s, ..NOTHING }
}

fn menu(reset_s: u64) -> Right {
    Right {
        verdicts: &["blocked_by_dialog"],
        marker_row: Some(WAIT_ROW),
        keys_after_reset: MAYBE_ENTER,
        ..limited("usage_limit", Some(reset_s))
    }
}

fn with_keys_later(right: Right) -> Right {
    Right { keys_after_reset: &["resume_once"], ..right }
}

fn always(_: Abilities) -> bool {
    true
}

/// Every state, in the order it is recorded.
pub(super) const ALL: &[Scene] = &[
    Scene {
        name: "idle-fresh",
        is_still: true,
        is_in: always,
        provoke: |sandbox, _| {
            let terminal = sandbox.terminal(&[]);
            terminal.wait_for_screen("the input line", has_input_line);
            (terminal, NOTHING)
        },
    },
    Scene {
        name: "idle-after-work",
        is_still: true,
        is_in: always,
        provoke: |sandbox, _| (asked(sandbox, text("All is done."), "All is done."), NOTHING),
    },
    Scene {
        name: "talks-about-limits",
        is_still: true,
        is_in: always,
        provoke: |sandbox, _| {
            let answer = "You've hit your 5-hour limit · resets 3pm (UTC) is what the banner said.";
            (asked(sandbox, text(answer), "is what"), NOTHING)
        },
    },
    Scene {
        name: "working-bash",
        is_still: false,
        is_in: always,
        provoke: |sandbox, _| {
            // A lone `sleep` is refused.
            let terminal = asked(sandbox, call(bash("echo begun; sleep 300; true")), "esc to interrupt");
            (terminal, Right { verdicts: &["working"], ..NOTHING })
        },
    },
    Scene {
        name: "permission-bash",
        is_still: true,
        is_in: always,
        provoke: |sandbox, _| {
            sandbox.api.script([call(bash("touch asked-for"))]);
            let terminal = sandbox.terminal(&["--permission-mode", "default"]);
            terminal.submit("Begin");
            terminal.wait_for_text("Do you want to proceed?");
            (terminal, Right { verdicts: &["blocked_by_dialog"], ..NOTHING })
        },
    },
    Scene {
        name: "model-picker",
        is_still: true,
        is_in: |abilities| abilities.menu,
        provoke: |sandbox, _| {
            let terminal = sandbox.terminal(&[]);
            terminal.submit("/model");
            terminal.wait_for_text("Select model");
            (terminal, Right { verdicts: &["blocked_by_dialog"], ..NOTHING })
        },
    },
    Scene {
        name: "five-hour",
        is_still: true,
        is_in: always,
        provoke: |sandbox, abilities| {
            let reset = now_s() + 2 * HOUR_S;
            let terminal = at_limit(sandbox, usage_limit(LimitClaim::FiveHour, reset));
            if abilities.continues {
                terminal.wait_for_text("Continuing automatically");
                (terminal, limited("usage_limit", Some(reset)))
            } else if abilities.menu {
                terminal.wait_for_screen("the menu", menu_is_open);
                (terminal, menu(reset))
            } else {
                terminal.wait_for_text("limit reached");
                (terminal, with_keys_later(limited("usage_limit", Some(reset))))
            }
        },
    },
    Scene {
        name: "five-hour-off-menu",
        is_still: true,
        is_in: |abilities| abilities.continues,
        provoke: |sandbox, _| {
            let (terminal, reset) = in_menu(sandbox);
            (terminal, menu(reset))
        },
    },
    Scene {
        name: "menu-closed-by-esc",
        is_still: true,
        is_in: |abilities| abilities.menu,
        provoke: |sandbox, _| {
            let (terminal, reset) = in_menu(sandbox);
            terminal.press("Escape");
            terminal.wait_for_screen("the input line", has_input_line);
            (terminal, with_keys_later(limited("usage_limit", Some(reset))))
        },
    },
    Scene {
        name: "armed-then-esc",
        is_still: true,
        is_in: |abilities| abilities.continues,
        provoke: |sandbox, _| {
            let reset = now_s() + 2 * HOUR_S;
            let terminal = at_limit(sandbox, usage_limit(LimitClaim::FiveHour, reset));
            terminal.wait_for_text("Continuing automatically");
            terminal.press("Escape");
            terminal.wait_for_text("Automatic continue cancelled");
            (terminal, with_keys_later(limited("usage_limit", Some(reset))))
        },
    },
    Scene {
        name: "seven-day-3days",
        is_still: true,
        is_in: |abilities| abilities.menu,
        provoke: |sandbox, _| {
            let reset = now_s() + 72 * HOUR_S;
            let terminal = at_limit(sandbox, usage_limit(LimitClaim::SevenDay, reset));
            terminal.wait_for_screen("the menu", menu_is_open);
            (terminal, menu(reset))
        },
    },
    Scene {
        name: "armed-continuing-shortly",
        is_still: false,
        is_in: |abilities| abilities.continues,
        provoke: |sandbox, _| {
            let reset = now_s() - 60;
            let terminal = at_limit(sandbox, usage_limit(LimitClaim::FiveHour, reset));
            terminal.wait_for_text("Continuing shortly");
            (terminal, limited("usage_limit", Some(reset)))
        },
    },
    Scene {
        name: "stale",
        is_still: true,
        is_in: |abilities| abilities.continues,
        provoke: |sandbox, _| {
            let clock = ShiftedClock::build(&sandbox.scratch()).expect("a C compiler is needed, on Linux");
            clock.shift(-3_600);
            for (name, value) in clock.variables() {
                sandbox.set_variable(name, &value);
            }
            let reset = now_s() - 60;
            let terminal = at_limit(sandbox, usage_limit(LimitClaim::FiveHour, reset));
            terminal.wait_for_text("Continuing automatically");
            clock.shift(0);
            terminal.wait_for_text("Press enter to continue");
            let any: &[&str] = &["none", "enter_once", "resume_once"];
            (terminal, Right { keys: any, keys_after_reset: any, ..limited("usage_limit", Some(reset)) })
        },
    },
    Scene {
        name: "spend-cap-monthly",
        is_still: true,
        is_in: |abilities| abilities.continues,
        provoke: |sandbox, _| {
            let reset = now_s() + 2 * HOUR_S;
            let limit = usage_limit_with(&[
                ("representative-claim", "five_hour"),
                ("overage-status", "rejected"),
                ("overage-disabled-reason", "org_level_disabled_until"),
                ("reset", &reset.to_string()),
            ]);
            let terminal = at_limit(sandbox, limit);
            terminal.wait_for_text("monthly spend limit");
            terminal.wait_for_text("Continuing automatically");
            (terminal, limited("usage_limit", Some(reset)))
        },
    },
    Scene {
        name: "service-disabled",
        is_still: true,
        is_in: |abilities| abilities.continues,
        provoke: |sandbox, _| {
            let limit = usage_limit_with(&[
                ("overage-status", "rejected"),
                ("overage-disabled-reason", "org_service_level_disabled"),
                ("reset", &(now_s() + 2 * HOUR_S).to_string()),
            ]);
            let terminal = at_limit(sandbox, limit);
            terminal.wait_for_text("This service is disabled");
            (terminal, limited("billing", None))
        },
    },
    Scene {
        name: "overload-529",
        is_still: true,
        is_in: always,
        provoke: |sandbox, _| {
            (
                asked(sandbox, overloaded(), "529"),
                Right { kind: Some("overload"), keys_after_backoff: Some("resume_once"), ..NOTHING },
            )
        },
    },
    Scene {
        name: "credit-balance",
        is_still: true,
        is_in: always,
        provoke: |sandbox, _| {
            let message =
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.";
            let answer = status(400, "invalid_request_error", message);
            (asked(sandbox, answer, "redit balance"), Right { kind: Some("billing"), ..NOTHING })
        },
    },
    Scene {
        name: "warning-five-hour-91",
        is_still: false,
        is_in: |abilities| abilities.continues,
        provoke: |sandbox, _| {
            sandbox.log_in(Login::Subscription);
            let soon = (now_s() + HOUR_S).to_string();
            let warning = [
                ("status", "allowed_warning"),
                ("representative-claim", "five_hour"),
                ("reset", &*soon),
                ("5h-utilization", "0.91"),
                ("5h-reset", &*soon),
                ("5h-surpassed-threshold", "0.9"),
            ];
            let terminal = asked(sandbox, with_usage(text("All is done."), &warning), "used 91%");
            assert!(comes(SOON, || is_idle(sandbox)), "the client did not come to rest");
            (terminal, NOTHING)
        },
    },
];

fn has_input_line(screen: &str) -> bool {
    screen.lines().any(|line| line.starts_with("❯\u{a0}") || line.starts_with("> "))
}

fn menu_is_open(screen: &str) -> bool {
    screen.contains(&format!("❯ 1. {WAIT_ROW}"))
}

/// Versions that do not say what they do are taken at their screen.
fn is_idle(sandbox: &Sandbox) -> bool {
    sandbox
        .live_sessions()
        .first()
        .is_none_or(|session| session["status"].is_null() || session["status"] == "idle")
}

/// One prompt and its answer.
fn asked(sandbox: &Sandbox, answer: Turn, words: &str) -> Tmux {
    sandbox.api.script([answer]);
    let terminal = sandbox.terminal(&[]);
    terminal.submit("Begin");
    terminal.wait_for_text(words);
    terminal
}

/// The same for a subscription that is used up.
fn at_limit(sandbox: &Sandbox, limit: Turn) -> Tmux {
    sandbox.log_in(Login::Subscription);
    asked(sandbox, limit, "⎿")
}

/// A limit whose menu is open, and its reset.
fn in_menu(sandbox: &Sandbox) -> (Tmux, u64) {
    sandbox.set_client_setting(NATIVE_SETTING, json!(false));
    let reset = now_s() + 2 * HOUR_S;
    let terminal = at_limit(sandbox, usage_limit(LimitClaim::FiveHour, reset));
    terminal.wait_for_screen("the menu", menu_is_open);
    (terminal, reset)
}
