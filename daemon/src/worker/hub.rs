//! What a worker knows: its sessions, and how to begin one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use record::Pid;
use tokio::sync::oneshot;

use super::bell::{Bell, Ear, bell};
use super::complaint;
use super::drive::{Drive, Opened, Order, Progress};
use super::fan::Subscriber;
use super::job::{Checked, check};
use super::queue::{Outlet, queue};
use super::share::Share;
use crate::broker::{Broker, JobWords, NotGranted, Wanted};
use crate::control::{Report, Tally, Word};
use crate::credentials::Credentials;
use crate::permission::Permissions;
use crate::protocol::{
    Account, Complaint, ComplaintCode, Job, SessionLine, Started, Stats, WhenSlow,
};
use crate::session::Settings;
use crate::{Facts, Plan, Refusal, Request, Target};

/// Bytes that may wait for one client.
const QUEUE: u64 = 8 * 1024 * 1024;

/// All of one worker.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) user: Credentials,
    pub(crate) permissions: Permissions,
    broker: Arc<Broker>,
    sessions: RefCell<BTreeMap<u64, Running>>,
    next: Cell<u64>,
    /// Connections that are served.
    pub(crate) connections: Cell<u64>,
    tally: Arc<Tally>,
}

/// A session that runs.
#[derive(Debug)]
struct Running {
    name: String,
    pid: Option<Pid>,
    since: Instant,
    interval: u64,
    orders: Sender<Order>,
    bell: Bell,
    progress: Arc<Progress>,
    /// Turns of the thread when they were looked at last.
    beats: Cell<u64>,
}

/// A client's side of a session.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) outlet: Outlet,
    pub(crate) ear: Ear,
    pub(crate) share: Arc<Share>,
}

/// A plan, and under what right it is opened.
struct Planned {
    plan: Plan,
    facts: Facts,
    grant: Option<u64>,
}

impl Hub {
    pub(crate) fn new(user: Credentials, permissions: Permissions, broker: Arc<Broker>) -> Hub {
        Hub {
            user,
            permissions,
            broker,
            sessions: RefCell::default(),
            next: Cell::new(1),
            connections: Cell::new(0),
            tally: Arc::default(),
        }
    }

    /// Opens a session and joins it.
    pub(crate) async fn start(
        &self,
        job: &Job,
        pidfd: Option<OwnedFd>,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), Complaint> {
        let started = self.try_start(job, pidfd, when_slow).await;
        self.tally.add(if started.is_ok() { Word::Started } else { Word::Refused }, 1);
        started
    }

    async fn try_start(
        &self,
        job: &Job,
        pidfd: Option<OwnedFd>,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), Complaint> {
        let checked = check(job, pidfd)?;
        self.begin(job, &checked, when_slow).await
    }

    /// The same, of a target that was looked at.
    pub(crate) async fn begin(
        &self,
        job: &Job,
        checked: &Checked,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), Complaint> {
        let planned = self.plan(checked)?;
        match self.open(job, checked, planned, when_slow).await {
            Err(complaint)
                if complaint.code == ComplaintCode::Denied && !self.permissions.is_empty() =>
            {
                // The plan allowed it, and the kernel did not.
                let granted = self.granted(checked, complaint)?;
                self.open(job, checked, granted, when_slow).await
            }
            result => result,
        }
    }

    /// By the user's own rights, or else by what policy grants.
    fn plan(&self, checked: &Checked) -> Result<Planned, Complaint> {
        let facts = facts(&checked.request)?;
        match crate::plan(&checked.request, &facts) {
            Ok(plan) => Ok(Planned { plan, facts, grant: None }),
            Err(refusal) => {
                let complaint = complaint::of_refusal(&refusal);
                match complaint.code {
                    ComplaintCode::Denied if !self.permissions.is_empty() => {
                        self.granted(checked, complaint)
                    }
                    _ => Err(complaint),
                }
            }
        }
    }

    /// Under a grant of the supervisor's; else the complaint that was there.
    fn granted(&self, checked: &Checked, denied: Complaint) -> Result<Planned, Complaint> {
        let wanted = match checked.request.target {
            Target::Command => Wanted::Held,
            Target::Process(_) => Wanted::Process,
            Target::System => Wanted::System,
            Target::Cgroup => Wanted::Cgroup,
        };
        let Some(words) = JobWords::of(&checked.request, wanted) else { return Err(denied) };
        let pidfd = checked.process.as_ref().map(|(_, pidfd)| pidfd.as_fd());
        let cgroup = checked.cgroup.as_ref().map(|cgroup| cgroup.as_fd());
        let grant = match self.broker.grant(words, pidfd.or(cgroup)) {
            Ok(grant) => grant,
            Err(NotGranted::Missing(missing)) => {
                let missing = missing.names().join(", ");
                let text =
                    format!("{}; the daemon's policy does not grant {missing} either", denied.text);
                return Err(Complaint { text, ..denied });
            }
            Err(NotGranted::Refused(_)) => return Err(denied),
        };
        let mut facts = facts(&checked.request)?;
        // As the supervisor sees it, who will open the events.
        facts.access.capabilities = Some(crate::facts::Capabilities(u64::MAX));
        let planned = crate::plan(&checked.request, &facts);
        planned.map(|plan| Planned { plan, facts, grant: Some(grant) }).map_err(
            |refusal: Refusal| {
                self.broker.release(grant);
                complaint::of_refusal(&refusal)
            },
        )
    }

    async fn open(
        &self,
        job: &Job,
        checked: &Checked,
        planned: Planned,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), Complaint> {
        let failed = |error: std::io::Error| Complaint {
            code: ComplaintCode::Failed,
            text: error.to_string(),
        };
        let Planned { plan, facts, grant } = planned;
        let held = match (&checked.process, checked.request.target) {
            (Some((pid, pidfd)), Target::Command) => {
                Some((*pid, Arc::new(pidfd.try_clone().map_err(failed)?)))
            }
            _ => None,
        };
        let permissions = if grant.is_some() { self.permissions } else { Permissions::empty() };
        let scrub = !checked.request.modes.kernel;
        let settings = Settings {
            held,
            cgroup: checked.cgroup.clone(),
            count: job.count,
            scrub,
            ..Settings::default()
        };
        let (orders, receiver) = mpsc::channel();
        let (ringer, ear) = bell().map_err(failed)?;
        let progress = Arc::<Progress>::default();
        let interval = plan.events.first().map_or(0, |event| event.attr.sample_period);
        let (subscriber, subscription) = subscription(when_slow).map_err(failed)?;
        // Before the thread runs: the first client misses nothing.
        let _received = orders.send(Order::Join(Box::new(subscriber)));
        let drive = Drive {
            plan,
            facts,
            settings,
            permissions,
            command_line: job.command_line.clone(),
            granted: grant.map(|grant| (Arc::clone(&self.broker), grant)),
            orders: receiver,
            ear,
            progress: Arc::clone(&progress),
            tally: Arc::clone(&self.tally),
        };
        let (sender, opened) = oneshot::channel();
        std::thread::Builder::new()
            .name("session".into())
            .spawn(move || {
                drive.run(|result| {
                    // Where the client has gone meanwhile nobody listens.
                    let _nobody = sender.send(result);
                });
            })
            .map_err(failed)?;
        let ended = |_| Complaint {
            code: ComplaintCode::Failed,
            text: "the session ended while it was opened".into(),
        };
        let Opened { name, notes } = opened.await.map_err(ended)??;
        let session = self.next.replace(self.next.get() + 1);
        let pid = checked.process.as_ref().map(|(pid, _)| *pid);
        let since = Instant::now();
        let running = Running {
            name: name.clone(),
            pid,
            since,
            interval,
            orders,
            bell: ringer,
            progress,
            beats: Cell::new(0),
        };
        self.sessions.borrow_mut().insert(session, running);
        let granted = grant.map(|_| "policy".to_owned());
        let stream = format!("{:016x}", rand_word());
        Ok((Started { session, stream, name, notes, granted }, subscription))
    }

    /// Joins a session that runs.
    pub(crate) fn join(
        &self,
        session: u64,
        when_slow: WhenSlow,
    ) -> Result<(String, Subscription), Complaint> {
        let sessions = self.sessions.borrow();
        let running = sessions.get(&session).ok_or_else(|| no_session(session))?;
        let (subscriber, subscription) = subscription(when_slow)
            .map_err(|error| Complaint { code: ComplaintCode::Failed, text: error.to_string() })?;
        running.orders.send(Order::Join(Box::new(subscriber))).map_err(|_| no_session(session))?;
        running.bell.ring();
        Ok((running.name.clone(), subscription))
    }

    /// Ends a session; its clients are told.
    pub(crate) fn stop(&self, session: u64, reason: &str) -> Result<(), Complaint> {
        let sessions = self.sessions.borrow();
        let running = sessions.get(&session).ok_or_else(|| no_session(session))?;
        running.orders.send(Order::Stop(reason.into())).map_err(|_| no_session(session))?;
        running.bell.ring();
        Ok(())
    }

    /// Ends all sessions, and waits a while for their last records to go.
    pub(crate) async fn stop_all(&self, reason: &str) {
        let sessions: Vec<u64> = self.sessions.borrow().keys().copied().collect();
        for session in sessions {
            // It may have ended by itself.
            let _ended = self.stop(session, reason);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    /// The session has ended, or its last client has gone.
    pub(crate) fn forget_ended(&self) {
        // A thread that has ended has dropped its receiver.
        let lives = |running: &Running| Arc::strong_count(&running.progress) > 1;
        self.sessions.borrow_mut().retain(|_, running| lives(running));
    }

    pub(crate) fn stats(&self, session: u64) -> Result<Stats, Complaint> {
        self.forget_ended();
        let sessions = self.sessions.borrow();
        let running = sessions.get(&session).ok_or_else(|| no_session(session))?;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let progress = &running.progress;
        Ok(Stats {
            seconds: running.since.elapsed().as_secs_f64(),
            session: Account {
                delivered: load(&progress.delivered),
                side: load(&progress.side),
                ..Account::default()
            },
            clients: u32::try_from(load(&progress.clients)).unwrap_or(u32::MAX),
            queued: load(&progress.queued),
            interval: running.interval,
        })
    }

    /// How it goes, for the supervisor.
    pub(crate) fn report(&self) -> Report {
        self.forget_ended();
        let mut report = self.tally.report();
        let sessions = self.sessions.borrow();
        let (mut still, mut queued) = (0, 0);
        for running in sessions.values() {
            let beats = running.progress.beats.load(Ordering::Relaxed);
            still += u64::from(running.beats.replace(beats) == beats);
            queued += running.progress.queued.load(Ordering::Relaxed);
        }
        report.set(Word::Sessions, sessions.len() as u64);
        report.set(Word::Still, still);
        report.set(Word::Clients, self.connections.get());
        report.set(Word::Queued, queued);
        report
    }

    pub(crate) fn list(&self) -> Vec<SessionLine> {
        self.forget_ended();
        let sessions = self.sessions.borrow();
        let line = |(&session, running): (&u64, &Running)| SessionLine {
            session,
            name: running.name.clone(),
            pid: running.pid.map(|pid| pid.0),
            seconds: running.since.elapsed().as_secs(),
            clients: u32::try_from(running.progress.clients.load(Ordering::Relaxed))
                .unwrap_or(u32::MAX),
        };
        sessions.iter().map(line).collect()
    }
}

fn subscription(when_slow: WhenSlow) -> std::io::Result<(Subscriber, Subscription)> {
    let (feed, outlet) = queue(QUEUE);
    let (bell, ear) = bell()?;
    let share = Arc::<Share>::default();
    let subscriber = Subscriber {
        feed,
        bell,
        when_slow,
        share: Arc::clone(&share),
        gap: super::chunk::Gap::default(),
    };
    Ok((subscriber, Subscription { outlet, ear, share }))
}

fn facts(request: &Request) -> Result<Facts, Complaint> {
    Facts::read_for(Path::new("/"), request)
        .map_err(|error| Complaint { code: ComplaintCode::Failed, text: error.to_string() })
}

fn no_session(session: u64) -> Complaint {
    let text = format!("there is no session {session} of yours; `ebs sessions` lists them");
    Complaint { code: ComplaintCode::NoSession, text }
}

/// Random, of the kernel.
fn rand_word() -> u64 {
    let mut bytes = [0u8; 8];
    // Without an entropy pool (early boot) it is no secret anyway.
    let _filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u64::from_ne_bytes(bytes)
}
