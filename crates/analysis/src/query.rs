//! What is asked of a stream.

pub(crate) mod chain_view;
pub mod filter;
pub(crate) mod glob;
pub(crate) mod key;
pub(crate) mod nearest;
pub(crate) mod needs;
pub(crate) mod parameters;
pub(crate) mod site;
pub(crate) mod sort;
pub(crate) mod target;
pub(crate) mod time;
pub(crate) mod view;

use crate::query::chain_view::{ChainView, FrameCut};
use crate::query::filter::Filter;
use crate::query::glob::Glob;
use crate::query::key::Key;
use crate::query::site::SiteName;
use crate::query::sort::Sort;
use crate::query::time::RunTimes;
use crate::query::view::View;
use perfdata::InstructionClass;

/// A question: which samples, counted by what, shown how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// What makes a row; the columns in this order. Without keys no rows
    /// are made, only totals and registers.
    pub keys: Vec<Key>,
    /// Order of the rows.
    pub sort: Sort,
    /// Only samples that meet all of these are counted.
    pub filters: Vec<Filter>,
    /// What of each sample's call chain is looked at.
    pub frames: FrameCut,
    /// What becomes of counted call chains; of another view than rows the key is
    /// [`Key::Stack`] alone.
    pub chains: ChainView,
    /// Only samples of instructions of this class are counted, besides what
    /// the stream says of its events.
    pub class: Option<InstructionClass>,
    /// At most so many rows a table; all without.
    pub top: Option<usize>,
    /// Bytes of a cache line, a power of two; without it what the stream
    /// says of its machine, else [`Query::CACHE_LINE`] with a note.
    pub cache_line: Option<u64>,
    /// Bytes of a page, a power of two.
    pub page_size: u64,
    /// Only events whose names fit.
    pub event: Option<Glob>,
    /// What a row's share is of; without it events in frequency mode go by
    /// period and others by count.
    pub weighting: Option<Weighting>,
    /// Tell what served the accesses and how long they took: for all of an
    /// event, and for each row.
    pub accesses: bool,
    /// Register histograms to make as well.
    pub registers: Option<RegisterQuery>,
    /// What is asked for besides rows.
    pub views: Vec<View>,
    /// When the run began and ended, for the key [`Key::Time`]; None: its rows begin at the
    /// clock's 0.
    pub run: Option<RunTimes>,
    /// Rows that are kept of all events together; see [`Query::MOST_ROWS`].
    pub most_rows: usize,
    /// Bytes that samples may take while they wait for late sideband records.
    pub pending_bytes: usize,
}

impl Query {
    /// Bytes of a cache line where the stream does not say.
    pub const CACHE_LINE: u64 = 64;
    /// Default of [`Query::pending_bytes`]: 48 MiB, about a million samples.
    pub const PENDING_BYTES: usize = 48 << 20;

    /// Default of [`Query::most_rows`]: what a hash table of 2^20 slots holds,
    /// some 50 MB a key. Of more rows those with the least samples are joined
    /// into one.
    pub const MOST_ROWS: usize = (1 << 20) / 8 * 7;

    /// Sizes must be powers of two, registers need names.
    pub fn check(&self) -> Result<(), QueryError> {
        let line = self.cache_line.unwrap_or(Query::CACHE_LINE);
        for (what, size) in [("cache line", line), ("page", self.page_size)] {
            if !size.is_power_of_two() {
                return Err(QueryError::Size { what, size });
            }
        }
        if self.chains != ChainView::Rows && self.keys != [Key::Stack] {
            return Err(QueryError::View { keys: list(&self.keys) });
        }
        if self.keys.contains(&Key::Callee) && self.frames.callees.is_none() {
            return Err(QueryError::Callee);
        }
        match &self.sort {
            Sort::Key(key) if !self.row_keys().contains(key) => {
                Err(QueryError::SortKey { key: key.clone(), keys: list(self.row_keys()) })
            }
            Sort::Cycles | Sort::Latency if !self.accesses => {
                Err(QueryError::SortAccesses { sort: self.sort.clone() })
            }
            _ => Ok(()),
        }
    }
}

impl Query {
    /// The keys that rows have in the end: inclusive counts go by routine,
    /// whatever chains they are made of.
    pub(crate) fn row_keys(&self) -> &[Key] {
        match self.chains {
            ChainView::Inclusive => &[Key::Routine],
            ChainView::Rows | ChainView::Tree(_) => &self.keys,
        }
    }
}

fn list(keys: &[Key]) -> String {
    keys.iter().map(Key::to_string).collect::<Vec<_>>().join(",")
}

impl Default for Query {
    fn default() -> Query {
        Query {
            keys: vec![Key::Site],
            sort: Sort::Share,
            filters: Vec::new(),
            frames: FrameCut::default(),
            chains: ChainView::default(),
            class: None,
            top: None,
            cache_line: None,
            page_size: 4096,
            event: None,
            weighting: None,
            accesses: false,
            registers: None,
            views: Vec::new(),
            run: None,
            most_rows: Query::MOST_ROWS,
            pending_bytes: Query::PENDING_BYTES,
        }
    }
}

/// Why a query cannot be answered on any stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Lines and pages are powers of two.
    #[error("a {what} of {size} bytes is not possible: the size must be a power of two")]
    Size {
        /// Cache line or page.
        what: &'static str,
        /// As given.
        size: u64,
    },
    /// Only columns of the table can order it.
    #[error("cannot sort by {key}, which is not among the columns ({keys}); add it to --by")]
    SortKey {
        /// The key to sort by.
        key: Key,
        /// The columns.
        keys: String,
    },
    /// Trees and inclusive counts are made of chains.
    #[error("inclusive counts and trees are of the key stack alone, not of {keys}")]
    View {
        /// The columns.
        keys: String,
    },
    /// Of what routine, is not said.
    #[error("callee is the routine that the one of --callees called; add --callees ROUTINE")]
    Callee,
    /// Latencies are told where accesses are asked for.
    #[error("cannot sort by {sort} where latencies are not told; add --mem")]
    SortAccesses {
        /// The order.
        sort: Sort,
    },
}

/// What a share is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// Samples: right when each stands for as many events as the others.
    Count,
    /// Sum of periods: events that the samples stand for. In frequency mode
    /// the kernel varies the period, so counts of samples mislead.
    Period,
}

/// Register histograms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterQuery {
    /// Samples at this site; all counted samples without.
    pub site: Option<SiteName>,
    /// How many of the most frequent values to give.
    pub top_values: usize,
    /// Distinct values counted one by one per register, memory's bound.
    pub distinct_limit: usize,
}

impl Default for RegisterQuery {
    fn default() -> RegisterQuery {
        RegisterQuery { site: None, top_values: 8, distinct_limit: 1 << 16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_sizes_and_sort_keys() {
        let text = |query: Query| query.check().unwrap_err().to_string();
        assert_eq!(Query::default().check(), Ok(()));
        assert_eq!(
            text(Query { cache_line: Some(48), ..Query::default() }),
            "a cache line of 48 bytes is not possible: the size must be a power of two"
        );
        assert_eq!(
            text(Query { page_size: 0, ..Query::default() }),
            "a page of 0 bytes is not possible: the size must be a power of two"
        );
        assert_eq!(
            text(Query { sort: Sort::Key(Key::Pid), ..Query::default() }),
            "cannot sort by pid, which is not among the columns (site); add it to --by"
        );
        let inclusive = |sort| Query {
            keys: vec![Key::Stack],
            chains: ChainView::Inclusive,
            sort: Sort::Key(sort),
            ..Query::default()
        };
        assert_eq!(inclusive(Key::Routine).check(), Ok(()));
        assert_eq!(
            text(inclusive(Key::Stack)),
            "cannot sort by stack, which is not among the columns (routine); add it to --by"
        );
        assert_eq!(
            text(Query { sort: Sort::Cycles, ..Query::default() }),
            "cannot sort by cycles where latencies are not told; add --mem"
        );
    }

    #[test]
    fn reads_orders() {
        for word in ["count", "share", "cycles", "latency", "address", "name", "pid", "reg:cx"] {
            assert_eq!(word.parse::<Sort>().unwrap().to_string(), word);
        }
        assert!("sise".parse::<Sort>().is_err());
    }
}
