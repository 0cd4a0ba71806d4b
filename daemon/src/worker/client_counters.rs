//! What one client was given of a session, and what not.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
#[cfg(not(feature = "interleavings"))]
use std::sync::atomic::{AtomicBool, AtomicU64};

#[cfg(feature = "interleavings")]
use loom::sync::atomic::{AtomicBool, AtomicU64};
use recorder::remote::protocol::Account;

use super::chunk::StreamTotals;
use crate::control::ClientSamples;

/// Counted by the ring thread, read by the client's task.
#[derive(Debug, Default)]
pub(crate) struct ClientCounters {
    before: AtomicU64,
    side_before: AtomicU64,
    taken: AtomicU64,
    exact_ip_taken: AtomicU64,
    side_taken: AtomicU64,
    lost: AtomicU64,
    side_lost: AtomicU64,
    overrun: AtomicBool,
}

impl ClientCounters {
    pub(crate) fn join(&self, passed: &StreamTotals) {
        self.before.store(passed.samples, Ordering::Relaxed);
        self.side_before.store(passed.side, Ordering::Relaxed);
    }

    pub(crate) fn took(&self, passed: &StreamTotals) {
        self.taken.fetch_add(passed.samples, Ordering::Relaxed);
        self.exact_ip_taken.fetch_add(passed.exact_ip, Ordering::Relaxed);
        self.side_taken.fetch_add(passed.side, Ordering::Relaxed);
    }

    pub(crate) fn lose(&self, samples: u64, side: u64) {
        self.lost.fetch_add(samples, Ordering::Relaxed);
        self.side_lost.fetch_add(side, Ordering::Relaxed);
    }

    pub(crate) fn samples(&self) -> ClientSamples {
        ClientSamples {
            given: self.taken.load(Ordering::Relaxed),
            dropped: self.lost.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn overrun(&self) {
        self.overrun.store(true, Ordering::Release);
    }

    pub(crate) fn is_overrun(&self) -> bool {
        self.overrun.load(Ordering::Acquire)
    }

    pub(crate) fn account(&self, session: &Account) -> Account {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let known = load(&self.before) + load(&self.taken) + load(&self.lost);
        // What the session delivered after this client was given up.
        let after = session.delivered.saturating_sub(known);
        let own =
            [("before", load(&self.before)), ("queue", load(&self.lost)), ("disconnected", after)];
        let own = own.into_iter().filter(|(_, count)| *count > 0);
        let mut lost: BTreeMap<String, u64> = session.lost.clone();
        lost.extend(own.map(|(stage, count)| (stage.to_owned(), count)));
        Account {
            kernel: session.kernel,
            delivered: load(&self.taken),
            exact_ip: load(&self.exact_ip_taken),
            lost,
            filtered: session.filtered.clone(),
            uncovered: session.uncovered,
            aggregates: session.aggregates,
            side: load(&self.side_taken),
            side_lost: session.side_lost + load(&self.side_lost),
            throttled: session.throttled,
            rate_lowered: session.rate_lowered,
            tail_unknown: session.tail_unknown,
            times: session.times.clone(),
        }
    }
}
