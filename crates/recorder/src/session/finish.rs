//! The end of a session: the rest of the records, and the account.

use std::time::Duration;

use perfdata::attr::SamplingRate;
use perfdata::stream::write;
use perfdata::{AttrFlags, Cpu};

use super::closed_event_totals::{ClosedEventTotals, EventTotal};
use super::losses::{count_is_exact, counts_lost};
use super::{Session, SessionError, Sink, TargetState, sample_rate, shadow_counter};
use crate::catalogue::promises::SampleSource;
use crate::regions::RegionLogAccount;
use crate::session::ledger::{CountReached, EventAccount, Ledger, RateLowered};
use crate::sys::event::{NATIVE_ORDER, wait_for_handlers};
use crate::{PlannedEvent, Target};

/// So often what the kernel counted is taken, where a CPU does not come to
/// the end of a hit: each takes seconds then.
const TRIES: usize = 3;
/// For handlers to end where the kernel cannot be asked whether they have.
const HANDLER_GRACE: Duration = Duration::from_millis(20);

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
        self.pass_recording_errors(sink);
        for on_cpu in self.sets.iter().flat_map(|set| &set.cpus) {
            let _always_works = on_cpu.side.disable();
        }
        if self.state != TargetState::Gone {
            // A CPU may still be writing the record of an event that it has
            // counted, the more so a virtual one that its host has paused.
            if wait_for_handlers().is_err() {
                std::thread::sleep(HANDLER_GRACE);
            }
        }
        for _ in 0..TRIES {
            self.programs.due_now();
            while self.pass_recording_errors(sink) {}
            if !self.programs.has_late_cpu() {
                break;
            }
        }
        let totals = self.totals();
        let _records = self.write_last_losses(&totals);
        self.ledger = self.settled(&totals);
        // What is in the buffer has to be booked before anything is concluded.
        let _booked = self.output_buffer.flush(sink, &mut self.ledger);
        if self.state != TargetState::Gone {
            self.ledger.record_stop_losses(self.rings.len());
        }
        self.ledger.record_busy_losses();
        self.record_unrecorded_events(&totals);
        self.ledger.count_reached = self.count_reached();
        self.write_ending(sink)?;
        self.last_notes.extend(self.regions.as_ref().and_then(|log| account_note(log.account())));
        self.last_notes.extend(self.heap.as_ref().and_then(super::heap::ended));
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
    fn pass_recording_errors(&mut self, sink: &mut dyn Sink) -> bool {
        let before = self.seen.samples + self.ledger.lost.total();
        let side = match self.pass(sink) {
            Ok(pass) => pass.side > 0,
            Err(_) => true,
        };
        side || self.seen.samples + self.ledger.lost.total() > before
    }

    fn totals(&self) -> ClosedEventTotals {
        self.totals_on(|_| true)
    }

    pub(super) fn totals_on(&self, is_wanted: impl Fn(Cpu) -> bool) -> ClosedEventTotals {
        let periods = self.attrs.periods();
        let mut totals = self.closed_totals.clone();
        totals.events.resize(periods.len(), EventTotal::default());
        for set in &self.sets {
            totals.read(set, &periods, &is_wanted);
        }
        totals
    }

    /// The account as of now: what the kernel counted beyond what was
    /// delivered and lost lies in the rings.
    pub fn so_far(&self) -> Ledger {
        self.settled(&self.totals())
    }

    fn settled(&self, totals: &ClosedEventTotals) -> Ledger {
        let mut ledger = self.ledger.clone();
        ledger.tail_known = self.attrs.sampled().all(|(_, event)| counts_lost(&event.attr));
        // What the stream was told is booked already: the counts have it, too,
        // and say of which event it was.
        let account_note = self.reported_losses();
        if ledger.tail_known {
            ledger.lost.ring = ledger.lost.ring.saturating_sub(account_note.samples);
        }
        for (place, (index, event)) in self.attrs.sampled().enumerate() {
            let mut total = totals.events.get(index).copied().unwrap_or_default();
            self.pauses.leave_out(index, &mut total);
            // A task's event for one CPU is enabled, and does not run, while
            // the task is on another.
            let by_task = event.attr.flags.contains(AttrFlags::INHERIT);
            let cpus = self.rings.iter().filter(|ring| by_task && event.is_on(ring.cpu)).count();
            let mut said = account(event, &total, cpus.max(1) as u64);
            said.kernel = said.kernel.filter(|_| !self.interval_changed);
            if ledger.was_throttled(place)
                && !self.interval_changed
                && let Some(whole) = shadow_counter::whole(&total)
            {
                let missed = shadow_counter::missed(whole, said.events, event.attr.sample_period);
                said.events = said.events.max(whole);
                said.kernel = said.kernel.map(|kernel| kernel.saturating_add(missed));
                ledger.lose(place, missed, |lost| &mut lost.throttled);
            } else if self.is_whole() {
                // The kernel's own count is made of the records.
                said.events = said.events.max(shadow_counter::whole(&total).unwrap_or(0));
            }
            self.programs.account(place, &mut said, &mut ledger);
            let mut lost = ledger.tail_known.then_some(total.counts.lost);
            if let Some(account_note) = self.heap_account(event) {
                (said.events, said.kernel, lost) =
                    (account_note.made, Some(account_note.made), Some(account_note.lost));
            }
            ledger.take_event_account(place, said, lost);
        }
        if counts_lost(&self.attrs.side) {
            ledger.side_lost += totals.side_lost().saturating_sub(account_note.side);
        }
        ledger.aggregates = self.programs.counts().then_some(self.programs.aggregates);
        let rates = self.sample_rate.zip(sample_rate(&self.settings.root));
        ledger.rate_lowered =
            rates.filter(|(from, to)| to < from).map(|(from, to)| RateLowered { from, to });
        let running = || self.started.map(|at| at.elapsed());
        ledger.wall = self.stopped.or_else(running).unwrap_or_default();
        let until = self.started.map(|at| at + ledger.wall);
        ledger.paused = until.map_or(Duration::ZERO, |until| self.pauses.last(self.started, until));
        ledger
    }

    /// Whether the count left anything out. A target that ended meanwhile has
    /// not run on.
    fn count_reached(&mut self) -> Option<CountReached> {
        let count = self.settings.count.filter(|_| self.limit_reached())?;
        // Where that cannot be seen it is as it was.
        let _looked = self.wait(Duration::ZERO, &[]);
        let ran_on = match self.state {
            TargetState::Running => true,
            // What a command leaves in the background is not waited for.
            TargetState::Left => self.plan.target != Target::Command,
            TargetState::Gone => false,
        };
        CountReached::new(count, ran_on, self.ledger.lost.beyond_count)
    }

    fn write_ending(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        let first = |index: usize| self.ids.of(index).first().copied();
        let ids: Vec<Option<u64>> = self.attrs.sampled().map(|(index, _)| first(index)).collect();
        let out = &mut self.output_buffer.bytes;
        for (event, id) in ids.into_iter().enumerate() {
            let Some(id) = id else { continue };
            write::event_unit(id, &self.ledger.note(event), NATIVE_ORDER, out)
                .map_err(|e| SessionError::Preamble(e.to_string()))?;
        }
        write::finished_round(NATIVE_ORDER, out);
        let _booked = self.output_buffer.flush(sink, &mut self.ledger);
        Ok(())
    }
}

fn account(event: &PlannedEvent, total: &EventTotal, cpus: u64) -> EventAccount {
    let counts = &total.counts;
    EventAccount {
        events: counts.count,
        // Samples that the kernel must have made.
        kernel: count_is_exact(event).then_some(total.periods),
        enabled: Duration::from_nanos(counts.enabled / cpus),
        running: Duration::from_nanos(counts.running),
        on_counter: total.on_counter(*counts),
        ..EventAccount::default()
    }
}

fn account_note(of: RegionLogAccount) -> Option<String> {
    match of {
        RegionLogAccount { read: 0, lost: 0 } => Some(
            "no region was marked: link the program with libhardmeter, or preload it \
             (LD_PRELOAD=libhardmeter.so); see docs/regions.md"
                .into(),
        ),
        RegionLogAccount { lost: 0, .. } => None,
        RegionLogAccount { read, lost } => Some(format!(
            "{lost} marks of regions were lost, {read} are there: samples behind a lost one may \
             be in the wrong region; mark larger parts"
        )),
    }
}
impl Session {
    /// Whether an event and its shadow counter counted the same: from the exec of a
    /// command to its end. Others are enabled and stopped one after the other.
    pub(super) fn is_whole(&self) -> bool {
        let is_command = self.plan.target == Target::Command;
        is_command && self.state == TargetState::Gone && !self.pauses.any()
    }

    /// Books what was counted beyond what records stand for, once all of them
    /// are out. A task that was started in between has an event of its own on
    /// each CPU.
    pub(super) fn record_unrecorded_events(&mut self, totals: &ClosedEventTotals) {
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
            self.ledger.record_unrecorded_events(place, interval, openings);
        }
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
            let times = EventTotal { side_running, side_enabled, ..Default::default() };
            times.on_counter(counts)
        };
        assert_eq!(share((500, 1000), (1000, 1000)), Some(0.5), "shared with one other");
        assert_eq!(share((500, 1000), (500, 1000)), Some(1.0), "on its CPUs half of the time");
        assert_eq!(share((500, 1000), (1000, 2000)), Some(1.0), "side events stop later");
        assert_eq!(share((0, 1000), (900, 1000)), Some(0.0), "starved");
        assert_eq!(share((0, 1000), (0, 1000)), None, "never on its CPUs");
        assert_eq!(share((0, 0), (10, 10)), None, "never enabled");
    }
}
