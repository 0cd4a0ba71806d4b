//! What became of one event's records.

use std::fmt;
use std::time::Duration;

use emulator::Coverage;

use super::{EventTimes, Filtered, Lost, NoteWriter, missing};

/// Below this share of the time on a counter, multiplexing is told: what is
/// above is rounding.
const WHOLE: f64 = 0.995;

/// The account of one sampled event, its threads and CPUs together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventAccount {
    pub name: String,
    /// Events that the kernel counted (clocks: nanoseconds).
    pub events: u64,
    /// Samples that the kernel must have made of them, where that is certain;
    /// see [`Ledger::kernel`](super::Ledger::kernel).
    pub kernel: Option<u64>,
    /// Samples that the sink took.
    pub delivered: u64,
    /// Of these, samples with EXACT_IP.
    pub exact_ip: u64,
    /// Samples that it did not.
    pub lost: Lost,
    /// Times that the kernel stopped it until the next tick.
    pub throttled: u64,
    /// Hits that our program in the kernel has seen, where there is one.
    pub seen: Option<u64>,
    /// Of these, what it was told to leave out.
    pub filtered: Filtered,
    /// Events that no record stands for: what was counted beyond records x
    /// interval, and beyond the rest that an opening may have left. The CPU
    /// was between an overflow and the record (PEBS is armed, or silent after
    /// a record), or had no room for it, or the kernel took a longer interval
    /// (an interval of 1 becomes 2 at each start of the counter).
    pub unrecorded_events: u64,
    /// Time that it was enabled, summed over threads, or over CPUs for the
    /// system.
    pub enabled: Duration,
    /// Of it, time that it was on a counter.
    pub running: Duration,
    /// Share of the time that its tasks were on its CPUs in which it had a
    /// counter, 0 to 1; None: they never were there.
    pub on_counter: Option<f64>,
    /// What ran in and between bursts, if the emulated PMU counted in such.
    pub bursts: Option<Coverage>,
}

impl EventAccount {
    /// Books what is missing as lost in the moment of stopping, where it is
    /// no more than that can explain: one record for each of `cpus`, and none
    /// that a program in the kernel saw.
    pub(super) fn record_stop_losses(&mut self, cpus: usize) {
        let unseen = self.kernel.zip(self.seen).map(|(kernel, seen)| kernel.saturating_sub(seen));
        let most = unseen.unwrap_or(u64::MAX).min(cpus as u64);
        let explained = |&missing: &u64| missing <= most;
        let missing = self.unaccounted().and_then(|missing| u64::try_from(missing).ok());
        self.lost.stop += missing.filter(explained).unwrap_or(0);
    }

    /// Books what the kernel counted and our program in it never saw. What
    /// the program saw and has not accounted for stays unaccounted for.
    pub(super) fn record_busy_losses(&mut self) {
        let Some((kernel, seen)) = self.kernel.zip(self.seen) else { return };
        let unseen = kernel.saturating_sub(seen).saturating_sub(self.lost.stop);
        let missing = self.unaccounted().and_then(|missing| u64::try_from(missing).ok());
        self.lost.kernel_busy += unseen.min(missing.unwrap_or(0));
    }

    /// Books what records do not stand for. Each of so many openings (a task's
    /// event on a CPU) may have begun an interval that nothing ended.
    pub(super) fn record_unrecorded_events(&mut self, lost: u64, interval: u64, openings: u64) {
        let records = self.delivered + lost + self.filtered.total();
        let rests = openings.saturating_mul(interval.saturating_sub(1));
        let explained = records.saturating_mul(interval).saturating_add(rests);
        self.unrecorded_events = self.events.saturating_sub(explained);
    }

    pub(super) fn times(&self) -> EventTimes {
        EventTimes {
            enabled: self.enabled.as_secs_f64(),
            running: self.running.as_secs_f64(),
            on_counter: self.on_counter,
        }
    }

    pub(super) fn take_over(&mut self, times: &EventTimes) {
        // What is no time is a broken daemon's, and no reason to end here.
        let seconds = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        (self.enabled, self.running) = (seconds(times.enabled), seconds(times.running));
        self.on_counter = times.on_counter;
    }

    /// See [`Ledger::unaccounted`](super::Ledger::unaccounted).
    pub(super) fn unaccounted(&self) -> Option<i128> {
        missing(self.kernel, self.delivered, &self.lost, &self.filtered)
    }

    /// How much of the time it counted, if not all.
    pub(super) fn multiplexed(&self) -> Option<Multiplexed<'_>> {
        let share = self.on_counter.filter(|&share| share < WHOLE)?;
        Some(Multiplexed { name: &self.name, share })
    }

    pub(super) fn write(&self, note: &mut NoteWriter) {
        note.add("events", self.events);
        if let Some(kernel) = self.kernel {
            note.add("kernel", kernel);
        }
        note.add("delivered", self.delivered);
        note.add("exact_ip", self.exact_ip);
        for (cause, count) in self.lost.causes() {
            note.add(&format!("lost.{cause}"), count);
        }
        if self.unrecorded_events > 0 {
            note.add("uncovered", self.unrecorded_events);
        }
        if let Some(seen) = self.seen {
            note.add("seen", seen);
        }
        for (reason, count) in self.filtered.reasons() {
            note.add(&format!("filtered.{reason}"), count);
        }
    }

    pub(super) fn write_times(&self, note: &mut NoteWriter) {
        note.add("enabled", format_args!("{:.6}", self.enabled.as_secs_f64()));
        note.add("running", format_args!("{:.6}", self.running.as_secs_f64()));
        if let Some(share) = self.on_counter {
            note.add("on_counter", format_args!("{share:.4}"));
        }
        if let Some(bursts) = &self.bursts {
            note.add("burst.counted", bursts.counted);
            note.add("burst.warmed", bursts.warmed);
            note.add("burst.bare", bursts.bare);
            if let Some(error) = bursts.error() {
                note.add("burst.error", format_args!("{error:.6}"));
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Multiplexed<'a> {
    name: &'a str,
    share: f64,
}

impl fmt::Display for Multiplexed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        if self.share > 0.0 {
            write!(
                f,
                "{name} had a counter {:.1} % of the time (shared with other profilers' events)",
                self.share * 100.0
            )
        } else {
            write!(
                f,
                "{name} never got a counter (others hold them: another profiler, or the NMI \
                 watchdog; sysctl kernel.nmi_watchdog=0 frees that one)"
            )
        }
    }
}
