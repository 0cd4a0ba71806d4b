//! Which samples the count that was asked for has room for.
//!
//! The rings are drained one after the other, so taking the first that come
//! would take the first CPU's only. The count is of the first in time.

use perfdata::{RecordHeader, RecordType, SampleType};

use super::Session;
use crate::ring::RingRecord;

/// IDENTIFIER, IP, TID, TIME and 8 bytes of whatever else is asked for.
const SMALLEST_SAMPLE: usize = RecordHeader::SIZE + 4 * 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct CountCutoff {
    last: u64,
    /// Where samples have their time, from the record's start.
    offset: usize,
}

impl CountCutoff {
    pub(super) fn excludes(self, record: RingRecord<'_>) -> bool {
        time(record, self.offset) > Some(self.last)
    }
}

impl Session {
    /// None: room for all that the rings hold, or samples without a time.
    pub(super) fn cutoff(&mut self) -> Option<CountCutoff> {
        let room = self.settings.count?.saturating_sub(self.seen.counted);
        let offset = self.time_offset()?;
        let held: usize = self.rings.iter().map(|ring| ring.samples.filled()).sum();
        if u64::try_from(held / SMALLEST_SAMPLE).is_ok_and(|most| most <= room) {
            return None;
        }
        let mut times = self.times(offset);
        let room = usize::try_from(room).ok().filter(|&room| room < times.len())?;
        let last = match room.checked_sub(1) {
            Some(last) => *times.select_nth_unstable(last).1,
            None => 0,
        };
        Some(CountCutoff { last, offset })
    }

    fn time_offset(&self) -> Option<usize> {
        let mut offsets = self.attrs.sampled().map(|(_, e)| time_offset(e.attr.sample_type));
        let offset = offsets.next()??;
        offsets.all(|other| other == Some(offset)).then_some(offset)
    }

    /// Of all samples in the rings that count.
    fn times(&mut self, offset: usize) -> Vec<u64> {
        let mut times = Vec::new();
        let (event_ids, count_filters) = (&self.event_ids, &mut self.count_filters);
        for (ring, ring_state) in self.rings.iter().zip(&self.ring_states) {
            ring.samples.look(|record| {
                let Some(time) = time(record, offset) else { return };
                if ring_state.counts(event_ids, count_filters, record) {
                    times.push(time);
                }
            });
        }
        times
    }
}

/// When a sample was taken; None: no sample, or too short for a time.
fn time(record: RingRecord<'_>, offset: usize) -> Option<u64> {
    if record.header.kind != RecordType::SAMPLE {
        return None;
    }
    record.word(offset)
}

/// Where TIME lies in a sample, from the record's start.
fn time_offset(sample_type: SampleType) -> Option<usize> {
    let before = [SampleType::IDENTIFIER, SampleType::IP, SampleType::TID];
    let words = before.into_iter().filter(|&field| sample_type.contains(field)).count();
    sample_type.contains(SampleType::TIME).then_some(RecordHeader::SIZE + 8 * words)
}

#[cfg(test)]
mod tests {
    use perfdata::Misc;

    use super::*;

    #[test]
    fn the_time_is_found_wherever_the_record_wraps() {
        let fields = SampleType::IDENTIFIER | SampleType::IP | SampleType::TID | SampleType::TIME;
        let offset = time_offset(fields).unwrap();
        assert_eq!(offset, 32);
        assert_eq!(time_offset(SampleType::TIME | SampleType::TID), Some(16));
        assert_eq!(time_offset(SampleType::IP), None);

        let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc(0), size: 48 };
        let bytes: Vec<u8> = (0..48).collect();
        let wanted = u64::from_ne_bytes([32, 33, 34, 35, 36, 37, 38, 39]);
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(time(RingRecord { header, first, second }, offset), Some(wanted), "{cut}");
        }
        let short = RingRecord { header, first: &bytes[..36], second: &[] };
        assert_eq!(time(short, offset), None);
        let other = RecordHeader { kind: RecordType::LOST, ..header };
        assert_eq!(time(RingRecord { header: other, first: &bytes, second: &[] }, offset), None);
    }
}
