//! Which event has an id.

use std::collections::BTreeMap;

/// Ids that may wait, however few there are besides.
const LATE: usize = 1 << 12;

/// Ids and their events. Looking one up is a search of a sorted list, and
/// neither many ids nor lookups between them make adding one slow: ids that
/// came late wait in a tree until they are many.
#[derive(Debug, Default)]
pub(super) struct Ids {
    sorted: Vec<(u64, usize)>,
    /// None of them is in `sorted`.
    late: BTreeMap<u64, usize>,
}

impl Ids {
    /// Gives an id to an event, unless another one claimed it before.
    pub(super) fn claim(&mut self, id: u64, event: usize) {
        match self.sorted.last() {
            Some((last, _)) if id <= *last => {
                if self.in_sorted(id).is_none() {
                    self.late.entry(id).or_insert(event);
                }
                // A tree takes more memory than the list.
                if self.late.len() > LATE {
                    self.merge();
                }
            }
            _ => self.sorted.push((id, event)),
        }
    }

    #[inline]
    pub(super) fn event(&mut self, id: u64) -> Option<usize> {
        if self.late.is_empty() {
            return self.in_sorted(id);
        }
        self.event_of_both(id)
    }

    #[cold]
    fn event_of_both(&mut self, id: u64) -> Option<usize> {
        self.merge();
        self.in_sorted(id).or_else(|| self.late.get(&id).copied())
    }

    /// An eighth of the list is worth a pass over the list.
    fn merge(&mut self) {
        if self.late.len() > self.sorted.len() / 8 {
            self.sorted.extend(std::mem::take(&mut self.late));
            // Two runs: a stable sort merges them.
            self.sorted.sort();
        }
    }

    fn in_sorted(&self, id: u64) -> Option<usize> {
        let at = self.sorted.binary_search_by_key(&id, |entry| entry.0).ok()?;
        self.sorted.get(at).map(|entry| entry.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn the_first_claim_of_an_id_counts(
            steps in prop::collection::vec((0u64..60, any::<bool>()), 0..200),
        ) {
            let (mut ids, mut naive) = (Ids::default(), HashMap::new());
            for (event, (id, claim)) in steps.into_iter().enumerate() {
                if claim {
                    ids.claim(id, event);
                    naive.entry(id).or_insert(event);
                }
                prop_assert_eq!(ids.event(id), naive.get(&id).copied());
            }
        }
    }

    /// Sorting anew for each of them takes hours: the test does not end.
    #[test]
    fn claims_and_lookups_in_turn_take_no_square() {
        for next in [|at: u64| u64::MAX - at, |at: u64| at, |at: u64| at.wrapping_mul(0x9e37_79b9)]
        {
            let mut ids = Ids::default();
            for at in 0..1_000_000 {
                ids.claim(next(at), 7);
                assert_eq!(ids.event(next(at / 2)), Some(7));
            }
        }
    }
}
