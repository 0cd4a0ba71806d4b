//! The command `eip2r`: instruction pointers in, routines out.
//!
//! `arguments` is what was typed. `input` cuts what is read into lines,
//! `line` finds the number in each, `names` knows the routines;
//! `listing` prints a line for each line, `histogram` counts.

pub mod arguments;
mod counts;
mod histogram;
mod input;
mod line;
mod listing;
mod names;
mod output;
mod run;

pub use arguments::command;
pub use run::main;
