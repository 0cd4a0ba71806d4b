//! The end of a session: the rest of the records, and the account.

use std::time::Duration;

use record::attr::Sampling;
use record::side::SideRecord;
use record::stream::write;
use record::{AttrFlags, EventType, Misc, ReadFormat};

use super::opener::{Attrs, Retired};
use super::{Session, SessionError, Sink, TargetState};
use crate::ledger::Ledger;
use crate::sys::event::NATIVE_ORDER;
use crate::sys::grace;

/// PERF_COUNT_SW_CPU_CLOCK and TASK_CLOCK: timers, whose count is time.
const CLOCKS: [u64; 2] = [0, 1];
/// PERF_COUNT_SW_DUMMY and BPF_OUTPUT: they count nothing.
const SILENT: [u64; 2] = [9, 10];
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
        for pair in self.sets.iter().flat_map(|set| &set.pairs) {
            let _always_works = pair.side.disable();
        }
        if self.state != TargetState::Gone {
            // A CPU may still be writing the record of an event that it has
            // counted, the more so a virtual one that its host has paused.
            if grace::wait_for_handlers().is_err() {
                std::thread::sleep(A_MOMENT);
            }
        }
        while self.pass_booked(sink) {}
        let totals = self.totals();
        self.settle_account(&totals);
        // What is in the buffer has to be booked before anything is concluded.
        let _booked = self.outbox.flush(sink, &mut self.ledger);
        if self.state != TargetState::Gone {
            self.ledger.book_stop(self.rings.len());
        }
        self.write_ending(sink)?;
        self.sets.clear();
        self.rings.clear();
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
        let period = self.attrs.period();
        let mut totals = self.retired.clone();
        for set in &self.sets {
            totals.read(set, period);
        }
        totals
    }

    fn settle_account(&mut self, totals: &Retired) {
        let ledger = &mut self.ledger;
        ledger.tail_known = self.attrs.event.read_format.contains(ReadFormat::LOST);
        ledger.events = totals.sampled.count;
        ledger.kernel = samples_made(&self.attrs, &self.plan.name, totals);
        if ledger.tail_known {
            ledger.lost.ring = totals.sampled.lost;
            ledger.side_lost += totals.side_lost;
        } else {
            ledger.lost.ring = self.seen.told_lost;
            ledger.side_lost += self.seen.told_side_lost;
        }
        // A task's event for one CPU is enabled, and does not run, while the
        // task is on another.
        let by_task = self.attrs.event.flags.contains(AttrFlags::INHERIT);
        let cpus = if by_task { self.rings.len().max(1) as u64 } else { 1 };
        ledger.enabled = Duration::from_nanos(totals.sampled.enabled / cpus);
        ledger.running = Duration::from_nanos(totals.sampled.running);
        ledger.wall = self.stopped.unwrap_or_default();
    }

    fn write_ending(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        let id = self.ids.0.first().copied().unwrap_or(0);
        let out = &mut self.outbox.bytes;
        let untold = self.ledger.lost.ring.saturating_sub(self.seen.told_lost);
        if untold > 0 {
            let record = SideRecord::LostSamples { lost: untold };
            let trailer = self.attrs.zero_trailer_with(id);
            record
                .encode(Misc(0), &trailer, NATIVE_ORDER, out)
                .map_err(|e| SessionError::Preamble(e.to_string()))?;
        }
        write::event_unit(id, &self.ledger.note(), NATIVE_ORDER, out)
            .map_err(|e| SessionError::Preamble(e.to_string()))?;
        write::finished_round(NATIVE_ORDER, out);
        let _booked = self.outbox.flush(sink, &mut self.ledger);
        Ok(())
    }
}

/// Samples that the kernel must have made, where that is certain: see
/// [`Ledger::kernel`](crate::ledger::Ledger::kernel).
fn samples_made(attrs: &Attrs, name: &str, totals: &Retired) -> Option<u64> {
    let event = &attrs.event;
    let certain = match event.kind {
        EventType::SOFTWARE => !CLOCKS.contains(&event.config) && !SILENT.contains(&event.config),
        // The scheduler's may count more than one for a record
        // (__perf_count, __perf_task in include/trace/events/sched.h).
        EventType::TRACEPOINT => !name.starts_with("sched:"),
        EventType::BREAKPOINT => true,
        _ => false,
    };
    match event.sampling() {
        _ if !certain => None,
        Sampling::Period(1) => Some(totals.sampled.count),
        // Each thread's copy of an inherited event keeps a remainder of its
        // own, and only their sum can be read.
        Sampling::Period(2..) if !event.flags.contains(AttrFlags::INHERIT) => Some(totals.periods),
        Sampling::Period(_) | Sampling::Frequency(_) => None,
    }
}
