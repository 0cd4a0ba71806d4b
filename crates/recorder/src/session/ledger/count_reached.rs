//! A count that was reached: what a reader of the recording cannot see in its
//! records.

use super::note::Note;

/// The count of records that was asked for, where it left something out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountReached {
    pub count: u64,
    /// What was sampled ran on: later events were not counted.
    pub ran_on: bool,
}

impl CountReached {
    /// None: it was reached with the last record that there was.
    pub(crate) fn new(count: u64, ran_on: bool, beyond: u64) -> Option<CountReached> {
        (ran_on || beyond > 0).then_some(CountReached { count, ran_on })
    }

    /// As a stream's end has it.
    pub(super) fn write(self, note: &mut Note) {
        note.add("count.reached", self.count);
        if self.ran_on {
            note.add("count.ran_on", "yes");
        }
    }
}
