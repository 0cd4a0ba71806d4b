//! A ledger in words: sent by the daemon, read by its clients.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EventAccount, Ledger};

/// Records by where they went. Kernel = delivered + the sum of lost, where
/// the kernel's count is certain, and of filtered where there is any. What a
/// daemon older than a field does not say is 0, or left open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<u64>,
    /// Samples that went on.
    pub delivered: u64,
    /// Of these, samples with EXACT_IP.
    #[serde(default)]
    pub exact_ip: u64,
    /// Samples that did not, by stage.
    pub lost: BTreeMap<String, u64>,
    /// Samples that a program in the kernel was told to leave out, by what it
    /// looked at.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub filtered: BTreeMap<String, u64>,
    /// Events of the session that no record stands for.
    #[serde(default)]
    pub uncovered: u64,
    /// Where the kernel counted, how many aggregates went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregates: Option<u64>,
    /// Sideband records that went on.
    pub side: u64,
    pub side_lost: u64,
    /// Times that the kernel paused an event until the next tick.
    #[serde(default)]
    pub throttled: u64,
    /// kernel.perf_event_max_sample_rate, where the kernel has lowered it
    /// meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_lowered: Option<RateLowered>,
    /// The kernel does not tell losses at the very end of a ring (before
    /// Linux 6.0).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tail_unknown: bool,
    /// How long each event counted, by its place in the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<EventTimes>,
}

/// kernel.perf_event_max_sample_rate, as a session found it and as it left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLowered {
    /// Samples a second, at the start.
    pub from: u64,
    /// The same at the end.
    pub to: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventTimes {
    /// Seconds that it was enabled, summed over threads, or over CPUs for the
    /// system.
    pub enabled: f64,
    /// Of these, seconds that it was on a counter.
    pub running: f64,
    /// Share of its tasks' time on its CPUs in which it had a counter, 0 to
    /// 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_counter: Option<f64>,
}

impl Ledger {
    pub fn account(&self) -> Account {
        let lost = self.lost.causes().into_iter().filter(|(_, count)| *count > 0);
        let filtered = self.filtered.reasons();
        Account {
            kernel: self.kernel,
            delivered: self.delivered,
            exact_ip: self.exact_ip,
            lost: lost.map(|(cause, count)| (cause.to_owned(), count)).collect(),
            filtered: filtered.map(|(reason, count)| (reason.to_owned(), count)).collect(),
            uncovered: self.unrecorded_events,
            aggregates: self.aggregates,
            side: self.side_delivered,
            side_lost: self.side_lost,
            throttled: self.throttled,
            rate_lowered: self.rate_lowered,
            tail_unknown: !self.tail_known,
            times: self.by_event.iter().map(EventAccount::times).collect(),
        }
    }

    /// Takes over what a daemon says of a client's stream. A cause that is
    /// not known here is of a newer daemon, and booked with the queue's.
    pub(crate) fn take_over(&mut self, account: &Account) {
        self.kernel = account.kernel;
        (self.delivered, self.exact_ip) = (account.delivered, account.exact_ip);
        (self.side_delivered, self.side_lost) = (account.side, account.side_lost);
        (self.throttled, self.rate_lowered) = (account.throttled, account.rate_lowered);
        self.tail_known = !account.tail_unknown;
        for (cause, count) in &account.lost {
            match self.lost.cause_mut(cause) {
                Some(known) => *known += count,
                None => self.lost.queue += count,
            }
        }
        for (reason, count) in &account.filtered {
            self.filtered.add(reason, *count);
        }
        (self.unrecorded_events, self.aggregates) = (account.uncovered, account.aggregates);
        for (event, times) in self.by_event.iter_mut().zip(&account.times) {
            event.take_over(times);
            self.enabled += event.enabled;
            self.running += event.running;
        }
        if let [only] = &mut self.by_event[..] {
            (only.filtered, only.unrecorded_events) =
                (self.filtered.clone(), self.unrecorded_events);
            (only.kernel, only.delivered, only.lost) = (self.kernel, self.delivered, self.lost);
            only.exact_ip = self.exact_ip;
        }
    }
}
