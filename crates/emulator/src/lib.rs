//! A PMU made of software: runs a program under a translator of its own
//! instruction set, models its caches and TLBs, fills a ring laid out as
//! the kernel's.

pub mod account;
mod allocators;
pub mod block;
pub mod code_cache;
pub mod event;
pub mod geometry;
pub mod model;
pub mod runtime {
    //! The runtime that runs in the target behind translated code: its image,
    //! and the memory that it works on.

    pub mod guest;
    mod image;
    mod setup;

    pub use image::{RuntimeImage, image};
    pub use setup::{EventSetup, EventTotals, RuntimeSetup, SetupError, ThreadSetup};
}
pub mod settings;
#[allow(unsafe_code, reason = "the edge to the kernel")]
mod sys {
    //! The edge to the kernel: all `unsafe` of the tracer.

    pub(crate) mod alarm;
    pub(crate) mod mapping;
    pub(crate) mod pagemap;
    pub mod ptrace;
    pub(crate) mod remote;
}
mod tracer;
pub mod translate;
pub mod zone;

pub use account::{
    Coverage, EmulationAccount, EmulationState, EmulationWake, EventCounts, Fault, StartError,
    TaskExit,
};
pub use allocators::{AllocatorFinder, FileAllocator};
pub use event::{Class, Classifier, EmulatedEvent};
pub use geometry::{CacheGeometry, Geometry, TlbGeometry};
pub use settings::{
    Burst, EmulationSettings, EmulationTarget, EventSettings, LayoutChange, ObjectLayout,
    ObjectLayoutError, RowOrder,
};
pub use sys::ptrace;
pub use tracer::{Emulation, MappedRegion};
