//! The sections of a page, a file each.

pub(crate) mod absent;
pub(crate) mod callers;
pub(crate) mod causes;
pub(crate) mod curve;
pub(crate) mod levels;
pub(crate) mod maps;
pub(crate) mod members;
pub(crate) mod recording;
pub(crate) mod routines;
pub(crate) mod sharing;
pub(crate) mod sites;
pub(crate) mod threads;
