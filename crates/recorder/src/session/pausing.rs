//! Sampling that begins later than its target, or stands still for a while.
//!
//! Only what is sampled stands still. Sideband records go on, as what is mapped or
//! started meanwhile has to have its name later. Events stay open, and what
//! a task starts inherits them as they are at that time (inherit_event(),
//! kernel/events/core.c).

use std::time::{Duration, Instant};

use super::closed_event_totals::EventTotal;
use super::event_set::EventSet;
use super::{OpenError, Session, SessionError};

/// A clone that was under way when the events were switched may have copied
/// them as they were, too late for the kernel to find the copy; it takes
/// some microseconds for a thread, a millisecond for a large process. So the
/// events are switched once more, so much later.
const SETTLE_TIME: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
pub(super) struct Pauses {
    is_paused: bool,
    any: bool,
    /// Since when, once sampling has started.
    since: Option<Instant>,
    /// So long, up to the last time that sampling went on.
    paused_for: Duration,
    /// For each event of the plan, times of the side events beside it: in
    /// pauses that are over, and at the last pause's begin.
    passed: Vec<SideTimes>,
    from: Vec<SideTimes>,
    /// When the events are to be switched once more.
    again: Option<Instant>,
}

/// Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SideTimes {
    enabled: u64,
    running: u64,
}

impl SideTimes {
    fn of(total: &EventTotal) -> SideTimes {
        SideTimes { enabled: total.side_enabled, running: total.side_running }
    }

    fn since(self, from: SideTimes) -> SideTimes {
        SideTimes {
            enabled: self.enabled.saturating_sub(from.enabled),
            running: self.running.saturating_sub(from.running),
        }
    }

    fn and(self, more: SideTimes) -> SideTimes {
        SideTimes { enabled: self.enabled + more.enabled, running: self.running + more.running }
    }
}

impl Pauses {
    pub(super) fn new(begins_paused: bool) -> Pauses {
        Pauses { is_paused: begins_paused, any: begins_paused, ..Pauses::default() }
    }

    pub(super) fn are_on(&self) -> bool {
        self.is_paused
    }

    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Whether the events are to be switched once more.
    pub(super) fn are_unsettled(&self) -> bool {
        self.again.is_some()
    }

    /// How long sampling has stood still from its start until then.
    pub(super) fn last(&self, started: Option<Instant>, until: Instant) -> Duration {
        let since = self.since.or(started).filter(|_| self.is_paused);
        let now = since.map_or(Duration::ZERO, |since| until.saturating_duration_since(since));
        self.paused_for + now
    }

    /// Takes out of the total of an event of the plan what its side events ran
    /// while it could not: see [`EventTotal::on_counter`].
    pub(super) fn leave_out(&self, index: usize, total: &mut EventTotal) {
        let at = |times: &[SideTimes]| times.get(index).copied().unwrap_or_default();
        let all = SideTimes::of(total);
        let mut passed = at(&self.passed);
        if self.is_paused {
            passed = passed.and(all.since(at(&self.from)));
        }
        let counted = all.since(passed);
        (total.side_enabled, total.side_running) = (counted.enabled, counted.running);
    }

    fn begin(&mut self, times: Vec<SideTimes>) {
        (self.is_paused, self.any) = (true, true);
        (self.since, self.from) = (Some(Instant::now()), times);
    }

    fn end(&mut self, started: Option<Instant>, times: &[SideTimes]) {
        self.paused_for = self.last(started, Instant::now());
        self.is_paused = false;
        self.passed.resize(times.len(), SideTimes::default());
        for (index, (passed, now)) in self.passed.iter_mut().zip(times).enumerate() {
            let from = self.from.get(index).copied().unwrap_or_default();
            *passed = passed.and(now.since(from));
        }
    }
}

impl Session {
    /// Pauses sampling, or has it go on, in all threads and children; from
    /// [`start`](Session::start) on. What the rings hold stays to be drained.
    /// As it is already: nothing happens. A task that starts at that very
    /// moment may be up to 10 ms late, and longer where nobody
    /// [drains](Session::drain).
    ///
    /// # Errors
    /// An event that is not enabled.
    pub fn set_counting(&mut self, on: bool) -> Result<(), SessionError> {
        if self.stopped.is_some() || self.pauses.are_on() != on {
            return Ok(());
        }
        self.programs.steered = true;
        // Times of pauses are those of the side events between these two
        // looks, which come before the events are stopped and after they are
        // enabled: too long rather than too short.
        if on {
            self.programs.start();
            self.enable_sampled()?;
            let times = self.side_times();
            self.pauses.end(self.started, &times);
        } else {
            let times = self.side_times();
            self.pauses.begin(times);
            self.sets.iter().for_each(EventSet::disable);
            self.programs.stop();
        }
        self.pauses.again = Some(Instant::now() + SETTLE_TIME);
        Ok(())
    }

    pub fn is_counting(&self) -> bool {
        self.stopped.is_none() && !self.pauses.are_on()
    }

    pub(super) fn repeat_pause(&mut self) {
        let is_due = self.pauses.again.is_some_and(|at| at <= Instant::now());
        if !is_due || self.stopped.is_some() {
            return;
        }
        self.pauses.again = None;
        if self.pauses.are_on() {
            self.sets.iter().for_each(EventSet::disable);
        } else {
            let _worked_a_moment_ago = self.enable_sampled();
        }
    }

    fn enable_sampled(&self) -> Result<(), OpenError> {
        let enabled = self.sets.iter().try_for_each(|set| set.enable_sampled(None));
        enabled.map_err(|failure| OpenError::event(failure, &self.plan))
    }

    fn side_times(&self) -> Vec<SideTimes> {
        self.totals_on(|_| true).events.iter().map(SideTimes::of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(side_enabled: u64, side_running: u64) -> EventTotal {
        EventTotal { side_enabled, side_running, ..EventTotal::default() }
    }

    /// What is left of the side events' times then.
    fn left(pauses: &Pauses, mut total: EventTotal) -> SideTimes {
        pauses.leave_out(0, &mut total);
        SideTimes::of(&total)
    }

    #[test]
    fn side_times_of_pauses_are_no_time_without_a_counter() {
        let at = |enabled, running| vec![SideTimes::of(&total(enabled, running))];
        let mut pauses = Pauses::new(true);
        assert_eq!(left(&pauses, total(40, 10)), SideTimes::default(), "from the start");
        pauses.end(None, &at(100, 50));
        assert_eq!(left(&pauses, total(130, 70)), SideTimes { enabled: 30, running: 20 });
        pauses.begin(at(200, 100));
        assert_eq!(left(&pauses, total(900, 800)), SideTimes { enabled: 100, running: 50 });
        pauses.end(None, &at(1000, 900));
        assert_eq!(left(&pauses, total(1000, 901)), SideTimes { enabled: 100, running: 51 });
        assert_eq!(left(&Pauses::new(false), total(7, 5)), SideTimes { enabled: 7, running: 5 });
    }

    #[test]
    fn a_pause_lasts_from_the_start_of_sampling_at_the_earliest() {
        let began = Instant::now();
        let later = |seconds| began + Duration::from_secs(seconds);
        let pauses = Pauses::new(true);
        assert_eq!(pauses.last(Some(later(2)), later(5)), Duration::from_secs(3));
        assert_eq!(pauses.last(None, later(5)), Duration::ZERO, "it has not started");
        assert_eq!(Pauses::new(false).last(Some(began), later(5)), Duration::ZERO);
    }
}
