//! What holds the bytes that an access is on.

use crate::collect::sampled::CountedSample;
use crate::name::atom::Atom;
use crate::name::lookup::{Lookup, PlaceKind};
use symbolizer::{ObjectId, Place};

/// A variable; else the blocks of the heap that one place asked for, where the
/// recording tells of blocks; else what is mapped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DataHolder {
    /// A variable, or why there is none.
    variable: Atom,
    /// Where the program asked for the block.
    asked: Option<Place>,
    /// What is mapped there.
    mapped: Option<ObjectId>,
}

impl DataHolder {
    /// Of a sample.
    pub(crate) fn of(sample: &CountedSample<'_>, lookup: &mut Lookup) -> DataHolder {
        let data = sample.data(lookup);
        let variable = data.map_or_else(Atom::lack, |place| lookup.variable(place));
        let block = match variable.as_name() {
            Ok(_) => None,
            Err(_) => sample.block(lookup).ok(),
        };
        let asked = block.and_then(|block| block.asker.site.ok());
        DataHolder { variable, asked, mapped: data.ok().map(|place| place.object) }
    }

    /// In words: a variable's name, `block from ROUTINE+OFFSET, FILE:LINE`, or
    /// that of what is mapped.
    pub(crate) fn name(&self, lookup: &mut Lookup) -> String {
        let Some(asked) = self.asked else { return lookup.data_name(self.variable, self.mapped) };
        let cell = lookup.site_cell(PlaceKind::Code, asked);
        let routine = match cell.routine {
            Ok(routine) => format!("{}+{:#x}", routine.name, routine.offset),
            Err(_) => format!("{:#x} of {}", cell.address, cell.object),
        };
        lookup.learn_lines(vec![asked]);
        let line = lookup.lines(asked).and_then(|lines| lines.own_source.as_name().ok());
        match line {
            Some(line) => format!("block from {routine}, {}", lookup.name(line)),
            None => format!("block from {routine}"),
        }
    }
}
