//! The supervisor's side of standing sessions: a worker for each, started
//! again when it breaks off; and who may read which.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::config::{Config, Limits, Standing};
use super::worker::{Leaving, Worker};
use crate::broker::{Answer, Ask, Stranger};
use crate::control::Report;
use crate::credentials::Credentials;
use crate::guard::Admission;
use crate::permission::Permissions;
use crate::standing::{Follow, Line, Role, Sought, Stored, text};

/// After the first break-off a worker is started again so late, after others
/// twice as late each time, up to the last.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// A worker that lived so long is started again at once.
const LASTED: Duration = Duration::from_secs(60);
/// Who records, where the configuration does not say.
const USERS: [&str; 2] = ["ebsd", "nobody"];

/// Where it is noted what workers did and hold.
type Books<'b> = (&'b mut Report, &'b mut Admission);

/// All standing sessions.
#[derive(Debug, Default)]
pub(super) struct Desk {
    posts: Vec<Post>,
    leaving: Vec<Leaving>,
    /// What was counted by workers that have ended.
    gone: Stored,
}

#[derive(Debug)]
struct Post {
    standing: Standing,
    user: Credentials,
    worker: Option<Worker>,
    line: Line,
    started: Instant,
    next_try: Instant,
    pause: Duration,
}

/// What a session is granted, as the configuration says what it samples.
fn permissions(role: &Role) -> Permissions {
    let mut permissions = match role.target {
        Sought::PidFile(_) | Sought::Comm(_) => Permissions::OTHERS_TASKS,
        Sought::Unit(_) | Sought::Cgroup(_) | Sought::System => Permissions::SYSTEM_WIDE,
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

/// Where the directory of the recordings is missing, or the superuser's, it
/// becomes the recorder's.
fn prepare(directory: &Path, user: &Credentials) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    match std::fs::DirBuilder::new().mode(0o755).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if std::fs::symlink_metadata(directory)?.uid() == 0 && user.uid != 0 {
        std::os::unix::fs::lchown(directory, Some(user.uid), Some(user.gid))?;
    }
    Ok(())
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
            self.gone.add(Stored { bytes: 0, ..post.line.stored() });
        }
        self.leaving.extend(gone.into_iter().filter_map(|post| post.worker).map(Worker::end));
        for standing in &config.standing {
            if self.posts.iter().any(|post| post.standing == *standing) {
                continue;
            }
            let directory = &standing.role.kept.directory;
            if let Err(error) = prepare(directory, &user) {
                tracing::warn!(directory = %directory.display(), %error, "recordings have no place");
            }
            let (name, event) = (standing.role.name.clone(), standing.role.event.clone());
            self.posts.push(Post {
                standing: standing.clone(),
                user: user.clone(),
                worker: None,
                line: Line { name, event, ..Line::default() },
                started: Instant::now(),
                next_try: Instant::now(),
                pause: BACK_OFF.0,
            });
        }
        Ok(())
    }

    /// Starts workers that do not run, and notices which have ended.
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
                self.gone.add(Stored { bytes: 0, ..post.line.stored() });
                post.broke_off();
            }
            if self.leaving.is_empty() {
                post.start(limits);
            }
        }
    }

    /// What all of them have on disk, and counted.
    pub(super) fn stored(&self) -> Stored {
        let mut all = self.gone;
        self.posts.iter().for_each(|post| all.add(post.line.stored()));
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
        (admission, limits): (&mut Admission, &Limits),
    ) {
        let posts = self.posts.iter_mut().filter(|post| post.worker.is_some());
        for (post, ready) in posts.zip(ready.chunks(Worker::WATCHED)) {
            let (Some(worker), [asks, reports, _]) = (&mut post.worker, ready) else { continue };
            if *reports {
                worker.hear();
            }
            if *asks {
                let line = &mut post.line;
                worker.answer(stranger, (&mut *admission, limits), &mut |ask, _| match ask {
                    Ask::Report { status } => {
                        line.status = *status;
                        Some((Answer::done(0), Vec::new()))
                    }
                    _ => None,
                });
            }
        }
    }

    /// Answers what a worker asks for its user.
    pub(super) fn errands(
        &self,
        user: &Credentials,
    ) -> impl FnMut(&Ask, Option<&OwnedFd>) -> Option<(Answer, Vec<u8>)> + use<'_> {
        let user = user.clone();
        move |ask, client| self.errand(&user, ask, client)
    }

    fn errand(
        &self,
        user: &Credentials,
        ask: &Ask,
        client: Option<&OwnedFd>,
    ) -> Option<(Answer, Vec<u8>)> {
        match ask {
            Ask::Standing { place } => Some(self.line(user, *place)),
            Ask::Follow { name, since, live } => {
                let since = (*since != u64::MAX).then_some(Duration::from_secs(*since));
                let what = Follow { since, live: *live };
                let done = self.follow(user, &text(name), what, client);
                Some((done.map_or_else(Answer::refused, |()| Answer::done(0)), Vec::new()))
            }
            _ => None,
        }
    }

    fn line(&self, user: &Credentials, place: u64) -> (Answer, Vec<u8>) {
        let post = usize::try_from(place).ok().and_then(|place| self.posts.get(place));
        let Some(post) = post else { return (Answer::refused(libc::ENOENT), Vec::new()) };
        if !post.may_read(user) {
            return (Answer::refused(libc::EACCES), Vec::new());
        }
        let line = post.line.clone();
        let line = if post.worker.is_some() { line } else { line.down() };
        (Answer::done(0), line.encode().to_vec())
    }

    /// Gives a client to a session's worker; else the errno.
    fn follow(
        &self,
        user: &Credentials,
        name: &str,
        what: Follow,
        client: Option<&OwnedFd>,
    ) -> Result<(), i32> {
        let client = client.ok_or(libc::EBADF)?;
        // Whose it is, says the connection, and not the worker that has it.
        let peer = Credentials::of_peer(client).map_err(|_| libc::EACCES)?;
        let post = self.posts.iter().find(|post| post.standing.role.name == name);
        // Those one may not read look like those that are not there.
        let post = post.filter(|post| peer == *user && post.may_read(&peer)).ok_or(libc::ENOENT)?;
        let worker = post.worker.as_ref().ok_or(libc::EAGAIN)?;
        worker.give_reader(client.as_fd(), what).map_err(|error| {
            tracing::warn!(%error, "a reader could not be handed over");
            libc::EAGAIN
        })
    }

    /// Ends all.
    pub(super) fn end(&mut self) -> Vec<Leaving> {
        let workers = std::mem::take(&mut self.posts).into_iter().filter_map(|post| post.worker);
        self.leaving.drain(..).chain(workers.map(Worker::end)).collect()
    }
}

impl Post {
    /// The superuser, the members of its groups, and who started a daemon of
    /// their own.
    fn may_read(&self, user: &Credentials) -> bool {
        let readers = &self.standing.readers;
        let own = rustix::process::getuid().as_raw();
        [0, own].contains(&user.uid)
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
