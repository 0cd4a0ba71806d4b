//! What is counted of one row.

use crate::collect::access::AccessCount;
use crate::query::Weighting;
use crate::share_interval::ratio;
use perfdata::aggregate::{Chance, Site};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) period: u64,
    pub(crate) exact: u64,
    /// Of each sample's period the square.
    pub(crate) squares: f64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, period: u64, exact: bool) {
        self.count = self.count.saturating_add(1);
        // Periods are the kernel's; 2^64 events need a hostile stream.
        self.period = self.period.saturating_add(period);
        self.exact += u64::from(exact);
        self.squares += square(period);
    }

    /// One sample.
    #[inline]
    pub(crate) fn one(period: u64, is_exact: bool) -> Sum {
        let mut one = Sum::default();
        one.add(period, is_exact);
        one
    }

    /// So many samples that stand for so many events in all, each for as many.
    pub(crate) fn of(count: u64, period: u64) -> Sum {
        let squares = ratio(1, count) * square(period);
        Sum { count, period, exact: 0, squares }
    }

    #[inline]
    pub(crate) fn join(&mut self, other: Sum) {
        self.count = self.count.saturating_add(other.count);
        self.period = self.period.saturating_add(other.period);
        self.exact += other.exact;
        self.squares += other.squares;
    }

    /// Samples, or events that they stand for.
    pub(crate) fn weight(self, weighting: Weighting) -> u64 {
        match weighting {
            Weighting::Count => self.count,
            Weighting::Period => self.period,
        }
    }

    /// Its part of a whole, 0 to 1.
    pub(crate) fn share(self, whole: Sum, weighting: Weighting) -> f64 {
        ratio(self.weight(weighting), whole.weight(weighting))
    }
}

fn square(period: u64) -> f64 {
    ratio(period, 1).powi(2)
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RowCount {
    pub(crate) sum: Sum,
    /// Apart, as most tables have none: there may be a million rows.
    details: Option<Box<RowDetails>>,
}

#[derive(Clone, Debug, Default)]
struct RowDetails {
    /// By the number of their answers.
    accesses: BTreeMap<u32, AccessCount>,
    site: Option<Box<Site>>,
}

impl RowCount {
    /// Adds an access with the answers of this number: whether the row had
    /// none such.
    pub(crate) fn add_access(&mut self, answers: u32, latency: Option<u64>, sample: Sum) -> bool {
        let accesses = &mut self.details.get_or_insert_default().accesses;
        let before = accesses.len();
        accesses.entry(answers).or_default().add(latency, sample);
        accesses.len() > before
    }

    /// Adds hits that the kernel counted: whether the row had none such.
    pub(crate) fn add_site(&mut self, site: &Site, chance: &mut Chance) -> bool {
        let known = &mut self.details.get_or_insert_default().site;
        let is_first = known.is_none();
        join_sites(known, site, chance);
        is_first
    }

    pub(crate) fn join(&mut self, other: RowCount, chance: &mut Chance) {
        self.sum.join(other.sum);
        let Some(details) = other.details else { return };
        let own = self.details.get_or_insert_default();
        for (answers, access) in details.accesses {
            own.accesses.entry(answers).or_default().join(access);
        }
        if let Some(site) = details.site {
            join_sites(&mut own.site, &site, chance);
        }
    }

    /// Its accesses, by the number of their answers.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = (u32, &AccessCount)> + Clone {
        let all = self.details.iter().flat_map(|details| &details.accesses);
        all.map(|(answers, access)| (*answers, access))
    }

    pub(crate) fn site(&self) -> Option<&Site> {
        self.details.as_ref()?.site.as_deref()
    }
}

/// Adds the hits of a site to those of others, of which there may be none yet.
pub(crate) fn join_sites(sum: &mut Option<Box<Site>>, site: &Site, chance: &mut Chance) {
    match sum {
        Some(sum) => sum.merge(site, &mut |limit| chance.below(limit)),
        none => *none = Some(Box::new(site.clone())),
    }
}
