//! Sampling that somebody else does: the daemon's protocol, its client's
//! side, and a session there.

pub mod client;
pub mod protocol;
mod session;

pub use session::RemoteSession;
