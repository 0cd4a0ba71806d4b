//! What a row stands for, view by view.

use analysis::Key;
use analysis::report::{Cell, MissingValue};
use perfdata::data_src::DataSrcAspect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    Sites,
    /// Routines that called.
    Callers,
    /// Files that hold the instructions, and the kernel.
    Objects,
    Lines,
    /// What served the accesses, and how long they took.
    Latency,
    /// Variables, and memory, that hold the data.
    Data,
}

/// Each row of a report that is shown has these, in this order.
const SAMPLED: [Key; 8] = [
    Key::Comm,
    Key::Tid,
    Key::Site,
    Key::Caller,
    Key::Object,
    Key::Access(DataSrcAspect::Level),
    Key::Variable,
    // The last one, which is not always there.
    Key::Srcline,
];

/// The keys that a report is counted by to be shown: [`analysis::Query::keys`].
/// Source lines take debug info, which is read for seconds where programs are
/// large: with them or without.
pub fn sampled_keys(with_lines: bool) -> Vec<Key> {
    SAMPLED.iter().filter(|key| with_lines || **key != Key::Srcline).cloned().collect()
}

pub(crate) const NO_LINE: Cell =
    Cell::Missing(MissingValue::Before("lines were not looked up yet"));

/// The cells of a row; in place of a line that was not looked up why it is missing.
pub(crate) fn with_line(cells: &[Cell]) -> Vec<Cell> {
    let mut cells = cells.to_vec();
    if cells.len() < SAMPLED.len() {
        cells.push(NO_LINE);
    }
    cells
}

/// Where the thread's name and number are among a row's cells.
pub(crate) const THREAD_CELLS: [usize; 2] = [0, 1];
pub(crate) const SITE_CELL: usize = 2;

impl ViewKind {
    pub const ALL: [ViewKind; 6] = [
        ViewKind::Sites,
        ViewKind::Callers,
        ViewKind::Objects,
        ViewKind::Lines,
        ViewKind::Latency,
        ViewKind::Data,
    ];

    pub fn title(self) -> &'static str {
        match self {
            ViewKind::Sites => "sites",
            ViewKind::Callers => "callers",
            ViewKind::Objects => "objects",
            ViewKind::Lines => "lines",
            ViewKind::Latency => "latency",
            ViewKind::Data => "data",
        }
    }

    pub(crate) fn column(self) -> &'static str {
        match self {
            ViewKind::Sites => "site",
            ViewKind::Callers => "caller",
            ViewKind::Objects => "object",
            ViewKind::Lines => "srcline",
            ViewKind::Latency => "level",
            ViewKind::Data => "variable",
        }
    }

    pub(crate) fn cell(self) -> usize {
        match self {
            ViewKind::Sites => SITE_CELL,
            ViewKind::Callers => 3,
            ViewKind::Objects => 4,
            ViewKind::Latency => 5,
            ViewKind::Data => 6,
            ViewKind::Lines => 7,
        }
    }

    /// The one of a digit, from 1.
    pub(crate) fn of_digit(digit: char) -> Option<ViewKind> {
        let number = usize::try_from(digit.to_digit(10)?).ok()?;
        ViewKind::ALL.get(number.checked_sub(1)?).copied()
    }

    pub(crate) fn next(self) -> ViewKind {
        self.moved(1)
    }

    pub(crate) fn previous(self) -> ViewKind {
        self.moved(ViewKind::ALL.len() - 1)
    }

    fn moved(self, by: usize) -> ViewKind {
        let at = ViewKind::ALL.iter().position(|kind| *kind == self).unwrap_or(0);
        ViewKind::ALL[(at + by) % ViewKind::ALL.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_where_the_keys_are() {
        for kind in ViewKind::ALL {
            assert_eq!(SAMPLED[kind.cell()].to_string(), kind.column());
        }
        assert_eq!(THREAD_CELLS.map(|at| SAMPLED[at].to_string()), ["comm", "tid"]);
    }

    #[test]
    fn digits_and_the_tab_reach_each_view() {
        for (digit, kind) in ('1'..).zip(ViewKind::ALL) {
            assert_eq!(ViewKind::of_digit(digit), Some(kind));
            assert_eq!(kind.next().previous(), kind);
        }
        assert_eq!(ViewKind::of_digit('0'), None);
        assert_eq!(ViewKind::of_digit('7'), None);
        assert_eq!(ViewKind::Data.next(), ViewKind::Sites);
    }
}
