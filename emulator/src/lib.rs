//! A PMU made of software: runs a program under a translator of its own
//! instruction set, models its caches and TLBs, fills a ring laid out as
//! the kernel's.

pub mod block;
pub mod event;

pub use event::{Class, Event};
