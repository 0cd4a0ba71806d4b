//! Why a line is no text record.

use crate::arch::Arch;

/// What is wrong with a line; lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each field is")]
pub enum TextError {
    /// A record before any line that names the columns.
    #[error(
        "line {line}: no header line before it; text records start with a line such as \
         `#rflags linear_ip ...` (was it cut off with grep -v '#'?)"
    )]
    NoHeader { line: u64 },
    /// More or fewer values than the header has names.
    #[error("line {line} has {found} values, the header line names {expected} columns")]
    Count { line: u64, found: usize, expected: usize },
    /// A value that is no number.
    #[error("line {line}, column {column}: {text:?} is no {base} number")]
    Number { line: u64, column: String, text: String, base: &'static str },
    /// A line that is no line of a text record.
    #[error("line {line} has more than {most} bytes")]
    Long { line: u64, most: u64 },
    /// A value that has fewer bits in a record.
    #[error("line {line}, column {column}: {value} is too large")]
    TooLarge { line: u64, column: String, value: u64 },
    /// A header line of another machine.
    #[error(
        "line {line}: the header line names registers of {arch}, the one before it those of \
         {before}; read both files for themselves"
    )]
    Machine { line: u64, before: Arch, arch: Arch },
    /// A record that no stream can hold.
    #[error("line {line}: {reason}")]
    Unwritten { line: u64, reason: String },
    /// A header line that names a column twice.
    #[error("line {line}: the header line names the column {column} twice")]
    Twice { line: u64, column: String },
}
