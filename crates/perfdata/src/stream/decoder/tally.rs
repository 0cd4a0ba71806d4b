//! How many records of each type a stream had.

use crate::header::RecordType;
use crate::stream::error::StreamError;
use std::fmt;

/// One slot a type known today, some to spare.
const SLOTS: usize = 96;

/// Counts of records, kept by the decoder.
#[derive(Clone, Debug)]
pub struct RecordTally {
    by_type: [u64; SLOTS],
    beyond: u64,
    /// Records whose event id no HEADER_ATTR has.
    pub unknown_id: u64,
    /// Records before any HEADER_ATTR, or of several events that say
    /// differently where the id stands.
    pub unplaced: u64,
    unreadable: Option<Unreadable>,
}

/// Records that could not be read. Displays as a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// How many.
    pub count: u64,
    /// Where the first is, and what is wrong with it.
    pub first: StreamError,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "1 record could not be read and was left out: {}", self.first),
            count => write!(
                f,
                "{count} records could not be read and were left out; the first: {}",
                self.first
            ),
        }
    }
}

impl Default for RecordTally {
    fn default() -> Self {
        RecordTally { by_type: [0; SLOTS], beyond: 0, unknown_id: 0, unplaced: 0, unreadable: None }
    }
}

impl RecordTally {
    /// Records of this type. Types from 96 on are counted together.
    pub fn of(&self, kind: RecordType) -> u64 {
        let slot = usize::try_from(kind.0).ok().and_then(|index| self.by_type.get(index));
        slot.copied().unwrap_or(self.beyond)
    }

    /// All types seen and how often; without those from 96 on.
    pub fn iter(&self) -> impl Iterator<Item = (RecordType, u64)> + '_ {
        let types = (0u32..).map(RecordType).zip(self.by_type);
        types.filter(|(_, count)| *count > 0)
    }

    /// Records given as [`StreamRecord::Unreadable`], and samples that do not
    /// decode; None without any.
    ///
    /// [`StreamRecord::Unreadable`]: crate::stream::StreamRecord::Unreadable
    pub fn unreadable(&self) -> Option<&Unreadable> {
        self.unreadable.as_ref()
    }

    pub(super) fn note_unreadable(&mut self, error: &StreamError) {
        match &mut self.unreadable {
            Some(unreadable) => unreadable.count += 1,
            none => *none = Some(Unreadable { count: 1, first: error.clone() }),
        }
    }

    #[inline]
    pub(super) fn count(&mut self, kind: RecordType) {
        let slot = usize::try_from(kind.0).ok().and_then(|index| self.by_type.get_mut(index));
        *slot.unwrap_or(&mut self.beyond) += 1;
    }
}
