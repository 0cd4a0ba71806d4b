//! What the emulated PMU can count.

use std::fmt;
use std::sync::Arc;

use iced_x86::Instruction;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmulatedEvent {
    /// Instructions of a class, counted when they are reached.
    Class(Class),
    /// Loads and stores that miss the first-level data cache.
    L1DataMiss,
    L2Miss,
    L3Miss,
    /// Loads whose page is not in the first-level data TLB.
    DtlbLoadMiss,
    DtlbStoreMiss,
    DtlbMiss,
    /// Page walks: it is not in the second-level TLB either.
    PageWalk,
    SplitLoad,
    SplitStore,
    /// Loads that cannot take their data from an earlier store that overlaps.
    BlockedForward,
    /// Loads that hit a line that another thread has modified.
    HitModified,
    /// Blocks that allocators gave, when their functions return.
    Allocation,
    Release,
    /// Memory that the program mapped, moved or unmapped itself, by mmap(2) and its kin.
    Mapping,
}

impl EmulatedEvent {
    /// Whether accesses to data decide what is counted, or what records of it
    /// hold: address, level and modelled latency mean something then.
    #[must_use]
    pub fn is_of_data(self) -> bool {
        use perfdata::InstructionClass as Kind;
        match self {
            EmulatedEvent::Class(Class::Retired) => false,
            EmulatedEvent::Class(Class::Of(kind)) => matches!(
                kind,
                Kind::ReadsMemory | Kind::WritesMemory | Kind::AccessesMemory | Kind::SplitLoad
            ),
            EmulatedEvent::Allocation | EmulatedEvent::Release | EmulatedEvent::Mapping => false,
            _ => true,
        }
    }

    /// Whether calls of allocators, or of mmap(2), decide what is counted.
    #[must_use]
    pub fn is_of_heap(self) -> bool {
        matches!(self, EmulatedEvent::Allocation | EmulatedEvent::Release | EmulatedEvent::Mapping)
    }

    /// Whether TLBs decide what is counted.
    #[must_use]
    pub fn is_of_pages(self) -> bool {
        matches!(
            self,
            EmulatedEvent::DtlbLoadMiss
                | EmulatedEvent::DtlbStoreMiss
                | EmulatedEvent::DtlbMiss
                | EmulatedEvent::PageWalk
        )
    }
}

/// Which instructions a class event counts: all of them, or those that
/// [`perfdata::InstructionClass`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    Retired,
    Of(perfdata::InstructionClass),
}

/// A rule over decoded instructions, asked once when an instruction is
/// translated.
#[derive(Clone)]
pub struct Classifier(Arc<dyn Fn(&Instruction) -> bool + Send + Sync>);

impl Classifier {
    pub fn new(counts: impl Fn(&Instruction) -> bool + Send + Sync + 'static) -> Classifier {
        Classifier(Arc::new(counts))
    }

    pub fn counts(&self, instruction: &Instruction) -> bool {
        (self.0)(instruction)
    }
}

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Classifier")
    }
}
