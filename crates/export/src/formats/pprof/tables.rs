//! Strings, functions, mappings and locations of a profile: each is added when
//! it is first named, and has its number from then on.

use crate::formats::protobuf::ProtoMessage;
use analysis::{FrameId, FrameRoutine, NameNumber, NamedFrame, SampleNames};
use perfdata::printable::printable;
use rustc_hash::FxHashMap;

/// Fields of `Profile`.
mod field {
    pub(super) const MAPPING: u64 = 3;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING: u64 = 6;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Function {
    name: NameNumber,
    file: Option<NameNumber>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct MappedObject {
    pub(super) object: NameNumber,
    pub(super) build_id: Option<NameNumber>,
}

/// A profile that grows, and what is in it by number.
#[derive(Debug, Default)]
pub(super) struct ProfileTables {
    pub(super) profile: ProtoMessage,
    strings: FxHashMap<String, u64>,
    functions: FxHashMap<Function, u64>,
    mappings: FxHashMap<MappedObject, u64>,
    locations: FxHashMap<FrameId, u64>,
}

/// Numbers of tables start at 1: 0 is none.
fn next<K>(known: &FxHashMap<K, u64>) -> u64 {
    u64::try_from(known.len()).unwrap_or(u64::MAX).saturating_add(1)
}

impl ProfileTables {
    /// The number of a string; control characters are escaped. 0 is the empty one.
    pub(super) fn string(&mut self, text: &str) -> u64 {
        if self.strings.is_empty() {
            self.profile.text(field::STRING, "");
            self.strings.insert(String::new(), 0);
        }
        let text = printable(text);
        if let Some(known) = self.strings.get(&*text) {
            return *known;
        }
        let number = next(&self.strings) - 1;
        self.profile.text(field::STRING, &text);
        self.strings.insert(text.into_owned(), number);
        number
    }

    pub(super) fn value_type(&mut self, name: &str, unit: &str) -> ProtoMessage {
        let mut of_type = ProtoMessage::default();
        of_type.number(1, self.string(name));
        of_type.number(2, self.string(unit));
        of_type
    }

    pub(super) fn label(&mut self, key: &str, value: &str) -> ProtoMessage {
        let mut label = ProtoMessage::default();
        label.number(1, self.string(key));
        label.number(2, self.string(value));
        label
    }

    /// The number of a frame's `Location`.
    pub(super) fn location(&mut self, frame: FrameId, names: &SampleNames<'_>) -> u64 {
        if let Some(known) = self.locations.get(&frame) {
            return *known;
        }
        let mut location = ProtoMessage::default();
        let number = next(&self.locations);
        location.number(1, number);
        if let Some(NamedFrame { routines, object, build_id, address }) = names.frame(frame) {
            if let Some(object) = *object {
                let mapped = MappedObject { object, build_id: *build_id };
                location.number(2, self.mapping(mapped, names));
            }
            location.number(3, address.unwrap_or(0));
            for routine in routines {
                let FrameRoutine { name, file, line } = *routine;
                let function = Function { name, file: file.or(*object) };
                let mut told = ProtoMessage::default();
                told.number(1, self.function(function, names));
                told.number(2, line.into());
                location.message(4, &told);
            }
        }
        self.profile.message(field::LOCATION, &location);
        self.locations.insert(frame, number);
        number
    }

    fn function(&mut self, function: Function, names: &SampleNames<'_>) -> u64 {
        if let Some(known) = self.functions.get(&function) {
            return *known;
        }
        let number = next(&self.functions);
        let name = self.string(names.name(function.name));
        let file = function.file.map_or(0, |file| self.string(names.name(file)));
        let mut told = ProtoMessage::default();
        for (field, value) in [(1, number), (2, name), (3, name), (4, file)] {
            told.number(field, value);
        }
        self.profile.message(field::FUNCTION, &told);
        self.functions.insert(function, number);
        number
    }

    /// Addresses are those of the object's file, so that it is mapped to all of
    /// them, from 0 on (`GetBase()`, internal/elfexec/elfexec.go of pprof).
    pub(super) fn mapping(&mut self, mapped: MappedObject, names: &SampleNames<'_>) -> u64 {
        if let Some(known) = self.mappings.get(&mapped) {
            return *known;
        }
        let number = next(&self.mappings);
        let file = self.string(names.name(mapped.object));
        let build_id = mapped.build_id.map_or(0, |id| self.string(names.name(id)));
        let mut told = ProtoMessage::default();
        for (field, value) in [(1, number), (3, u64::MAX), (5, file), (6, build_id)] {
            told.number(field, value);
        }
        // It has functions, files, lines, inlined frames: nothing to look up.
        (7..=10).for_each(|has| told.number(has, 1));
        self.profile.message(field::MAPPING, &told);
        self.mappings.insert(mapped, number);
        number
    }
}
