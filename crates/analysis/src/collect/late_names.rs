//! Rows by what is known only when all is counted: source lines, and types of
//! heap blocks, and their ends, and how large mappings were.
//!
//! While samples are counted, a row of source lines or inlined calls is one of
//! places. When all places are known, debug info is asked for them together,
//! object by object, and rows of one line are joined.

use crate::collect::sampled::KeyColumn;
use crate::collect::sum::Sum;
use crate::collect::tally::CountedRows;
use crate::error::Error;
use crate::name::atom::Atom;
use crate::name::holder_names::named_holder;
use crate::name::lookup::Lookup;
use crate::query::key::Key;
use perfdata::aggregate::Chance;
use symbolizer::Place;

/// Rows of the columns, with source lines for places, and types that are decided now.
pub(crate) fn with_late_names(
    rows: CountedRows,
    columns: &[KeyColumn],
    lookup: &mut Lookup,
    chance: &mut Chance,
) -> Result<CountedRows, Error> {
    if !columns.iter().any(|column| column.key.is_named_late()) {
        return Ok(rows);
    }
    let of_lines = |(column, atom): (&KeyColumn, &Atom)| {
        column.key.is_of_lines().then(|| atom.as_place().ok()).flatten()
    };
    let cells = rows.atoms().flat_map(|atoms| columns.iter().zip(atoms));
    let places: Vec<Place> = cells.filter_map(of_lines).collect();
    lookup.lines.build_keys.wants_lines = columns.iter().any(|it| it.key == Key::RoutineLine);
    lookup.lines.learn(places, &mut lookup.places);
    let rename = |_, atoms: &mut [Atom], _: &Sum| {
        for (column, atom) in columns.iter().zip(atoms) {
            if let Some(typed) =
                atom.as_undecided().and_then(|it| lookup.undecided.decided_type(it))
            {
                *atom = if column.key == Key::Type { typed.of } else { typed.member };
                continue;
            }
            if column.key == Key::Block {
                *atom = lookup.named_block(*atom);
                continue;
            }
            if column.key == Key::Holder {
                *atom = named_holder(*atom, lookup);
                continue;
            }
            let place = of_lines((column, atom));
            let Some(lines) = place.and_then(|place| lookup.lines.of(place)) else { continue };
            match column.key {
                Key::Srcline => *atom = lines.source,
                Key::AllocLine => *atom = lines.own_source,
                Key::Inlined => *atom = lines.inlined,
                Key::RoutineLine => *atom = lines.in_routine,
                _ => {}
            }
        }
    };
    Ok(rows.counted(rename, chance)?.into_rows())
}
