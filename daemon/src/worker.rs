//! What serves one user: owns their rings, queues and connections, and has
//! no rights but theirs.

pub(crate) mod broadcast;
pub(crate) mod chunk;
pub(crate) mod client_counters;
mod connection;
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
mod worker_error;

pub(crate) use connection::{LINGER_TIMEOUT, serve as serve_client};
pub(crate) use hub::{Hub, OpenConnection, Subscription};
pub(crate) use job::CheckedJob;
pub(crate) use passed_client::PassedClient;
pub(crate) use watch::watch;
