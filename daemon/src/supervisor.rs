//! The process that has the rights: accepts connections, gives each to the
//! worker of its user, and opens what policy grants. It has one thread, and
//! reads nothing of its workers but requests of bounded size.

mod acceptor;
mod config;
mod directory;
mod heartbeat;
mod metrics;
mod notify;
mod program;
mod rejected;
mod rights;
mod signals;
mod socket;
mod standing;
mod worker;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use recorder::remote::protocol::ErrorCode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::control::WorkerReport;
use crate::credentials::Credentials;
use crate::guard::{Admission, LimitReached};
use crate::sys::ptrace_probe::PtraceProbe;
use acceptor::{Acceptor, is_out_of_descriptors, out_of_descriptors};
pub use config::{
    Config, ConfigError, ConfigSource, FileError, MetricsConfig, Standing, TextPosition,
};
pub use directory::DirectoryError;
use metrics::{Metrics, MetricsSnapshot};
use notify::ServiceManager;
use rejected::RejectedConnections;
pub use rights::TooFewFiles;
use signals::Signals;
pub use socket::SocketError;
use standing::StandingSessions;
use worker::{Authority, Worker};

/// Between two looks at what has no descriptor.
const TICK: Duration = Duration::from_secs(1);
/// So long a worker may give no sign of life before it is killed, where no
/// watchdog asks for less: its user may have stopped it, and must not stop
/// the daemon that way.
const HANG_TIMEOUT: Duration = Duration::from_secs(20);
/// So long workers have to end when asked to.
const GRACE: Duration = Duration::from_secs(3);

#[derive(Clone, Debug)]
pub struct DaemonOptions {
    pub socket: PathBuf,
    pub config: ConfigSource,
}

#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Files(#[from] TooFewFiles),
    #[error(
        "the daemon runs as root of a user namespace, where it cannot tell users apart: start it \
         in the initial one, or as the one user that it is to serve"
    )]
    Namespace,
    #[error(
        "the daemon took on a user's ids to ask the kernel what they may, and could not lay them \
         down; it is not what it was, and ends: start it again, with CAP_SETUID and CAP_SETGID"
    )]
    Tainted,
    #[error("{call}: {error}")]
    System { call: &'static str, error: io::Error },
}

fn system(call: &'static str) -> impl FnOnce(io::Error) -> SupervisorError {
    move |error| SupervisorError::System { call, error }
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// The socket is taken, or a call fails that should not.
pub fn run(options: DaemonOptions) -> Result<(), SupervisorError> {
    let signals = Signals::install().map_err(system("sigaction"))?;
    let own = Credentials::own().map_err(system("getgroups"))?;
    // There, users of other namespaces all look alike (kernel.overflowuid).
    let facts = recorder::machine::facts::Facts::read(std::path::Path::new("/"));
    if own.uid == 0 && facts.is_ok_and(|facts| facts.access.in_namespace) {
        return Err(SupervisorError::Namespace);
    }
    if let Some(too_few) = rights::raise_open_files().map_err(system("setrlimit"))? {
        return Err(too_few.into());
    }
    let config = options.config.read(own.uid)?;
    // What was there once is not optional any more: a policy does not end by
    // its file's being away for a moment.
    let optional = options.config.optional && !options.config.path.exists();
    let bound = socket::listen(&options.socket, own.uid)?;
    let metrics = Metrics::listen(&config.metrics)?;
    // While it may still make directories.
    let mut standing_sessions = StandingSessions::default();
    standing_sessions.set(&config, &own).map_err(system("standing sessions"))?;
    rights::drop_capabilities().map_err(system("capset"))?;
    tracing::info!(socket = %options.socket.display(), uid = own.uid, "listening");
    let mut supervisor = Supervisor {
        own,
        config,
        source: ConfigSource { optional, ..options.config },
        reload_failed: false,
        manager: ServiceManager::of_environment(),
        workers: Vec::new(),
        rejected: RejectedConnections::default(),
        standing_sessions,
        gone: WorkerReport::default(),
        acceptor: Acceptor::new(),
        admission: Admission::default(),
        ptrace_probe: PtraceProbe::default(),
        metrics,
        killed: 0,
    };
    supervisor.manager.ready();
    let result = supervisor.serve(&bound.listener, &signals);
    supervisor.manager.stopping();
    let listener = bound.unlink();
    let told = std::mem::take(&mut supervisor.metrics).unlink();
    supervisor.end();
    // Connections that were not accepted are closed with them, which before Linux
    // 6.16 may last; but not while this process is ending.
    std::mem::forget((listener, told));
    result
}

struct Supervisor {
    own: Credentials,
    config: Config,
    source: ConfigSource,
    /// The configuration on disk is not the one that holds.
    reload_failed: bool,
    manager: ServiceManager,
    workers: Vec<Worker>,
    rejected: RejectedConnections,
    standing_sessions: StandingSessions,
    gone: WorkerReport,
    acceptor: Acceptor,
    admission: Admission,
    ptrace_probe: PtraceProbe,
    metrics: Metrics,
    killed: u64,
}

impl Supervisor {
    fn serve(&mut self, listener: &UnixListener, signals: &Signals) -> Result<(), SupervisorError> {
        let mut next_tick = Instant::now() + TICK;
        loop {
            let pause = self.acceptor.paused_for();
            let (gone, admission) = (&mut self.gone, &mut self.admission);
            self.standing_sessions.poll(gone, admission, &self.config.limits);
            // Where there is no such socket, a pipe that stays silent.
            let asked = self.metrics.watched().unwrap_or(signals.end());
            let of_workers = self.workers.iter().flat_map(|worker| worker.watched());
            let mut fds: Vec<PollFd<'_>> =
                [signals.end(), signals.reload(), listener.as_fd(), asked]
                    .into_iter()
                    .chain(of_workers)
                    .chain(self.standing_sessions.watched())
                    .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
                    .collect();
            if pause.is_some() {
                // Who waits outside would only wake it.
                fds[2] = PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::empty());
            }
            let left = next_tick.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(pause.map_or(left, |pause| pause.min(left))).ok();
            match poll(&mut fds, left.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(system("poll")(errno.into())),
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let [ended, reload, connected, asked, of_workers @ ..] = &ready[..] else { continue };
            if *ended {
                tracing::info!("asked to end");
                return Ok(());
            }
            self.handle_ready(of_workers);
            if self.ptrace_probe.is_tainted() {
                return Err(SupervisorError::Tainted);
            }
            if *reload {
                signals.reload_begins();
                self.manager.reloading();
                self.reload();
                self.manager.ready();
            }
            if *connected {
                self.accept(listener);
            }
            if *asked {
                let snapshot = self.snapshot();
                self.metrics.answer(&snapshot);
            }
            if next_tick <= Instant::now() {
                next_tick = Instant::now() + TICK;
                self.tick();
            }
        }
    }

    /// Answers workers, hears them, and buries them; `ready` says of each
    /// descriptor that they watch whether there is something.
    fn handle_ready(&mut self, ready: &[bool]) {
        let (ready, of_standing) = ready.split_at(Worker::WATCHED * self.workers.len());
        let (ptrace_check, admission) = (&self.ptrace_probe, &mut self.admission);
        let mut authority = Authority { ptrace_check, admission, limits: &self.config.limits };
        for (worker, ready) in self.workers.iter_mut().zip(ready.chunks(Worker::WATCHED)) {
            let handler = &mut self.standing_sessions.standing_handler(&worker.user);
            worker.handle(ready, &mut authority, handler);
        }
        self.standing_sessions.answer(of_standing, &mut authority);
        let (gone, admission) = (&mut self.gone, &mut self.admission);
        self.workers.retain_mut(|worker| !worker.has_ended(gone, admission));
    }

    fn tick(&mut self) {
        let is_well = |worker: &Worker| worker.heartbeat.is_well();
        if self.workers.iter().chain(self.standing_sessions.workers()).all(is_well) {
            self.manager.ping_watchdog();
        }
        let hang_timeout =
            self.manager.hang_timeout().map_or(HANG_TIMEOUT, |least| least.min(HANG_TIMEOUT));
        let ticks = u32::try_from(hang_timeout.as_secs()).unwrap_or(u32::MAX).max(1);
        self.rejected.reap();
        self.ptrace_probe.reap();
        crate::log::flush_suppressed();
        for worker in self.workers.iter_mut().chain(self.standing_sessions.workers_mut()) {
            if worker.heartbeat.is_stalled(ticks) {
                tracing::error!(
                    pid = worker.pid(),
                    uid = worker.user.uid,
                    name = worker.session(),
                    "a worker is killed: it has not answered, or not moved, for {ticks} s"
                );
                worker.kill();
                self.killed += 1;
            }
            worker.request_report();
        }
        self.metrics.forget();
        if let Some(path) = &self.config.metrics.textfile
            && self.metrics.is_due()
        {
            self.snapshot().write(path);
        }
    }

    fn accept(&mut self, listener: &UnixListener) {
        let Some(stream) = self.acceptor.accept(listener, &mut self.rejected) else { return };
        let (user, namespace) = match Credentials::of_peer(&stream) {
            Ok(peer) => peer,
            Err(error) => {
                tracing::warn!(%error, "a connection is refused");
                return self.rejected.refuse(stream, ErrorCode::Denied, &error.to_string());
            }
        };
        if self.own.uid != 0 && user.uid != self.own.uid {
            tracing::warn!(uid = user.uid, "a connection of another user is refused");
            let why = "this daemon serves the user who started it, and nobody else";
            return self.rejected.refuse(stream, ErrorCode::Denied, why);
        }
        if let Err(full) = self.may_connect(user.uid) {
            tracing::warn!(uid = user.uid, %full, "a connection is refused");
            return self.rejected.refuse(stream, ErrorCode::Exhausted, &full.to_string());
        }
        let uid = user.uid;
        let Err(error) = self.hand_over(&stream, namespace, user) else {
            // The worker has one, too, unless it has just been killed.
            return self.rejected.close(stream);
        };
        tracing::error!(uid, %error, "a connection could not be served");
        if is_out_of_descriptors(&error) {
            self.acceptor.pause();
            self.rejected.refuse(stream, ErrorCode::Exhausted, &out_of_descriptors(&error));
        } else if error.kind() == io::ErrorKind::WouldBlock {
            let why = "this user's worker takes no connections at present";
            self.rejected.refuse(stream, ErrorCode::Busy, why);
        } else {
            self.rejected.refuse(
                stream,
                ErrorCode::Failed,
                &format!("no worker can be started: {error}"),
            );
        }
    }

    /// Hears workers first, which may have just reported the end of others.
    fn may_connect(&mut self, uid: u32) -> Result<(), LimitReached> {
        let limits = &self.config.limits;
        if self.admission.may_connect(uid, limits).is_err() {
            let (ptrace_check, admission) = (&self.ptrace_probe, &mut self.admission);
            let mut authority = Authority { ptrace_check, admission, limits };
            for worker in &mut self.workers {
                let handler = &mut self.standing_sessions.standing_handler(&worker.user);
                for _ in 0..64 {
                    if !worker.has_asked() || !worker.answer(&mut authority, handler) {
                        break;
                    }
                }
            }
        }
        self.admission.may_connect(uid, limits)
    }

    fn hand_over(
        &mut self,
        stream: &UnixStream,
        namespace: Option<OwnedFd>,
        user: Credentials,
    ) -> io::Result<()> {
        let namespace = namespace.as_ref().map(AsFd::as_fd);
        let serves =
            |worker: &&mut Worker| worker.user == user && !worker.outdated && !worker.ending;
        if let Some(worker) = self.workers.iter_mut().find(serves) {
            match worker.pass_connection(stream.as_fd(), namespace) {
                Ok(()) => {
                    self.admission.connected(worker.holder());
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                // It is ending: the next one serves.
                Err(_) => {}
            }
        }
        let permissions = self.config.policy.permissions(&user);
        let mut worker = Worker::start(user, permissions, self.config.limits, None)?;
        if let Err(error) = worker.pass_connection(stream.as_fd(), namespace) {
            worker.end().kill_and_reap();
            return Err(error);
        }
        self.admission.connected(worker.holder());
        self.workers.push(worker);
        Ok(())
    }

    /// Reads the configuration, and takes it if it is good; else all stays
    /// as it was, and is said to be so.
    fn reload(&mut self) {
        match self.source.read(self.own.uid) {
            Ok(config) => {
                self.reload_failed = false;
                self.take(config);
            }
            Err(error) => {
                self.reload_failed = true;
                tracing::error!(%error, "the configuration is not taken; the old one holds");
            }
        }
    }

    /// A configuration holds from here on: at once for what is asked from
    /// now on, and at once for whom it takes permissions from. Who gets more
    /// keeps his sessions; his next connection has the new permissions.
    fn take(&mut self, config: Config) {
        if config == self.config {
            tracing::info!("the configuration is read anew, and says what it said");
            return;
        }
        if let Err(error) = self.standing_sessions.set(&config, &self.own) {
            self.reload_failed = true;
            tracing::error!(%error, "the configuration is not taken; the old one holds");
            return;
        }
        let listens = |config: &Config| (config.metrics.socket.clone(), config.metrics.gid);
        if listens(&config) != listens(&self.config) {
            tracing::warn!("metrics.socket and metrics.group hold from the next start on");
        }
        self.config = config;
        let (mut revoked, mut widened) = (0, 0);
        for worker in self.workers.iter_mut().filter(|worker| !worker.outdated) {
            let now = self.config.policy.permissions(&worker.user);
            if now == worker.permissions {
                continue;
            }
            worker.outdated = true;
            if now.contains(worker.permissions) {
                widened += 1;
            } else {
                revoked += 1;
                worker.revoke();
            }
        }
        tracing::info!(revoked, widened, "a new configuration holds");
    }

    fn snapshot(&self) -> MetricsSnapshot {
        let workers = || self.workers.iter().chain(self.standing_sessions.workers());
        let mut report = self.gone.clone();
        workers().for_each(|worker| report.add(&worker.report));
        let (cpu_seconds, resident_bytes) = metrics::process_totals(workers().map(Worker::pid));
        MetricsSnapshot {
            report,
            workers: self.workers.len() as u64,
            killed: self.killed,
            stored: self.standing_sessions.stored(),
            reload_failed: self.reload_failed,
            cpu_seconds,
            resident_bytes,
        }
    }

    fn end(&mut self) {
        let workers = std::mem::take(&mut self.workers);
        let ending = workers.into_iter().map(Worker::end);
        let mut ending: Vec<_> = ending.chain(self.standing_sessions.end()).collect();
        let deadline = Instant::now() + GRACE;
        while !ending.is_empty() && Instant::now() < deadline {
            ending.retain_mut(|worker| !worker.has_ended());
            std::thread::sleep(Duration::from_millis(5));
        }
        for worker in ending {
            let (uid, name) = worker.owner();
            tracing::warn!(uid, name, "a worker is killed, as it does not end");
            worker.kill_and_reap();
        }
    }
}
