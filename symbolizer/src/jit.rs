//! What compilers tell of the code that they make: perf's maps without times,
//! jitdump files with them. Readers; whose are believed is decided above.

pub(crate) mod dump;
pub(crate) mod map;
pub(crate) mod when;
