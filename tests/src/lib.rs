//! End-to-end tests: the real client against a fake Messages API on loopback, with hooks, MCP servers that fail on
//! demand and sessions that are killed.
//!
//! A test is a short story in a [`Sandbox`](sandbox::Sandbox): script what the model answers, run the client, look
//! at what the model was told, at the transcript and at the client's debug log. [`stories!`] turns a story into one
//! test for each wiring of the hooks.
//!
//! Environment variables, all optional:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `RECOVERY_BIN_DIR` | folder of the built programs; default: the folder above the test binary's own |
//! | `RECOVERY_TEST_CACHE` | where clients are kept, one folder a version; default `target/client` |
//! | `RECOVERY_TEST_CLIENT_VERSION` | another version of the client, `latest` included |
//! | `RECOVERY_TEST_KEEP` | set: the folders of sandboxes are kept and named |
//! | `CI` | `true`: a client that cannot be had fails the test instead of skipping it |
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a harness reports a broken set-up by failing the test"
)]

pub mod client;
pub mod evidence;
pub mod fake_api;
pub mod hook_project;
pub mod mcp_server;
pub mod process;
pub mod recall;
pub mod recording;
pub mod sandbox;
pub mod session;
pub mod shifted_clock;
pub mod story;
pub mod tmux;
pub mod wait;
pub mod watch;
pub mod wiring;

use std::path::{Path, PathBuf};

/// Root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this package is a folder of the repository")
        .to_owned()
}

/// Folder of the programs that the same build made: the one above the test binary's `deps`.
pub fn build_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a path");
    let folder = test.parent().expect("a program is in a folder");
    if folder.ends_with("deps") {
        folder.parent().expect("`deps` is in a folder").to_owned()
    } else {
        folder.to_owned()
    }
}
