//! Whether a worker lives: it answers when it is asked how it goes, and the
//! threads of its sessions move.
//!
//! Counted in beats of the supervisor, not in time: where the whole machine
//! stood still, no worker is late.

use crate::control::{WorkerMetric, WorkerReport};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heartbeat {
    /// It was asked, and has not answered yet.
    asked: bool,
    /// Beats since then.
    silent: u32,
    /// Reports in a row with a thread that had not moved.
    still: u32,
}

impl Heartbeat {
    /// A beat of the supervisor; whether the worker is to be asked.
    pub(super) fn beat(&mut self) -> bool {
        if self.asked {
            self.silent += 1;
        }
        !std::mem::replace(&mut self.asked, true)
    }

    pub(super) fn answered(&mut self, report: &WorkerReport) {
        self.asked = false;
        self.silent = 0;
        self.still = if report.get(WorkerMetric::Still) > 0 { self.still + 1 } else { 0 };
    }

    /// Whether all has been well since the last beat.
    pub(super) fn is_well(self) -> bool {
        !self.asked && self.still == 0
    }

    pub(super) fn is_stalled(self, beats: u32) -> bool {
        self.silent.max(self.still) >= beats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(still: u64) -> WorkerReport {
        let mut report = WorkerReport::default();
        report.set(WorkerMetric::Still, still);
        report
    }

    #[test]
    fn who_answers_is_well() {
        let mut heartbeat = Heartbeat::default();
        for _ in 0..5 {
            assert!(heartbeat.beat());
            heartbeat.answered(&report(0));
            assert!(heartbeat.is_well());
        }
    }

    #[test]
    fn who_does_not_answer_is_asked_once() {
        let mut heartbeat = Heartbeat::default();
        assert!(heartbeat.is_well() && heartbeat.beat());
        assert!(!heartbeat.is_well());
        assert!(!heartbeat.beat() && !heartbeat.is_well());
        assert!(!heartbeat.beat() && !heartbeat.beat());
        assert!(heartbeat.is_stalled(3) && !heartbeat.is_stalled(4));
        heartbeat.answered(&report(0));
        assert!(heartbeat.is_well() && heartbeat.beat());
    }

    #[test]
    fn a_thread_that_does_not_move_is_no_life() {
        let mut heartbeat = Heartbeat::default();
        for _ in 0..3 {
            heartbeat.beat();
            heartbeat.answered(&report(1));
            assert!(!heartbeat.is_well());
        }
        assert!(heartbeat.is_stalled(3));
        heartbeat.answered(&report(0));
        assert!(heartbeat.is_well() && !heartbeat.is_stalled(1));
    }
}
