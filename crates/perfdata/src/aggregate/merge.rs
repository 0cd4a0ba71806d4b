//! Joins what CPUs, intervals and processes counted apart.

use super::{Aggregate, RESERVOIR, Range, RegisterBits, Site, SiteKey, Taken};
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
    taken: &[Taken],
    kept: &[(usize, usize)],
    side: impl Fn(&(usize, usize)) -> usize,
) -> Vec<Taken> {
    let values = |hit: &Taken| {
        kept.iter().filter_map(|pair| hit.registers.get(side(pair)).copied()).collect()
    };
    taken.iter().map(|hit| Taken { registers: values(hit), ..hit.clone() }).collect()
}

/// Hits taken at random, and how many they stand for.
struct Reservoir {
    taken: Vec<Taken>,
    hits: u64,
}

/// Draws without putting back: the side of each draw by how many hits are
/// left there, the hit by its reservoir, whose order means nothing.
fn choose(
    mut own: Reservoir,
    mut others: Reservoir,
    chance: &mut impl FnMut(u64) -> u64,
) -> Vec<Taken> {
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
mod tests;
