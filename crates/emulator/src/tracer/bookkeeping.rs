//! What a thread leaves, into the books of the whole.

use std::sync::atomic::AtomicU64;

use crate::account::EmulationAccount;
use crate::runtime::Setup;

impl EmulationAccount {
    /// Books a thread that ended or is left, by its words.
    pub(crate) fn take(&mut self, setup: &Setup, words: &[AtomicU64]) {
        self.lose(setup, words);
        for (counts, sum) in self.by_event.iter_mut().zip(setup.sums(words)) {
            counts.records = counts.records.saturating_add(sum.records);
            counts.beyond = counts.beyond.saturating_add(sum.beyond);
            counts.events = counts.events.saturating_add(sum.events);
            if let Some(coverage) = setup.coverage(words, &sum) {
                *counts.bursts.get_or_insert_default() += coverage;
            }
        }
    }

    /// Books the records of a thread that are due and will not be written.
    pub(crate) fn lose(&mut self, setup: &Setup, words: &[AtomicU64]) {
        for (counts, is_due) in self.by_event.iter_mut().zip(setup.give_up(words)) {
            counts.lost += u64::from(is_due);
        }
        self.side_lost += u64::from(setup.give_up_mark(words));
    }
}
