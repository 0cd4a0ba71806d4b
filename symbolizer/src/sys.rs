//! Operations that the compiler cannot check.

pub(crate) mod mapped;
