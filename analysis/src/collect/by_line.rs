//! Rows by source line.
//!
//! While samples are counted, a row of source lines or inlined calls is one of
//! places. When all places are known, debug info is asked for them together,
//! object by object, and rows of one line are joined.

use crate::collect::row_count::Sum;
use crate::collect::sampled::KeyColumn;
use crate::collect::tally::CountedRows;
use crate::error::Error;
use crate::name::atom::Atom;
use crate::name::lookup::Lookup;
use crate::query::key::Key;
use record::aggregate::Chance;
use symbolizer::Place;

/// Rows of the columns, with lines for places.
pub(crate) fn by_line(
    rows: CountedRows,
    columns: &[KeyColumn],
    lookup: &mut Lookup,
    chance: &mut Chance,
) -> Result<CountedRows, Error> {
    let is_line = |column: &KeyColumn| column.key.is_of_lines();
    let Some(first) = columns.iter().position(is_line) else { return Ok(rows) };
    // All columns of lines have the same place.
    let place = |atoms: &[Atom]| atoms.get(first)?.as_place().ok();
    let places: Vec<Place> = rows.atoms().filter_map(place).collect();
    lookup.build_keys.wants_lines = columns.iter().any(|it| it.key == Key::RoutineLine);
    lookup.learn_lines(places);
    let rename = |_, atoms: &mut [Atom], _: &Sum| {
        let Some(lines) = place(atoms).and_then(|place| lookup.lines(place)) else { return };
        for (column, atom) in columns.iter().zip(atoms) {
            match column.key {
                Key::Srcline => *atom = lines.source,
                Key::Inlined => *atom = lines.inlined,
                Key::RoutineLine => *atom = lines.in_routine,
                _ => {}
            }
        }
    };
    Ok(rows.counted(rename, chance)?.into_rows())
}
