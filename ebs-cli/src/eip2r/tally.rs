//! How often each routine came.

use super::direct::{Direct, GRANULE};
use rustc_hash::FxHashMap;

/// A granule of text of several stretches is not counted as one.
const MIXED: u8 = u8::MAX;
/// What a granule's counter can hold.
const FULL: u8 = MIXED - 1;

/// Addresses counted at a time; a power of two.
const LOT: usize = 256;

/// How often each granule of the kernel's text came: a byte of memory is read
/// and written for most addresses, and all bytes together are few enough to
/// stay near the processor. Granules in which a routine begins, and what is
/// elsewhere, take a longer way.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    direct: &'a Direct,
    /// Address of the first granule.
    first: u64,
    /// Counters; the one behind the last granule is for everything else.
    granules: Vec<u8>,
    /// How often each counter was full.
    spilled: FxHashMap<usize, u64>,
    /// Of the granules that are not counted as one.
    stretches: Vec<u32>,
    /// How often each of those went round.
    rounds: FxHashMap<u32, u64>,
    elsewhere: FxHashMap<u64, u64>,
}

/// How often each stretch came, and each address that is in none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) stretches: Vec<u64>,
    pub(super) elsewhere: FxHashMap<u64, u64>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(direct: &'a Direct) -> Tally<'a> {
        let counter = |is_one: bool| if is_one { 0 } else { MIXED };
        let (first, mut granules) = match direct.granules() {
            Some((first, granules)) => (first, granules.map(counter).collect()),
            None => (0, Vec::new()),
        };
        granules.push(MIXED);
        Tally {
            direct,
            first,
            granules,
            spilled: FxHashMap::default(),
            stretches: vec![0; direct.len()],
            rounds: FxHashMap::default(),
            elsewhere: FxHashMap::default(),
        }
    }

    /// In two passes: the first has no branch that could be guessed wrong,
    /// and no address waits for another, so that the processor has many
    /// counters under way.
    pub(super) fn add_all(&mut self, addresses: &[u64]) {
        for lot in addresses.chunks(LOT) {
            let mut rare = [0; LOT];
            let count = self.add_common(lot, &mut rare);
            for &number in &rare[..count] {
                self.add_rare(lot[usize::from(number)]);
            }
        }
    }

    /// Puts the numbers of those that take the longer way into `rare`; gives
    /// how many they are.
    fn add_common(&mut self, addresses: &[u64], rare: &mut [u16; LOT]) -> usize {
        let (first, granules) = (self.first, &mut self.granules[..]);
        let beyond = granules.len() - 1;
        let mut count = 0;
        for (number, &address) in (0..).zip(addresses) {
            let granule = address.wrapping_sub(first) / GRANULE;
            let granule = usize::try_from(granule).unwrap_or(usize::MAX).min(beyond);
            let counter = &mut granules[granule];
            let is_rare = *counter >= FULL;
            *counter += u8::from(!is_rare);
            // Fewer than LOT are before: the mask changes nothing.
            rare[count & (LOT - 1)] = number;
            count += usize::from(is_rare);
        }
        count
    }

    fn add_rare(&mut self, address: u64) {
        let granule = address.wrapping_sub(self.first) / GRANULE;
        let granule = usize::try_from(granule).unwrap_or(usize::MAX);
        match self.granules.get_mut(granule) {
            None | Some(&mut MIXED) => match self.direct.find(address) {
                Some(stretch) => self.add_stretch(stretch),
                None => *self.elsewhere.entry(address).or_default() += 1,
            },
            Some(counter @ &mut FULL) => {
                *counter = 0;
                *self.spilled.entry(granule).or_default() += 1;
            }
            // One before it in the same lot found it full.
            Some(counter) => *counter += 1,
        }
    }

    fn add_stretch(&mut self, stretch: u32) {
        let counter = &mut self.stretches[stretch as usize];
        *counter = counter.wrapping_add(1);
        if *counter == 0 {
            *self.rounds.entry(stretch).or_default() += 1;
        }
    }

    pub(super) fn add_to(self, sums: &mut Sums) {
        sums.stretches.resize(self.direct.len(), 0);
        let mut add = |granule: usize, count: u64| {
            let address = self.first + granule as u64 * GRANULE;
            if let Some(stretch) = self.direct.find(address) {
                sums.stretches[stretch as usize] += count;
            }
        };
        for (granule, &count) in self.granules.iter().enumerate() {
            if count != 0 && count != MIXED {
                add(granule, count.into());
            }
        }
        for (granule, times) in self.spilled {
            add(granule, times * (u64::from(FULL) + 1));
        }
        for (sum, count) in sums.stretches.iter_mut().zip(self.stretches) {
            *sum += u64::from(count);
        }
        for (stretch, rounds) in self.rounds {
            sums.stretches[stretch as usize] += rounds << 32;
        }
        for (address, count) in self.elsewhere {
            *sums.elsewhere.entry(address).or_default() += count;
        }
    }
}

impl Sums {
    pub(super) fn stretches(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..).zip(self.stretches.iter().copied()).filter(|(_, count)| *count != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums<'a>(direct: &Direct, lots: impl IntoIterator<Item = &'a [u64]>) -> Sums {
        let mut sums = Sums::default();
        for addresses in lots {
            let mut tally = Tally::new(direct);
            addresses.chunks(1000).for_each(|lot| tally.add_all(lot));
            tally.add_to(&mut sums);
        }
        sums
    }

    #[test]
    fn full_counters_and_several_threads_lose_nothing() {
        let direct = Direct::new([0x1000..0x1010, 0x1010..0x1018, 0x1018..0x1400].into_iter());
        let often = [vec![0x1004; 1_000_000], vec![0x1013, 0x101f, 0x1020, 7]].concat();
        let sums = sums(&direct, [&often[..], &[0x1000, 7, 8, 0x1400, u64::MAX]]);
        assert_eq!(sums.stretches().collect::<Vec<_>>(), [(0, 1_000_001), (1, 1), (2, 2)]);
        let mut elsewhere: Vec<_> = sums.elsewhere.into_iter().collect();
        elsewhere.sort_unstable();
        assert_eq!(elsewhere, [(7, 2), (8, 1), (0x1400, 1), (u64::MAX, 1)]);
    }

    #[test]
    fn a_stretch_that_goes_round_is_counted() {
        let direct = Direct::new([0x1000..0x1004, 0x1004..0x1400].into_iter());
        let mut tally = Tally::new(&direct);
        tally.stretches[1] = u32::MAX;
        tally.add_all(&[0x1005, 0x1006]);
        let mut sums = Sums::default();
        tally.add_to(&mut sums);
        assert_eq!(sums.stretches().collect::<Vec<_>>(), [(1, (1 << 32) + 1)]);
    }

    #[test]
    fn without_routines_every_address_is_elsewhere() {
        let sums = sums(&Direct::default(), [&[0, 5, 5, u64::MAX][..]]);
        assert_eq!(sums.stretches().count(), 0);
        assert_eq!(sums.elsewhere, [(0, 1), (5, 2), (u64::MAX, 1)].into_iter().collect());
    }

    proptest! {
        #[test]
        fn equals_a_look_up_of_each(
            steps in prop::collection::vec((0_u64..24, 1_u64..200), 1..60),
            at in prop::collection::vec((0_u64..9000, 1_usize..700), 0..60),
        ) {
            let mut next = 0x8000_0000_0000_0000;
            let routines = steps.into_iter().map(|(gap, size)| {
                let start = next + gap;
                next = start + size;
                start..next
            });
            let direct = Direct::new(routines);
            let addresses: Vec<u64> = at.into_iter()
                .flat_map(|(at, times)| std::iter::repeat_n(0x7fff_ffff_ffff_fff0 + at, times))
                .collect();
            let mut expected = Sums { stretches: vec![0; direct.len()], ..Sums::default() };
            for &address in &addresses {
                match direct.find(address) {
                    Some(stretch) => expected.stretches[stretch as usize] += 1,
                    None => *expected.elsewhere.entry(address).or_default() += 1,
                }
            }
            prop_assert_eq!(sums(&direct, [&addresses[..]]), expected);
        }
    }
}
