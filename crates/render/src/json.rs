//! A row as an object.

use crate::cell::Cell;
use crate::table::Column;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Adds a row's values to an object: what is of a group as an object of its own, which is
/// null where values are missing.
///
/// # Errors
/// Those of the serializer.
pub fn row_entries<R, M: SerializeMap>(
    columns: &[Column<R>],
    row: &R,
    map: &mut M,
) -> Result<(), M::Error> {
    for group in columns.chunk_by(|a, b| a.head.group == b.head.group) {
        let values = group.iter().filter(|column| !column.head.name.is_empty());
        let values = values.filter_map(|it| Some((&*it.head.name, (it.value)(row)?)));
        let values: Vec<(&str, Cell<'_>)> = values.collect();
        match group.first().map_or("", |column| column.head.group) {
            "" => values.iter().try_for_each(|(name, cell)| map.serialize_entry(name, cell))?,
            name if !values.is_empty() => map.serialize_entry(name, &GroupObject(values))?,
            _ => {}
        }
    }
    Ok(())
}

struct GroupObject<'r>(Vec<(&'r str, Cell<'r>)>);

impl Serialize for GroupObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.iter().all(|(_, cell)| cell.is_there()) {
            true => serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell))),
            false => serializer.serialize_none(),
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Count(number) => serializer.serialize_u64(*number),
            Cell::Signed(number) => serializer.serialize_i64(*number),
            Cell::Flag(flag) => serializer.serialize_bool(*flag),
            Cell::Share(number)
            | Cell::Part(number)
            | Cell::Mean(number)
            | Cell::Rounded(number, _) => serializer.serialize_f64(*number),
            // JSON numbers lose bits beyond 53.
            Cell::Address(_) => serializer.serialize_str(&self.text()),
            Cell::Name(text) | Cell::Words(text) | Cell::Nested(_, text) => {
                serializer.serialize_str(text)
            }
            Cell::Missing { .. } | Cell::Nothing => serializer.serialize_none(),
        }
    }
}
