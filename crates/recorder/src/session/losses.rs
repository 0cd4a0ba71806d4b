//! Losses of rings that the kernel has had no room to tell of, or no occasion.

use std::time::{Duration, Instant};

use perfdata::attr::SamplingRate;
use perfdata::sideband::SidebandRecord;
use perfdata::{Attr, AttrFlags, Cpu, EventType, Misc, ReadFormat, SoftwareEvent};

use super::closed_event_totals::{ClosedEventTotals, CpuTotal};
use super::in_kernel::DeliveryMode;
use super::{Session, rings::CpuRings};
use crate::PlannedEvent;
use crate::sys::event::NATIVE_ORDER;

/// Counts are looked at so often at most: each may take an interrupt of the
/// CPU that it is of.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReportedLosses {
    /// Of the rings of samples.
    pub(super) samples: u64,
    /// Of the rings of sideband records.
    pub(super) side: u64,
}

/// Whether the kernel counts what an event loses (Linux 6.0).
pub(super) fn counts_lost(attr: &Attr) -> bool {
    attr.read_format.contains(ReadFormat::LOST)
}

/// Whether the kernel makes one sample for each full period of an event,
/// so that its count says how many samples there must be: see
/// [`Ledger::kernel`](crate::session::ledger::Ledger::kernel).
pub(super) fn count_is_exact(event: &PlannedEvent) -> bool {
    let attr = &event.attr;
    let is_certain = match attr.kind {
        EventType::SOFTWARE => {
            let event = SoftwareEvent(attr.config);
            !event.is_clock() && !event.is_silent()
        }
        // The scheduler's may count more than one for a record
        // (__perf_count, __perf_task in include/trace/events/sched.h).
        EventType::TRACEPOINT => !event.name.starts_with("sched:"),
        EventType::BREAKPOINT => true,
        _ => false,
    };
    match attr.sampling() {
        SamplingRate::Period(1) => is_certain,
        // Each thread's copy of an inherited event keeps a remainder of its
        // own, and only their sum can be read.
        SamplingRate::Period(2..) => is_certain && !attr.flags.contains(AttrFlags::INHERIT),
        SamplingRate::Period(_) | SamplingRate::Frequency(_) => false,
    }
}

impl Session {
    /// The next pass tells all losses up to then, however short a time ago
    /// that was done.
    pub fn check_losses(&mut self) {
        self.looked_at_losses = None;
    }

    /// Tells what rings have lost that were full lately, from time to time:
    /// the kernel does so with the next record alone, which may never come.
    /// Gives how many records that took.
    pub(super) fn write_suspected_losses(&mut self) -> u64 {
        let is_due = self.looked_at_losses.is_none_or(|at| at.elapsed() >= EVERY);
        // A program that counts has no use for the rings of samples.
        let has_samples = !self.programs.counts();
        let is_suspected = |ring: &CpuRings| {
            has_samples && ring.samples.losses.are_suspected() || ring.side.losses.are_suspected()
        };
        if !is_due || !self.rings.iter().any(is_suspected) {
            return 0;
        }
        self.looked_at_losses = Some(Instant::now());
        let suspects: Vec<Cpu> =
            self.rings.iter().filter(|ring| is_suspected(ring)).map(|ring| ring.cpu).collect();
        let totals = self.totals_on(|cpu| suspects.contains(&cpu));
        // What cannot be read now is told later, or makes the end an error.
        if totals.unread { 0 } else { self.write_losses(&totals, &suspects, false) }
    }

    pub(super) fn write_last_losses(&mut self, totals: &ClosedEventTotals) -> u64 {
        let all: Vec<Cpu> = self.rings.iter().map(|ring| ring.cpu).collect();
        self.write_losses(totals, &all, true)
    }

    fn write_losses(&mut self, totals: &ClosedEventTotals, cpus: &[Cpu], is_last: bool) -> u64 {
        let side_counts = counts_lost(&self.attrs.side);
        let mut records = 0;
        for index in 0..self.rings.len() {
            let cpu = self.rings[index].cpu;
            if !cpus.contains(&cpu) {
                continue;
            }
            let total = totals.cpus.get(&cpu.0).copied().unwrap_or_default();
            let certainty = self.evidence_on(cpu);
            let CpuRings { samples, side, .. } = &mut self.rings[index];
            let of_samples = certainty.unreported(&mut samples.losses, &total, is_last);
            let of_side = side.losses.counted(if side_counts { total.side_lost } else { 0 });
            self.ledger.lost.ring += of_samples;
            self.ledger.side_lost += of_side;
            let sampled = self.attrs.sampled().find(|(_, event)| event.is_on(cpu));
            let sampled = sampled.and_then(|(index, _)| self.ids.of(index).first().copied());
            let side = self.ids.side.first().copied();
            let of_samples = if self.programs.counts() { 0 } else { of_samples };
            for (id, lost) in [(sampled, of_samples), (side, of_side)] {
                records += u64::from(lost > 0 && self.write_lost(id.unwrap_or(0), lost));
            }
        }
        records
    }

    /// A LOST record as the kernel would have written it, but for the time:
    /// nobody knows that any more. Its id is of one of the ring's events, as
    /// the kernel's own is.
    fn write_lost(&mut self, id: u64, lost: u64) -> bool {
        let trailer = self.attrs.zero_trailer_with(id);
        let out = &mut self.output_buffer.bytes;
        // It is never too long.
        let fits = SidebandRecord::Lost { id, lost }.encode(Misc(0), &trailer, NATIVE_ORDER, out);
        self.output_buffer.side += u64::from(fits.is_ok());
        fits.is_ok()
    }

    pub(super) fn reported_losses(&self) -> ReportedLosses {
        ReportedLosses {
            samples: self.rings.iter().map(|ring| ring.samples.losses.reported()).sum(),
            side: self.rings.iter().map(|ring| ring.side.losses.reported()).sum(),
        }
    }

    fn evidence_on(&self, cpu: Cpu) -> LossEvidence {
        let sampled = || self.attrs.sampled().filter(|(_, event)| event.is_on(cpu));
        if sampled().all(|(_, event)| counts_lost(&event.attr)) {
            return LossEvidence::Losses;
        }
        let is_filtered = self.programs.delivery_mode == DeliveryMode::Filtered;
        match !is_filtered
            && !self.interval_changed
            && sampled().all(|(_, event)| count_is_exact(event))
        {
            true => LossEvidence::Samples,
            false => LossEvidence::Nothing,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LossEvidence {
    /// What was lost.
    Losses,
    /// How many samples were made: those that did not come are lost.
    Samples,
    /// Neither: the kernel's next LOST record has to be waited for.
    Nothing,
}

impl LossEvidence {
    fn unreported(
        self,
        losses: &mut super::ring_losses::RingLosses,
        total: &CpuTotal,
        is_last: bool,
    ) -> u64 {
        match self {
            LossEvidence::Losses => losses.counted(total.lost),
            // A ring that was never full has lost nothing: what is missing of
            // it is of the moment of stopping.
            LossEvidence::Samples if is_last && losses.are_suspected() => {
                losses.made_at_last(total.periods)
            }
            LossEvidence::Samples if !is_last => losses.made(total.periods),
            LossEvidence::Samples | LossEvidence::Nothing => losses.counted(0),
        }
    }
}
