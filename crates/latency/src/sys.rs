//! Loops in assembly, and the memory and the CPUs that they run on.

mod adds;
mod bind;
mod circle;
mod counted_loop;
mod forward;
mod memory_region;
mod switches;

pub(crate) use adds::add;
pub(crate) use bind::bind;
pub(crate) use circle::Circle;
pub(crate) use forward::{Forwarding, forward};
pub(crate) use memory_region::{MemoryRegion, Pages};
pub(crate) use switches::involuntary_switches;
