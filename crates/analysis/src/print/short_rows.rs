//! Rows of a table whose names are folded, so that they fit.

use crate::name::cell::SiteCell;
use crate::query::key::Key;
use crate::report::{Cell, Row};
use std::borrow::Cow;
use std::collections::HashMap;
use symbolizer::short_name;

/// The rows with folded names, but for those that would look alike then: overloads, and templates
/// of one name.
pub(super) fn short_rows(rows: &[Row]) -> Cow<'_, [Row]> {
    let is_long = |row: &Row| row.cells.iter().any(|cell| long_name(cell).is_some());
    if !rows.iter().any(is_long) {
        return Cow::Borrowed(rows);
    }
    let short: Vec<Vec<Cell>> = rows.iter().map(short_cells).collect();
    let mut alike: HashMap<&[Cell], usize> = HashMap::new();
    for cells in &short {
        *alike.entry(cells).or_default() += 1;
    }
    let chosen: Vec<bool> = short.iter().map(|cells| alike.get(&cells[..]) == Some(&1)).collect();
    let rows = rows.iter().zip(short).zip(chosen).map(|((row, cells), is_one)| match is_one {
        true => Row { cells, ..row.clone() },
        false => row.clone(),
    });
    Cow::Owned(rows.collect())
}

fn short_cells(row: &Row) -> Vec<Cell> {
    let keys = row.keys.iter().map(Some).chain(std::iter::repeat(None));
    row.cells.iter().zip(keys).map(|(cell, key)| short_cell(cell, key)).collect()
}

fn short_cell(cell: &Cell, key: Option<&Key>) -> Cell {
    match cell {
        Cell::Site(site) => Cell::Site(site.short()),
        Cell::Text(text) if key.is_some_and(Key::is_routine) => {
            // OUTER <- INNER of what was inlined.
            let parts: Vec<Cow<'_, str>> = text.split(" <- ").map(short_name).collect();
            Cell::Text(parts.join(" <- ").into())
        }
        other => other.clone(),
    }
}

fn long_name(cell: &Cell) -> Option<&str> {
    let name = match cell {
        Cell::Text(text) => &**text,
        Cell::Site(SiteCell { routine: Ok(routine), .. }) => &*routine.name,
        _ => return None,
    };
    name.contains(['<', '(']).then_some(name)
}
