//! What is counted of one row.

use crate::collect::access::AccessCount;
use crate::collect::sum::Sum;
use perfdata::aggregate::{SeededRandom, Site};
use std::collections::BTreeMap;

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
    pub(crate) fn add_site(&mut self, site: &Site, chance: &mut SeededRandom) -> bool {
        let known = &mut self.details.get_or_insert_default().site;
        let is_first = known.is_none();
        join_sites(known, site, chance);
        is_first
    }

    pub(crate) fn join(&mut self, other: RowCount, chance: &mut SeededRandom) {
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
pub(crate) fn join_sites(sum: &mut Option<Box<Site>>, site: &Site, chance: &mut SeededRandom) {
    match sum {
        Some(sum) => sum.merge(site, &mut |limit| chance.below(limit)),
        none => *none = Some(Box::new(site.clone())),
    }
}
