//! The calls that open events: all that has to be replaced to see what a
//! session does on another kernel.

use std::fmt;
use std::io;

use record::Cpu;

use crate::in_kernel::{InKernel, Program, Source, Unloadable};
use crate::sys::event::{EncodedAttr, Event, Place};

/// Opens events, sends their records to rings or has a program count them.
pub trait Kernel: fmt::Debug + Sync {
    /// perf_event_open(2); see [`Event::open`].
    fn open(&self, attr: &mut EncodedAttr, place: Place<'_>) -> io::Result<Event>;

    /// PERF_EVENT_IOC_SET_OUTPUT; see [`Event::output_to`].
    fn share(&self, event: &Event, owner: &Event) -> io::Result<()>;

    /// A program that counts or picks the hits of events, and its maps: with
    /// room for hits on these CPUs.
    fn load(
        &self,
        in_kernel: &InKernel,
        source: Source,
        cpus: &[Cpu],
    ) -> Result<Program, Unloadable>;
}

/// The kernel that runs.
#[derive(Clone, Copy, Debug)]
pub struct Linux;

impl Kernel for Linux {
    fn open(&self, attr: &mut EncodedAttr, place: Place<'_>) -> io::Result<Event> {
        Event::open(attr, place)
    }

    fn share(&self, event: &Event, owner: &Event) -> io::Result<()> {
        event.output_to(owner)
    }

    fn load(
        &self,
        in_kernel: &InKernel,
        source: Source,
        cpus: &[Cpu],
    ) -> Result<Program, Unloadable> {
        Program::load(in_kernel, source, cpus)
    }
}
