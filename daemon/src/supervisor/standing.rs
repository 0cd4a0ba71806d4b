//! The supervisor's side of standing sessions: a worker for each, started
//! again when it breaks off; and who may read which.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};

use super::config::{Config, Standing};
use super::directory::hand_over;
use super::worker::{Leaving, Response, Worker};
use crate::broker::{Ask, BrokerAnswer, Stranger};
use crate::control::{Follow, StandingEntry, Stored, WorkerReport, fitting};
use crate::credentials::Credentials;
use crate::guard::{Admission, Limits};
use crate::policy::Permissions;
use crate::standing::{Role, TargetDescription};

/// After the first break-off a worker is started again so late, after others
/// twice as late each time, up to the last.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// A worker that lived so long is started again at once.
const LASTED: Duration = Duration::from_secs(60);
const USERS: [&str; 2] = ["ebsd", "nobody"];

type Books<'b> = (&'b mut WorkerReport, &'b mut Admission);

#[derive(Debug, Default)]
pub(super) struct Desk {
    posts: Vec<Post>,
    leaving: Vec<Leaving>,
    gone: Stored,
}

#[derive(Debug)]
struct Post {
    standing: Standing,
    user: Credentials,
    worker: Option<Worker>,
    line: StandingEntry,
    started: Instant,
    next_try: Instant,
    pause: Duration,
}

fn permissions(role: &Role) -> Permissions {
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
fn recorder(config: &Config, own: &Credentials) -> io::Result<Credentials> {
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

impl Desk {
    /// Makes the sessions those of this configuration: what is as before goes
    /// on.
    pub(super) fn set(&mut self, config: &Config, own: &Credentials) -> io::Result<()> {
        let user = match config.standing.is_empty() {
            true => own.clone(),
            false => recorder(config, own)?,
        };
        let (kept, gone): (Vec<Post>, Vec<Post>) = std::mem::take(&mut self.posts)
            .into_iter()
            .partition(|post| post.user == user && config.standing.contains(&post.standing));
        self.posts = kept;
        for post in &gone {
            self.gone.add(Stored { bytes: 0, ..post.line.status.stored });
        }
        self.leaving.extend(gone.into_iter().filter_map(|post| post.worker).map(Worker::end));
        for standing in &config.standing {
            if self.posts.iter().any(|post| post.standing == *standing) {
                continue;
            }
            let directory = &standing.role.kept.directory;
            // Missing, or the superuser's, it becomes the recorder's.
            if let Err(error) = hand_over(directory, user.uid, user.gid) {
                tracing::warn!(directory = %directory.display(), %error, "recordings have no place");
            }
            let Role { name, event, .. } = &standing.role;
            self.posts.push(Post {
                standing: standing.clone(),
                user: user.clone(),
                worker: None,
                line: StandingEntry {
                    name: fitting(name),
                    event: fitting(event),
                    ..StandingEntry::default()
                },
                started: Instant::now(),
                next_try: Instant::now(),
                pause: BACK_OFF.0,
            });
        }
        Ok(())
    }

    pub(super) fn tend(&mut self, books: &mut Books<'_>, limits: &Limits) {
        self.leaving.retain_mut(|leaving| {
            let ended = leaving.has_ended();
            if ended {
                books.1.forget(leaving.pid());
            }
            !ended
        });
        for post in &mut self.posts {
            if let Some(mut worker) = post.worker.take_if(|worker| worker.has_ended()) {
                // It may have reported last.
                worker.hear();
                books.0.add_counts(&worker.report);
                books.1.forget(worker.pid());
                self.gone.add(Stored { bytes: 0, ..post.line.status.stored });
                post.broke_off();
            }
            if self.leaving.is_empty() {
                post.start(limits);
            }
        }
    }

    pub(super) fn stored(&self) -> Stored {
        let mut all = self.gone;
        self.posts.iter().for_each(|post| all.add(post.line.status.stored));
        all
    }

    /// What is to be watched of each worker, in order.
    pub(super) fn watched(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.workers().flat_map(|worker| worker.watched())
    }

    pub(super) fn workers_mut(&mut self) -> impl Iterator<Item = &mut Worker> {
        self.posts.iter_mut().filter_map(|post| post.worker.as_mut())
    }

    pub(super) fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.posts.iter().filter_map(|post| post.worker.as_ref())
    }

    /// Hears and answers those that are ready, as they are watched.
    pub(super) fn answer(
        &mut self,
        ready: &[bool],
        stranger: &dyn Stranger,
        admission: &mut Admission,
        limits: &Limits,
    ) {
        let posts = self.posts.iter_mut().filter(|post| post.worker.is_some());
        for (post, ready) in posts.zip(ready.chunks(Worker::WATCHED)) {
            let (Some(worker), [asks, reports, _]) = (&mut post.worker, ready) else { continue };
            if *reports {
                worker.hear();
            }
            if *asks {
                let line = &mut post.line;
                worker.answer(stranger, admission, limits, &mut |ask| match ask {
                    Ask::Report { status } => {
                        line.status = *status;
                        Some(BrokerAnswer::done(0).into())
                    }
                    _ => None,
                });
            }
        }
    }

    pub(super) fn errands(
        &self,
        user: &Credentials,
    ) -> impl FnMut(&Ask) -> Option<Response> + use<'_> {
        let user = user.clone();
        move |ask| match ask {
            Ask::Standing { place } => Some(self.line(&user, *place)),
            Ask::Follow { name, since, live } => {
                let reader = (!is_own(&user)).then_some(user.uid);
                let what = Follow { since: *since, live: *live, reader };
                Some(match self.follow(&user, name, what) {
                    Ok(pipe) => Response::handing_over(vec![pipe]),
                    Err(errno) => BrokerAnswer::refused(errno).into(),
                })
            }
            _ => None,
        }
    }

    fn line(&self, user: &Credentials, place: u64) -> Response {
        let post = usize::try_from(place).ok().and_then(|place| self.posts.get(place));
        let Some(post) = post else { return BrokerAnswer::refused(libc::ENOENT).into() };
        if !post.may_read(user) {
            return BrokerAnswer::refused(libc::EACCES).into();
        }
        let line = post.line.clone();
        let line = if post.worker.is_some() { line } else { line.down() };
        Response::with(BrokerAnswer::done(0), &line.encode())
    }

    /// Has a session's worker write into a pipe; gives the end to read from,
    /// or else the errno. For whom that worker is, the supervisor knows by
    /// itself.
    fn follow(&self, user: &Credentials, name: &str, what: Follow) -> Result<OwnedFd, i32> {
        let post = self.posts.iter().find(|post| post.standing.role.name == name);
        // Those one may not read look like those that are not there.
        let post = post.filter(|post| post.may_read(user)).ok_or(libc::ENOENT)?;
        let worker = post.worker.as_ref().ok_or(libc::EAGAIN)?;
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let made = pipe_with(flags).map_err(io::Error::from).and_then(|(source, sink)| {
            worker.give_reader(sink.as_fd(), what)?;
            Ok(source)
        });
        made.map_err(|error| {
            tracing::warn!(%error, "a reader could not be handed over");
            libc::EAGAIN
        })
    }

    pub(super) fn end(&mut self) -> Vec<Leaving> {
        let workers = std::mem::take(&mut self.posts).into_iter().filter_map(|post| post.worker);
        self.leaving.drain(..).chain(workers.map(Worker::end)).collect()
    }
}

/// The superuser, or who started a daemon of their own.
fn is_own(user: &Credentials) -> bool {
    [0, rustix::process::getuid().as_raw()].contains(&user.uid)
}

impl Post {
    /// The superuser, the members of its groups, and who started a daemon of
    /// their own.
    fn may_read(&self, user: &Credentials) -> bool {
        let readers = &self.standing.readers;
        is_own(user)
            || readers.contains(&user.gid)
            || user.groups.iter().any(|group| readers.contains(group))
    }

    fn broke_off(&mut self) {
        let now = Instant::now();
        self.line.status = Default::default();
        if now.duration_since(self.started) >= LASTED {
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
