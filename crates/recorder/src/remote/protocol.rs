//! What `ebsd` and its clients say to each other over a Unix socket: frames,
//! and the control messages in them. Bytes in, values out; no I/O.
//!
//! docs/protocol.md is the specification; the examples there are checked
//! against this code.

mod frame;
mod message;
mod request;

pub use frame::{
    FRAME_HEADER, FrameError, FrameKind, MAX_CLIENT_PAYLOAD, MAX_DAEMON_PAYLOAD, OLDEST, Parsed,
    ProtocolFrame, VERSION, common, frame, parse,
};
pub use message::{
    ErrorCode, ErrorReply, Joined, NamedTarget, Reply, SessionLine, StandingLine, Started, Stats,
    TypeLine, Verb, WHOLE, WhenSlow,
};
pub use request::{ClientRequest, request};

pub use crate::session::ledger::{Account, EventTimes, RateLowered};

#[cfg(test)]
mod tests;
