//! Keeps a standing session going: looks for its target, samples it, and
//! looks again when it has ended.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use recorder::remote::protocol::{ErrorReply, WhenSlow};
use recorder::{InKernel, Job, ProgramTask, Request};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::readers::ReaderLimit;
use super::role::StandingSpec;
use super::spool::{Spool, Subdirectory};
use super::target::find;
use super::writer::{Writer, WriterOrder};
use crate::control::{SharedCounts, StandingState, StandingStatus};
use crate::store::SystemClock;
use crate::target::FoundTarget;
use crate::worker::{CheckedJob, Hub, Subscription};

/// The first look for a target that is not there, the next ones twice as
/// late each time, up to the last.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A sampling that lasted so long was none that fails at once.
const STABLE_AFTER: Duration = Duration::from_secs(10);
const REPORT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct StandingSession {
    pub(super) role: StandingSpec,
    pub(super) writer: Writer,
    pub(super) readers: ReaderLimit,
    thread: Option<std::thread::JoinHandle<()>>,
    status: Arc<SharedCounts<StandingStatus>>,
}

impl StandingSession {
    pub(crate) fn new(role: StandingSpec) -> std::io::Result<StandingSession> {
        let status = Arc::<SharedCounts<StandingStatus>>::default();
        let place =
            Subdirectory { directory: role.kept.directory.clone(), name: role.name.clone() };
        let clock = Arc::new(SystemClock::new()?);
        let spool = Spool::new(&role, Box::new(place), clock, Arc::clone(&status));
        let (writer, thread) = Writer::start(spool, Arc::clone(&status))?;
        Ok(StandingSession {
            role,
            writer,
            readers: ReaderLimit::default(),
            thread: Some(thread),
            status,
        })
    }

    /// Waits until all that was sampled is on disk; then no other task may have
    /// its writer.
    pub(crate) fn finish(self) {
        let StandingSession { writer, thread, .. } = self;
        drop(writer);
        if let Some(thread) = thread {
            // It has logged why it broke off.
            let _broken = thread.join();
        }
    }
}

pub(crate) async fn keep_sampling(standing: Rc<StandingSession>, hub: Rc<Hub>) {
    tokio::task::spawn_local(report(Rc::clone(&standing), Rc::clone(&hub)));
    let (first, last) = BACK_OFF;
    let mut pause = first;
    let mut logged = String::new();
    loop {
        let began = Instant::now();
        match sample(&standing, &hub).await {
            Ok(reason) => {
                tracing::info!(
                    name = standing.role.name,
                    reason,
                    "a standing session's target ended"
                );
                logged.clear();
            }
            Err((state, why)) => {
                standing.status.lock().state = state;
                // Once, and not every half minute.
                if why != logged {
                    tracing::warn!(name = standing.role.name, why, "a standing session waits");
                    logged = why;
                }
            }
        }
        pause = if began.elapsed() >= STABLE_AFTER { first } else { pause };
        sleep(pause).await;
        pause = (pause * 2).min(last);
    }
}

/// Samples the target until it ends; gives the reason, or says why not.
async fn sample(standing: &StandingSession, hub: &Hub) -> Result<String, (StandingState, String)> {
    let found = find(&standing.role.target, Path::new("/"))
        .map_err(|error| (StandingState::Waiting, error.to_string()))?;
    let refused = |error: ErrorReply| (StandingState::Refused, error.text);
    let (stream, subscription) = begin(&standing.role, found, hub).await.map_err(refused)?;
    standing.status.lock().state = StandingState::Running;
    let (ended, reason) = oneshot::channel();
    let gone = || (StandingState::Refused, "the writer has gone".to_owned());
    if !standing.writer.send_order(WriterOrder::Begin { subscription, stream, ended }) {
        return Err(gone());
    }
    let reason = reason.await.map_err(|_| gone())?;
    standing.status.lock().state = StandingState::Waiting;
    Ok(reason)
}

async fn begin(
    role: &StandingSpec,
    found: FoundTarget,
    hub: &Hub,
) -> Result<(u64, Subscription), ErrorReply> {
    let mut request = Request {
        interval: role.interval,
        allow_skid: role.allow_skid,
        call_graph: role.call_graph,
        ..Request::new(role.event.as_str(), role.modes, found.target())
    };
    let counted = role.counted.map(|counted| ProgramTask::Aggregate(counted.tables));
    request.in_kernel = counted.map(|duty| InKernel { duty, ..InKernel::aggregate() });
    let mut job = Job::new(request);
    job.command_line = vec!["ebsd".into(), role.name.clone()];
    if let Some(counted) = role.counted {
        job.every = counted.every;
    }
    let job = CheckedJob::new(job, found);
    let (started, subscription) = hub.begin(&job, WhenSlow::DropNewest).await?;
    for note in &started.notes {
        tracing::info!(name = role.name, note, "a standing session");
    }
    let stream = u64::from_str_radix(&started.stream, 16).unwrap_or(started.session);
    Ok((stream, subscription))
}

async fn report(standing: Rc<StandingSession>, hub: Rc<Hub>) {
    let mut reported = None;
    loop {
        let status = *standing.status.lock();
        if reported != Some(status) {
            hub.broker.report(status);
            reported = Some(status);
        }
        sleep(REPORT).await;
    }
}
