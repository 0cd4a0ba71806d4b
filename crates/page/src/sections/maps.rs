//! Accesses over time: by set of the cache, and by place in objects.

use crate::content::PageContent;
use crate::figure::PagePicture;
use crate::heat_grid::{HeatGrid, number};
use analysis::maps::{EventMap, MapCell, ObjectBand, SetMap};
use render::{Cell, Head, HtmlText, Table};

/// Pixels.
const NAMES: f64 = 190.0;
const COLUMNS: f64 = 900.0;
const SET: f64 = 6.0;
const ROW: f64 = 10.0;
const GAP: f64 = 8.0;
const AXIS: f64 = 22.0;
/// Letters of a name.
const LETTERS: usize = 28;

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(maps) = &content.maps else { return };
    for (place, event) in maps.events.iter().enumerate() {
        objects(place, event, out);
        if let Some(sets) = &event.sets {
            of_sets(place, event, sets, out);
        }
    }
}

fn most<'c>(cells: impl Iterator<Item = &'c MapCell>) -> u64 {
    cells.map(|cell| cell.count).max().unwrap_or(0)
}

fn told(event: &EventMap) -> String {
    format!(
        "Time goes from left to right, {} a column, {} columns; darker where more samples are. {} \
         samples have a data address, {} have none.",
        span(event.step),
        event.columns,
        event.counted,
        event.without_address
    )
}

/// Nanoseconds in a unit that suits them.
fn span(nanoseconds: u64) -> String {
    match nanoseconds {
        0..=999_999 => format!("{:.1} us", number(nanoseconds) / 1e3),
        1_000_000..=999_999_999 => format!("{:.1} ms", number(nanoseconds) / 1e6),
        _ => format!("{:.1} s", number(nanoseconds) / 1e9),
    }
}

fn objects(place: usize, event: &EventMap, out: &mut HtmlText) {
    let table = Table::of(
        format!("Objects of {} over time", event.event),
        &event.bands,
        &[
            (Head::left("object"), &|band| Cell::name(&*band.name)),
            (Head::left("from"), &|band| band.from.map_or(Cell::name("-"), Cell::Address)),
            (Head::number("bytes of a row"), &|band| Cell::Count(band.span)),
            (Head::number("rows"), &|band| Cell::Count(band.rows)),
            (Head::number("count"), &|band| Cell::Count(band.count)),
            (Head::number("share"), &|band| Cell::Share(share(band.count, event))),
        ],
    );
    let height = event.bands.iter().map(height_of).sum::<f64>() + AXIS;
    let figure = PagePicture {
        id: format!("objects-{place}"),
        kind: "map",
        title: format!("Addresses over time: {}", event.event),
        told: format!("A band an object, low addresses on top. {}", told(event)),
        width: NAMES + COLUMNS + 30.0,
        height,
        table: &table,
    };
    let hottest = most(event.bands.iter().flat_map(|band| &band.cells));
    figure.write(out, |out| {
        let mut top = 0.0;
        for band in &event.bands {
            one_band(band, &grid(event, top, hottest), out);
            top += height_of(band);
        }
        axis(event, height, out);
    });
}

fn share(count: u64, event: &EventMap) -> f64 {
    number(count) / number(event.counted.max(1))
}

/// With the gap below it; no less than its name needs.
fn height_of(band: &ObjectBand) -> f64 {
    (number(band.rows) * ROW).max(14.0) + GAP
}

fn column_width(event: &EventMap) -> f64 {
    COLUMNS / number(event.columns.max(1))
}

fn grid(event: &EventMap, top: f64, most: u64) -> HeatGrid {
    HeatGrid { left: NAMES, top, width: column_width(event), height: ROW, most }
}

fn one_band(band: &ObjectBand, grid: &HeatGrid, out: &mut HtmlText) {
    out.mark("<rect class=\"h0\" x=\"").measure(NAMES).mark("\" y=\"").measure(grid.top);
    out.mark("\" width=\"").measure(COLUMNS).mark("\" height=\"");
    out.measure(number(band.rows) * ROW).mark("\"/><text class=\"axis\" x=\"0\" y=\"");
    out.measure(grid.top + 11.0).mark("\">").words_in(&band.name, LETTERS).mark("</text>\n");
    grid.draw(&band.cells, out);
}

fn of_sets(place: usize, event: &EventMap, sets: &SetMap, out: &mut HtmlText) {
    let rows = sets.shape.sets().div_ceil(sets.sets_of_row.max(1));
    let mut counts = vec![0_u64; usize::try_from(rows).unwrap_or(0)];
    for cell in &sets.cells {
        if let Some(count) = usize::try_from(cell.row).ok().and_then(|row| counts.get_mut(row)) {
            *count = count.saturating_add(cell.count);
        }
    }
    let table = Table::of(
        format!("Sets of {} over time", event.event),
        (0_u64..).zip(counts),
        &[
            (Head::number("set"), &|(row, _)| Cell::Count(row * sets.sets_of_row)),
            (Head::number("count"), &|(_, count)| Cell::Count(count)),
            (Head::number("share"), &|(_, count)| Cell::Share(share(count, event))),
        ],
    );
    let height = number(rows) * SET + AXIS;
    let figure = PagePicture {
        id: format!("sets-{place}"),
        kind: "map",
        title: format!("Cache sets over time: {}", event.event),
        told: format!(
            "{} sets of {} lines each, {} a row, the first on top; a dark row among light ones is a \
             set that many lines fight for. {}",
            sets.shape.sets(),
            sets.shape.ways,
            sets.sets_of_row,
            told(event)
        ),
        width: NAMES + COLUMNS + 30.0,
        height,
        table: &table,
    };
    figure.write(out, |out| {
        out.mark("<rect class=\"h0\" x=\"").measure(NAMES).mark("\" y=\"0\" width=\"");
        out.measure(COLUMNS).mark("\" height=\"");
        out.measure(number(rows) * SET).mark("\"/>\n");
        for row in (0..rows).step_by(8) {
            out.mark("<text class=\"axis\" x=\"").measure(NAMES - 60.0).mark("\" y=\"");
            out.measure(number(row) * SET + 9.0).mark("\">set ");
            out.number(row * sets.sets_of_row).mark("</text>");
        }
        let grid = HeatGrid { height: SET, ..grid(event, 0.0, most(sets.cells.iter())) };
        grid.draw(&sets.cells, out);
        axis(event, height, out);
    });
}

/// Columns from a time to the next that is written.
fn steps(event: &EventMap) -> usize {
    usize::try_from(event.columns / 6).unwrap_or(16).max(1)
}

/// Times below a picture, from its begin on.
fn axis(event: &EventMap, height: f64, out: &mut HtmlText) {
    for column in (0..event.columns).step_by(steps(event)) {
        out.mark("<text class=\"axis\" x=\"").measure(NAMES + number(column) * column_width(event));
        out.mark("\" y=\"").measure(height - 6.0).mark("\">");
        out.words(&span(column.saturating_mul(event.step))).mark("</text>");
    }
    out.mark("\n");
}
