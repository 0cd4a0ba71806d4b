//! How a session begins: planned, admitted, opened, joined.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use sampling::in_kernel::{Duty, InKernel, bytes};
use sampling::remote::protocol::{Complaint, ComplaintCode, Job, Reply, Started, WhenSlow};
use sampling::session::SessionSettings;
use sampling::session::attach::Effort;
use sampling::session::synthesize::needed;
use sampling::{Facts, Plan, Request, Sight, Target};
use tokio::sync::oneshot;

use super::bell::bell;
use super::complaint;
use super::drive::{Drive, Progress, SessionOpening, SessionOrder};
use super::hub::{Hub, Running, Subscription, failed, unreserved};
use super::job::{CheckedJob, check};
use super::pid_place::PidPlace;
use crate::broker::{Granted, JobNumbers, NotGranted, Reservation, Unreserved};
use crate::control::Word;
use crate::policy::{OpenedBy, Permissions, withheld};

/// A plan, and under what right it is opened.
struct Planned {
    plan: Plan,
    facts: Facts,
    granted: Option<Granted>,
}

impl Hub {
    /// Opens a session and joins it.
    pub(crate) async fn start(
        &self,
        job: &Job,
        place: &PidPlace,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), Complaint> {
        let started = self.try_start(job, place, when_slow).await;
        self.tally.add(if started.is_ok() { Word::Started } else { Word::Refused }, 1);
        started
    }

    async fn try_start(
        &self,
        job: &Job,
        place: &PidPlace,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), Complaint> {
        let checked = check(job, place)?;
        self.begin(&checked, when_slow).await
    }

    /// The same, of a job whose target was looked at.
    pub(crate) async fn begin(
        &self,
        checked: &CheckedJob,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), Complaint> {
        self.may_begin()?;
        let planned = self.plan(checked)?;
        match self.open(checked, planned, when_slow).await {
            Err(complaint)
                if complaint.code == ComplaintCode::Denied && !self.permissions.is_empty() =>
            {
                // The plan allowed it, and the kernel did not.
                let granted = self.granted(checked, complaint)?;
                self.open(checked, granted, when_slow).await
            }
            result => result,
        }
    }

    /// What would be opened for a job.
    pub(crate) fn outline(&self, job: &Job, place: &PidPlace) -> Result<Reply, Complaint> {
        let Planned { plan, .. } = self.plan(&check(job, place)?)?;
        let sampled = plan.events.iter().filter(|event| !event.carrier);
        Ok(Reply::Planned {
            events: sampled.map(|event| event.name.clone()).collect(),
            bytes: taken(&plan).saturating_add(self.limits.queue.0),
            notes: plan.notes,
        })
    }

    /// By the user's own rights, or else by what policy grants.
    fn plan(&self, checked: &CheckedJob) -> Result<Planned, Complaint> {
        let facts = facts(&checked.request)?;
        match sampling::plan(&checked.request, &facts) {
            Ok(plan) => Ok(Planned { plan, facts, granted: None }),
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
    fn granted(&self, checked: &CheckedJob, denied: Complaint) -> Result<Planned, Complaint> {
        let gone = |error: std::io::Error| complaint::of_refused_grant(&error, denied.clone());
        let (wanted, group) = checked.wanted().map_err(gone)?;
        let Some(numbers) = JobNumbers::of(&checked.request, wanted) else { return Err(denied) };
        let granted = match self.broker.grant(numbers, group) {
            Ok(number) => Granted::new(&self.broker, number),
            Err(NotGranted::Missing(missing)) => {
                let missing = missing.names().join(", ");
                let text =
                    format!("{}; the daemon's policy does not grant {missing} either", denied.text);
                return Err(Complaint { text, ..denied });
            }
            Err(NotGranted::Refused(error)) => {
                return Err(complaint::of_refused_grant(&error, denied));
            }
            Err(NotGranted::Silent(error)) => return Err(complaint::of_silence(&error)),
        };
        let mut facts = facts(&checked.request)?;
        // As the supervisor sees it, who will open the events.
        facts.access.capabilities = Some(sampling::machine::facts::Capabilities(u64::MAX));
        match sampling::plan(&checked.request, &facts) {
            Ok(plan) => Ok(Planned { plan, facts, granted: Some(granted) }),
            Err(refusal) => Err(complaint::of_refusal(&refusal)),
        }
    }

    async fn open(
        &self,
        checked: &CheckedJob,
        planned: Planned,
        when_slow: WhenSlow,
    ) -> Result<(Started, Subscription), Complaint> {
        let Planned { mut plan, facts, granted } = planned;
        let (permissions, opened_by) = match granted {
            Some(_) => (self.permissions, OpenedBy::Policy),
            // The kernel's own rules let this user (perf_event_paranoid below 2).
            None if checked.request.modes.kernel => (Permissions::KERNEL, OpenedBy::User),
            None => (Permissions::empty(), OpenedBy::User),
        };
        if let Some(withheld) = withheld(&plan, permissions, opened_by) {
            return Err(complaint::of_withheld(&withheld));
        }
        self.check_rate(&plan, None)?;
        let reserved = self.reserve(&mut plan, checked)?;
        let named = match &checked.process {
            Some((pid, pidfd)) => Some((*pid, Arc::new(pidfd.try_clone().map_err(failed)?))),
            None => None,
        };
        let (held, process) = match checked.request.target {
            Target::Command => (named, None),
            _ => (None, named.map(|(_, pidfd)| pidfd)),
        };
        let by_policy = granted.as_ref().map(|_| "policy".to_owned());
        let scrub = !checked.request.modes.kernel;
        let has_room = self.limits.queue.0 >= ROOM_FOR_SYMBOLS;
        let settings = SessionSettings {
            held,
            process,
            cgroup: checked.cgroup.clone(),
            count: checked.count,
            scrub,
            every: checked.in_kernel.as_ref().map_or(Duration::MAX, |asked| asked.every()),
            rings: checked.in_kernel.as_ref().is_none_or(|asked| asked.rings),
            kernel_symbols: checked.kernel_symbols && has_room,
            sight: granted.as_ref().map_or_else(|| Sight::of_daemon(None), Granted::sight),
            effort: Effort::within(
                Duration::from_secs(self.limits.attach_seconds.into()),
                usize::try_from(self.limits.events_per_session).unwrap_or(usize::MAX),
            ),
            ..SessionSettings::default()
        };
        let (orders, receiver) = mpsc::channel();
        let (ringer, ear) = bell().map_err(failed)?;
        let progress = Arc::<Progress>::default();
        let (subscriber, subscription) = self.subscribe(when_slow)?;
        // Before the thread runs: the first client misses nothing.
        let _received = orders.send(SessionOrder::Join(Box::new(subscriber)));
        let kept = Rc::new(plan.clone());
        let drive = Drive {
            plan,
            facts,
            settings,
            permissions,
            command_line: checked.command_line.clone(),
            granted,
            reserved,
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
        let SessionOpening { name, mut notes, describer, in_kernel, precise_ip, given_up } =
            opened.await.map_err(ended)??;
        if checked.kernel_symbols && !has_room && needed(kept.events.iter(), false).is_some() {
            let queue = self.limits.queue.0;
            notes.push(format!(
                "the kernel's symbols are not in the recording: what may wait for a client here \
                 ({queue} bytes, limits.queue) has no room for them; {ROOM_FOR_SYMBOLS} would do"
            ));
        }
        let stream = format!("{:016x}", rand_word());
        let session = self.keep(Running {
            name: name.clone(),
            stream: stream.clone(),
            notes: notes.clone(),
            pid: checked.process.as_ref().map(|(pid, _)| *pid),
            since: Instant::now(),
            orders,
            bell: ringer,
            progress,
            plan: kept,
            describer: Arc::new(describer),
            beats: Cell::new(0),
        });
        let started = Started {
            session,
            stream,
            name,
            notes,
            granted: by_policy,
            in_kernel,
            precise_ip,
            given_up: given_up.into_iter().map(|fallback| fallback.key().to_owned()).collect(),
        };
        Ok((started, subscription))
    }

    /// Sets the bytes of a plan's rings and tables aside. Where there is room
    /// for less, what the user did not ask for gets smaller, to some point:
    /// tables, then rings.
    fn reserve(&self, plan: &mut Plan, checked: &CheckedJob) -> Result<Reservation, Complaint> {
        let (rings, sites) = (plan.rings, sites(plan));
        let error = match Reservation::ask(&self.broker, taken(plan), true) {
            Ok(reserved) => return Ok(reserved),
            Err(error) => error,
        };
        let queue = self.limits.queue.0;
        let free = match &error {
            Unreserved::Full(full) => full.free().map(|free| free.saturating_sub(queue)),
            Unreserved::Silent(_) => None,
        };
        let complaint = unreserved("the session's rings and tables", &error);
        let Some(free) = free else { return Err(complaint) };
        if checked.in_kernel.as_ref().is_none_or(|asked| asked.sites.is_none()) {
            fit_tables(plan, free);
        }
        let left = free.saturating_sub(table_bytes(plan));
        let fits =
            taken(plan) <= free || checked.request.ring_pages.is_none() && plan.fit_into(left);
        if !fits {
            return Err(complaint);
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
        Reservation::ask(&self.broker, taken(plan), true)
            .map_err(|error| unreserved("the session's rings and tables", &error))
    }
}

/// A client's queue must have room for the kernel's symbols and for samples
/// behind them.
const ROOM_FOR_SYMBOLS: u64 = 4 << 20;
/// The least sites of a CPU that tables are made to fit for.
const FEWEST: u32 = 256;

/// Sites of a CPU, where the kernel is to count.
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
fn taken(plan: &Plan) -> u64 {
    plan.ring_bytes().saturating_add(table_bytes(plan))
}

/// Halves tables until they leave room for rings, or would be of no use.
fn fit_tables(plan: &mut Plan, free: u64) {
    while taken(plan) > free {
        match &mut plan.in_kernel {
            Some(InKernel { duty: Duty::Aggregate(tables), .. }) if tables.sites > FEWEST => {
                tables.sites /= 2;
            }
            _ => return,
        }
    }
}

fn facts(request: &Request) -> Result<Facts, Complaint> {
    Facts::read_for(Path::new("/"), request)
        .map_err(|error| Complaint { code: ComplaintCode::Failed, text: error.to_string() })
}

/// Random, of the kernel.
fn rand_word() -> u64 {
    let mut bytes = [0u8; 8];
    // Without an entropy pool (early boot) it is no secret anyway.
    let _filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    u64::from_ne_bytes(bytes)
}
