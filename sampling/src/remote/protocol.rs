//! What `ebsd` and its clients say to each other over a Unix socket: frames,
//! and the control messages in them. Bytes in, values out; no I/O.
//!
//! docs/protocol.md is the specification; the examples there are checked
//! against this code.

mod frame;
mod in_kernel;
mod job;
mod message;
mod request;
mod version;

pub use frame::{
    FRAME_HEADER, FrameError, FrameKind, MOST_FROM_CLIENT, MOST_FROM_DAEMON, Parsed, ProtocolFrame,
    frame, parse,
};
pub use in_kernel::{WireDuty, WireInKernel, WireKeep};
pub use job::{Job, WhenSlow, WireTarget};
pub use message::{
    Account, Complaint, ComplaintCode, EventTimes, Joined, RateLowered, Reply, SessionLine,
    StandingLine, Started, Stats, TypeLine, Verb, WHOLE,
};
pub use request::{ClientRequest, request};
pub use version::{OLDEST, VERSION, common};

#[cfg(test)]
mod tests;
