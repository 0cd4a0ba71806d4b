//! The supervisor's side of standing sessions: a worker for each, started
//! again when it breaks off; and who may read which.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};

use super::config::{Config, Standing};
use super::directory::give_directory;
use super::worker::{Authority, Response, Worker, WorkerProcess, done, handing_over};
use crate::broker::{BrokerAnswer, BrokerRefusal, BrokerRequest};
use crate::control::{Follow, StandingEntry, StandingState, StoredCounts, WorkerReport, truncated};
use crate::credentials::Credentials;
use crate::guard::{Admission, Limits};
use crate::policy::Permissions;
use crate::standing::{StandingSpec, TargetDescription};

/// After the first break-off a worker is started again so late, after others
/// twice as late each time, up to the last.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// A worker that lived so long is started again at once.
const STABLE_AFTER: Duration = Duration::from_secs(60);
const USERS: [&str; 2] = ["ebsd", "nobody"];

#[derive(Debug, Default)]
pub(super) struct StandingSessions {
    sessions: Vec<StandingWorker>,
    ending: Vec<WorkerProcess>,
    gone: StoredCounts,
}

#[derive(Debug)]
struct StandingWorker {
    standing: Standing,
    user: Credentials,
    worker: Option<Worker>,
    entry: StandingEntry,
    started: Instant,
    next_try: Instant,
    pause: Duration,
}

fn permissions(role: &StandingSpec) -> Permissions {
    let mut permissions = match role.target {
        TargetDescription::PidFile(_) | TargetDescription::Comm(_) => Permissions::OTHERS_TASKS,
        TargetDescription::Unit(_) | TargetDescription::Cgroup(_) | TargetDescription::System => {
            Permissions::SYSTEM_WIDE
        }
    };
    permissions.set(Permissions::KERNEL, role.modes.kernel);
    permissions | Permissions::OWN_TASKS
}

/// Whom sessions are recorded as: an ordinary user's daemon has no choice.
fn recording_user(config: &Config, own: &Credentials) -> io::Result<Credentials> {
    if own.uid != 0 {
        return Ok(own.clone());
    }
    let named = |name: &str| {
        let user = uzers::get_user_by_name(name)?;
        Some(Credentials { uid: user.uid(), gid: user.primary_group_id(), groups: Vec::new() })
    };
    let wanted = config.store_user.as_deref();
    let found = match wanted {
        Some(name) => named(name),
        None => USERS.into_iter().find_map(named),
    };
    found.ok_or_else(|| {
        let name = wanted.unwrap_or(USERS[0]);
        io::Error::other(format!(
            "standing sessions need user {name:?}, which does not exist: useradd --system {name}, \
             or name another as store.user"
        ))
    })
}

impl StandingSessions {
    /// Makes the sessions those of this configuration: what is as before goes
    /// on.
    pub(super) fn set(&mut self, config: &Config, own: &Credentials) -> io::Result<()> {
        let user = match config.standing.is_empty() {
            true => own.clone(),
            false => recording_user(config, own)?,
        };
        let (kept, gone): (Vec<StandingWorker>, Vec<StandingWorker>) =
            std::mem::take(&mut self.sessions).into_iter().partition(|session| {
                session.user == user && config.standing.contains(&session.standing)
            });
        self.sessions = kept;
        for session in &gone {
            self.gone.add(StoredCounts { bytes: 0, ..session.entry.status.stored });
        }
        self.ending.extend(gone.into_iter().filter_map(|session| session.worker).map(Worker::end));
        for standing in &config.standing {
            if self.sessions.iter().any(|session| session.standing == *standing) {
                continue;
            }
            let directory = &standing.role.kept.directory;
            // Missing, or the superuser's, it becomes the recorder's.
            if let Err(error) = give_directory(directory, user.uid, user.gid) {
                tracing::warn!(directory = %directory.display(), %error, "recordings have no place");
            }
            let StandingSpec { name, event, .. } = &standing.role;
            self.sessions.push(StandingWorker {
                standing: standing.clone(),
                user: user.clone(),
                worker: None,
                entry: StandingEntry {
                    name: truncated(name),
                    event: truncated(event),
                    ..StandingEntry::default()
                },
                started: Instant::now(),
                next_try: Instant::now(),
                pause: BACK_OFF.0,
            });
        }
        Ok(())
    }

    pub(super) fn poll(
        &mut self,
        gone: &mut WorkerReport,
        admission: &mut Admission,
        limits: &Limits,
    ) {
        for ended in self.ending.extract_if(.., |ending| ending.has_ended()) {
            admission.forget(ended.pid());
        }
        for session in &mut self.sessions {
            if session.worker.take_if(|worker| worker.has_ended(gone, admission)).is_some() {
                self.gone.add(StoredCounts { bytes: 0, ..session.entry.status.stored });
                session.schedule_restart();
            }
            if self.ending.is_empty() {
                session.start(limits);
            }
        }
    }

    pub(super) fn stored(&self) -> StoredCounts {
        let mut all = self.gone;
        self.sessions.iter().for_each(|session| all.add(session.entry.status.stored));
        all
    }

    /// What is to be watched of each worker, in order.
    pub(super) fn watched(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.workers().flat_map(|worker| worker.watched())
    }

    pub(super) fn workers_mut(&mut self) -> impl Iterator<Item = &mut Worker> {
        self.sessions.iter_mut().filter_map(|session| session.worker.as_mut())
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.sessions.iter().filter_map(|session| session.worker.as_ref())
    }

    /// Hears and answers those that are ready, as they are watched.
    pub(super) fn answer(&mut self, ready: &[bool], authority: &mut Authority<'_>) {
        let sessions = self.sessions.iter_mut().filter(|session| session.worker.is_some());
        for (session, ready) in sessions.zip(ready.chunks(Worker::WATCHED)) {
            let (Some(worker), entry) = (&mut session.worker, &mut session.entry) else { continue };
            worker.handle(ready, authority, &mut |request| match request {
                BrokerRequest::Report { status } => {
                    entry.status = *status;
                    Some(done())
                }
                _ => None,
            });
        }
    }

    pub(super) fn standing_handler(
        &self,
        user: &Credentials,
    ) -> impl FnMut(&BrokerRequest) -> Option<Response> + use<'_> {
        let user = user.clone();
        move |request| match request {
            BrokerRequest::Standing { place } => Some(self.entry(&user, *place)),
            BrokerRequest::Follow { name, since, live } => {
                let reader = (!is_privileged(&user)).then_some(user.uid);
                let what = Follow { since: *since, live: *live, reader };
                let followed = self.follow(&user, name, what);
                Some(followed.map(handing_over).map_err(BrokerRefusal::Errno))
            }
            _ => None,
        }
    }

    fn entry(&self, user: &Credentials, place: u64) -> Response {
        let session = usize::try_from(place).ok().and_then(|place| self.sessions.get(place));
        let session = session.ok_or(BrokerRefusal::Errno(libc::ENOENT))?;
        if !session.may_read(user) {
            return Err(BrokerRefusal::Errno(libc::EACCES));
        }
        let mut entry = session.entry.clone();
        if session.worker.is_none() {
            entry.status.state = StandingState::Down;
        }
        Ok((BrokerAnswer::Standing(entry), Vec::new()))
    }

    /// Has a session's worker write into a pipe; gives the end to read from,
    /// or else the errno. For whom that worker is, the supervisor knows by
    /// itself.
    fn follow(&self, user: &Credentials, name: &str, what: Follow) -> Result<OwnedFd, i32> {
        let session = self.sessions.iter().find(|session| session.standing.role.name == name);
        // Those one may not read look like those that are not there.
        let session = session.filter(|session| session.may_read(user)).ok_or(libc::ENOENT)?;
        let worker = session.worker.as_ref().ok_or(libc::EAGAIN)?;
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let made = pipe_with(flags).map_err(io::Error::from).and_then(|(source, sink)| {
            worker.pass_reader(sink.as_fd(), what)?;
            Ok(source)
        });
        made.map_err(|error| {
            tracing::warn!(%error, "a reader could not be handed over");
            libc::EAGAIN
        })
    }

    pub(super) fn end(&mut self) -> Vec<WorkerProcess> {
        let workers =
            std::mem::take(&mut self.sessions).into_iter().filter_map(|session| session.worker);
        self.ending.drain(..).chain(workers.map(Worker::end)).collect()
    }
}

/// The superuser, or who started a daemon of their own.
fn is_privileged(user: &Credentials) -> bool {
    [0, rustix::process::getuid().as_raw()].contains(&user.uid)
}

impl StandingWorker {
    /// The superuser, the members of its groups, and who started a daemon of
    /// their own.
    fn may_read(&self, user: &Credentials) -> bool {
        let readers = &self.standing.readers;
        is_privileged(user)
            || readers.contains(&user.gid)
            || user.groups.iter().any(|group| readers.contains(group))
    }

    fn schedule_restart(&mut self) {
        let now = Instant::now();
        self.entry.status = Default::default();
        if now.duration_since(self.started) >= STABLE_AFTER {
            self.pause = BACK_OFF.0;
        }
        self.next_try = now + self.pause;
        self.pause = (self.pause * 2).min(BACK_OFF.1);
    }

    /// Unless it runs, or is to wait still.
    fn start(&mut self, limits: &Limits) {
        let now = Instant::now();
        if self.worker.is_some() || now < self.next_try {
            return;
        }
        self.started = now;
        let role = &self.standing.role;
        match Worker::start(self.user.clone(), permissions(role), *limits, Some(role)) {
            Ok(worker) => {
                tracing::info!(name = role.name, "a standing session begins");
                self.worker = Some(worker);
            }
            Err(error) => {
                tracing::error!(name = role.name, %error, "a standing session cannot begin");
                self.next_try = now + self.pause;
                self.pause = (self.pause * 2).min(BACK_OFF.1);
            }
        }
    }
}
