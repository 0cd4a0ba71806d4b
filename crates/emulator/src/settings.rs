//! What an emulation is asked for.

mod burst;
mod object_layout;

pub use burst::Burst;
pub(crate) use object_layout::{BEYOND, HUGE_PAGE};
pub use object_layout::{LayoutChange, ObjectLayout, ObjectLayoutError, RowOrder};

use perfdata::{Attr, Pid};

use crate::allocators::AllocatorFinder;
use crate::block::EVENTS;
use crate::event::{Classifier, EmulatedEvent};
use crate::geometry::Geometry;

#[derive(Clone, Debug)]
pub struct EmulationSettings {
    pub geometry: Geometry,
    pub prefetch: bool,
    /// What is counted, all in one run: 1 to [`EmulationSettings::MAX_EVENTS`].
    pub events: Vec<EventSettings>,
    /// Layout of the trailer of sideband records, and which of them are wanted.
    pub side_attr: Attr,
    /// Identifier in the sideband records' trailers.
    pub side_id: u64,
    pub burst: Option<Burst>,
    /// Let the target run on natively after so many records.
    pub count: Option<u64>,
    /// Data pages of the ring: a power of two.
    pub ring_pages: u32,
    /// Objects that the model sees in another layout than the program has them:
    /// up to [`ObjectLayout::MAX_OBJECTS`]; of those that overlap the first one counts.
    pub layouts: Vec<ObjectLayout>,
    /// Records of mappings that hold no code, too.
    pub data_mappings: bool,
    /// Where functions of allocators are: for events of the heap.
    pub allocators: Option<AllocatorFinder>,
}

impl EmulationSettings {
    pub const MAX_EVENTS: usize = EVENTS;

    pub(crate) fn counted(&self) -> impl Iterator<Item = EmulatedEvent> {
        self.events.iter().map(|one| one.event)
    }
}

#[derive(Clone, Debug)]
pub struct EventSettings {
    pub event: EmulatedEvent,
    /// A record every so many events; at least 1.
    pub interval: u64,
    /// Draws each period from 1 to 2 `interval` - 1, from this seed and the
    /// number of the thread; None: each is `interval`. The first one that
    /// there is decides on lengths of turns, too.
    pub seed: Option<u64>,
    /// The session chooses the interval, from every event on: some 5,000 to 20,000 records a
    /// minute. Only with a seed.
    pub adapted: bool,
    /// The rule of [`crate::Class::Of`] events; not asked for others.
    pub classifier: Option<Classifier>,
    /// Layout of samples: `sample_type` and the register masks. With RAW, which
    /// misses of a data cache alone may have, a sample tells why it is one:
    /// [`perfdata::ClassifiedMiss`].
    pub attr: Attr,
    /// Identifier of samples (IDENTIFIER, ID and STREAM_ID).
    pub id: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmulationTarget {
    /// A child of this process that waits before it execs: emulated from its
    /// exec on, with all it starts.
    Held(Pid),
    /// A running process, all its threads, and what it starts from now on.
    Process(Pid),
}
