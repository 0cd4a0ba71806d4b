//! Counted accesses become tables and columns.

use super::rows::Words;
use super::share::{share, share_error};
use crate::collect::access::{ASPECTS, AccessAnswers, AccessCount};
use crate::collect::distribution::Distribution;
use crate::collect::sampled::KeyColumn;
use crate::collect::tally::Sum;
use crate::name::atom::{Atom, Lack};
use crate::query::Weighting;
use crate::query::key::Key;
use crate::ratio::ratio;
use crate::report::{self, EventReport, Latencies, Row};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The accesses of one event, by the row that they are of.
#[derive(Debug)]
pub(super) struct EventAccesses<'r> {
    rows: FxHashMap<&'r [Atom], Vec<(u32, &'r AccessCount)>>,
    kinds: &'r [AccessAnswers],
    weighting: Weighting,
    /// Of all rows.
    cycles: u64,
}

impl<'r> EventAccesses<'r> {
    pub(super) fn of(
        accesses: impl Iterator<Item = (&'r [Atom], &'r AccessCount)>,
        (kinds, weighting): (&'r [AccessAnswers], Weighting),
    ) -> EventAccesses<'r> {
        let mut rows: FxHashMap<&[Atom], Vec<(u32, &AccessCount)>> = FxHashMap::default();
        let mut cycles = 0_u64;
        for (path, access) in accesses {
            if let Some((kind, row)) = path.split_last()
                && let Ok(kind) = kind.as_name()
            {
                rows.entry(row).or_default().push((kind, access));
                cycles = cycles.saturating_add(access.cycles(weighting));
            }
        }
        EventAccesses { rows, kinds, weighting, cycles }
    }

    fn accesses(&self, row: &[Atom]) -> &[(u32, &'r AccessCount)] {
        self.rows.get(row).map_or(&[], Vec::as_slice)
    }

    /// Cycles that a row's accesses took; 0 when that is not known.
    pub(super) fn cycles(&self, row: &[Atom]) -> u64 {
        let accesses = self.accesses(row).iter().map(|(_, access)| *access);
        accesses.fold(0, |sum, access| sum.saturating_add(access.cycles(self.weighting)))
    }

    /// Mean latency of a row's accesses; 0 when none is known.
    pub(super) fn mean(&self, row: &[Atom]) -> f64 {
        let all = self.accesses(row).iter().map(|(_, access)| &access.latencies);
        let (cycles, total) = all.fold((0_u64, 0_u64), |(cycles, total), one| {
            (cycles.saturating_add(one.cycles()), total + one.total())
        });
        ratio(cycles, total)
    }

    fn kind(&self, number: u32) -> Option<&'r AccessAnswers> {
        self.kinds.get(usize::try_from(number).ok()?)
    }

    /// Latency and levels of a row.
    pub(super) fn row(&self, row: &[Atom], words: &mut Words<'_>) -> report::AccessReport {
        let accesses = self.accesses(row);
        let mut by_level: BTreeMap<String, Sum> = BTreeMap::new();
        let mut all = Sum::default();
        for (kind, access) in accesses {
            all.join(access.sum);
            if let Some(level) = self.kind(*kind).and_then(|kind| words.level(kind.answers[0])) {
                by_level.entry(level).or_default().join(access.sum);
            }
        }
        let share = |sum: Sum| share(sum, all, self.weighting);
        report::AccessReport {
            latency: self.latencies(accesses.iter().map(|(_, access)| *access)),
            levels: by_level.into_iter().map(|(level, sum)| (level, share(sum))).collect(),
        }
    }

    /// Fills in what an event's report says of all its accesses.
    pub(super) fn describe(&self, report: &mut EventReport, words: &mut Words<'_>) {
        let all = || self.rows.values().flatten();
        report.latency = self.latencies(all().map(|(_, access)| *access));
        let mut by_kind: BTreeMap<u32, Vec<&AccessCount>> = BTreeMap::new();
        let mut whole = Sum::default();
        for (kind, access) in all() {
            by_kind.entry(*kind).or_default().push(access);
            whole.join(access.sum);
        }
        let keys: Arc<[Key]> = ASPECTS.map(Key::Access).into();
        let columns = ASPECTS.map(|aspect| KeyColumn { key: Key::Access(aspect), register: None });
        let mut ranks = Vec::new();
        for (kind, accesses) in by_kind {
            let Some(kind) = self.kind(kind) else { continue };
            if kind.answers[0] == Atom::lack(Lack::DataSrc) {
                continue;
            }
            ranks.extend(words.level(kind.answers[0]).map(|level| (kind.rank, level)));
            let mut sum = Sum::default();
            accesses.iter().for_each(|access| sum.join(access.sum));
            let cells = columns.iter().zip(kind.answers);
            report.accesses.push(Row {
                count: sum.count,
                period: sum.period,
                share: share(sum, whole, self.weighting),
                share_error: share_error(sum, whole, self.weighting, report.sampling),
                exact_ip: sum.exact,
                keys: Arc::clone(&keys),
                cells: cells.map(|(column, atom)| words.cell(column, atom)).collect(),
                served: Some(report::AccessReport {
                    latency: self.latencies(accesses.iter().copied()),
                    levels: BTreeMap::new(),
                }),
                facts: None,
            });
        }
        super::rows::sort(&mut report.accesses, self.weighting);
        ranks.sort();
        report.levels = ranks.into_iter().map(|(_, level)| level).collect();
        report.levels.dedup();
    }

    fn latencies<'a>(
        &self,
        accesses: impl Iterator<Item = &'a AccessCount> + Clone,
    ) -> Option<Latencies> {
        let cycles = accesses.clone().map(|access| access.cycles(self.weighting));
        let cycles = cycles.fold(0, u64::saturating_add);
        let all = Distribution::sum(accesses.map(|access| &access.latencies));
        (all.total() > 0).then(|| Latencies {
            samples: all.total(),
            cycles: all.cycles(),
            share: ratio(cycles, self.cycles),
            mean: ratio(all.cycles(), all.total()),
            median: all.quantile(50),
            p95: all.quantile(95),
        })
    }
}
