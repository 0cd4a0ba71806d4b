//! Types from DWARF 2 to 5.
//!
//! One pass over all units: entries that are types get their place when
//! something first refers to them or when they come, whatever is first. What
//! needs others to be known, such as the place of a bit field that counts
//! from the end of its number, waits for the end.

mod attributes;
mod entries;
mod open;
mod scopes;
mod unit_reader;

use crate::table::TypeTable;
use crate::variables::VariableTable;
use scopes::ScopeReader;
use symbolizer::DebugSections;
use unit_reader::TypeReader;

pub(crate) fn read(sections: &DebugSections) -> TypeTable {
    let mut reader = TypeReader::new(sections.size(), sections.is_little_endian());
    sections.each_unit(&mut |unit| match unit {
        Ok(unit) => reader.unit(&unit),
        Err(why) => reader.note(why),
    });
    reader.finish()
}

/// All types of a file, and where its variables are.
pub(crate) fn read_program(sections: &DebugSections) -> (TypeTable, VariableTable) {
    let mut reader = TypeReader::new(sections.size(), sections.is_little_endian());
    let mut scopes = ScopeReader::new(sections.size());
    sections.each_unit(&mut |unit| match unit {
        Ok(unit) => {
            reader.unit(&unit);
            scopes.unit(&unit, &mut reader);
        }
        Err(why) => reader.note(why),
    });
    (reader.finish(), scopes.finish())
}
