//! A worker's process: it gives up its rights, does what the supervisor
//! orders, and ends.

mod confine;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::broker::{Broker, BrokerReply, BrokerRequest};
use crate::channel::{Received, WorkerEnd};
use crate::control::{WorkerOrder, WorkerReport};
use crate::credentials::Credentials;
use crate::guard::Limits;
use crate::log;
use crate::policy::Permissions;
use crate::standing::{StandingSession, StandingSpec, follow, keep_sampling};
use crate::worker::{Hub, OpenConnection, passed_client, serve_client, watch};
use confine::{FileAccess, confine};

/// So long a worker stays without connections and sessions.
const IDLE: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct WorkerStart {
    pub(crate) user: Credentials,
    pub(crate) supervisor: Pid,
    pub(crate) permissions: Permissions,
    pub(crate) limits: Limits,
    /// Orders come through it; its end is the worker's.
    pub(crate) control: WorkerEnd<WorkerReport, WorkerOrder>,
    pub(crate) broker: WorkerEnd<BrokerRequest, BrokerReply>,
    /// The standing session that it keeps; None: it serves a user.
    pub(crate) standing: Option<StandingSpec>,
}

/// A worker's life, in a process of its own that is not dumpable; gives its
/// exit status.
pub(crate) fn run(start: WorkerStart) -> u8 {
    log::reset_after_fork();
    let status = match live(start) {
        Ok(()) => 0,
        Err(error) => {
            tracing::error!(%error, "the worker ends");
            1
        }
    };
    log::finish();
    status
}

fn live(start: WorkerStart) -> io::Result<()> {
    let WorkerStart { user, supervisor, permissions, limits, control, broker, standing } = start;
    let files = if standing.is_some() { FileAccess::Record } else { FileAccess::Read };
    confine(&user, supervisor, files)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let hub = Rc::new(Hub::new(user, permissions, limits, Arc::new(Broker::new(broker))));
    let standing = standing.map(StandingSession::new).transpose()?.map(Rc::new);
    let result = LocalSet::new().block_on(&runtime, serve(control, hub, standing.clone()));
    if let Some(standing) = standing.and_then(Rc::into_inner) {
        standing.finish();
    }
    result
}

/// Does what the supervisor orders, until it closes the control socket.
async fn serve(
    control: WorkerEnd<WorkerReport, WorkerOrder>,
    hub: Rc<Hub>,
    standing: Option<Rc<StandingSession>>,
) -> io::Result<()> {
    let readiness = control.readiness()?;
    tokio::task::spawn_local(watch(Rc::clone(&hub)));
    let (mut given, mut idle) = (0u64, None);
    if let Some(standing) = &standing {
        tokio::task::spawn_local(keep_sampling(Rc::clone(standing), Rc::clone(&hub)));
    }
    loop {
        idle = if hub.has_no_work() && standing.is_none() {
            idle.or(Some(Instant::now()))
        } else {
            None
        };
        if idle.is_some_and(|since| since.elapsed() > IDLE) && hub.broker.leave(given) {
            return Ok(());
        }
        let received = readiness.async_io(Interest::READABLE, || control.receive());
        let Ok(received) = timeout(TICK, received).await else { continue };
        let Some(Received { message: order, fds }) = received? else {
            hub.stop_all("the daemon is ending").await;
            return Ok(());
        };
        match order {
            WorkerOrder::Client { elsewhere } => {
                given += 1;
                // Its task has not begun yet.
                idle = None;
                // The supervisor counts it until the worker says otherwise, whether
                // it could be received or not.
                let open = OpenConnection::new(&hub);
                let client = fds.and_then(|fds| passed_client(fds, elsewhere));
                match client.and_then(|(socket, namespace)| Ok((to_stream(socket)?, namespace))) {
                    Ok((stream, namespace)) => {
                        tokio::task::spawn_local(serve_client(stream, namespace, open));
                    }
                    Err(error) => tracing::error!(%error, "a connection could not be served"),
                }
            }
            WorkerOrder::Follow(what) => {
                let no_room = || io::Error::from(rustix::io::Errno::MFILE);
                let pipe = fds.and_then(|fds| fds.into_iter().next().ok_or_else(no_room));
                match (&standing, pipe.and_then(pipe::Sender::from_owned_fd)) {
                    (Some(standing), Ok(pipe)) => {
                        let (hub, standing) = (Rc::clone(&hub), Rc::clone(standing));
                        tokio::task::spawn_local(follow(pipe, hub, what, standing));
                    }
                    // What is recorded goes on.
                    (_, Err(error)) => tracing::error!(%error, "a reader could not be served"),
                    (None, _) => tracing::warn!("an order to read what is not kept here"),
                }
            }
            WorkerOrder::Report => report(&control, &hub),
            WorkerOrder::Revoked => {
                hub.stop_all("the daemon's policy has changed").await;
                report(&control, &hub);
                return Ok(());
            }
        }
    }
}

/// Says how it goes. The supervisor asks again only when it has been
/// answered, so there is room; where it has gone, nobody asks.
fn report(control: &WorkerEnd<WorkerReport, WorkerOrder>, hub: &Hub) {
    if let Err(error) = control.send(&hub.report()) {
        tracing::debug!(%error, "the supervisor cannot be told how it goes");
    }
}

fn to_stream(socket: OwnedFd) -> io::Result<UnixStream> {
    let socket = net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
