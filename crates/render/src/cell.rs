//! What stands where a row and a column meet.

use std::borrow::Cow;

/// A value with its type, by which each form writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'t> {
    /// So many.
    Count(u64),
    /// A number of its own kind: a process, a thread, a CPU.
    Signed(i64),
    /// Yes or no.
    Flag(bool),
    /// Part of the whole, 0 to 1. A page draws a bar of its length.
    Share(f64),
    /// Part of its row, 0 to 1.
    Part(f64),
    /// A mean: to a tenth for people, to a thousandth in CSV.
    Mean(f64),
    /// A number, and the digits of it that say something.
    Rounded(f64, String),
    /// An address, or a register's value.
    Address(u64),
    /// A name, which its owner chose.
    Name(Cow<'t, str>),
    /// A name so deep in a tree.
    Nested(usize, Cow<'t, str>),
    /// Words of ours.
    Words(Cow<'t, str>),
    /// No value, and why.
    Missing {
        /// For people.
        mark: Cow<'t, str>,
        /// For programs.
        reason: Cow<'t, str>,
    },
    /// No value.
    Nothing,
}

/// A share as people read it.
pub fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

impl<'t> Cell<'t> {
    /// A name.
    pub fn name(name: impl Into<Cow<'t, str>>) -> Cell<'t> {
        Cell::Name(name.into())
    }

    /// Words of ours.
    pub fn words(words: impl Into<Cow<'t, str>>) -> Cell<'t> {
        Cell::Words(words.into())
    }

    /// So many of a list.
    pub fn of_list(count: usize) -> Cell<'t> {
        Cell::Count(u64::try_from(count).unwrap_or(u64::MAX))
    }

    /// Whether there is a value.
    pub fn is_there(&self) -> bool {
        !matches!(self, Cell::Nothing | Cell::Missing { .. })
    }

    /// As people read it.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Count(number) => number.to_string().into(),
            Cell::Signed(number) => number.to_string().into(),
            Cell::Flag(flag) => flag.to_string().into(),
            Cell::Share(share) | Cell::Part(share) => percent(*share).into(),
            Cell::Mean(mean) => format!("{mean:.1}").into(),
            Cell::Address(address) => format!("{address:#x}").into(),
            Cell::Rounded(_, text) => text.into(),
            Cell::Name(text) | Cell::Words(text) | Cell::Missing { mark: text, .. } => {
                (&**text).into()
            }
            Cell::Nested(depth, name) => format!("{}{name}", "  ".repeat(*depth)).into(),
            Cell::Nothing => "-".into(),
        }
    }
}
