//! The rows of one view, out of all that was counted.

use crate::interval_count::IntervalCount;
use crate::totals::EventTotals;
use crate::view_kind::{NO_LINE, SITE_CELL, THREAD_CELLS, ViewKind};
use analysis::report::{Cell, SiteCell, UnresolvedName};
use perfdata::printable::printable;
use rustc_hash::FxHashMap;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeenRow {
    pub(crate) thread: Option<String>,
    pub(crate) name: String,
    /// What is known of it besides, such as a site's file; printable.
    pub(crate) place: String,
    pub(crate) count: IntervalCount,
    pub(crate) weight: u64,
    pub(crate) now_weight: u64,
    /// Its site, or that with most samples.
    pub(crate) site: Option<SiteCell>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RowQuestion<'f> {
    pub(crate) kind: ViewKind,
    pub(crate) by_thread: bool,
    /// Text that a row must hold, in small letters.
    pub(crate) filter: &'f str,
    pub(crate) now: u64,
}

#[derive(Debug)]
struct JoinedCells<'t> {
    cells: &'t [Cell],
    count: IntervalCount,
    most: u64,
}

/// The rows of an event, in no order.
pub(crate) fn seen_rows(event: &EventTotals, asked: RowQuestion<'_>) -> Vec<SeenRow> {
    type Same<'t> = (Option<[&'t Cell; 2]>, Option<&'t Cell>);
    let mut joined: FxHashMap<Same<'_>, JoinedCells<'_>> = FxHashMap::default();
    for (cells, count) in &event.rows {
        let of = |at: usize| cells.get(at);
        let thread = match (asked.by_thread, of(THREAD_CELLS[0]), of(THREAD_CELLS[1])) {
            (true, Some(comm), Some(tid)) => Some([comm, tid]),
            _ => None,
        };
        let row = joined.entry((thread, of(asked.kind.cell()))).or_insert_with(|| JoinedCells {
            cells,
            count: IntervalCount::default(),
            most: 0,
        });
        row.count.join(count, asked.now);
        if count.samples > row.most {
            (row.cells, row.most) = (cells, count.samples);
        }
    }
    let rows = joined.into_values().map(|row| seen_row(event, &row, asked));
    rows.filter(|row| row.holds(asked.filter)).collect()
}

fn seen_row(event: &EventTotals, row: &JoinedCells<'_>, asked: RowQuestion<'_>) -> SeenRow {
    let (name, place) = row.cells.get(asked.kind.cell()).map(words).unwrap_or_default();
    let thread = || {
        let [comm, tid] = THREAD_CELLS.map(|at| row.cells.get(at).map(words).unwrap_or_default().0);
        format!("{comm} {tid}")
    };
    let site = match row.cells.get(SITE_CELL) {
        Some(Cell::Site(site)) => Some(site.clone()),
        _ => None,
    };
    // It has no part in the shares of lines.
    let is_without = row.cells.get(asked.kind.cell()) == Some(&NO_LINE);
    let share_of = |weight: u64| if is_without { 0 } else { weight };
    SeenRow {
        thread: asked.by_thread.then(thread),
        name,
        place,
        count: row.count,
        weight: share_of(event.weight(&row.count)),
        now_weight: share_of(event.now_weight(&row.count)),
        site,
    }
}

fn words(cell: &Cell) -> (String, String) {
    let clean = |text: &str| printable(text).into_owned();
    let plain = |text: String| (clean(&text), String::new());
    match cell {
        Cell::Number(number) => plain(number.to_string()),
        Cell::Time(nanoseconds) => plain(nanoseconds.to_string()),
        Cell::Address(address) => plain(format!("{address:#x}")),
        Cell::Text(text) => plain(text.to_string()),
        Cell::Chain(number) => plain(number.to_string()),
        Cell::Site(site) | Cell::Data(site) => (clean(&site.to_string()), clean(&site.object)),
        Cell::Missing(missing) | Cell::SiteMissing(missing) => match missing {
            analysis::report::MissingValue::Name(UnresolvedName { tag, of, .. }) => {
                ((*tag).to_owned(), of.as_deref().map(clean).unwrap_or_default())
            }
            other => plain(format!("[{other}]")),
        },
    }
}

impl SeenRow {
    /// Whether a text is in what is seen of it, in letters of any size.
    fn holds(&self, text: &str) -> bool {
        let has = |part: &str| part.to_lowercase().contains(text);
        text.is_empty()
            || has(&self.name)
            || has(&self.place)
            || self.thread.as_deref().is_some_and(has)
    }
}
