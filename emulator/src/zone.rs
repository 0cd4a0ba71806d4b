//! A range of the code cache near some of the program's code.

/// Memory of a zone as the supervisor has it mapped.
pub type ZoneMemory = Box<dyn AsMut<[u8]> + Send>;

/// A zone of a code cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneId(pub usize);
