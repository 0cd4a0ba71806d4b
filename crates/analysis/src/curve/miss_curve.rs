//! How many accesses of a stream caches of other sizes would miss.
//!
//! A fully associative cache that replaces the least recently used line has what
//! was used less than its lines ago, whatever its size (Mattson et al. 1970): one
//! look at the distances tells of all sizes.

use crate::share_interval::ratio;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeSet;

/// Sizes that a curve has at most: two a power of two.
const MOST_POINTS: usize = 160;

/// Accesses by the distinct lines since the one before to their line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DistanceSums {
    /// There was none before.
    pub(crate) first: u64,
    /// Another thread took the line away since.
    pub(crate) taken: u64,
    by_distance: FxHashMap<u64, u64>,
}

/// Misses by the size of the cache, of one stream of accesses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissCurve {
    /// Accesses in the stream.
    pub accesses: u64,
    /// Those of lines that were not accessed before: missed at any size.
    pub first: u64,
    /// Those of lines that another thread took away since: likewise.
    pub taken: u64,
    /// All others, which a cache that is large enough has.
    pub again: u64,
    /// By size, the smallest first; after the last one no more are spared.
    pub points: Vec<MissCurvePoint>,
    /// Bytes of the smallest size there that leaves `fits_share` of `again` at most;
    /// None: there are none.
    pub fits_from: Option<u64>,
    /// 0 to 1.
    pub fits_share: f64,
}

/// What a cache of one size would miss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MissCurvePoint {
    /// Its bytes.
    pub bytes: u64,
    /// All that it misses.
    pub misses: u64,
    /// Of `again` those that it misses.
    pub left: u64,
    /// Their share of `again`, 0 to 1; 0 of none.
    pub share: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct CurveSizes<'s> {
    /// Bytes of a line, 1 or more.
    pub(crate) line: u64,
    /// Lines of the smallest one, 1 or more.
    pub(crate) from: u64,
    /// Bytes of sizes that are to be there besides.
    pub(crate) besides: &'s [u64],
    /// A size fits that leaves one of so many at most; 1 or more.
    pub(crate) fits: u64,
}

impl DistanceSums {
    /// Takes in an access to a line that so many distinct lines, its own among
    /// them, were accessed since.
    pub(crate) fn add(&mut self, distance: u64) {
        *self.by_distance.entry(distance).or_default() += 1;
    }

    pub(crate) fn curve(&self, sizes: &CurveSizes<'_>) -> MissCurve {
        let mut by_distance: Vec<(u64, u64)> =
            self.by_distance.iter().map(|(distance, count)| (*distance, *count)).collect();
        by_distance.sort_unstable();
        let again = by_distance.iter().map(|(_, count)| count).sum();
        let farthest = by_distance.last().map_or(1, |(distance, _)| *distance);
        let (mut left, mut spared) = (again, by_distance.iter().peekable());
        let point = |bytes: u64| {
            while let Some((_, count)) =
                spared.next_if(|(distance, _)| *distance <= bytes / sizes.line.max(1))
            {
                left -= count;
            }
            let misses = self.first + self.taken + left;
            MissCurvePoint { bytes, misses, left, share: ratio(left, again) }
        };
        let points: Vec<MissCurvePoint> = sizes.up_to(farthest).into_iter().map(point).collect();
        let enough = |point: &&MissCurvePoint| point.left <= again / sizes.fits.max(1);
        MissCurve {
            accesses: self.first + self.taken + again,
            first: self.first,
            taken: self.taken,
            again,
            fits_from: points.iter().find(enough).filter(|_| again > 0).map(|it| it.bytes),
            fits_share: ratio(1, sizes.fits.max(1)),
            points,
        }
    }
}

impl CurveSizes<'_> {
    /// Powers of two and one and a half of them, from the smallest to the first
    /// that holds so many lines, and those that are asked for between these.
    fn up_to(&self, lines: u64) -> BTreeSet<u64> {
        let (line, from) = (self.line.max(1), self.from.max(1));
        let bytes = |lines: u64| lines.saturating_mul(line);
        let usual = (0..u64::BITS).flat_map(|power| {
            let size = 1_u64 << power;
            [size, size.saturating_add(size / 2)]
        });
        let last = usual.clone().find(|it| *it >= lines.max(from)).unwrap_or(u64::MAX);
        let usual = usual.filter(|it| (from..=last).contains(it)).map(bytes);
        let range = bytes(from)..=bytes(last);
        let besides = self.besides.iter().copied().filter(|it| range.contains(it));
        usual.chain([bytes(from)]).take(MOST_POINTS).chain(besides).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::stack_distances::StackDistances;
    use proptest::prelude::*;

    /// Misses of a cache of so many lines, by doing what it does.
    fn missed(lines: &[u64], size: usize) -> u64 {
        let mut held: Vec<u64> = Vec::new();
        let mut misses = 0;
        for line in lines {
            match held.iter().position(|it| it == line) {
                Some(at) => drop(held.remove(at)),
                None => misses += 1,
            }
            held.insert(0, *line);
            held.truncate(size);
        }
        misses
    }

    fn curve(lines: &[u64], sizes: &CurveSizes<'_>) -> MissCurve {
        let mut distances = StackDistances::new(lines.len());
        let mut sums = DistanceSums::default();
        for line in lines {
            match distances.next(*line) {
                Some(distance) => sums.add(distance),
                None => sums.first += 1,
            }
        }
        sums.curve(sizes)
    }

    #[test]
    fn a_circle_is_missed_up_to_its_length() {
        let lines: Vec<u64> = (0..1000).map(|step| step % 100).collect();
        let of = curve(
            &lines,
            &CurveSizes { line: 64, from: 8, besides: &[100 * 64, 99 * 64], fits: 10 },
        );
        let points: Vec<(u64, u64)> = of.points.iter().map(|it| (it.bytes / 64, it.left)).collect();
        let expected = [8, 12, 16, 24, 32, 48, 64, 96, 99].map(|size| (size, 900)).to_vec();
        assert_eq!(points, [expected, vec![(100, 0), (128, 0)]].concat());
        assert_eq!((of.accesses, of.first, of.again, of.fits_from), (1000, 100, 900, Some(6400)));
        assert!(of.points.iter().all(|it| it.misses == it.left + 100));
    }

    #[test]
    fn two_loops_are_two_steps() {
        // Eight times round 10 lines, for each time round 200.
        let mut lines = Vec::new();
        for _ in 0..5 {
            (0..8).for_each(|_| lines.extend(0..10));
            lines.extend(1000..1200);
        }
        let of = curve(&lines, &CurveSizes { line: 1, from: 4, besides: &[], fits: 10 });
        let left: Vec<u64> = of.points.iter().map(|it| it.left).collect();
        // 4, 6, 8; 12 to 192; 256.
        let inner = 4 * 10 + 4 * 200;
        assert_eq!(left[..3], [5 * 70 + inner; 3]);
        assert_eq!(left[3..12], [inner; 9], "{of:?}");
        assert_eq!(left[12..], [0]);
    }

    #[test]
    fn nothing_has_no_size_that_it_fits() {
        let of = curve(&[1, 2, 3], &CurveSizes { line: 64, from: 512, besides: &[], fits: 10 });
        assert_eq!((of.fits_from, of.again, of.first), (None, 0, 3));
        assert_eq!(of.points.len(), 1, "{of:?}");
        let of = curve(&[], &CurveSizes { line: 0, from: 0, besides: &[u64::MAX], fits: 10 });
        assert_eq!(of.points.iter().map(|it| it.misses).sum::<u64>(), 0);
    }

    #[test]
    fn sizes_have_an_end() {
        let of = CurveSizes { line: 64, from: 1, besides: &[], fits: 10 };
        assert!(of.up_to(u64::MAX).len() <= MOST_POINTS);
        let of = CurveSizes { line: 64, from: 700, besides: &[], fits: 10 };
        assert_eq!(of.up_to(1).into_iter().collect::<Vec<_>>(), [700 * 64, 768 * 64]);
    }

    proptest! {
        #[test]
        fn curves_are_those_of_caches_that_are_simulated(
            lines in prop::collection::vec(prop_oneof![0_u64..6, 0_u64..60], 0..300),
            from in 1_u64..20,
            besides in prop::collection::vec(1_u64..80, 0..4),
        ) {
            let of = curve(&lines, &CurveSizes { line: 1, from, besides: &besides, fits: 10 });
            for point in &of.points {
                let size = usize::try_from(point.bytes).unwrap();
                prop_assert_eq!(point.misses, missed(&lines, size), "{} lines", size);
            }
            prop_assert_eq!(of.points.last().map(|it| it.left), Some(0));
            prop_assert!(of.points.is_sorted_by(|a, b| a.bytes < b.bytes && a.left >= b.left));
        }
    }
}
