//! How many records of each type a stream had.

use crate::header::RecordType;

/// One slot a type known today, some to spare.
const SLOTS: usize = 96;

/// Counts of records, kept by the decoder.
#[derive(Clone, Debug)]
pub struct Tally {
    by_type: [u64; SLOTS],
    beyond: u64,
    /// Records whose event id no HEADER_ATTR has.
    pub unknown_id: u64,
    /// Records before any HEADER_ATTR, or of several events that say
    /// differently where the id stands.
    pub unplaced: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Tally { by_type: [0; SLOTS], beyond: 0, unknown_id: 0, unplaced: 0 }
    }
}

impl Tally {
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

    #[inline]
    pub(super) fn count(&mut self, kind: RecordType) {
        let slot = usize::try_from(kind.0).ok().and_then(|index| self.by_type.get_mut(index));
        *slot.unwrap_or(&mut self.beyond) += 1;
    }
}
