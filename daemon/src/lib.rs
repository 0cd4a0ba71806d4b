//! `ebsd`: sampling for users who may not do so themselves, and recordings
//! that stand.
//!
//! The supervisor has the rights and reads nothing that a user wrote but
//! requests of bounded size; each user is served by a worker with that
//! user's own rights. What is sampled, and how, is `sampling`'s.

pub mod arguments;
mod broker;
mod channel;
mod control;
mod credentials;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod guard {
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
    pub(crate) use steps::{Escalation, GuardStep};
    pub(crate) use usage::Usage;
}
pub mod log;
pub mod policy;
mod process;
pub mod standing;
pub mod store {
    //! What a standing session leaves on disk: files of segments, whose layout is
    //! [`perfdata::segment`].
    //!
    //! docs/segments.md is the specification.

    mod clock;
    mod directory;
    mod recovery;
    mod retention;

    pub(crate) use clock::{Clock, SystemClock};
    pub(crate) use directory::{Directory, ListedSegment, SegmentState, header};
    pub(crate) use recovery::{Recovered, recover};
    pub use retention::RetentionLimits;
    pub(crate) use retention::expired;

    #[cfg(test)]
    mod tests;
}
pub mod supervisor;
#[allow(unsafe_code, reason = "system calls and mapped memory; each block says why it holds")]
mod sys;
mod target;
mod worker;
