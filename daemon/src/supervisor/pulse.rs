//! Whether a worker lives: it answers when it is asked how it goes, and the
//! threads of its sessions move.
//!
//! Counted in beats of the supervisor, not in time: where the whole machine
//! stood still, nobody is late.

use crate::control::{Word, WorkerReport};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pulse {
    /// It was asked, and has not answered yet.
    asked: bool,
    /// Beats since then.
    silent: u32,
    /// Reports in a row that told of a thread that had not moved.
    still: u32,
}

impl Pulse {
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
        self.still = if report.get(Word::Still) > 0 { self.still + 1 } else { 0 };
    }

    /// Whether all has been well since the last beat.
    pub(super) fn is_well(self) -> bool {
        !self.asked && self.still == 0
    }

    pub(super) fn has_stood_still(self, beats: u32) -> bool {
        self.silent.max(self.still) >= beats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(still: u64) -> WorkerReport {
        let mut report = WorkerReport::default();
        report.set(Word::Still, still);
        report
    }

    #[test]
    fn who_answers_is_well() {
        let mut pulse = Pulse::default();
        for _ in 0..5 {
            assert!(pulse.beat());
            pulse.answered(&report(0));
            assert!(pulse.is_well());
        }
    }

    #[test]
    fn who_does_not_answer_is_asked_once() {
        let mut pulse = Pulse::default();
        assert!(pulse.is_well() && pulse.beat());
        assert!(!pulse.is_well());
        assert!(!pulse.beat() && !pulse.is_well());
        assert!(!pulse.beat() && !pulse.beat());
        assert!(pulse.has_stood_still(3) && !pulse.has_stood_still(4));
        pulse.answered(&report(0));
        assert!(pulse.is_well() && pulse.beat());
    }

    #[test]
    fn a_thread_that_does_not_move_is_no_life() {
        let mut pulse = Pulse::default();
        for _ in 0..3 {
            pulse.beat();
            pulse.answered(&report(1));
            assert!(!pulse.is_well());
        }
        assert!(pulse.has_stood_still(3));
        pulse.answered(&report(0));
        assert!(pulse.is_well() && !pulse.has_stood_still(1));
    }
}
