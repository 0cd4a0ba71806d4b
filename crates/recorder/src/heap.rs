//! Blocks of the heap that a program of its own tells of, natively: a library that `LD_PRELOAD`
//! names stands before its allocator (`heap-preload/`), and writes into memory that the session
//! made. Three events of the stream are what comes of it, `allocation`, `release` and, of what it
//! maps itself, `mapping`; the kernel has
//! them open as dummies, for their ids.
//!
//! [`add`] plans them, [`HeapLog`] is the session's end of the memory, `sample` makes records.

mod library_file;
mod log;
mod memory_limit;
mod plan;
mod sample;

use std::path::PathBuf;

use crate::PlannedEvent;
use crate::request::StackBytes;

pub(crate) use library_file::LibraryFile;
pub use log::{HeapAccount, HeapLog};
pub use plan::add;
pub(crate) use plan::{opened, place};
pub(crate) use sample::{HeapSample, HeapSampler};

/// The PMU's name in streams: no directory under /sys/bus/event_source/devices has it.
const PMU: &str = "heap";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapSettings {
    /// A sample each so many bytes on average; 1: every block.
    pub rate: u64,
    /// How much of the stack is copied with each allocation.
    pub stack: StackBytes,
    /// Where the library may be installed: the first that is there is preloaded.
    pub libraries: Vec<PathBuf>,
    /// The library itself: unpacked where none is installed; empty: there is none.
    pub embedded: &'static [u8],
}

impl HeapSettings {
    /// Bytes for each sample unless told otherwise.
    pub const DEFAULT_RATE: u64 = 512 << 10;
    pub const LIBRARY: &str = "libhardmeter_heap.so";

    fn installed(&self) -> Option<PathBuf> {
        let mut all = self.libraries.iter();
        all.find(|path| path.is_file() && library_file::is_preloadable(path)).cloned()
    }

    /// Behind the promises of its events in streams.
    pub(crate) fn note(&self) -> String {
        match self.rate {
            ..=1 => ";heap=exact;heap_order=time".to_owned(),
            rate => format!(";heap=sampled;heap_bytes={rate};heap_order=time"),
        }
    }
}

pub(crate) fn is_of_heap(event: &PlannedEvent) -> bool {
    event.pmu == PMU
}
