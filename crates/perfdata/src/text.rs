//! hardmeter's text records: one record a line, instruction pointer in
//! column 2, a `#` line with the columns' names first.
//! docs/text-records.md says what each column means.
//!
//! - [`Columns`]: which columns a session has, and samples to lines.
//! - [`Parser`]: lines to values.
//! - [`TextStream`]: lines to a stream, for all that reads streams.
//! - [`decimal`], [`hexadecimal`]: numbers to digits, quickly.

mod column;
mod digits;
mod parser;
mod record_writer;
mod text_stream;
mod writer;

pub use column::Column;
pub use digits::{decimal, hexadecimal};
pub use parser::{Parser, TextError, TextLine, Values};
pub use text_stream::TextStream;
pub use writer::Columns;
