//! Source lines and inlined calls from debug info (DWARF 2 to 5).
//!
//! Nothing is parsed before an address within it is asked for: units are
//! found by `.debug_aranges` or by their first entries, their functions and
//! line tables are read when the first address of the unit comes, and calls
//! inlined into a function when the first address of the function comes.
//! What is kept are tables of numbers; text stays in the file.

pub(crate) mod bytes;
mod debug;
pub(crate) mod debug_file;
pub(crate) mod debug_sections;
mod finder;
mod functions;
mod index;
pub(crate) mod layout;
pub(crate) mod lazy_debug_file;
mod lines;
mod names;
mod paths;
mod pieces;
mod relocate;
pub(crate) mod root;
pub(crate) mod sections;
mod split;
mod texts;
mod unit;
