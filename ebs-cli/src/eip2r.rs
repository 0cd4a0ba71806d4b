//! The command `eip2r`: instruction pointers in, routines out.
//!
//! `arguments` is what was typed. `input` cuts what is read into blocks of
//! whole lines, a regular file into `pieces` for `threads`, which take
//! `blocks` of anything else in turn; `line` finds the number in each, `sys`
//! four at a time; `names` knows the routines, `direct` those of the kernel
//! without a search. `listing` prints a line for each line: `answers` puts it
//! on a `page`, from `texts` that all threads share, or by asking;
//! `histogram` counts, by address in `counts`, by routine in a `tally`.
//! `names` asks the `machine` or, for one ELF file, `file_symbols`; `frames`
//! asks a `line_source` for lines, and `shown_frames` is how they look.

mod answers;
pub mod arguments;
mod bad_lines;
mod blocks;
mod counts;
mod direct;
mod file_symbols;
mod frames;
mod histogram;
mod input;
mod line;
mod line_source;
mod listing;
mod machine;
mod names;
mod output;
mod page;
mod pieces;
mod run;
mod shown_frames;
#[allow(unsafe_code, reason = "instructions that not every processor has")]
mod sys;
mod tally;
mod texts;
mod threads;

pub use arguments::command;
pub use run::main;
