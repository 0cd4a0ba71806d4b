//! The end of a session: the rest of the records, and the account.

use std::time::Duration;

use record::attr::Sampling;
use record::side::SideRecord;
use record::stream::write;
use record::{Attr, AttrFlags, EventType, Misc, ReadFormat};

use super::retired::{EventTotal, Retired};
use super::{Session, SessionError, Sink, TargetState, sample_rate};
use crate::PlannedEvent;
use crate::ledger::{EventAccount, Ledger};
use crate::sys::event::NATIVE_ORDER;
use crate::sys::grace;

/// PERF_COUNT_SW_CPU_CLOCK and TASK_CLOCK: timers, whose count is time.
const CLOCKS: [u64; 2] = [0, 1];
/// PERF_COUNT_SW_DUMMY and BPF_OUTPUT: they count nothing.
const SILENT: [u64; 2] = [9, 10];
/// So often what the kernel counted is taken, where a CPU does not come to
/// the end of a hit: each takes seconds then.
const TRIES: usize = 3;
/// For handlers to end where the kernel cannot be asked whether they have.
const A_MOMENT: Duration = Duration::from_millis(20);

impl Session {
    /// Stops sampling, drains every ring until it is empty, reads the
    /// kernel's counts, ends the stream with the loss and the ledger, and
    /// closes all events. The command, if any, runs on: ask
    /// [`command`](Session::command). A sink that fails meanwhile is told in
    /// [`Ledger::sink_error`], with what it cost.
    ///
    /// # Errors
    /// An event's count cannot be read.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<Ledger, SessionError> {
        self.stop();
        // Side events go on until the last sample is out, so that its
        // mapping is.
        self.pass_booked(sink);
        for on_cpu in self.sets.iter().flat_map(|set| &set.cpus) {
            let _always_works = on_cpu.side.disable();
        }
        if self.state != TargetState::Gone {
            // A CPU may still be writing the record of an event that it has
            // counted, the more so a virtual one that its host has paused.
            if grace::wait_for_handlers().is_err() {
                std::thread::sleep(A_MOMENT);
            }
        }
        for _ in 0..TRIES {
            self.programs.due_now();
            while self.pass_booked(sink) {}
            if !self.programs.is_late() {
                break;
            }
        }
        let totals = self.totals();
        self.ledger = self.settled(&totals);
        // What is in the buffer has to be booked before anything is concluded.
        let _booked = self.outbox.flush(sink, &mut self.ledger);
        if self.state != TargetState::Gone {
            self.ledger.book_stop(self.rings.len());
        }
        self.ledger.book_busy();
        self.write_ending(sink)?;
        self.sets.clear();
        self.rings.clear();
        if let Some(error) = self.programs.failure() {
            return Err(SessionError::System { call: "taking what the kernel counted", error });
        }
        if totals.unread {
            let error = std::io::Error::other("a counter could not be read");
            return Err(SessionError::System { call: "read", error });
        }
        Ok(self.ledger.clone())
    }

    /// One pass whose failure the ledger has already; whether it brought
    /// anything.
    fn pass_booked(&mut self, sink: &mut dyn Sink) -> bool {
        let before = self.seen.samples + self.ledger.lost.total();
        let side = match self.pass(sink) {
            Ok(pass) => pass.side > 0,
            Err(_) => true,
        };
        side || self.seen.samples + self.ledger.lost.total() > before
    }

    fn totals(&self) -> Retired {
        let periods = self.attrs.periods();
        let mut totals = self.retired.clone();
        totals.events.resize(periods.len(), EventTotal::default());
        for set in &self.sets {
            totals.read(set, &periods);
        }
        totals
    }

    /// The account as of now: what the kernel counted beyond what was
    /// delivered and lost lies in the rings.
    pub(crate) fn so_far(&self) -> Ledger {
        self.settled(&self.totals())
    }

    /// The account with what the kernel says.
    fn settled(&self, totals: &Retired) -> Ledger {
        let mut ledger = self.ledger.clone();
        let counts_lost = |attr: &Attr| attr.read_format.contains(ReadFormat::LOST);
        ledger.tail_known = self.attrs.sampled().all(|(_, event)| counts_lost(&event.attr));
        for (place, (index, event)) in self.attrs.sampled().enumerate() {
            let total = totals.events.get(index).copied().unwrap_or_default();
            // A task's event for one CPU is enabled, and does not run, while
            // the task is on another.
            let by_task = event.attr.flags.contains(AttrFlags::INHERIT);
            let cpus = self.rings.iter().filter(|ring| by_task && event.is_on(ring.cpu)).count();
            let mut said = account(event, &total, cpus.max(1) as u64);
            said.kernel = said.kernel.filter(|_| !self.interval_changed);
            self.programs.account(place, &mut said, &mut ledger);
            let lost = ledger.tail_known.then_some(total.counts.lost);
            ledger.settle(place, said, lost);
        }
        if counts_lost(&self.attrs.side) {
            ledger.side_lost += totals.side_lost;
        } else {
            ledger.side_lost += self.seen.told_side_lost;
        }
        if !ledger.tail_known {
            ledger.lost.ring = self.seen.told_lost;
        }
        ledger.aggregates = self.programs.counts().then_some(self.programs.aggregates);
        let rates = self.sample_rate.zip(sample_rate(&self.settings.root));
        ledger.rate_lowered = rates.filter(|(before, after)| after < before);
        let running = || self.started.map(|at| at.elapsed());
        ledger.wall = self.stopped.or_else(running).unwrap_or_default();
        ledger
    }

    fn write_ending(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        let first = |index: usize| self.ids.of(index).first().copied();
        let ids: Vec<Option<u64>> = self.attrs.sampled().map(|(index, _)| first(index)).collect();
        let id = ids.iter().copied().flatten().next().unwrap_or(0);
        let out = &mut self.outbox.bytes;
        let untold = self.ledger.lost.ring.saturating_sub(self.seen.told_lost);
        if untold > 0 {
            let record = SideRecord::LostSamples { lost: untold };
            let trailer = self.attrs.zero_trailer_with(id);
            record
                .encode(Misc(0), &trailer, NATIVE_ORDER, out)
                .map_err(|e| SessionError::Preamble(e.to_string()))?;
            self.outbox.side += 1;
        }
        for (event, id) in ids.into_iter().enumerate() {
            let Some(id) = id else { continue };
            write::event_unit(id, &self.ledger.note(event), NATIVE_ORDER, out)
                .map_err(|e| SessionError::Preamble(e.to_string()))?;
        }
        write::finished_round(NATIVE_ORDER, out);
        let _booked = self.outbox.flush(sink, &mut self.ledger);
        Ok(())
    }
}

/// What the kernel says of an event that is open on so many CPUs.
fn account(event: &PlannedEvent, total: &EventTotal, cpus: u64) -> EventAccount {
    let counts = &total.counts;
    EventAccount {
        events: counts.count,
        kernel: samples_made(event, total),
        enabled: Duration::from_nanos(counts.enabled / cpus),
        running: Duration::from_nanos(counts.running),
        on_counter: on_counter(total),
        ..EventAccount::default()
    }
}

/// The event's share of the time that the side events beside it ran, which
/// always do while their task is on the CPU. Each is compared with its own
/// enabled time, as side events are enabled a little longer.
#[allow(clippy::cast_precision_loss, reason = "a share needs no 53 bits of nanoseconds")]
fn on_counter(total: &EventTotal) -> Option<f64> {
    let share = |running: u64, enabled: u64| (enabled > 0).then(|| running as f64 / enabled as f64);
    let side = share(total.side_running, total.side_enabled).filter(|&share| share > 0.0)?;
    let own = share(total.counts.running, total.counts.enabled)?;
    Some((own / side).min(1.0))
}

/// Samples that the kernel must have made, where that is certain: see
/// [`Ledger::kernel`](crate::ledger::Ledger::kernel).
fn samples_made(event: &PlannedEvent, total: &EventTotal) -> Option<u64> {
    let attr = &event.attr;
    let certain = match attr.kind {
        EventType::SOFTWARE => !CLOCKS.contains(&attr.config) && !SILENT.contains(&attr.config),
        // The scheduler's may count more than one for a record
        // (__perf_count, __perf_task in include/trace/events/sched.h).
        EventType::TRACEPOINT => !event.name.starts_with("sched:"),
        EventType::BREAKPOINT => true,
        _ => false,
    };
    match attr.sampling() {
        _ if !certain => None,
        Sampling::Period(1) => Some(total.counts.count),
        // Each thread's copy of an inherited event keeps a remainder of its
        // own, and only their sum can be read.
        Sampling::Period(2..) if !attr.flags.contains(AttrFlags::INHERIT) => Some(total.periods),
        Sampling::Period(_) | Sampling::Frequency(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::event::Counts;

    #[test]
    fn the_share_is_of_the_time_that_tasks_were_on_the_events_cpus() {
        let share = |(running, enabled), (side_running, side_enabled)| {
            let counts = Counts { running, enabled, ..Counts::default() };
            on_counter(&EventTotal { counts, side_running, side_enabled, ..Default::default() })
        };
        assert_eq!(share((500, 1000), (1000, 1000)), Some(0.5), "shared with one other");
        assert_eq!(share((500, 1000), (500, 1000)), Some(1.0), "on its CPUs half of the time");
        assert_eq!(share((500, 1000), (1000, 2000)), Some(1.0), "side events stop later");
        assert_eq!(share((0, 1000), (900, 1000)), Some(0.0), "starved");
        assert_eq!(share((0, 1000), (0, 1000)), None, "never on its CPUs");
        assert_eq!(share((0, 0), (10, 10)), None, "never enabled");
    }
}
