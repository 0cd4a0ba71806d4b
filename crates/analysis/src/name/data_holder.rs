//! What holds the bytes that an access is on.

use crate::name::atom::Atom;
use crate::name::lookup::{Lookup, PlaceKind};
use crate::name::mapping_sizes::MappingSizes;
use crate::name::mappings::MappingOrigin;
use perfdata::Tid;
use std::collections::BTreeSet;
use symbolizer::{ObjectId, Place};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum DataHolder {
    /// Blocks of the heap that one place of the program asked for.
    Block(Place),
    /// Mappings that one place of the program made; of a file, where that is known.
    Mapping(MappingHolder),
    /// Memory that an allocator mapped, in no block that is known.
    Allocator,
    /// A routine's frame, and the variable there, by the number of its name.
    Frame(u32),
    /// A variable that each thread has for itself, by the number of its name.
    ThreadLocal(u32),
    /// The stack of a thread; in which frame is not known.
    Stack(Tid),
    /// A variable, or why there is none, and what is mapped there.
    Mapped { variable: Atom, object: Option<ObjectId> },
}

/// Mappings of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MappingHolder {
    pub(crate) origin: MappingOrigin,
    /// What the recording says is mapped there, of a file.
    pub(crate) object: Option<ObjectId>,
}

impl DataHolder {
    /// In words: `block from ROUTINE+OFFSET, FILE:LINE`, `mapping from ...`, `VARIABLE in the frame of ROUTINE`, a
    /// variable's name, or that of what is mapped.
    pub(crate) fn name(&self, lookup: &mut Lookup) -> String {
        match *self {
            DataHolder::Block(asked) => format!("block from {}", asker_name(asked, lookup)),
            DataHolder::Mapping(mapping) => {
                let sizes = lookup.heap.mappings.sizes(mapping.origin);
                mapping.name(sizes, lookup)
            }
            DataHolder::Allocator => "memory of the allocator".to_owned(),
            DataHolder::Frame(name) | DataHolder::ThreadLocal(name) => {
                lookup.name(name).to_string()
            }
            DataHolder::Stack(tid) => format!("stack of thread {}", tid.0),
            DataHolder::Mapped { variable, object } => lookup.data_name(variable, object),
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
        // How much was mapped is known when all is counted.
        let (name, mapping) = match self {
            DataHolder::Mapping(mapping) => {
                (mapping.name(MappingSizes::default(), lookup), Some(mapping))
            }
            _ => (self.name(lookup), None),
        };
        let number = lookup.names.number(&name);
        lookup.stacks.holders.insert(self, number);
        if let Some(mapping) = mapping {
            lookup.stacks.mappings.entry(number).or_default().push(mapping);
        }
        Atom::number(u64::from(number))
    }
}

impl MappingHolder {
    fn name(&self, sizes: MappingSizes, lookup: &mut Lookup) -> String {
        let file = self.origin.is_file.then(|| self.file(lookup));
        let what = sizes.text(file.as_deref());
        format!("{what} from {}", asker_name(self.origin.asked, lookup))
    }

    fn file(&self, lookup: &Lookup) -> String {
        let object = self.object.map(|object| lookup.symbolizer.object_name(object));
        // What is no path names no file.
        match object.filter(|name| name.starts_with('/') && !name.starts_with("//")) {
            Some(path) => symbolizer::file_name(path).to_owned(),
            None => "a file".to_owned(),
        }
    }
}

impl Lookup {
    /// The number of a holder's name as that of the whole name, once all is counted.
    pub(crate) fn named_holder(&mut self, holder: Atom) -> Atom {
        let known = holder.as_name().ok().and_then(|name| self.stacks.mappings.get(&name));
        let Some(holders) = known.cloned() else { return holder };
        let Some(mapping) = holders.first() else { return holder };
        // A file's, of which one origin shows several, are told together.
        let origins: BTreeSet<MappingOrigin> = holders.iter().map(|it| it.origin).collect();
        let mut sizes = MappingSizes::default();
        origins.iter().for_each(|it| sizes.join(self.heap.mappings.sizes(*it)));
        let name = mapping.name(sizes, self);
        Atom::number(u64::from(self.names.number(&name)))
    }
}

/// Where memory was asked for: `ROUTINE+OFFSET, FILE:LINE`.
fn asker_name(asked: Place, lookup: &mut Lookup) -> String {
    let cell = lookup.site_cell(PlaceKind::Code, asked);
    let routine = match cell.routine {
        Ok(routine) => format!("{}+{:#x}", routine.name, routine.offset),
        Err(_) => format!("{:#x} of {}", cell.address, cell.object),
    };
    lookup.learn_lines(vec![asked]);
    let line = lookup.lines(asked).and_then(|lines| lines.own_source.as_name().ok());
    match line {
        Some(line) => format!("{routine}, {}", lookup.name(line)),
        None => routine,
    }
}
