//! The frame of a test: a client or a reason why not, a sandbox, and what holds for every story.

use std::{env, thread};

use crate::{
    client::{Client, ClientError},
    sandbox::Sandbox,
    wiring::Wiring,
};

/// Returns the client for a test. Without one the test fails under `CI=true`, else it is skipped: a line names it.
#[track_caller]
pub fn client_or_skip() -> Option<Client> {
    found_or_skip(Client::find_or_install())
}

/// The same for one version of the client.
#[track_caller]
pub fn version_or_skip(version: &str) -> Option<Client> {
    found_or_skip(Client::of_version(version))
}

#[track_caller]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn found_or_skip(client: Result<Client, ClientError>) -> Option<Client> {
    match client {
        Ok(client) => Some(client),
        Err(error) if env::var("CI").is_ok_and(|ci| ci == "true") => {
            panic!("the client is needed under CI=true: {error}")
        }
        Err(error) => {
            eprintln!("SKIPPED {}: {error}", thread::current().name().unwrap_or("a test with the client"));
            None
        }
    }
}

/// Runs a test of the harness with hooks of its own; nothing is checked but what the test checks.
#[track_caller]
pub fn with_sandbox(test: impl FnOnce(&mut Sandbox)) {
    if let Some(client) = client_or_skip() {
        test(&mut Sandbox::new(client, Wiring::Raw(Vec::new())));
    }
}

/// Tells a story under one wiring, and checks that hooks ran in it and that the client reported no hook error.
#[track_caller]
pub fn tell(wiring: Wiring, story: impl FnOnce(&Sandbox)) {
    if let Some(client) = client_or_skip() {
        tell_with(client, wiring, story);
    }
}

/// [`tell`] with this client.
#[track_caller]
pub fn tell_with(client: Client, wiring: Wiring, story: impl FnOnce(&Sandbox)) {
    let sandbox = Sandbox::new(client, wiring);
    story(&sandbox);
    let errors = sandbox.hook_errors();
    assert!(errors.is_empty(), "the client reported hook errors:\n{}", errors.join("\n"));
    let plain = sandbox.plain_hook_outputs();
    assert!(plain.is_empty(), "a hook printed something else than JSON:\n{}", plain.join("\n"));
    let logs = sandbox.debug_logs();
    assert!(!logs.is_empty(), "no client ran");
    assert!(logs.iter().all(|log| !log.hook_runs().is_empty()), "a client ran without any hook");
}

/// Makes a story, a function that takes a `&Sandbox`, into one test for each of the named wirings.
///
/// ```ignore
/// stories! { Default, Separate: a_tool_fails_twice }
/// fn a_tool_fails_twice(sandbox: &Sandbox) { ... }
/// ```
#[macro_export]
macro_rules! stories {
    ($($wiring:ident),+ : $($story:ident),+ $(,)?) => {
        $crate::stories!(@each [$($wiring),+] $($story),+);
    };
    (@each $wirings:tt $($story:ident),+) => {
        $($crate::stories!(@story $story $wirings);)+
    };
    (@story $story:ident [$($wiring:ident),+]) => {
        mod $story {
            $(
                #[test]
                #[expect(non_snake_case, reason = "named after the wiring")]
                fn $wiring() {
                    $crate::story::tell($crate::wiring::Wiring::$wiring, super::$story);
                }
            )+
        }
    };
}
