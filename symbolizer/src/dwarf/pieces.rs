//! Ranges that overlap -> pieces that do not.

use std::collections::BinaryHeap;

/// Addresses from `start` up to `end`, and what they belong to. Where
/// several overlap, the greatest `owner` wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnedSpan {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) owner: u32,
}

const NOBODY: u32 = u32::MAX;

/// Who owns which address; binary search.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    starts: Vec<u64>,
    /// Of the addresses from the start beside it up to the next.
    owners: Vec<u32>,
}

impl Pieces {
    pub(crate) fn new(mut spans: Vec<OwnedSpan>) -> Pieces {
        spans.retain(|span| span.start < span.end && span.owner != NOBODY);
        spans.sort_unstable_by_key(|span| span.start);
        let mut pieces = Pieces::default();
        // Spans that have started: the greatest owner first. One that ended
        // is dropped when it comes to the top.
        let mut open: BinaryHeap<(u32, u64)> = BinaryHeap::new();
        let mut spans = spans.into_iter().peekable();
        loop {
            let begins = spans.peek().map(|span| span.start);
            match (open.peek().copied(), begins) {
                (Some((_, end)), begins) if begins.is_none_or(|begins| end <= begins) => {
                    while open.peek().is_some_and(|&(_, other)| other <= end) {
                        open.pop();
                    }
                    pieces.push(end, open.peek().map_or(NOBODY, |&(owner, _)| owner));
                }
                (_, Some(begins)) => {
                    while let Some(span) = spans.next_if(|span| span.start == begins) {
                        open.push((span.owner, span.end));
                    }
                    pieces.push(begins, open.peek().map_or(NOBODY, |&(owner, _)| owner));
                }
                (_, None) => break,
            }
        }
        pieces.starts.shrink_to_fit();
        pieces.owners.shrink_to_fit();
        pieces
    }

    fn push(&mut self, start: u64, owner: u32) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.owners.pop();
        }
        if self.owners.last().copied().unwrap_or(NOBODY) != owner {
            self.starts.push(start);
            self.owners.push(owner);
        }
    }

    pub(crate) fn find(&self, address: u64) -> Option<u32> {
        let index = self.starts.partition_point(|&start| start <= address).checked_sub(1)?;
        Some(self.owners[index]).filter(|&owner| owner != NOBODY)
    }

    /// The stretches that belong to somebody.
    pub(crate) fn extents(&self) -> impl Iterator<Item = (u64, u64)> {
        let ends = self.starts.iter().skip(1);
        let owned = self.starts.iter().zip(ends).zip(&self.owners);
        owned.filter(|(_, owner)| **owner != NOBODY).map(|((&start, &end), _)| (start, end))
    }

    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        self.starts.len() * 12
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_greatest_owner_of_an_address_wins(
            spans in prop::collection::vec((0u64..40, 0u64..20, 0u32..12), 0..20)
        ) {
            let spans: Vec<_> = spans
                .into_iter()
                .map(|(start, length, owner)| OwnedSpan { start, end: start + length, owner })
                .collect();
            let pieces = Pieces::new(spans.clone());
            for address in 0..64 {
                let holds = |span: &&OwnedSpan| (span.start..span.end).contains(&address);
                let naive = spans.iter().filter(holds).map(|span| span.owner).max();
                prop_assert_eq!(pieces.find(address), naive);
            }
            prop_assert!(pieces.starts.is_sorted());
            prop_assert!(pieces.owners.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }

    #[test]
    fn the_last_address_has_an_owner() {
        let pieces = Pieces::new(vec![OwnedSpan { start: u64::MAX - 1, end: u64::MAX, owner: 3 }]);
        assert_eq!(pieces.find(u64::MAX - 1), Some(3));
        assert_eq!(pieces.find(u64::MAX), None);
        assert_eq!(pieces.extents().collect::<Vec<_>>(), [(u64::MAX - 1, u64::MAX)]);
        assert_eq!(Pieces::default().find(0), None);
    }
}
