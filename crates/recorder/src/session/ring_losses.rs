//! What one ring has lost, told once.

/// Bytes of the longest record: its size is a u16 (`perf_event_header`).
const MAX_RECORD: usize = u16::MAX as usize;

/// Looks at the counts after a ring was full. The last one is for what was
/// in the middle of finding no room while the first one went on.
const CHECKS_AFTER_FULL: u8 = 2;

/// How much of a ring's losses the stream has been told.
///
/// The kernel says the same loss twice: in the counts of the events that write
/// to the ring (PERF_FORMAT_LOST), which can be read at any time, and in LOST
/// records, each of which waits for the next record that finds room (trap 26,
/// `__perf_output_begin()` in kernel/events/ring_buffer.c). Both only grow, and
/// the stream is told the higher of the two: whichever says a loss first is
/// passed on, and what the other says of it later is no news.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RingLosses {
    /// Sum of the LOST records in the ring.
    by_records: u64,
    reported: u64,
    /// SAMPLE records that the ring gave.
    samples: u64,
    /// Looks at the counts that are still to come.
    checks: u8,
    /// Samples made and samples given, at the last look that took them.
    before: Option<(u64, u64)>,
}

impl RingLosses {
    /// The ring holds so many bytes of its size, and is about to be emptied.
    /// Where the longest record has room, none can have been lost since it was
    /// emptied last.
    pub(super) fn filled(&mut self, bytes: usize, size: usize) {
        if bytes.saturating_add(MAX_RECORD) > size {
            self.checks = CHECKS_AFTER_FULL;
        }
    }

    #[inline]
    pub(super) fn sample(&mut self) {
        self.samples += 1;
    }

    /// A LOST record of the kernel's: how much of it is news.
    pub(super) fn record(&mut self, lost: u64) -> u64 {
        self.by_records = self.by_records.saturating_add(lost);
        self.unreported(self.by_records)
    }

    /// What the events of the ring have lost from their beginning on, closed
    /// ones included: how much of it is news.
    pub(super) fn counted(&mut self, lost: u64) -> u64 {
        self.checks = self.checks.saturating_sub(1);
        self.unreported(lost)
    }

    /// Where the kernel does not count losses (before Linux 6.0): samples
    /// that it made for the ring from the beginning on. How many of them it
    /// lost is known once nothing has moved from one look to the next, as it
    /// counts an event before it writes the sample.
    pub(super) fn made(&mut self, samples: u64) -> u64 {
        let now = (samples, self.samples);
        match self.before.replace(now) == Some(now) {
            true => self.made_at_last(samples),
            false => 0,
        }
    }

    /// The same where the ring is known to have given all that it ever will.
    pub(super) fn made_at_last(&mut self, samples: u64) -> u64 {
        self.counted(samples.saturating_sub(self.samples))
    }

    /// Whether something may have been lost that nobody has told.
    pub(super) fn are_suspected(&self) -> bool {
        self.checks > 0
    }

    /// All that the stream was told.
    pub(super) fn reported(&self) -> u64 {
        self.reported
    }

    fn unreported(&mut self, known: u64) -> u64 {
        let unreported = known.saturating_sub(self.reported);
        self.reported += unreported;
        unreported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_counts_told_early_the_kernel_tells_in_vain() {
        // Counts, then LOST records that come for the same losses.
        for (counted, records, unreported) in [
            (10, &[10][..], &[0][..]),
            (10, &[4], &[0]),
            (10, &[4, 6], &[0, 0]),
            (10, &[13], &[3]),
            (10, &[4, 9, 2], &[0, 3, 2]),
            (0, &[7, 1], &[7, 1]),
        ] {
            let mut losses = RingLosses::default();
            assert_eq!(losses.counted(counted), counted);
            let reported: Vec<u64> = records.iter().map(|&lost| losses.record(lost)).collect();
            assert_eq!(reported, unreported, "{counted}, then {records:?}");
            assert_eq!(losses.reported(), counted.max(records.iter().sum()));
        }
    }

    #[test]
    fn what_the_kernel_told_first_the_counts_tell_in_vain() {
        let mut losses = RingLosses::default();
        assert_eq!((losses.record(5), losses.counted(5)), (5, 0));
        assert_eq!((losses.counted(8), losses.record(2)), (3, 0), "2 of these 3");
        assert_eq!((losses.record(2), losses.counted(9)), (1, 0));
        assert_eq!(losses.reported(), 9);
    }

    /// The kernel's LOST record bears the id of one event, whoever lost: the
    /// account is of the ring, and the counts are the sum over its events.
    #[test]
    fn events_of_one_ring_share_its_account() {
        let (mut losses, mut counts) = (RingLosses::default(), [0_u64; 2]);
        counts[0] += 6;
        assert_eq!(losses.counted(counts.iter().sum()), 6);
        counts[1] += 4;
        assert_eq!(losses.record(10), 4, "said of the second alone");
        assert_eq!(losses.counted(counts.iter().sum()), 0);
    }

    #[test]
    fn counts_that_begin_again_or_are_at_their_end_tell_nothing_twice() {
        let mut losses = RingLosses::default();
        assert_eq!(losses.counted(100), 100);
        // An event that was closed, and whose count nobody kept.
        assert_eq!((losses.counted(3), losses.counted(100), losses.counted(101)), (0, 0, 1));
        assert_eq!(losses.counted(u64::MAX), u64::MAX - 101);
        assert_eq!((losses.record(u64::MAX), losses.record(5)), (0, 0));
        // A ring that is mapped anew has an account of its own.
        assert_eq!(RingLosses::default().record(5), 5);
    }

    #[test]
    fn only_a_ring_that_had_no_room_for_the_longest_record_is_suspected() {
        let size = 8 << 20;
        let suspected = |bytes| {
            let mut losses = RingLosses::default();
            losses.filled(bytes, size);
            losses.are_suspected()
        };
        assert!(!suspected(0) && !suspected(size / 2) && !suspected(size - MAX_RECORD));
        assert!(suspected(size - MAX_RECORD + 1) && suspected(size));
        let mut small = RingLosses::default();
        small.filled(0, 4096);
        assert!(small.are_suspected(), "a record may be longer than the ring");
        let looked = [small.counted(1), small.counted(1)].len();
        assert_eq!((looked, small.are_suspected()), (usize::from(CHECKS_AFTER_FULL), false));
    }

    #[test]
    fn without_counts_of_losses_what_was_made_tells_once_nothing_moves() {
        let mut losses = RingLosses::default();
        losses.filled(4096, 4096);
        (0..40).for_each(|_| losses.sample());
        assert_eq!(losses.made(100), 0, "the last ones may be on their way");
        losses.sample();
        assert_eq!(losses.made(100), 0, "one was");
        assert_eq!(losses.made(100), 59);
        assert_eq!(losses.record(59), 0, "the kernel says it, too");
        // More comes: what is lost of it is told when it is still again.
        losses.filled(4096, 4096);
        losses.sample();
        assert_eq!((losses.made(103), losses.made(103)), (0, 2));
        assert_eq!((losses.record(2), losses.reported()), (0, 61));
        // At the end nobody waits any longer.
        losses.sample();
        assert_eq!(losses.made_at_last(105), 1);
    }
}
