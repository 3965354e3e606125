//! Settings files of the client: read strictly, edited by small splices, replaced whole.
//!
//! [`document`] knows JSON and its formatting, [`merge`] knows our entries, [`mod@file`] knows the disk.

pub(crate) mod document;
pub(crate) mod file;
pub(crate) mod merge;
mod style;
