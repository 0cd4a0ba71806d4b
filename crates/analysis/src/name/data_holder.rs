//! What holds the bytes that an access is on.

use crate::name::key_value::KeyValue;
use crate::name::mappings::MappingOrigin;
use perfdata::Tid;
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
    Mapped { variable: KeyValue, object: Option<ObjectId> },
}

/// Mappings of one origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MappingHolder {
    pub(crate) origin: MappingOrigin,
    /// What the recording says is mapped there, of a file.
    pub(crate) object: Option<ObjectId>,
}
