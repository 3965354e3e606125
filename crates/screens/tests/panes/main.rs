//! Panes of the client, recorded and made up: what they are taken for, and which keys they get.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod nights;
mod places;
mod properties;
mod recorded;
mod shown;
