//! Whether threads that use one line use the same bytes of it.

use crate::c2c::line_use::ThreadUse;
use serde::Serialize;

/// Samples of a thread below which their times say little: threads that take
/// turns may have been sampled in one turn each.
const FEW: u64 = 16;

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
    /// One thread after another used it, and no transfer was sampled.
    InTurn,
    /// It went from core to core, and no write was sampled that explains it.
    WriterUnknown,
}

impl LineSharing {
    /// Of the threads that used a line, of which some transfers were seen or not;
    /// None: one thread alone, or nobody wrote.
    pub(crate) fn of(threads: &[ThreadUse], transfers: u64) -> Option<LineSharing> {
        let was_transferred = transfers > 0;
        if threads.len() < 2 {
            return None;
        }
        let writers = || threads.iter().filter(|thread| thread.written() != 0);
        if writers().next().is_none() {
            return was_transferred.then_some(LineSharing::WriterUnknown);
        }
        let mut all_writers = writers();
        if let (Some(writer), None) = (all_writers.next(), all_writers.next()) {
            let mut others = threads.iter().filter(|thread| thread.tid != writer.tid);
            let has_written = |other: &ThreadUse| writer.last_write() < other.first();
            if !was_transferred && others.all(has_written) {
                return Some(LineSharing::Initialised);
            }
        }
        let by = |meet: fn(&ThreadUse, &ThreadUse) -> Option<bool>| {
            let pairs = writers().flat_map(|writer| {
                let others = threads.iter().filter(move |other| other.tid != writer.tid);
                others.filter_map(move |other| meet(writer, other))
            });
            let (mut overlap, mut apart) = (false, false);
            pairs.for_each(|meets| if meets { overlap = true } else { apart = true });
            match (overlap, apart) {
                (true, true) => Some(LineSharing::Both),
                (true, false) => Some(LineSharing::True),
                (false, true) => Some(LineSharing::False),
                (false, false) => None,
            }
        };
        // Who prepares the line before others use it, or adds up what they wrote when
        // they are done, is in nobody's way; if all are, what moved is all there is.
        // Of more transfers than there were turns the writes were not sampled.
        let turns = threads.iter().map(|thread| thread.spans().len() as u64).sum::<u64>();
        let moved = || match transfers {
            0 => Some(LineSharing::InTurn),
            _ if transfers <= turns => by(ever),
            _ => Some(LineSharing::WriterUnknown),
        };
        by(at_once).or_else(|| by(in_turns)).or_else(moved)
    }

    /// Whether threads are in each other's way.
    pub fn is_contended(self) -> bool {
        !matches!(self, LineSharing::Initialised | LineSharing::InTurn)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            LineSharing::True => "true sharing",
            LineSharing::False => "false sharing",
            LineSharing::Both => "true and false sharing",
            LineSharing::Initialised => "written first, then read",
            LineSharing::InTurn => "used by one thread after another",
            LineSharing::WriterUnknown => "its writes were not sampled: true or false sharing",
        }
    }
}

/// Whether another thread uses bytes while `writer` writes them; None: it uses
/// none of the line meanwhile.
fn at_once(writer: &ThreadUse, other: &ThreadUse) -> Option<bool> {
    let writing = writer.spans().iter().filter(|span| span.written != 0);
    let pairs = writing.flat_map(|span| {
        let meanwhile = other.spans().iter().filter(move |it| it.meets(span.start, span.end));
        meanwhile.map(move |it| span.written & it.used() != 0)
    });
    pairs.reduce(|one, more| one | more)
}

/// The same of threads of which too few samples are there to know when each wrote:
/// between the first and the last of them.
fn in_turns(writer: &ThreadUse, other: &ThreadUse) -> Option<bool> {
    if writer.samples().max(other.samples()) >= FEW {
        return None;
    }
    let (first, last) = (writer.first_write(), writer.last_write());
    let between = other.spans().iter().filter(|it| it.meets(first, last));
    between.map(|it| writer.written() & it.used() != 0).reduce(|one, more| one | more)
}

fn ever(writer: &ThreadUse, other: &ThreadUse) -> Option<bool> {
    Some(writer.written() & (other.read() | other.written()) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2c::line_use::{ByteMask, bytes};
    use perfdata::{Tid, Time};

    const LOW: ByteMask = 0xff;
    const HIGH: ByteMask = 0xff00;

    /// A thread with these reads and writes at each of these times.
    fn thread(tid: i32, uses: &[(std::ops::Range<u64>, ByteMask, ByteMask)]) -> ThreadUse {
        let mut thread = ThreadUse::new(Tid(tid));
        for (times, read, written) in uses {
            times.clone().for_each(|time| thread.add(Time(time), *read, *written));
        }
        thread
    }

    fn steady(tid: i32, read: ByteMask, written: ByteMask) -> ThreadUse {
        thread(tid, &[(10..21, read, written)])
    }

    #[test]
    fn bytes_that_others_use_make_the_difference() {
        let of = |threads: &[ThreadUse]| LineSharing::of(threads, 1);
        assert_eq!(of(&[steady(1, LOW, LOW), steady(2, LOW, 0)]), Some(LineSharing::True));
        assert_eq!(of(&[steady(1, 0, LOW), steady(2, 0, HIGH)]), Some(LineSharing::False));
        let three = [steady(1, 0, LOW), steady(2, LOW, 0), steady(3, HIGH, 0)];
        assert_eq!(of(&three), Some(LineSharing::Both));
        assert_eq!(of(&[steady(1, LOW, 0), steady(2, LOW, 0)]), Some(LineSharing::WriterUnknown));
        assert_eq!(LineSharing::of(&[steady(1, LOW, 0), steady(2, LOW, 0)], 0), None);
        assert_eq!(of(&[steady(1, LOW, LOW)]), None);
    }

    #[test]
    fn who_prepares_and_who_adds_up_shares_nothing() {
        let all = LOW | HIGH;
        for transferred in [0, 1, 1000] {
            // Zeros, then its numbers; the sums at the end, and zeros again.
            let main = thread(
                1,
                &[(0..40, 0, all), (60..100, 0, all), (5000..5030, all, 0), (5030..5040, 0, all)],
            );
            let works = |tid, bytes| thread(tid, &[(200..4000, bytes, bytes)]);
            let threads = [main.clone(), works(2, LOW), works(3, HIGH)];
            assert_eq!(LineSharing::of(&threads, transferred), Some(LineSharing::False));
            let threads = [main.clone(), works(2, LOW), works(3, LOW)];
            assert_eq!(LineSharing::of(&threads, transferred), Some(LineSharing::True));
            // Who looks in between does share.
            let mut main = main;
            main.add(Time(2000), all, 0);
            let threads = [main, works(2, LOW), works(3, HIGH)];
            assert_eq!(LineSharing::of(&threads, transferred), Some(LineSharing::Both));
        }
    }

    #[test]
    fn one_thread_after_another_shares_nothing_that_moved() {
        let threads = [
            thread(1, &[(0..40, LOW, LOW)]),
            thread(2, &[(100..140, HIGH, HIGH)]),
            thread(3, &[(200..240, LOW | HIGH, 0)]),
        ];
        assert_eq!(LineSharing::of(&threads, 0), Some(LineSharing::InTurn));
        assert_eq!(LineSharing::of(&threads, 1), Some(LineSharing::Both));
    }

    /// Misses alone were sampled: stores to lines that are there already are not among them.
    #[test]
    fn who_prepared_a_line_did_not_make_it_move_later() {
        let main = thread(1, &[(0..1, 0, LOW | HIGH), (5000..5001, LOW | HIGH, 0)]);
        let reads = |tid, bytes| thread(tid, &[(200..4000, bytes, 0)]);
        let threads = [main, reads(2, LOW), reads(3, HIGH)];
        assert_eq!(LineSharing::of(&threads, 1000), Some(LineSharing::WriterUnknown));
    }

    #[test]
    fn few_samples_that_alternate_are_sharing() {
        let threads = [thread(1, &[(1..2, 0, LOW), (3..4, 0, LOW)]), thread(2, &[(2..3, LOW, 0)])];
        assert_eq!(LineSharing::of(&threads, 0), Some(LineSharing::True));
    }

    #[test]
    fn who_wrote_before_anybody_read_shares_nothing() {
        let threads = [steady(1, 0, bytes(0, 8, 64)), thread(2, &[(30..31, LOW, 0)])];
        assert_eq!(LineSharing::of(&threads, 0), Some(LineSharing::Initialised));
        assert_eq!(LineSharing::of(&threads, 1), Some(LineSharing::True));
    }
}
