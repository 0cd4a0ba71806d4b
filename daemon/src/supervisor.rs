//! The process that has the rights: accepts connections, gives each to the
//! worker of its user, and opens what policy grants. It has one thread, and
//! reads of nobody more than requests of fixed size.

mod config;
mod policy;
mod socket;
mod worker;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::broker::Kernel;
use crate::credentials::Credentials;
use crate::protocol::{Complaint, ComplaintCode, FrameKind, Reply, frame};
pub use config::{Config, ConfigError, FileError, Limits, Size};
pub use policy::{Group, Policy};
pub use socket::SocketError;
use worker::Worker;

/// Between two looks at what has no descriptor.
const TICK: Duration = Duration::from_secs(1);
/// So long workers have to end when asked to.
const GRACE: Duration = Duration::from_secs(3);

/// Where to listen, and for whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// The socket's path.
    pub socket: PathBuf,
    /// Who may what, and how much.
    pub config: Config,
}

/// The supervisor failed.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The socket cannot be listened at.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// Of many users, in a namespace that does not tell them apart.
    #[error(
        "the daemon runs as root of a user namespace, where it cannot tell users apart: start it \
         in the initial one, or as the one user that it is to serve"
    )]
    Namespace,
    /// A call that should not fail.
    #[error("{call}: {error}")]
    System {
        /// The call.
        call: &'static str,
        /// What it said.
        error: io::Error,
    },
}

fn system(call: &'static str) -> impl FnOnce(io::Error) -> SupervisorError {
    move |error| SupervisorError::System { call, error }
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// The socket is taken, or a call fails that should not.
pub fn run(options: Options) -> Result<(), SupervisorError> {
    let (asked, telling) = io::pipe().map_err(system("pipe"))?;
    for signal in [SIGTERM, SIGINT] {
        let end = telling.try_clone().map_err(system("dup"))?;
        signal_hook::low_level::pipe::register(signal, OwnedFd::from(end))
            .map_err(system("sigaction"))?;
    }
    let own = Credentials::own().map_err(system("getgroups"))?;
    // There, users of other namespaces all look alike (kernel.overflowuid).
    let facts = crate::facts::Facts::read(std::path::Path::new("/"));
    if own.uid == 0 && facts.is_ok_and(|facts| facts.access.in_namespace) {
        return Err(SupervisorError::Namespace);
    }
    let listener = socket::listen(&options.socket, own.uid)?;
    tracing::info!(socket = %options.socket.display(), uid = own.uid, "listening");
    let mut supervisor = Supervisor { own, config: options.config, workers: Vec::new() };
    let result = supervisor.serve(&listener, asked.as_fd());
    socket::unlink(&options.socket, &listener);
    supervisor.end();
    result
}

struct Supervisor {
    own: Credentials,
    config: Config,
    workers: Vec<Worker>,
}

impl Supervisor {
    fn serve(&mut self, listener: &UnixListener, asked: impl AsFd) -> Result<(), SupervisorError> {
        let tick = Timespec { tv_sec: TICK.as_secs().cast_signed(), tv_nsec: 0 };
        loop {
            let of_workers = self.workers.iter().flat_map(|worker| worker.watched());
            let mut fds: Vec<PollFd<'_>> = [asked.as_fd(), listener.as_fd()]
                .into_iter()
                .chain(of_workers)
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
                .collect();
            match poll(&mut fds, Some(&tick)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(system("poll")(errno.into())),
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let [ended, connected, of_workers @ ..] = &ready[..] else { continue };
            if *ended {
                tracing::info!("asked to end");
                return Ok(());
            }
            for (worker, ready) in self.workers.iter_mut().zip(of_workers.chunks(2)) {
                if ready.first() == Some(&true) {
                    worker.answer(&Kernel);
                }
            }
            self.workers.retain_mut(|worker| !worker.has_ended());
            if *connected {
                self.accept(listener);
            }
        }
    }

    /// Gives one connection to its user's worker.
    fn accept(&mut self, listener: &UnixListener) {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "no connection could be taken");
                return;
            }
        };
        let user = match Credentials::of_peer(&stream) {
            Ok(user) => user,
            Err(error) => {
                tracing::warn!(%error, "a connection is refused");
                return refuse(&stream, &error.to_string());
            }
        };
        if self.own.uid != 0 && user.uid != self.own.uid {
            tracing::warn!(uid = user.uid, "a connection of another user is refused");
            return refuse(&stream, "this daemon serves the user who started it, and nobody else");
        }
        if let Err(error) = self.hand_over(stream.into(), user) {
            tracing::error!(%error, "a connection could not be served");
        }
    }

    fn hand_over(&mut self, stream: OwnedFd, user: Credentials) -> io::Result<()> {
        if let Some(worker) = self.workers.iter().find(|worker| worker.user == user)
            && worker.give(stream.as_fd()).is_ok()
        {
            return Ok(());
        }
        let permissions = self.config.policy.permissions(&user);
        let worker = Worker::start(user, permissions)?;
        worker.give(stream.as_fd())?;
        self.workers.push(worker);
        Ok(())
    }

    /// Ends all workers.
    fn end(&mut self) {
        let workers = std::mem::take(&mut self.workers);
        let mut ending: Vec<_> = workers.into_iter().map(Worker::end).collect();
        let deadline = std::time::Instant::now() + GRACE;
        while !ending.is_empty() && std::time::Instant::now() < deadline {
            ending.retain_mut(|worker| !worker.has_ended());
            std::thread::sleep(Duration::from_millis(5));
        }
        for worker in ending {
            tracing::warn!("a worker is killed, as it does not end");
            worker.kill();
        }
    }
}

/// Says why there will be no worker, if that finds room at once.
fn refuse(stream: &UnixStream, why: &str) {
    let complaint = Complaint { code: ComplaintCode::Denied, text: format!("refused: {why}") };
    let Ok(body) = serde_json::to_vec(&Reply::Refused(complaint)) else { return };
    let Ok(header) = frame(FrameKind::Control, body.len()) else { return };
    if stream.set_nonblocking(true).is_ok() {
        // Who does not listen does not need to know.
        let _deaf = crate::passing::send(stream, &[&header[..], &body].concat(), &[]);
    }
}
