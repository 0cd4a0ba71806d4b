//! In which order words of memory are visited. Pure.

use fastrand::Rng;
use serde::Serialize;

/// Bytes of a line.
pub const LINE: usize = 64;
/// Bytes of a small page.
pub const PAGE: usize = 4096;
/// Draws the same orders in each run.
const SEED: u64 = 0x6d65_6d6c_6174;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VisitOrder {
    /// All lines, each in another page than the one before where there are
    /// many.
    CrossPage,
    /// All lines of a page, then those of another page, lines and pages at
    /// random.
    PageLocal,
    /// One line of each page, pages at random. Lines take turns, so that
    /// they fill the sets of a cache as evenly as as many side by side do.
    LinePerPage,
    /// Every so many bytes, upwards.
    Stride(usize),
}

pub(crate) fn random() -> Rng {
    Rng::with_seed(SEED)
}

impl VisitOrder {
    /// The offsets in so many bytes, each once, as they are visited in turn;
    /// at least one.
    #[must_use]
    pub fn offsets(self, bytes: usize) -> Vec<usize> {
        let mut random = random();
        let mut offsets: Vec<usize> = match self {
            VisitOrder::CrossPage => {
                let mut all: Vec<usize> = (0..bytes / LINE).map(|line| line * LINE).collect();
                random.shuffle(&mut all);
                all
            }
            VisitOrder::PageLocal => {
                let mut pages: Vec<usize> = (0..bytes.div_ceil(PAGE)).collect();
                random.shuffle(&mut pages);
                let mut all = Vec::with_capacity(bytes / LINE);
                for page in pages {
                    let begins = all.len();
                    let end = bytes.min((page + 1) * PAGE) / LINE * LINE;
                    all.extend((page * PAGE..end).step_by(LINE));
                    random.shuffle(&mut all[begins..]);
                }
                all
            }
            VisitOrder::LinePerPage => {
                let mut pages: Vec<usize> = (0..bytes / PAGE).collect();
                random.shuffle(&mut pages);
                let line = |page: usize| page % (PAGE / LINE) * LINE;
                pages.into_iter().map(|page| page * PAGE + line(page)).collect()
            }
            VisitOrder::Stride(stride) => (0..bytes).step_by(stride.max(8)).collect(),
        };
        if offsets.is_empty() {
            offsets.push(0);
        }
        offsets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn orders() -> impl Strategy<Value = VisitOrder> {
        prop_oneof![
            Just(VisitOrder::CrossPage),
            Just(VisitOrder::PageLocal),
            Just(VisitOrder::LinePerPage),
            (8_usize..10_000).prop_map(VisitOrder::Stride),
        ]
    }

    proptest! {
        #[test]
        fn each_place_is_visited_once(order in orders(), bytes in 0_usize..200_000) {
            let offsets = order.offsets(bytes);
            let places: BTreeSet<usize> = offsets.iter().copied().collect();
            prop_assert_eq!(places.len(), offsets.len());
            prop_assert!(places.iter().all(|offset| *offset == 0 || *offset < bytes));
            let wanted = match order {
                VisitOrder::CrossPage | VisitOrder::PageLocal => bytes / LINE,
                VisitOrder::LinePerPage => bytes / PAGE,
                VisitOrder::Stride(stride) => bytes.div_ceil(stride),
            };
            prop_assert_eq!(offsets.len(), wanted.max(1));
        }

        #[test]
        fn a_page_is_left_when_all_of_it_was_visited(bytes in 1_usize..200_000) {
            let offsets = VisitOrder::PageLocal.offsets(bytes);
            let pages: Vec<usize> = offsets.iter().map(|offset| offset / PAGE).collect();
            let changes = pages.windows(2).filter(|pair| pair[0] != pair[1]).count();
            let all: BTreeSet<usize> = pages.into_iter().collect();
            prop_assert_eq!(changes + 1, all.len());
        }
    }

    #[test]
    fn neighbours_are_rarely_of_one_page() {
        let offsets = VisitOrder::CrossPage.offsets(1 << 20);
        let same = offsets.windows(2).filter(|pair| pair[0] / PAGE == pair[1] / PAGE).count();
        assert!(same < offsets.len() / 50, "{same} of {}", offsets.len());
    }
}
