//! Source lines and inlined calls from debug info (DWARF 2 to 5).
//!
//! The crate addr2line knows which unit, function and line hold an address,
//! and what was inlined there; it reads units when an address within one is
//! asked for. Which bytes it reads, and how far, is said here.

pub(crate) mod bytes;
mod debug;
pub(crate) mod debug_file;
pub(crate) mod debug_sections;
mod finder;
mod function_names;
mod guarded_reader;
pub(crate) mod layout;
pub(crate) mod lazy_debug_file;
mod relocate;
pub(crate) mod root;
pub(crate) mod sections;
mod split;
mod texts;
