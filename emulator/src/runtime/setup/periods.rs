//! Where a thread is among its records.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

use super::{Setup, get, put};
use crate::block;
use crate::runtime::target::period::PeriodState;
use crate::runtime::target::thread::Own;

/// Where a thread's period is in its block.
const PERIOD: usize = block::RUNTIME + offset_of!(Own, period);
const EVENTS: usize = PERIOD + offset_of!(PeriodState, events);
const BEFORE: usize = PERIOD + offset_of!(PeriodState, before);
const RANDOM: usize = PERIOD + offset_of!(PeriodState, random);

impl Setup {
    /// Begins a new thread's first period.
    pub(super) fn begin_periods(&self, words: &[AtomicU64], number: u64) {
        let PeriodState { events, before, random } =
            PeriodState::new(self.periods, self.seed, number);
        put(words, EVENTS, events);
        put(words, BEFORE, before);
        put(words, RANDOM, random);
        put(words, block::COUNTDOWN, events);
    }

    /// The thread's period, by its words.
    pub(super) fn period(words: &[AtomicU64]) -> PeriodState {
        let [events, before, random] = [EVENTS, BEFORE, RANDOM].map(|at| get(words, at));
        PeriodState { events, before, random }
    }
}
