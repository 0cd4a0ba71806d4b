//! Events that no record stands for.

use perfdata::attr::SamplingRate;

use super::retired::Retired;
use super::{Session, TargetState};
use crate::Target;
use crate::catalogue::promises::SampleSource;

impl Session {
    /// Whether an event and its witness counted the same: from the exec of a
    /// command to its end. Others are enabled and stopped one after the other.
    pub(super) fn is_whole(&self) -> bool {
        let is_command = self.plan.target == Target::Command;
        is_command && self.state == TargetState::Gone && !self.pauses.any()
    }

    /// Books what was counted beyond what records stand for, once all of them
    /// are out. A task that was started in between has an event of its own on
    /// each CPU.
    pub(super) fn book_uncovered(&mut self, totals: &Retired) {
        // A fork that was lost may have left rests that nobody knows of.
        if self.interval_changed || self.ledger.side_lost > 0 {
            return;
        }
        let cpus = self.rings.len() as u64;
        for (place, (index, event)) in self.attrs.sampled().enumerate() {
            let is_counter =
                matches!(event.promises.source, SampleSource::Pebs | SampleSource::Counter);
            let SamplingRate::Period(interval @ 1..) = event.attr.sampling() else { continue };
            if !is_counter {
                continue;
            }
            let opened = totals.events.get(index).map_or(0, |total| total.opened);
            let openings = opened.saturating_add(self.seen.forks.saturating_mul(cpus));
            self.ledger.book_uncovered(place, interval, openings);
        }
    }
}
