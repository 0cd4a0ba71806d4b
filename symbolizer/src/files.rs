//! Finding and opening files: below which root, by which build id, and what
//! belongs to a program beside it. Whose a file is, others know.

pub(crate) mod carried;
pub(crate) mod debuginfod;
pub(crate) mod located_file;
pub(crate) mod opening;
pub(crate) mod options;
pub(crate) mod separate;
