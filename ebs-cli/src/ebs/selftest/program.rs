//! The programs of known truth.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Program {
    /// Loads the numbers of an array in their order.
    Rows,
    /// Loads 64 rows of 4 KiB by their columns: the same sets of a cache.
    Columns,
    /// Follows nodes that lie about at random.
    Chase,
    /// Loads across two lines.
    Splits,
    /// Follows nodes each of which lies in a page of its own.
    Pages,
    /// Stores at a stride.
    Stores,
    PageStores,
    /// Loads what was stored just before, in part.
    Blocked,
    Branches,
    /// Computes with each kind of register.
    Compute,
    /// Two threads hand a line back and forth.
    Sharing,
    /// Writes to pages that nobody touched before.
    Touch,
    /// Has the kernel copy into such pages.
    Copy,
    /// Writes to one address that is known beforehand.
    Watch,
    Calls,
    Sleeps,
    /// Moves from one CPU to another and back.
    Moves,
}

/// Bytes from one node of a chase, or from one load across lines, to the
/// next: three lines, so that an address that is off by one or two is wrong.
pub(super) const STRIDE: u64 = 192;
/// Bytes from one node to the next where each is in a page of its own, and
/// in another set of the cache.
pub(super) const PAGE_STRIDE: u64 = 4096 + 64;
/// The same for stores, far enough apart for no prefetcher of pages.
pub(super) const STORE_STRIDE: u64 = 3 * 4096 + 64;
/// Rows of the table that is read by columns.
pub(super) const ROWS: u64 = 64;
/// Bytes of such a row.
pub(super) const ROW: u64 = 4096;
/// Columns of it: those of one line.
pub(super) const COLUMNS: u64 = 8;
/// Where [`Program::Watch`] writes: an address at which nothing ever lies of
/// itself, far below programs (from 0x5555_5555_4000) and libraries.
pub(super) const WATCHED: u64 = 0x20_0000_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Nodes, numbers, pages.
    pub(super) elements: u64,
    pub(super) passes: u64,
}

impl Program {
    const ALL: [(Program, &'static str); 17] = [
        (Program::Rows, "rows"),
        (Program::Columns, "columns"),
        (Program::Chase, "chase"),
        (Program::Splits, "splits"),
        (Program::Pages, "pages"),
        (Program::Stores, "stores"),
        (Program::PageStores, "page-stores"),
        (Program::Blocked, "blocked"),
        (Program::Branches, "branches"),
        (Program::Compute, "compute"),
        (Program::Sharing, "sharing"),
        (Program::Touch, "touch"),
        (Program::Copy, "copy"),
        (Program::Watch, "watch"),
        (Program::Calls, "calls"),
        (Program::Sleeps, "sleeps"),
        (Program::Moves, "moves"),
    ];
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Program::ALL.iter().find(|(program, _)| program == self);
        f.pad(named.map_or("", |(_, name)| name))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no program of known truth is called {0:?}")]
pub(super) struct UnknownProgram(String);

impl FromStr for Program {
    type Err = UnknownProgram;

    fn from_str(name: &str) -> Result<Program, UnknownProgram> {
        let named = Program::ALL.iter().find(|(_, known)| *known == name);
        named.map(|(program, _)| *program).ok_or_else(|| UnknownProgram(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_program_each() {
        for (program, name) in Program::ALL {
            assert_eq!(name.parse(), Ok(program));
            assert_eq!(program.to_string(), name);
        }
        assert!("row".parse::<Program>().is_err());
    }
}
