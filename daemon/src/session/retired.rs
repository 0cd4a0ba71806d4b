//! What events have counted, whether open still or closed.

use std::io;

use super::event_set::{EventSet, Ids};
use crate::sys::event::Counts;

/// Sums over events: those that are closed, then all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retired {
    /// For each event of the plan.
    pub(crate) events: Vec<EventTotal>,
    pub(crate) side_lost: u64,
    /// An event's count could not be read.
    pub(crate) unread: bool,
    /// Ids of closed events: their records may be in the rings still.
    pub(crate) ids: Ids,
}

/// Sums over one event of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventTotal {
    pub(crate) counts: Counts,
    /// Full periods, each open event's for itself.
    pub(crate) periods: u64,
    /// Times of the side events beside it. These run whenever their task (or
    /// any) is on the CPU: what the event's own times lack, it lacked a
    /// counter for.
    pub(crate) side_enabled: u64,
    pub(crate) side_running: u64,
}

impl Retired {
    /// Reads what a set counted, and closes it: events that its tasks'
    /// children inherited go with it. `periods`: of each event of the plan,
    /// 0 where it varies.
    pub(crate) fn add(&mut self, set: EventSet, periods: &[u64]) {
        self.read(&set, periods);
        self.unread |= self.ids.add(&set).is_err();
    }

    /// Adds what a set has counted so far.
    pub(crate) fn read(&mut self, set: &EventSet, periods: &[u64]) {
        if self.events.len() < periods.len() {
            self.events.resize(periods.len(), EventTotal::default());
        }
        if self.read_all(set, periods).is_err() {
            self.unread = true;
        }
    }

    fn read_all(&mut self, set: &EventSet, periods: &[u64]) -> io::Result<()> {
        let mut result = Ok(());
        for on_cpu in &set.cpus {
            let side = on_cpu.side.counts().unwrap_or_else(|error| {
                result = Err(error);
                Counts::default()
            });
            self.side_lost += side.lost;
            for sampled in &on_cpu.sampled {
                let Some(total) = self.events.get_mut(sampled.index) else { continue };
                match sampled.event.counts() {
                    Ok(counts) => {
                        total.counts.count += counts.count;
                        total.counts.enabled += counts.enabled;
                        total.counts.running += counts.running;
                        total.counts.lost += counts.lost;
                        total.side_enabled += side.enabled;
                        total.side_running += side.running;
                        let period = periods.get(sampled.index).copied().unwrap_or(0);
                        total.periods += counts.count.checked_div(period).unwrap_or(0);
                    }
                    Err(error) => result = Err(error),
                }
            }
        }
        result
    }
}
