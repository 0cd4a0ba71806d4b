//! The command `eip2r`: instruction pointers in, routines out.
//!
//! `arguments` is what was typed. `input` reads lines in batches, `line` finds
//! the number in each. `listing` prints an answer to each line, from the
//! `answers` that are known; `histogram` counts. `names` asks the `machine`
//! or, for one ELF file, `file_symbols`; with --lines a `line_source` is
//! asked, and `shown_frames` is how its answers look. `shortfalls` counts what
//! got no name or line.

mod answers;
pub mod arguments;
mod file_symbols;
mod histogram;
mod input;
mod line;
mod line_source;
mod listing;
mod machine;
mod names;
mod output;
mod run;
mod shortfalls;
mod shown_frames;

pub use arguments::command;
pub use run::main;
