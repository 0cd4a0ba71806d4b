//! What keeps the daemon, and those it samples for, from taking too much:
//! bytes are admitted before they are allocated, rates before events are
//! opened, and what the daemon takes of the machine is watched.

mod admission;
mod limit_reached;
mod limits;
pub(crate) mod rate;
mod steps;
mod usage;

pub(crate) use admission::{Admission, Holder};
pub(crate) use limit_reached::LimitReached;
pub use limits::{Limits, Size};
pub(crate) use steps::{GuardStep, Steps};
pub(crate) use usage::Usage;
