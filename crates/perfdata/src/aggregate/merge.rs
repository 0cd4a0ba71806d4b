//! Joins what CPUs, intervals and processes counted apart.

use super::{Aggregate, RESERVOIR, Range, RegisterBits, SampledHit, Site, SiteKey};
use std::collections::HashMap;

impl Site {
    /// What hits of this site share.
    pub fn key(&self) -> SiteKey {
        let Site { process, mode, ip, ref chain, .. } = *self;
        SiteKey { process, mode, ip, chain: chain.clone() }
    }

    /// Takes in the hits of `other`, whose key this site's owner has found
    /// equal or does not care about: this site's stays.
    ///
    /// Sums, bounds and bits are exact, in whatever order and grouping sites
    /// are merged. A register that only one side has, an address or strides
    /// that only one side has, are left out: no statement about all hits
    /// follows from them. The taken hits stay a uniform choice among those of
    /// both; `chance` gives a number below its argument (which is never 0).
    pub fn merge(&mut self, other: &Site, chance: &mut impl FnMut(u64) -> u64) {
        let (mine, theirs) = (self.count, other.count);
        let kept = shared(&self.registers, &other.registers);
        let other_taken = project(&other.taken, &kept, |pair| pair.1);
        let own_taken = project(&self.taken, &kept, |pair| pair.0);
        self.taken = choose(
            Reservoir { taken: own_taken, hits: mine },
            Reservoir { taken: other_taken, hits: theirs },
            chance,
        );
        self.registers = kept
            .iter()
            .map(|&(own, others)| merged(self.registers[own], other.registers[others]))
            .collect();
        self.pids.merge(other.pids);
        self.count = mine.saturating_add(theirs);
        self.period = self.period.saturating_add(other.period);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.address = self.address.zip(other.address).map(|(mut own, others): (Range, Range)| {
            own.merge(others);
            own
        });
        self.strides =
            self.strides.take().zip(other.strides.as_deref()).map(|(mut own, others)| {
                own.merge(others);
                own
            });
    }
}

impl Aggregate {
    /// Takes in another interval or another CPU's part of this one: sites of
    /// one key become one, new ones go behind, causes are added, the interval
    /// reaches over both. For `chance` see [`Site::merge`].
    pub fn merge(&mut self, other: Aggregate, chance: &mut impl FnMut(u64) -> u64) {
        self.from = self.from.min(other.from);
        self.to = self.to.max(other.to);
        for (cause, count) in other.lost {
            match self.lost.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => self.lost.push((cause, count)),
            }
        }
        let mut places: HashMap<SiteKey, usize> =
            self.sites.iter().enumerate().map(|(index, site)| (site.key(), index)).collect();
        for site in other.sites {
            match places.get(&site.key()) {
                Some(&index) => self.sites[index].merge(&site, chance),
                None => {
                    places.insert(site.key(), self.sites.len());
                    self.sites.push(site);
                }
            }
        }
    }

    /// Hits in all sites.
    pub fn count(&self) -> u64 {
        self.sites.iter().fold(0, |sum, site| sum.saturating_add(site.count))
    }
}

fn merged(mut own: RegisterBits, others: RegisterBits) -> RegisterBits {
    own.bits.merge(others.bits);
    own
}

/// Where the registers that both have stand in each.
fn shared(own: &[RegisterBits], others: &[RegisterBits]) -> Vec<(usize, usize)> {
    if own.len() == others.len() && own.iter().zip(others).all(|(a, b)| a.number == b.number) {
        return (0..own.len()).map(|index| (index, index)).collect();
    }
    let place = |number| others.iter().position(|register| register.number == number);
    own.iter().enumerate().filter_map(|(index, own)| Some((index, place(own.number)?))).collect()
}

fn project(
    taken: &[SampledHit],
    kept: &[(usize, usize)],
    side: impl Fn(&(usize, usize)) -> usize,
) -> Vec<SampledHit> {
    let values = |hit: &SampledHit| {
        kept.iter().filter_map(|pair| hit.registers.get(side(pair)).copied()).collect()
    };
    taken.iter().map(|hit| SampledHit { registers: values(hit), ..hit.clone() }).collect()
}

/// Hits taken at random, and how many they stand for.
struct Reservoir {
    taken: Vec<SampledHit>,
    hits: u64,
}

/// Draws without putting back: the side of each draw by how many hits are
/// left there, the hit by its reservoir, whose order means nothing.
fn choose(
    mut own: Reservoir,
    mut others: Reservoir,
    chance: &mut impl FnMut(u64) -> u64,
) -> Vec<SampledHit> {
    let mut chosen = Vec::with_capacity(RESERVOIR);
    while chosen.len() < RESERVOIR && !(own.taken.is_empty() && others.taken.is_empty()) {
        let from_own = if others.taken.is_empty() {
            true
        } else if own.taken.is_empty() {
            false
        } else {
            chance(own.hits.saturating_add(others.hits).max(1)) < own.hits
        };
        let Reservoir { taken, hits } = if from_own { &mut own } else { &mut others };
        let index = usize::try_from(chance(taken.len() as u64)).unwrap_or(0).min(taken.len() - 1);
        chosen.push(taken.swap_remove(index));
        *hits = hits.saturating_sub(1);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Bits, SeededRandom, Strides};
    use crate::{Cpu, CpuMode, Pid, Tid, Time};
    use proptest::prelude::*;

    fn chance(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut chance = SeededRandom::new(seed);
        move |below| chance.below(below)
    }

    fn hit(process: i32, ip: u64, value: u64) -> Site {
        let taken = SampledHit {
            time: Time(value),
            pid: Pid(process),
            tid: Tid(process),
            cpu: Cpu(0),
            address: value,
            period: 2,
            weight: 0,
            data_src: 0,
            registers: vec![value, !value],
        };
        let register = |number, value| RegisterBits { number, bits: Bits::of(value) };
        let mut strides = Strides::default();
        strides.0[Strides::bucket(value)] = 1;
        Site {
            process: Some(Pid(process)),
            pids: Bits::of(u64::from(process.cast_unsigned())),
            ip,
            mode: CpuMode::User,
            count: 1,
            period: 2,
            first: Time(value),
            last: Time(value),
            address: Some(Range::of(value)),
            registers: vec![register(0, value), register(5, !value)],
            taken: vec![taken],
            strides: Some(Box::new(strides)),
            chain: None,
        }
    }

    /// All that merging must not change, in the order of keys.
    fn sums(aggregate: &Aggregate) -> Vec<Site> {
        let without = |site: &Site| Site { taken: Vec::new(), ..site.clone() };
        let mut sites: Vec<Site> = aggregate.sites.iter().map(without).collect();
        sites.sort_by_key(Site::key);
        sites
    }

    fn one(site: Site) -> Aggregate {
        let (from, to) = (site.first, site.last);
        Aggregate { from, to, sites: vec![site], lost: vec![("no_room".to_owned(), 1)] }
    }

    proptest! {
        #[test]
        fn any_grouping_gives_the_same_sums(
            hits in proptest::collection::vec((0i32..3, 0u64..4, any::<u64>()), 1..60),
            joins in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 60),
            seed in 1u64..,
        ) {
            let mut chance = chance(seed);
            let each = || hits.iter().map(|&(process, ip, value)| one(hit(process, ip, value)));
            let in_order = each().reduce(|mut sum, next| {
                sum.merge(next, &mut chance);
                sum
            }).unwrap();
            let mut groups: Vec<Aggregate> = each().collect();
            for (a, b) in joins {
                if groups.len() == 1 { break; }
                let from = groups.swap_remove(a.index(groups.len()));
                let into = b.index(groups.len());
                groups[into].merge(from, &mut chance);
            }
            let mut rest = groups.into_iter();
            let mut grouped = rest.next().unwrap();
            rest.for_each(|group| grouped.merge(group, &mut chance));

            prop_assert_eq!(sums(&grouped), sums(&in_order));
            prop_assert_eq!((grouped.from, grouped.to), (in_order.from, in_order.to));
            prop_assert_eq!(&grouped.lost, &in_order.lost);
            prop_assert_eq!(grouped.lost[0].1, hits.len() as u64);
            prop_assert_eq!(grouped.count(), hits.len() as u64);

            // Against the plain truth, site by site.
            for site in &grouped.sites {
                let own: Vec<u64> = hits.iter()
                    .filter(|(process, ip, _)| (Some(Pid(*process)), *ip) == (site.process, site.ip))
                    .map(|hit| hit.2).collect();
                let and = own.iter().fold(u64::MAX, |all, value| all & value);
                let or = own.iter().fold(0, |any, value| any | value);
                prop_assert_eq!(site.count, own.len() as u64);
                prop_assert_eq!(site.period, 2 * site.count);
                let range = site.address.unwrap();
                prop_assert_eq!((range.min, range.max), (*own.iter().min().unwrap(), *own.iter().max().unwrap()));
                prop_assert_eq!(range.bits, Bits { all: and, any: or });
                prop_assert_eq!(site.registers[0].bits, Bits { all: and, any: or });
                prop_assert_eq!(site.registers[1].bits, Bits { all: !or, any: !and });
                prop_assert_eq!(site.strides.as_ref().unwrap().0.iter().sum::<u64>(), site.count);
                prop_assert_eq!(site.taken.len() as u64, site.count.min(RESERVOIR as u64));
                let mut left = own;
                for taken in &site.taken {
                    let place = left.iter().position(|value| *value == taken.address);
                    prop_assert!(place.is_some(), "a hit was taken twice, or none of this site's");
                    left.swap_remove(place.unwrap());
                }
            }
        }

        #[test]
        fn constant_bits_are_those_that_no_value_changes(values in proptest::collection::vec(any::<u64>(), 1..20), low in 0u32..=64) {
            let aligned = values.iter().map(|value| value.checked_shl(low).unwrap_or(0));
            let mut bits = Bits::NONE;
            for value in aligned.clone() {
                bits.merge(Bits::of(value));
            }
            let first = aligned.clone().next().unwrap();
            let changed = aligned.fold(0, |changed, value| changed | (value ^ first));
            prop_assert_eq!(bits.constant(), !changed);
            prop_assert_eq!(bits.low_constant(), changed.trailing_zeros());
            prop_assert!(bits.low_constant() >= low);
        }
    }

    #[test]
    fn each_of_many_hits_is_as_likely_taken() {
        const HITS: usize = 40;
        const RUNS: usize = 6_000;
        let mut chance = chance(0x1234_5678_9abc_def1);
        let mut seen = [0usize; HITS];
        for _ in 0..RUNS {
            // Unequal shares: 1, 3, 11 and 25 hits.
            let mut shares = [(0, 1), (1, 4), (4, 15), (15, HITS as u64)].map(|(from, to)| {
                let mut hits = (from..to).map(|value| hit(1, 1, value));
                let mut first = hits.next().unwrap();
                hits.for_each(|hit| first.merge(&hit, &mut chance));
                first
            });
            let (left, right) = shares.split_at_mut(2);
            let [a, b] = left else { unreachable!() };
            let [c, d] = right else { unreachable!() };
            a.merge(b, &mut chance);
            d.merge(c, &mut chance);
            a.merge(d, &mut chance);
            for taken in &a.taken {
                seen[usize::try_from(taken.address).unwrap()] += 1;
            }
        }
        // Each is taken with probability 1/10: 600 times, sigma 23.
        let expected = RUNS * RESERVOIR / HITS;
        for (value, count) in seen.iter().enumerate() {
            assert!(
                count.abs_diff(expected) < 5 * 23,
                "hit {value} was taken {count} times, not about {expected}"
            );
        }
    }

    #[test]
    fn what_only_one_side_has_is_left_out() {
        let mut chance = chance(1);
        let mut site = hit(1, 1, 8);
        let mut other = hit(1, 1, 12);
        other.registers.remove(0);
        other.taken[0].registers.remove(0);
        other.address = None;
        other.strides = None;
        site.merge(&other, &mut chance);
        assert_eq!((site.address, &site.strides), (None, &None));
        assert_eq!(site.registers, [RegisterBits { number: 5, bits: Bits { all: !12, any: !8 } }]);
        let mut values: Vec<_> = site.taken.iter().map(|taken| taken.registers.clone()).collect();
        values.sort();
        assert_eq!(values, [[!12], [!8]]);
    }

    #[test]
    fn buckets_and_their_bounds_agree() {
        assert_eq!([0, 1, 2, 3, 4, 64, u64::MAX].map(Strides::bucket), [0, 1, 2, 2, 3, 7, 64]);
        for bucket in 0..65 {
            let (least, most) = Strides::bounds(bucket).unwrap();
            assert_eq!((Strides::bucket(least), Strides::bucket(most)), (bucket, bucket));
        }
        assert_eq!(Strides::bounds(65), None);
    }
}
