//! What events have counted, whether open still or closed.

use std::collections::BTreeMap;
use std::io;

use perfdata::Cpu;

use super::event_set::{CpuEvents, EventSet, OpenedEventIds};
use crate::sys::event::{Counts, PerfEvent};

/// Sums over events: those that are closed, then all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClosedEventTotals {
    /// For each event of the plan.
    pub(crate) events: Vec<EventTotal>,
    /// For each CPU, by its number.
    pub(crate) cpus: BTreeMap<u32, CpuTotal>,
    /// An event's count could not be read.
    pub(crate) unread: bool,
    /// Ids of closed events: their records may be in the rings still.
    pub(crate) ids: OpenedEventIds,
}

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
    pub(crate) shadow_counter: Counts,
    /// Events that were read, and shadow counters.
    pub(crate) opened: u64,
    pub(crate) shadow_counters: u64,
}

/// From this share of the time on a counter on, multiplexing is none: what
/// is missing is rounding.
const WHOLE: f64 = 0.995;

impl EventTotal {
    /// The share that events with these counts had of the time that the side
    /// events beside them ran, which always do while their task is on the
    /// CPU. Each is compared with its own enabled time, as side events are
    /// enabled a little longer. None: they never were there.
    #[allow(clippy::cast_precision_loss, reason = "a share needs no 53 bits of nanoseconds")]
    pub(super) fn on_counter(&self, counts: Counts) -> Option<f64> {
        let share =
            |running: u64, enabled: u64| (enabled > 0).then(|| running as f64 / enabled as f64);
        let side = share(self.side_running, self.side_enabled).filter(|&share| share > 0.0)?;
        let own = share(counts.running, counts.enabled)?;
        Some((own / side).min(1.0))
    }

    pub(super) fn is_whole(share: f64) -> bool {
        share >= WHOLE
    }
}

/// Sums over the events of one CPU, which share its rings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTotal {
    /// Records that found no room in the ring of samples, where the kernel
    /// counts them.
    pub(crate) lost: u64,
    /// The same of sideband records.
    pub(crate) side_lost: u64,
    /// Full periods, each open event's for itself.
    pub(crate) periods: u64,
}

impl ClosedEventTotals {
    /// Sideband records that found no room, where the kernel counts them.
    pub(crate) fn side_lost(&self) -> u64 {
        self.cpus.values().map(|total| total.side_lost).sum()
    }

    /// Reads what a set counted, and closes it: events that its tasks'
    /// children inherited go with it. `periods`: of each event of the plan,
    /// 0 where it varies.
    pub(crate) fn add(&mut self, set: EventSet, periods: &[u64]) {
        self.read(&set, periods, |_| true);
        self.unread |= self.ids.add(&set).is_err();
    }

    pub(crate) fn read(
        &mut self,
        set: &EventSet,
        periods: &[u64],
        is_wanted: impl Fn(Cpu) -> bool,
    ) {
        if self.events.len() < periods.len() {
            self.events.resize(periods.len(), EventTotal::default());
        }
        let wanted = set.cpus.iter().filter(|on_cpu| is_wanted(on_cpu.cpu));
        if self.read_all(wanted, periods).is_err() {
            self.unread = true;
        }
    }

    fn read_all<'s>(
        &mut self,
        wanted: impl Iterator<Item = &'s CpuEvents>,
        periods: &[u64],
    ) -> io::Result<()> {
        let mut result = Ok(());
        for on_cpu in wanted {
            let on_this = self.cpus.entry(on_cpu.cpu.0).or_default();
            let side = on_cpu.side.counts().unwrap_or_else(|error| {
                result = Err(error);
                Counts::default()
            });
            on_this.side_lost += side.lost;
            for sampled in &on_cpu.sampled {
                let Some(total) = self.events.get_mut(sampled.index) else { continue };
                match sampled.event.counts() {
                    Ok(counts) => {
                        add(&mut total.counts, counts);
                        total.opened += 1;
                        total.side_enabled += side.enabled;
                        total.side_running += side.running;
                        let period = periods.get(sampled.index).copied().unwrap_or(0);
                        let full = counts.count.checked_div(period).unwrap_or(0);
                        total.periods += full;
                        on_this.periods += full;
                        on_this.lost += counts.lost;
                    }
                    Err(error) => result = Err(error),
                }
                if let Some(Ok(counts)) = sampled.shadow_counter.as_ref().map(PerfEvent::counts) {
                    add(&mut total.shadow_counter, counts);
                    total.shadow_counters += 1;
                }
            }
        }
        result
    }
}

fn add(sum: &mut Counts, counts: Counts) {
    sum.count += counts.count;
    sum.enabled += counts.enabled;
    sum.running += counts.running;
    sum.lost += counts.lost;
}
