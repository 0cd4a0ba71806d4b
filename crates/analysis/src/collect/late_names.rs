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
use crate::name::holder_names::named_holder;
use crate::name::key_value::KeyValue;
use crate::name::lookup::Lookup;
use crate::query::key::Key;
use perfdata::aggregate::SeededRandom;
use symbolizer::Place;

/// Rows of the columns, with source lines for places, and types that are decided now.
pub(crate) fn with_late_names(
    rows: CountedRows,
    columns: &[KeyColumn],
    lookup: &mut Lookup,
    chance: &mut SeededRandom,
) -> Result<CountedRows, Error> {
    if !columns.iter().any(|column| column.key.is_named_late()) {
        return Ok(rows);
    }
    let of_lines = |(column, value): (&KeyColumn, &KeyValue)| {
        column.key.is_of_lines().then(|| value.as_place().ok()).flatten()
    };
    let cells = rows.values().flat_map(|values| columns.iter().zip(values));
    let places: Vec<Place> = cells.filter_map(of_lines).collect();
    lookup.lines.build_keys.wants_lines = columns.iter().any(|it| it.key == Key::RoutineLine);
    lookup.lines.learn(places, &mut lookup.places);
    let rename = |_, values: &mut [KeyValue], _: &Sum| {
        for (column, value) in columns.iter().zip(values) {
            if let Some(typed) =
                value.as_undecided().and_then(|it| lookup.undecided.decided_type(it))
            {
                *value = if column.key == Key::Type { typed.of } else { typed.member };
                continue;
            }
            if column.key == Key::Block {
                *value = lookup.named_block(*value);
                continue;
            }
            if column.key == Key::Holder {
                *value = named_holder(*value, lookup);
                continue;
            }
            let place = of_lines((column, value));
            let Some(lines) = place.and_then(|place| lookup.lines.of(place)) else { continue };
            match column.key {
                Key::Srcline => *value = lines.source,
                Key::AllocLine => *value = lines.own_source,
                Key::Inlined => *value = lines.inlined,
                Key::RoutineLine => *value = lines.in_routine,
                _ => {}
            }
        }
    };
    Ok(rows.counted(rename, chance)?.into_rows())
}
