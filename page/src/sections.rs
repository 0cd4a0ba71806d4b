//! The sections of a page, a file each.

pub(crate) mod absent;
pub(crate) mod callers;
pub(crate) mod recording;
pub(crate) mod sites;
