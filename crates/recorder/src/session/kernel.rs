//! The calls that open events: all that has to be replaced to see what a
//! session does on another kernel.

use std::fmt;
use std::io;

use perfdata::Cpu;

use crate::in_kernel::{HitSource, InKernel, KernelProgram, LoadError};
use crate::sys::event::{EncodedAttr, EventPlace, PerfEvent};

pub trait Kernel: fmt::Debug + Sync {
    /// perf_event_open(2); see [`PerfEvent::open`].
    fn open(&self, attr: &mut EncodedAttr, place: EventPlace<'_>) -> io::Result<PerfEvent>;

    /// PERF_EVENT_IOC_SET_OUTPUT; see `PerfEvent::output_to`.
    fn share(&self, event: &PerfEvent, owner: &PerfEvent) -> io::Result<()>;

    /// A program that counts or picks the hits of events, and its maps: with
    /// room for hits on these CPUs.
    fn load(
        &self,
        in_kernel: &InKernel,
        source: HitSource,
        cpus: &[Cpu],
    ) -> Result<KernelProgram, LoadError>;
}

#[derive(Clone, Copy, Debug)]
pub struct Linux;

impl Kernel for Linux {
    fn open(&self, attr: &mut EncodedAttr, place: EventPlace<'_>) -> io::Result<PerfEvent> {
        PerfEvent::open(attr, place)
    }

    fn share(&self, event: &PerfEvent, owner: &PerfEvent) -> io::Result<()> {
        event.output_to(owner)
    }

    fn load(
        &self,
        in_kernel: &InKernel,
        source: HitSource,
        cpus: &[Cpu],
    ) -> Result<KernelProgram, LoadError> {
        KernelProgram::load(in_kernel, source, cpus)
    }
}
