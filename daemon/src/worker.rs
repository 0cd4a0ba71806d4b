//! What serves one user: owns their rings, queues and connections, and has
//! no rights but theirs.

pub(crate) mod bell;
pub(crate) mod chunk;
mod complaint;
mod connection;
mod drive;
pub(crate) mod fan;
mod handed_client;
mod hub;
mod intake;
mod job;
mod opening;
mod parcel;
pub(crate) mod queue;
mod relay;
pub(crate) mod share;
mod watch;

pub(crate) use connection::{LINGER, serve as serve_client};
pub(crate) use handed_client::HandedClient;
pub(crate) use hub::{Hub, OpenConnection, Subscription};
pub(crate) use job::CheckedJob;
pub(crate) use watch::watch;
