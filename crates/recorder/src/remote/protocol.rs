//! What `ebsd` and its clients say to each other over a Unix socket: frames,
//! and the control messages in them. Bytes in, values out; no I/O.
//!
//! docs/protocol.md is the specification; the examples there are checked
//! against this code.

mod frame;
mod message;
mod named_target;
mod request;
mod version;
mod when_slow;

pub use frame::{
    FRAME_HEADER, FrameError, FrameKind, MOST_FROM_CLIENT, MOST_FROM_DAEMON, Parsed, ProtocolFrame,
    frame, parse,
};
pub use message::{
    Complaint, ComplaintCode, Joined, Reply, SessionLine, StandingLine, Started, Stats, TypeLine,
    Verb, WHOLE,
};
pub use named_target::NamedTarget;
pub use request::{ClientRequest, request};
pub use version::{OLDEST, VERSION, common};
pub use when_slow::WhenSlow;

pub use crate::session::ledger::{Account, EventTimes, RateLowered};

#[cfg(test)]
mod tests;
