//! What one thread did to a line, and when.

use perfdata::{Tid, Time};

/// Bytes of a line, or of two that are fetched together, a bit each.
pub(crate) type ByteMask = u128;

/// Spans that are kept of a thread: before, while and after others use the line,
/// and one to spare.
const MOST_SPANS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadUse {
    pub(crate) tid: Tid,
    samples: u64,
    first_write: Time,
    last_write: Time,
    /// Its accesses in order of time, parted at their longest pauses.
    spans: Vec<UseSpan>,
}

/// Accesses of a thread without a long pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UseSpan {
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) read: ByteMask,
    pub(crate) written: ByteMask,
}

impl ThreadUse {
    pub(crate) fn new(tid: Tid) -> ThreadUse {
        let (first_write, last_write) = (Time(u64::MAX), Time(0));
        ThreadUse { tid, samples: 0, first_write, last_write, spans: Vec::new() }
    }

    /// An access, which may come late.
    pub(crate) fn add(&mut self, time: Time, read: ByteMask, written: ByteMask) {
        self.samples += 1;
        if written != 0 {
            self.first_write = self.first_write.min(time);
            self.last_write = self.last_write.max(time);
        }
        let at = self.spans.partition_point(|span| span.end < time);
        match self.spans.get_mut(at) {
            Some(span) if span.start <= time => {
                span.read |= read;
                span.written |= written;
            }
            _ => self.spans.insert(at, UseSpan { start: time, end: time, read, written }),
        }
        if self.spans.len() > MOST_SPANS {
            self.join_nearest();
        }
    }

    /// Makes one of the two spans with the shortest pause between them.
    fn join_nearest(&mut self) {
        let pauses = self.spans.windows(2).map(|pair| pair[1].start.0 - pair[0].end.0);
        let Some((at, _)) = pauses.enumerate().min_by_key(|(_, pause)| *pause) else { return };
        let next = self.spans.remove(at + 1);
        let span = &mut self.spans[at];
        span.end = next.end;
        span.read |= next.read;
        span.written |= next.written;
    }

    pub(crate) fn spans(&self) -> &[UseSpan] {
        &self.spans
    }

    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    pub(crate) fn read(&self) -> ByteMask {
        self.spans.iter().fold(0, |bytes, span| bytes | span.read)
    }

    pub(crate) fn written(&self) -> ByteMask {
        self.spans.iter().fold(0, |bytes, span| bytes | span.written)
    }

    pub(crate) fn first(&self) -> Time {
        self.spans.first().map_or(Time(0), |span| span.start)
    }

    /// When it first wrote; only of one that did.
    pub(crate) fn first_write(&self) -> Time {
        self.first_write
    }

    pub(crate) fn last_write(&self) -> Time {
        self.last_write
    }
}

impl UseSpan {
    pub(crate) fn used(&self) -> ByteMask {
        self.read | self.written
    }

    pub(crate) fn meets(&self, start: Time, end: Time) -> bool {
        self.start <= end && start <= self.end
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
    use proptest::prelude::*;

    #[test]
    fn bytes_end_with_the_line() {
        assert_eq!(bytes(0, 1, 64), 1);
        assert_eq!(bytes(60, 8, 64), 0xf << 60);
        assert_eq!(bytes(0, 64, 64), u128::from(u64::MAX));
        assert_eq!(bytes(0, 1 << 40, 128), u128::MAX);
        assert_eq!(bytes(64, 8, 64), 0);
    }

    proptest! {
        #[test]
        fn spans_are_few_apart_and_hold_every_access(
            accesses in prop::collection::vec((0_u64..1000, 0_u128..8, 0_u128..8), 1..60),
        ) {
            let mut thread = ThreadUse::new(Tid(1));
            for &(time, read, written) in &accesses {
                thread.add(Time(time), read, written);
            }
            prop_assert!(thread.spans().len() <= MOST_SPANS);
            prop_assert!(thread.spans().windows(2).all(|pair| pair[0].end < pair[1].start));
            let all = |bytes: fn(&(u64, u128, u128)) -> u128| {
                accesses.iter().fold(0, |sum, access| sum | bytes(access))
            };
            prop_assert_eq!(thread.read(), all(|access| access.1));
            prop_assert_eq!(thread.written(), all(|access| access.2));
            prop_assert_eq!(Some(thread.first().0), accesses.iter().map(|access| access.0).min());
            let writes = || accesses.iter().filter(|access| access.2 != 0).map(|access| access.0);
            if writes().next().is_some() {
                prop_assert_eq!(Some(thread.first_write().0), writes().min());
                prop_assert_eq!(Some(thread.last_write().0), writes().max());
            }
        }
    }
}
