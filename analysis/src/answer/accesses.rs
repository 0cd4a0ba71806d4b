//! Counted accesses become tables and columns.

use super::rows::Words;
use crate::access::{ASPECTS, Access, Distribution, Kind};
use crate::atom::{Atom, Lack};
use crate::key::Key;
use crate::query::Weighting;
use crate::report::{self, EventReport, Latencies, Row};
use crate::sampled::Column;
use crate::table::ratio;
use crate::tally::{Join, Sum};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The accesses of one event, by the row that they are of.
#[derive(Debug)]
pub(super) struct Served<'r> {
    rows: FxHashMap<&'r [Atom], Vec<(Atom, Access)>>,
    kinds: &'r [Kind],
}

impl<'r> Served<'r> {
    pub(super) fn of(
        accesses: impl Iterator<Item = (&'r [Atom], Access)>,
        kinds: &'r [Kind],
    ) -> Served<'r> {
        let mut rows: FxHashMap<&[Atom], Vec<(Atom, Access)>> = FxHashMap::default();
        for (path, access) in accesses {
            if let Some((own, row)) = path.split_last() {
                rows.entry(row).or_default().push((*own, access));
            }
        }
        Served { rows, kinds }
    }

    fn kind(&self, atom: Atom) -> Option<&'r Kind> {
        self.kinds.get(usize::try_from(atom.as_pair().0).ok()?)
    }

    /// Latency and levels of a row.
    pub(super) fn row(
        &self,
        row: &[Atom],
        weighting: Weighting,
        words: &mut Words<'_>,
    ) -> report::Served {
        let accesses = self.rows.get(row).map_or(&[][..], Vec::as_slice);
        let mut by_level: BTreeMap<String, Sum> = BTreeMap::new();
        let mut all = Sum::default();
        for (atom, access) in accesses {
            all.join(access.sum);
            if let Some(level) = self.kind(*atom).and_then(|kind| words.level(kind.answers[0])) {
                by_level.entry(level).or_default().join(access.sum);
            }
        }
        let share = |sum: Sum| share(sum, all, weighting);
        report::Served {
            latency: latencies(accesses.iter()),
            levels: by_level.into_iter().map(|(level, sum)| (level, share(sum))).collect(),
        }
    }

    /// Fills in what an event's report says of all its accesses.
    pub(super) fn describe(&self, report: &mut EventReport, words: &mut Words<'_>) {
        let all = || self.rows.values().flatten();
        report.latency = latencies(all());
        let mut by_kind: BTreeMap<u32, Vec<(Atom, Access)>> = BTreeMap::new();
        let mut whole = Sum::default();
        for (atom, access) in all() {
            by_kind.entry(atom.as_pair().0).or_default().push((*atom, *access));
            whole.join(access.sum);
        }
        let keys: Arc<[Key]> = ASPECTS.map(Key::Access).into();
        let columns = ASPECTS.map(|aspect| Column { key: Key::Access(aspect), register: None });
        let mut ranks = Vec::new();
        for accesses in by_kind.into_values() {
            let Some(kind) = accesses.first().and_then(|(atom, _)| self.kind(*atom)) else {
                continue;
            };
            if kind.answers[0] == Atom::lack(Lack::DataSrc) {
                continue;
            }
            ranks.extend(words.level(kind.answers[0]).map(|level| (kind.rank, level)));
            let mut sum = Sum::default();
            accesses.iter().for_each(|(_, access)| sum.join(access.sum));
            let cells = columns.iter().zip(kind.answers);
            report.accesses.push(Row {
                count: sum.count,
                period: sum.period,
                share: share(sum, whole, report.weighting),
                exact_ip: sum.exact,
                keys: Arc::clone(&keys),
                cells: cells.map(|(column, atom)| words.cell(column, atom)).collect(),
                served: Some(report::Served {
                    latency: latencies(accesses.iter()),
                    levels: BTreeMap::new(),
                }),
            });
        }
        super::rows::sort(&mut report.accesses, report.weighting);
        ranks.sort();
        report.levels = ranks.into_iter().map(|(_, level)| level).collect();
        report.levels.dedup();
    }
}

fn share(sum: Sum, whole: Sum, weighting: Weighting) -> f64 {
    match weighting {
        Weighting::Count => ratio(sum.count, whole.count),
        Weighting::Period => ratio(sum.period, whole.period),
    }
}

fn latencies<'a>(accesses: impl Iterator<Item = &'a (Atom, Access)>) -> Option<Latencies> {
    let all = Distribution::of(accesses);
    (all.total() > 0).then(|| Latencies {
        samples: all.total(),
        mean: ratio(all.cycles(), all.total()),
        median: all.quantile(50),
        p95: all.quantile(95),
    })
}
