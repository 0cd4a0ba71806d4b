//! A PMU made of software: runs a program under a translator of its own
//! instruction set, models its caches and TLBs, fills a ring laid out as
//! the kernel's.

pub mod block;
pub mod classifier;
pub mod code_cache;
pub mod emulation;
pub mod event;
pub mod geometry;
pub mod model;
pub mod runtime;
#[allow(unsafe_code, reason = "the edge to the kernel")]
mod sys;
mod tracer;
pub mod translate;
pub mod zone;

pub use classifier::Classifier;
pub use emulation::{
    Burst, Coverage, Emulation, EmulationAccount, EmulationSettings, EmulationTarget,
    EmulationWake, Ended, Fault, StartError, TargetStanding,
};
pub use event::{Class, EmulatedEvent};
pub use geometry::Geometry;
