//! How a session begins: planned, admitted, opened, joined.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use recorder::in_kernel::{InKernel, ProgramTask, SiteTables, bytes};
use recorder::machine::facts::Capabilities;
use recorder::plan::{draft, rights};
use recorder::remote::protocol::{
    ErrorCode, ErrorReply, Joined, NamedTarget, Reply, Started, WhenSlow,
};
use recorder::session::SessionSettings;
use recorder::session::attach::AttachBudget;
use recorder::session::synthesize::needed_symbols;
use recorder::{Facts, Job, Plan, ProcVisibility};
use tokio::sync::oneshot;

use super::error_replies;
use super::hub::{Hub, SessionHandle, Subscription, failed, unreserved};
use super::job::CheckedJob;
use super::passed_client::PidNamespace;
use super::session_thread::{Progress, SessionOrder, SessionThread};
use super::waker::waker;
use crate::broker::{BrokerError, BrokerRefusal, GrantLease, Reservation, WireJob};
use crate::control::WorkerMetric;
use crate::policy::{OpenedBy, Permissions, unpermitted};
use crate::target::{FoundProcess, FoundTarget};

#[derive(Clone)]
struct PlannedJob {
    plan: Plan,
    facts: Facts,
}

impl Hub {
    pub(crate) async fn start(
        &self,
        job: Job,
        named: NamedTarget,
        namespace: &PidNamespace,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), ErrorReply> {
        let started = match CheckedJob::of_client(job, named, namespace) {
            Ok(checked) => self.begin(&checked, when_slow).await,
            Err(refused) => Err(refused),
        };
        let result = if started.is_ok() { WorkerMetric::Started } else { WorkerMetric::Refused };
        self.tally.lock().count(result, 1);
        started
    }

    pub(crate) async fn begin(
        &self,
        checked: &CheckedJob,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), ErrorReply> {
        self.may_begin()?;
        let planned = plan(checked)?;
        // What the user's own rights do not let this process open, policy may
        // grant: before the kernel is asked, or after it has refused.
        let granted = match self.own_rights(checked, &planned) {
            Err(denied) if self.may_be_granted(&denied) => Some(self.grant(checked, denied)?),
            own => own.map(|()| None)?,
        };
        let is_granted = granted.is_some();
        match self.open(checked, planned.clone(), granted, when_slow).await {
            Err(denied) if !is_granted && self.may_be_granted(&denied) => {
                let granted = self.grant(checked, denied)?;
                self.open(checked, planned, Some(granted), when_slow).await
            }
            result => result,
        }
    }

    pub(crate) fn outline(
        &self,
        job: Job,
        named: NamedTarget,
        namespace: &PidNamespace,
    ) -> Result<Reply, ErrorReply> {
        let checked = CheckedJob::of_client(job, named, namespace)?;
        let planned = plan(&checked)?;
        match self.own_rights(&checked, &planned) {
            Err(denied) if self.may_be_granted(&denied) => drop(self.grant(&checked, denied)?),
            own => own?,
        }
        let plan = planned.plan;
        let sampled = plan.events.iter().filter(|event| !event.carrier);
        Ok(Reply::Planned {
            events: sampled.map(|event| event.name.clone()).collect(),
            bytes: session_bytes(&plan).saturating_add(self.limits.queue.0),
            notes: plan.notes,
        })
    }

    fn own_rights(&self, checked: &CheckedJob, planned: &PlannedJob) -> Result<(), ErrorReply> {
        let PlannedJob { plan, facts } = planned;
        rights::check(&checked.job.request, plan, facts)
            .map_err(|refusal| error_replies::of_refusal(&refusal))
    }

    fn may_be_granted(&self, refused: &ErrorReply) -> bool {
        refused.code == ErrorCode::Denied && !self.permissions.is_empty()
    }

    /// A grant of the supervisor's; else the complaint that was there.
    fn grant(&self, checked: &CheckedJob, denied: ErrorReply) -> Result<GrantLease, ErrorReply> {
        let gone = |error: std::io::Error| error_replies::of_refused_grant(&error, denied.clone());
        let (named, path) = checked.target.named().map_err(gone)?;
        let numbers = WireJob::of(&checked.job.request, named, path);
        let Some(numbers) = numbers else { return Err(denied) };
        match self.broker.grant(numbers) {
            Ok(number) => Ok(GrantLease::new(&self.broker, number)),
            Err(BrokerError::Refused(BrokerRefusal::Unpermitted(missing))) => {
                let missing = Permissions::from_bits_truncate(missing).names().join(", ");
                let text =
                    format!("{}; the daemon's policy does not grant {missing} either", denied.text);
                Err(ErrorReply { text, ..denied })
            }
            Err(BrokerError::Refused(refusal)) => {
                Err(error_replies::of_refused_grant(&refusal.into(), denied))
            }
            Err(BrokerError::Silent(error)) => Err(error_replies::of_silence(&error)),
        }
    }

    async fn open(
        &self,
        checked: &CheckedJob,
        planned: PlannedJob,
        granted: Option<GrantLease>,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), ErrorReply> {
        let PlannedJob { mut plan, facts } = planned;
        let CheckedJob { job, target } = checked;
        let (permissions, opened_by) = match granted {
            Some(_) => (self.permissions, OpenedBy::Policy),
            // The kernel's own rules let this user (perf_event_paranoid below 2).
            None if job.request.modes.kernel => (Permissions::KERNEL, OpenedBy::User),
            None => (Permissions::empty(), OpenedBy::User),
        };
        if let Some(unpermitted) = unpermitted(&plan, permissions, opened_by) {
            // A denial, with which policy may help.
            return Err(ErrorReply::new(ErrorCode::Denied, unpermitted));
        }
        if granted.is_some() {
            // Whatever is refused from here on is refused to the supervisor:
            // no right of the user's would help.
            plan.access.capabilities = Some(Capabilities(u64::MAX));
        }
        self.check_rate(&plan, None)?;
        let reserved = self.reserve(&mut plan, checked)?;
        let (held, process) = match target {
            FoundTarget::Held(process) => (Some((process.pid(), process.pidfd())), None),
            _ => (None, target.process().map(FoundProcess::pidfd)),
        };
        let scrub = !job.request.modes.kernel;
        let has_room = self.limits.queue.0 >= ROOM_FOR_SYMBOLS;
        let settings = SessionSettings {
            held,
            process,
            cgroup: target.cgroup().cloned(),
            scrub,
            kernel_symbols: job.kernel_symbols && has_room,
            proc_visibility: granted
                .as_ref()
                .map_or_else(|| ProcVisibility::of_daemon(None), GrantLease::proc_visibility),
            attach_budget: AttachBudget::within(
                Duration::from_secs(self.limits.attach_seconds.into()),
                usize::try_from(self.limits.events_per_session).unwrap_or(usize::MAX),
            ),
            // No program of the client finds a log of the worker's.
            regions: false,
            ..SessionSettings::of(job)
        };
        let (orders, obeyed) = mpsc::channel();
        let (ringer, wake_receiver) = waker().map_err(failed)?;
        let progress = Arc::<Progress>::default();
        let (subscriber, subscription) = self.subscribe(when_slow, None)?;
        // Before the thread runs: the first client misses nothing.
        let _received = orders.send(SessionOrder::Join(Box::new(subscriber)));
        let kept = Rc::new(plan.clone());
        let drive = SessionThread {
            plan,
            facts,
            settings,
            permissions,
            command_line: job.command_line.clone(),
            granted,
            reserved,
            orders: obeyed,
            wake_receiver,
            progress: Arc::clone(&progress),
            tally: Arc::clone(&self.tally),
        };
        let (sender, receiver) = oneshot::channel();
        std::thread::Builder::new()
            .name("session".into())
            .spawn(move || {
                drive.run(|result| {
                    // Fails where the client has gone meanwhile.
                    let _nobody = sender.send(result);
                });
            })
            .map_err(|error| {
                let text = format!(
                    "the session has no thread ({error}): raise the daemon's limit of processes \
                     (ulimit -u, TasksMax= of the service)"
                );
                ErrorReply::new(ErrorCode::Exhausted, text)
            })?;
        let text = "the session ended while it was opened";
        let ended = |_| ErrorReply::new(ErrorCode::Failed, text);
        let (mut started, describer) = receiver.await.map_err(ended)??;
        if job.kernel_symbols && !has_room && needed_symbols(kept.events.iter(), false).is_some() {
            let queue = self.limits.queue.0;
            started.notes.push(format!(
                "the kernel's symbols are not in the recording: what may wait for a client here \
                 ({queue} bytes, limits.queue) has no room for them; {ROOM_FOR_SYMBOLS} would do"
            ));
        }
        // Random, of this stream alone.
        started.stream = format!("{:016x}", rand_word());
        let Started { stream, name, notes, .. } = started.clone();
        started.session = self.insert(SessionHandle {
            joined: Joined { stream, name, notes },
            pid: target.process().map(FoundProcess::pid),
            since: Instant::now(),
            orders,
            waker: ringer,
            progress,
            plan: kept,
            describer: Arc::new(describer),
            beats: Cell::new(0),
        });
        Ok((started, subscription))
    }

    /// Sets the bytes of a plan's rings and tables aside. Where there is room
    /// for less, what the user did not ask for gets smaller, to some point:
    /// tables, then rings.
    fn reserve(&self, plan: &mut Plan, checked: &CheckedJob) -> Result<Reservation, ErrorReply> {
        let (rings, sites) = (plan.rings, sites(plan));
        let error = match Reservation::reserve(&self.broker, session_bytes(plan), true, None) {
            Ok(reserved) => return Ok(reserved),
            Err(error) => error,
        };
        let queue = self.limits.queue.0;
        let free = match &error {
            BrokerError::Refused(BrokerRefusal::LimitReached(full)) => {
                full.free().map(|free| free.saturating_sub(queue))
            }
            _ => None,
        };
        let refused = unreserved("the session's rings and tables", error);
        let Some(free) = free else { return Err(refused) };
        let tables = checked.job.request.in_kernel.as_ref().and_then(InKernel::tables);
        if tables.is_none_or(|tables| tables.sites == SiteTables::AUTO_SITES) {
            fit_tables(plan, free);
        }
        let left = free.saturating_sub(table_bytes(plan));
        let fits = session_bytes(plan) <= free
            || checked.job.request.ring_pages.is_none() && plan.fit_into(left);
        if !fits {
            return Err(refused);
        }
        let why = "as the daemon has no room for more now";
        if let (Some(before), Some(now)) = (sites, self::sites(plan))
            && before != now
        {
            plan.notes.push(format!("tables have {now} sites a CPU instead of {before}, {why}"));
        }
        let kib = |pages: u32| u64::from(pages) * plan.page_size / 1024;
        if plan.rings != rings {
            plan.notes.push(format!(
                "sample rings are {} KiB a CPU instead of {} KiB, {why}",
                kib(plan.rings.samples),
                kib(rings.samples),
            ));
        }
        Reservation::reserve(&self.broker, session_bytes(plan), true, None)
            .map_err(|error| unreserved("the session's rings and tables", error))
    }
}

/// A client's queue must have room for the kernel's symbols and for samples
/// behind them.
const ROOM_FOR_SYMBOLS: u64 = 4 << 20;
/// The least sites of a CPU that tables are made to fit for.
const MIN_SITES: u32 = 256;

fn sites(plan: &Plan) -> Option<u32> {
    plan.in_kernel.as_ref()?.tables().map(|tables| tables.sites)
}

/// Bytes of the tables: each event that is sampled has its own.
fn table_bytes(plan: &Plan) -> u64 {
    let cpus = u32::try_from(plan.cpus.len()).unwrap_or(u32::MAX);
    let sampled = plan.events.iter().filter(|event| !event.carrier).count() as u64;
    let each = plan.in_kernel.as_ref().map_or(0, |in_kernel| bytes(in_kernel, cpus));
    each.saturating_mul(sampled)
}

/// Bytes of all that a session takes. Rings count beside tables, as they
/// serve where the kernel takes no program.
fn session_bytes(plan: &Plan) -> u64 {
    plan.ring_bytes().saturating_add(table_bytes(plan))
}

/// Halves tables until they leave room for rings, or would be of no use.
fn fit_tables(plan: &mut Plan, free: u64) {
    while session_bytes(plan) > free {
        match &mut plan.in_kernel {
            Some(InKernel { duty: ProgramTask::Aggregate(tables), .. })
                if tables.sites > MIN_SITES =>
            {
                tables.sites /= 2;
            }
            _ => return,
        }
    }
}

fn plan(checked: &CheckedJob) -> Result<PlannedJob, ErrorReply> {
    let request = &checked.job.request;
    let facts = Facts::read_for(Path::new("/"), request)
        .map_err(|error| ErrorReply::new(ErrorCode::Failed, error))?;
    let plan = draft(request, &facts).map_err(|refusal| error_replies::of_refusal(&refusal))?;
    Ok(PlannedJob { plan, facts })
}

/// Random, of the kernel.
fn rand_word() -> u64 {
    let mut bytes = [0u8; 8];
    // Without an entropy pool (early boot) it is no secret anyway.
    let _filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u64::from_ne_bytes(bytes)
}
