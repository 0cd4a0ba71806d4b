//! Variables that hold data, each named once.

use super::atom::Atom;
use super::lookup::{Lookup, MOST_REMEMBERED};
use rustc_hash::FxHashMap;
use symbolizer::{ObjectId, Place, Reason, Resolution};

#[derive(Debug, Default)]
pub(super) struct VariableAtoms {
    by_place: FxHashMap<Place, Atom>,
    /// Of memory that has no variables, whatever the address: heaps, stacks,
    /// files of data, and what is in no mapping that is known. Each sample may be
    /// elsewhere in it.
    of_objects: FxHashMap<ObjectId, Atom>,
}

impl Lookup {
    /// The variable's name by number, that of memory without variables, or
    /// the reason's.
    pub(crate) fn variable(&mut self, place: Place) -> Atom {
        if let Some(atom) = self.variables.of_objects.get(&place.object) {
            return *atom;
        }
        if let Some(atom) = self.variables.by_place.get(&place) {
            return *atom;
        }
        if self.variables.by_place.len() >= MOST_REMEMBERED {
            self.variables.by_place.clear();
        }
        let atom = match self.symbolizer.resolve_data(place) {
            Resolution::Routine(variable) => {
                Atom::number(u64::from(self.names.number(&variable.name)))
            }
            Resolution::Unknown(Reason::NoVariables { name }) => {
                let atom = Atom::number(u64::from(self.names.number(&name)));
                self.variables.of_objects.insert(place.object, atom);
                return atom;
            }
            Resolution::Unknown(reason) => {
                let atom = self.lack_of(&reason);
                if matches!(reason, Reason::DataNotMapped { .. }) {
                    self.variables.of_objects.insert(place.object, atom);
                    return atom;
                }
                atom
            }
        };
        self.variables.by_place.insert(place, atom);
        atom
    }

    /// From the start of a variable to a place in it, and the variable's size;
    /// None: there is none.
    pub(crate) fn variable_extent(&mut self, place: Place) -> Option<(u64, u64)> {
        match self.symbolizer.resolve_data(place) {
            Resolution::Routine(variable) => {
                Some((variable.offset, variable.end.checked_sub(variable.start)?))
            }
            Resolution::Unknown(_) => None,
        }
    }
}
