//! Which mapping each part of an address space is of.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges of addresses by the number of what they are of; none overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MappedSpans {
    /// By the first address.
    spans: BTreeMap<u64, MappedSpan>,
}

/// A range that is of one mapping, but for its first address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MappedSpan {
    /// Behind its last address.
    pub(crate) end: u64,
    pub(crate) number: u64,
}

impl MappedSpans {
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// What an address is of.
    pub(crate) fn find(&self, address: u64) -> Option<u64> {
        let (_, span) = self.spans.range(..=address).next_back()?;
        (address < span.end).then_some(span.number)
    }

    /// Takes a range out, of whatever it is: what is left of a mapping on either side stays. Gives
    /// what there was of it, in order.
    pub(crate) fn cut(&mut self, range: Range<u64>) -> Vec<(Range<u64>, u64)> {
        let Range { start, end } = range;
        if start >= end {
            return Vec::new();
        }
        let before = self.spans.range(..start).next_back();
        let first = before.filter(|(_, span)| span.end > start).map(|(at, _)| *at);
        let within = self.spans.range(start..end).map(|(at, _)| *at);
        let met: Vec<u64> = first.into_iter().chain(within).collect();
        let mut gone = Vec::new();
        for at in met {
            let Some(span) = self.spans.remove(&at) else { continue };
            let number = span.number;
            if at < start {
                self.spans.insert(at, MappedSpan { end: start, number });
            }
            if span.end > end {
                self.spans.insert(end, MappedSpan { end: span.end, number });
            }
            gone.push((at.max(start)..span.end.min(end), number));
        }
        gone
    }

    /// Takes out the piece that begins at an address.
    pub(crate) fn take(&mut self, start: u64) -> Option<(Range<u64>, u64)> {
        let MappedSpan { end, number } = self.spans.remove(&start)?;
        Some((start..end, number))
    }

    /// A range is of a mapping from now on. Gives what there was.
    pub(crate) fn put(&mut self, range: Range<u64>, number: u64) -> Vec<(Range<u64>, u64)> {
        let gone = self.cut(range.clone());
        if range.start < range.end {
            self.spans.insert(range.start, MappedSpan { end: range.end, number });
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BYTES: u64 = 96;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Cut(u64, u64),
        Put(u64, u64, u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let cut = (0..BYTES, 0..BYTES / 2).prop_map(|(at, length)| Step::Cut(at, length));
        let put = (0..BYTES, 0..BYTES / 2, 1..5u64);
        prop_oneof![cut, put.prop_map(|(at, length, number)| Step::Put(at, length, number))]
    }

    proptest! {
        #[test]
        fn each_byte_is_of_what_came_last(steps in prop::collection::vec(step(), 0..40)) {
            let mut spans = MappedSpans::default();
            let mut bytes = vec![None; 2 * usize::try_from(BYTES).unwrap()];
            for step in steps {
                let (at, length, new) = match step {
                    Step::Cut(at, length) => (at, length, None),
                    Step::Put(at, length, number) => (at, length, Some(number)),
                };
                let gone = match new {
                    None => spans.cut(at..at + length),
                    Some(number) => spans.put(at..at + length, number),
                };
                let mut told = vec![None; bytes.len()];
                for (range, number) in gone {
                    prop_assert!(range.start < range.end);
                    for at in range {
                        told[usize::try_from(at).unwrap()] = Some(number);
                    }
                }
                for (at, byte) in (0..).zip(&mut bytes) {
                    let is_met = (step_range(step)).contains(&at);
                    prop_assert_eq!(told[usize::try_from(at).unwrap()], byte.filter(|_| is_met));
                    if is_met {
                        *byte = new;
                    }
                    prop_assert_eq!(spans.find(at), *byte, "{} after {:?}", at, step);
                }
            }
            let mut edges = bytes.clone();
            edges.dedup();
            prop_assert!(spans.len() >= edges.iter().flatten().count());
        }
    }

    fn step_range(step: Step) -> Range<u64> {
        let (Step::Cut(at, length) | Step::Put(at, length, _)) = step;
        at..at + length
    }

    #[test]
    fn the_ends_of_all_addresses_are_places_too() {
        let mut spans = MappedSpans::default();
        spans.put(0..u64::MAX, 1);
        assert_eq!(spans.cut(5..u64::MAX), [(5..u64::MAX, 1)]);
        assert_eq!((spans.find(4), spans.find(5), spans.len()), (Some(1), None, 1));
        assert_eq!((spans.take(1), spans.take(0), spans.len()), (None, Some((0..5, 1)), 0));
    }
}
