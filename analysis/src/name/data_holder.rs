//! What holds the bytes that an access is on.

use crate::name::atom::Atom;
use crate::name::lookup::{Lookup, PlaceKind};
use record::Tid;
use symbolizer::{ObjectId, Place};

/// What an access is on, as far as the recording tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum DataHolder {
    /// Blocks of the heap that one place of the program asked for.
    Block(Place),
    /// A routine's frame, and the variable there, by the number of its name.
    Frame(u32),
    /// A variable that each thread has for itself, by the number of its name.
    ThreadLocal(u32),
    /// The stack of a thread; in which frame is not known.
    Stack(Tid),
    /// A variable, or why there is none, and what is mapped there.
    Mapped { variable: Atom, object: Option<ObjectId> },
}

impl DataHolder {
    /// In words: `block from ROUTINE+OFFSET, FILE:LINE`, `VARIABLE in the frame of ROUTINE`, a
    /// variable's name, or that of what is mapped.
    pub(crate) fn name(&self, lookup: &mut Lookup) -> String {
        let asked = match *self {
            DataHolder::Block(asked) => asked,
            DataHolder::Frame(name) | DataHolder::ThreadLocal(name) => {
                return lookup.name(name).to_string();
            }
            DataHolder::Stack(tid) => return format!("stack of thread {}", tid.0),
            DataHolder::Mapped { variable, object } => return lookup.data_name(variable, object),
        };
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

    /// The same as a key's value: of one that nothing is known of, why.
    pub(crate) fn atom(self, lookup: &mut Lookup) -> Atom {
        if let DataHolder::Mapped { variable, object: None } = self {
            return variable;
        }
        if let Some(known) = lookup.stacks.holders.get(&self) {
            return Atom::number(u64::from(*known));
        }
        let name = self.name(lookup);
        let number = lookup.names.number(&name);
        lookup.stacks.holders.insert(self, number);
        Atom::number(u64::from(number))
    }
}
