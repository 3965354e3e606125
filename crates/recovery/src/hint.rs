//! Errors that carry the next step.

use std::{error::Error, fmt};

/// An error that knows what the person can do about it.
pub(crate) trait Remedy: Error + Send + Sync + Sized + 'static {
    /// Returns the next step as a complete sentence without its full stop.
    fn remedy(&self) -> String;
}

/// Attaches its own remedy to an error; made for `map_err`.
pub(crate) fn hinted(error: impl Remedy) -> anyhow::Error {
    let remedy = error.remedy();
    Hinted::attach(error, remedy)
}

/// An error together with what the person can do about it: one complete step.
#[derive(Debug)]
pub(crate) struct Hinted {
    error: anyhow::Error,
    hint: String,
}

impl Hinted {
    /// Attaches the hint to an error.
    pub(crate) fn attach(error: impl Into<anyhow::Error>, hint: impl Into<String>) -> anyhow::Error {
        Self { error: error.into(), hint: hint.into() }.into()
    }

    /// Returns the hint of an error, if it has one.
    pub(crate) fn of(error: &anyhow::Error) -> Option<&str> {
        error.chain().find_map(|cause| cause.downcast_ref::<Self>()).map(|hinted| hinted.hint.as_str())
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Hinted {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}
