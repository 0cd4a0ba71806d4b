//! What holds the bytes that an access is on, in words.

use crate::name::data_holder::{DataHolder, MappingHolder};
use crate::name::key_value::KeyValue;
use crate::name::lookup::Lookup;
use crate::name::mapping_sizes::MappingSizes;
use crate::name::mappings::MappingOrigin;
use crate::name::place_names::PlaceKind;
use std::collections::BTreeSet;
use symbolizer::Place;

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
                lookup.places.name(name).to_string()
            }
            DataHolder::Stack(tid) => format!("stack of thread {}", tid.0),
            DataHolder::Mapped { variable, object } => lookup.places.data_name(variable, object),
        }
    }

    /// The same as a key's value: of one that nothing is known of, why.
    pub(crate) fn key_value(self, lookup: &mut Lookup) -> KeyValue {
        if let DataHolder::Mapped { variable, object: None } = self {
            return variable;
        }
        if let Some(known) = lookup.holders.known.get(&self) {
            return KeyValue::number(u64::from(*known));
        }
        // How much was mapped is known when all is counted.
        let (name, mapping) = match self {
            DataHolder::Mapping(mapping) => {
                (mapping.name(MappingSizes::default(), lookup), Some(mapping))
            }
            _ => (self.name(lookup), None),
        };
        let number = lookup.places.texts.number(&name);
        lookup.holders.known.insert(self, number);
        if let Some(mapping) = mapping {
            lookup.holders.mappings.entry(number).or_default().push(mapping);
        }
        KeyValue::number(u64::from(number))
    }
}

impl MappingHolder {
    fn name(&self, sizes: MappingSizes, lookup: &mut Lookup) -> String {
        let file = self.origin.is_file.then(|| self.file(lookup));
        let what = sizes.text(file.as_deref());
        format!("{what} from {}", asker_name(self.origin.asked, lookup))
    }

    fn file(&self, lookup: &Lookup) -> String {
        let object = self.object.map(|object| lookup.places.symbolizer.object_name(object));
        // What is no path names no file.
        match object.filter(|name| name.starts_with('/') && !name.starts_with("//")) {
            Some(path) => symbolizer::file_name(path).to_owned(),
            None => "a file".to_owned(),
        }
    }
}

/// The number of a holder's name as that of the whole name, once all is counted.
pub(crate) fn named_holder(holder: KeyValue, lookup: &mut Lookup) -> KeyValue {
    let known = holder.as_name().ok().and_then(|name| lookup.holders.mappings.get(&name));
    let Some(holders) = known.cloned() else { return holder };
    let Some(mapping) = holders.first() else { return holder };
    // A file's, of which one origin shows several, are told together.
    let origins: BTreeSet<MappingOrigin> = holders.iter().map(|it| it.origin).collect();
    let mut sizes = MappingSizes::default();
    origins.iter().for_each(|it| sizes.join(lookup.heap.mappings.sizes(*it)));
    let name = mapping.name(sizes, lookup);
    lookup.places.texts.key_value(&name)
}

/// Where memory was asked for: `ROUTINE+OFFSET, FILE:LINE`.
fn asker_name(asked: Place, lookup: &mut Lookup) -> String {
    let Lookup { places, lines, .. } = lookup;
    let cell = places.site_cell(PlaceKind::Code, asked);
    let routine = match cell.routine {
        Ok(routine) => format!("{}+{:#x}", routine.name, routine.offset),
        Err(_) => format!("{:#x} of {}", cell.address, cell.object),
    };
    lines.learn(vec![asked], places);
    let line = lines.of(asked).and_then(|lines| lines.own_source.as_name().ok());
    match line {
        Some(line) => format!("{routine}, {}", places.text(line)),
        None => routine,
    }
}
