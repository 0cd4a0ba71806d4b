//! What serves one user: owns their rings, queues and connections, and has
//! no rights but theirs.

pub(crate) mod broadcast;
pub(crate) mod chunk;
pub(crate) mod client_counters;
mod client_socket;
mod connection;
mod error_replies;
mod hub;
mod job;
mod opening;
mod outgoing_frame;
mod passed_client;
pub(crate) mod queue;
mod relay;
mod request_reader;
mod session_thread;
pub(crate) mod waker;
mod watch;

pub(crate) use client_socket::LINGER_TIMEOUT;
pub(crate) use connection::serve as serve_client;
pub(crate) use hub::{Hub, OpenConnection, Subscription};
pub(crate) use job::CheckedJob;
pub(crate) use passed_client::passed_client;
pub(crate) use watch::watch;
