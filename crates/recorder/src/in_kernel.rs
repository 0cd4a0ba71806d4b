//! Samples counted in the kernel: programs that see each overflow of an event
//! and keep sums per site, or choose what reaches the ring.
//!
//! The programs are crates/recorder/kernel/*.bpf.c, compiled beside their sources. A
//! `Program` is one of them, loaded with maps of its own: nothing in it is
//! keyed by session, so that it cannot reach what is another's. A `Reader`
//! maps those maps and takes what an interval has counted.
//!
//! ```text
//! overflow -> program -> slot of (CPU, epoch, site)       no ring, no wake-up
//!                           ^
//!              reader: moves the epoch on, waits for the CPUs that write, reads what is behind
//! ```

mod layout;
mod load_error;
mod loader;
mod program;
mod reader;
mod settings;
mod slot;
mod source;
mod tracepoint;

pub use crate::request::{
    InKernel, ProgramTask, SampleConditions, SampleConditionsError, SiteTables,
};
pub use load_error::LoadError;
pub use program::KernelProgram;
pub(crate) use reader::{AggregateReader, HitCounts};
pub use source::{HitSource, SampleContents};
pub use tracepoint::{CountedTracepoint, HitScope};

impl InKernel {
    /// Counts callers with their sites, if they are asked for. Their addresses
    /// mean something in one process alone, so processes are told apart.
    pub(crate) fn with_callers(mut self, callers: bool) -> InKernel {
        if let ProgramTask::Aggregate(tables) = &mut self.duty {
            tables.callers = callers;
            tables.by_process |= callers;
        }
        self
    }

    /// With tables of a size: what was asked for, or what fits so many CPUs.
    pub(crate) fn on(mut self, cpus: usize) -> InKernel {
        if let ProgramTask::Aggregate(tables) = &mut self.duty
            && tables.sites == SiteTables::AUTO_SITES
        {
            tables.sites = layout::fitting_sites(cpus, tables.callers);
        }
        self
    }
}

/// Bytes of the kernel's memory that the maps of a session on so many CPUs
/// take.
pub fn bytes(in_kernel: &InKernel, cpus: u32) -> u64 {
    layout::TableSizes::of(in_kernel, cpus, cpus).bytes()
}

#[cfg(test)]
mod tests {
    //! Real hits: page faults of this process.

    #![allow(clippy::print_stderr, reason = "a test that skips says why")]

    mod accepted;
    mod aggregates;
    mod callers;
    mod choosing;
    mod hits;
    #[cfg(feature = "interleavings")]
    mod interleavings;
    mod refusals;
    mod tracepoints;
}
