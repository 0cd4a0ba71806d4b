//! Source lines and inlined calls from debug info (DWARF 2 to 5).
//!
//! Nothing is parsed before an address within it is asked for: units are
//! found by `.debug_aranges` or by their first entries, their functions and
//! line tables are read when the first address of the unit comes, and calls
//! inlined into a function when the first address of the function comes.
//! What is kept are tables of numbers; text stays in the file.

pub(crate) mod debug;
pub(crate) mod finder;
mod functions;
pub(crate) mod image;
mod index;
pub(crate) mod layout;
mod lines;
mod names;
mod paths;
mod pieces;
pub(crate) mod relocate;
mod root;
mod sections;
mod split;
mod texts;
mod unit;
