//! The calls that open events: all that has to be replaced to see what a
//! session does on another kernel.

use std::fmt;
use std::io;

use crate::sys::event::{EncodedAttr, Event, Place};

/// Opens events and sends their records to rings.
pub(crate) trait Kernel: fmt::Debug + Sync {
    /// perf_event_open(2); see [`Event::open`].
    fn open(&self, attr: &mut EncodedAttr, place: Place<'_>) -> io::Result<Event>;

    /// PERF_EVENT_IOC_SET_OUTPUT; see [`Event::output_to`].
    fn share(&self, event: &Event, owner: &Event) -> io::Result<()>;
}

/// The kernel that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linux;

impl Kernel for Linux {
    fn open(&self, attr: &mut EncodedAttr, place: Place<'_>) -> io::Result<Event> {
        Event::open(attr, place)
    }

    fn share(&self, event: &Event, owner: &Event) -> io::Result<()> {
        event.output_to(owner)
    }
}
