//! C++ names, mangled as the Itanium C++ ABI has it (gcc, clang).
//!
//! A name is read into a tree (`parser.rs` and the readers of names, types and
//! expressions), and the tree is written (`printer.rs` and its like) with
//! the spelling of binutils, which perf and gdb have, too. What cannot be
//! read to its end, or written within bounds, is no name.

mod declarators;
mod expressions;
mod names;
mod node;
mod operators;
mod parameters;
mod parser;
mod printer;
mod types;
mod values;

use parser::Parser;
use printer::Printer;

pub(super) fn demangled(mangled: &str) -> Option<String> {
    let mut parser = Parser::new(mangled);
    let name = parser.whole()?;
    Printer::text(&parser.nodes, name)
}
