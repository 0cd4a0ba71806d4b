//! Whether threads that use one line use the same bytes of it.

use record::{Tid, Time};
use serde::Serialize;

/// Bytes of a line, or of two that are fetched together, a bit each.
pub(crate) type ByteMask = u128;

/// What one thread did to a line, as far as it was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadUse {
    pub(crate) tid: Tid,
    pub(crate) read: ByteMask,
    pub(crate) written: ByteMask,
    /// The first access of any kind, and the last one that wrote.
    pub(crate) first: Time,
    pub(crate) last_write: Time,
}

/// How threads share a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineSharing {
    /// What one writes, others use.
    True,
    /// What one writes, nobody else uses: they are neighbours in the line alone.
    False,
    /// Some pairs of threads share bytes, and others do not.
    Both,
    /// One thread wrote all of it before others read it.
    Initialised,
    /// It went from core to core, and no write was sampled.
    WriterUnknown,
}

impl LineSharing {
    /// Of the threads that used a line, of which some transfers were seen or not;
    /// None: one thread alone, or nobody wrote.
    pub(crate) fn of(threads: &[ThreadUse], was_transferred: bool) -> Option<LineSharing> {
        if threads.len() < 2 {
            return None;
        }
        let writers = || threads.iter().filter(|thread| thread.written != 0);
        if writers().next().is_none() {
            return was_transferred.then_some(LineSharing::WriterUnknown);
        }
        let mut all_writers = writers();
        if let (Some(writer), None) = (all_writers.next(), all_writers.next()) {
            let mut others = threads.iter().filter(|thread| thread.tid != writer.tid);
            if !was_transferred && others.all(|other| writer.last_write < other.first) {
                return Some(LineSharing::Initialised);
            }
        }
        // Who came when another one had done with the line waited for nothing, as
        // who adds up what all wrote; if all did, samples are few.
        let pairs = |late: bool| {
            writers().flat_map(move |writer| {
                let others = threads.iter().filter(move |other| {
                    other.tid != writer.tid && (late || other.first <= writer.last_write)
                });
                others.map(move |other| writer.written & (other.read | other.written) != 0)
            })
        };
        let late = pairs(false).next().is_none();
        let (mut overlap, mut apart) = (false, false);
        pairs(late).for_each(|meets| if meets { overlap = true } else { apart = true });
        Some(match (overlap, apart) {
            (true, true) => LineSharing::Both,
            (true, false) => LineSharing::True,
            (false, _) => LineSharing::False,
        })
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            LineSharing::True => "true sharing",
            LineSharing::False => "false sharing",
            LineSharing::Both => "true and false sharing",
            LineSharing::Initialised => "written first, then read",
            LineSharing::WriterUnknown => "no write was sampled: true or false sharing",
        }
    }
}

/// Bytes of an access that begins at an offset, as far as they are in the line.
pub(crate) fn bytes(offset: u64, width: u64, line: u64) -> ByteMask {
    let end = offset.saturating_add(width.max(1)).min(line);
    let below = |bit: u64| if bit >= 128 { ByteMask::MAX } else { (1 << bit) - 1 };
    below(end) & !below(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(tid: i32, read: ByteMask, written: ByteMask) -> ThreadUse {
        ThreadUse { tid: Tid(tid), read, written, first: Time(10), last_write: Time(20) }
    }

    #[test]
    fn bytes_that_others_use_make_the_difference() {
        let of = |threads: &[ThreadUse]| LineSharing::of(threads, true);
        let low = bytes(0, 8, 64);
        let high = bytes(8, 8, 64);
        assert_eq!(of(&[thread(1, low, low), thread(2, low, 0)]), Some(LineSharing::True));
        assert_eq!(of(&[thread(1, 0, low), thread(2, 0, high)]), Some(LineSharing::False));
        let three = [thread(1, 0, low), thread(2, low, 0), thread(3, high, 0)];
        assert_eq!(of(&three), Some(LineSharing::Both));
        assert_eq!(of(&[thread(1, low, 0), thread(2, low, 0)]), Some(LineSharing::WriterUnknown));
        assert_eq!(LineSharing::of(&[thread(1, low, 0), thread(2, low, 0)], false), None);
        assert_eq!(of(&[thread(1, low, low)]), None);
    }

    #[test]
    fn who_reads_when_all_is_written_shares_nothing() {
        let (low, high) = (bytes(0, 8, 64), bytes(8, 8, 64));
        let reader = ThreadUse { first: Time(30), ..thread(3, low | high, 0) };
        let threads = [thread(1, 0, low), thread(2, 0, high), reader];
        assert_eq!(LineSharing::of(&threads, true), Some(LineSharing::False));
    }

    #[test]
    fn who_wrote_before_anybody_read_shares_nothing() {
        let low = bytes(0, 8, 64);
        let reader = ThreadUse { first: Time(30), ..thread(2, low, 0) };
        let threads = [thread(1, 0, low), reader];
        assert_eq!(LineSharing::of(&threads, false), Some(LineSharing::Initialised));
        assert_eq!(LineSharing::of(&threads, true), Some(LineSharing::True));
    }

    #[test]
    fn bytes_end_with_the_line() {
        assert_eq!(bytes(0, 1, 64), 1);
        assert_eq!(bytes(60, 8, 64), 0xf << 60);
        assert_eq!(bytes(0, 64, 64), u128::from(u64::MAX));
        assert_eq!(bytes(0, 1 << 40, 128), u128::MAX);
        assert_eq!(bytes(64, 8, 64), 0);
    }
}
