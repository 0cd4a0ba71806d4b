//! Keeps a worker within what it may take, and its sessions informed of what
//! the kernel changes for all.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use recorder::session::interval::{IntervalChange, now};
use tokio::time::{Instant, sleep_until};

use super::hub::Hub;
use super::session_thread::SessionOrder;
use crate::control::WorkerMetric;
use crate::guard::rate::max_sample_rate;
use crate::guard::{Escalation, GuardStep, Usage};

const TICK: Duration = Duration::from_secs(1);

/// Looks once a second, as long as the worker lives.
pub(crate) async fn watch(hub: Rc<Hub>) {
    let (mut escalation, mut usage) = (Escalation::default(), Usage::begin());
    let mut rate = max_sample_rate(Path::new("/"));
    let mut ticks = 0;
    let mut next = Instant::now();
    loop {
        next += TICK;
        sleep_until(next).await;
        crate::log::flush_suppressed();
        if hub.is_idle() {
            // There are no sessions to slow or to inform.
            (ticks, usage) = (0, Usage::begin());
            if escalation.next_step(false) == Some(GuardStep::Relax) {
                hub.refuse_sessions(None);
            }
            continue;
        }
        let before = std::mem::replace(&mut rate, max_sample_rate(Path::new("/")));
        if let (Some(before), Some(rate)) = (before, rate)
            && before != rate
        {
            tracing::warn!(before, rate, "kernel.perf_event_max_sample_rate has changed");
            let why = if rate < before {
                "the kernel or an administrator lowered it"
            } else {
                "it was raised"
            };
            hub.send_to_all(|| {
                SessionOrder::Note(format!(
                    "max_sample_rate={rate};was={before};at={};why={why}",
                    now()
                ))
            });
        }
        ticks += 1;
        if ticks >= hub.limits.guard_seconds {
            ticks = 0;
            let excess = usage.excess(&hub.limits, hub.broker.reserved());
            take(&hub, escalation.next_step(excess.is_some()), excess.unwrap_or_default());
        }
    }
}

fn take(hub: &Hub, step: Option<GuardStep>, why: String) {
    let Some(step) = step else { return };
    tracing::warn!(uid = hub.user.uid, ?step, why, "the guard acts");
    let counted = match step {
        GuardStep::Slow => Some(WorkerMetric::GuardSlowed),
        GuardStep::Refuse => Some(WorkerMetric::GuardRefused),
        GuardStep::StopNewest => Some(WorkerMetric::GuardStopped),
        GuardStep::Relax => None,
    };
    counted.into_iter().for_each(|word| hub.tally.lock().count(word, 1));
    match step {
        GuardStep::Slow => hub.send_to_all(|| {
            let (change, why) = (IntervalChange::Doubled, format!("guardrail: {why}"));
            // The session logs where it cannot.
            let (done, _nobody) = tokio::sync::oneshot::channel();
            SessionOrder::Interval { change, why, done }
        }),
        GuardStep::Refuse => hub.refuse_sessions(Some(why)),
        GuardStep::StopNewest => hub.stop_newest(&format!("guardrail: {why}")),
        GuardStep::Relax => hub.refuse_sessions(None),
    }
}
