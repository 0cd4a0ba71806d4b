//! Counted accesses become tables and columns.

use super::row_order::sort_rows;
use super::row_words::Words;
use super::share::share_error;
use crate::collect::access::{ASPECTS, AccessCount, AccessKinds};
use crate::collect::distribution::Distribution;
use crate::collect::row_count::RowCount;
use crate::collect::sampled::KeyColumn;
use crate::collect::sum::Sum;
use crate::name::key_value::{KeyValue, Missing};
use crate::query::Weighting;
use crate::query::key::Key;
use crate::query::sort::Sort;
use crate::report::{AccessReport, EventReport, Latencies, Row};
use crate::share_interval::ratio;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct EventAccesses<'r> {
    kinds: &'r AccessKinds,
    weighting: Weighting,
    /// Of all rows.
    cycles: u64,
}

impl<'r> EventAccesses<'r> {
    pub(super) fn of(
        rows: impl Iterator<Item = &'r RowCount>,
        kinds: &'r AccessKinds,
        weighting: Weighting,
    ) -> EventAccesses<'r> {
        let mut all = EventAccesses { kinds, weighting, cycles: 0 };
        all.cycles = rows.map(|row| all.cycles(row)).fold(0, u64::saturating_add);
        all
    }

    /// Cycles that a row's accesses took; 0 when that is not known.
    pub(super) fn cycles(&self, row: &RowCount) -> u64 {
        let accesses = row.accesses().map(|(_, access)| access.cycles(self.weighting));
        accesses.fold(0, u64::saturating_add)
    }

    /// Mean latency of a row's accesses; 0 when none is known.
    pub(super) fn mean(row: &RowCount) -> f64 {
        let all = row.accesses().map(|(_, access)| &access.latencies);
        let (cycles, total) = all.fold((0_u64, 0_u64), |(cycles, total), one| {
            (cycles.saturating_add(one.cycles()), total + one.total())
        });
        ratio(cycles, total)
    }

    pub(super) fn row(&self, row: &RowCount, words: &mut Words<'_>) -> AccessReport {
        let mut by_level: BTreeMap<String, Sum> = BTreeMap::new();
        let mut all = Sum::default();
        for (kind, access) in row.accesses() {
            all.join(access.sum);
            if let Some(level) = self.kinds.get(kind).and_then(|kind| words.level(kind.answers[0]))
            {
                by_level.entry(level).or_default().join(access.sum);
            }
        }
        let share = |sum: Sum| sum.share(all, self.weighting);
        AccessReport {
            latency: self.latencies(row.accesses().map(|(_, access)| access)),
            levels: by_level.into_iter().map(|(level, sum)| (level, share(sum))).collect(),
        }
    }

    pub(super) fn describe<'a>(
        &self,
        rows: impl Iterator<Item = &'a RowCount> + Clone,
        report: &mut EventReport,
        words: &mut Words<'_>,
    ) {
        let all = rows.flat_map(RowCount::accesses);
        report.latency = self.latencies(all.clone().map(|(_, access)| access));
        let mut by_kind: BTreeMap<u32, Vec<&AccessCount>> = BTreeMap::new();
        let mut whole = Sum::default();
        for (kind, access) in all {
            by_kind.entry(kind).or_default().push(access);
            whole.join(access.sum);
        }
        let keys: Arc<[Key]> = ASPECTS.map(Key::Access).into();
        let columns = ASPECTS.map(|aspect| KeyColumn { key: Key::Access(aspect), register: None });
        let mut ranks = Vec::new();
        for (kind, accesses) in by_kind {
            let Some(kind) = self.kinds.get(kind) else { continue };
            if kind.answers[0] == KeyValue::missing(Missing::DataSrc) {
                continue;
            }
            ranks.extend(words.level(kind.answers[0]).map(|level| (kind.rank, level)));
            let mut sum = Sum::default();
            accesses.iter().for_each(|access| sum.join(access.sum));
            let cells = columns.iter().zip(kind.answers);
            report.accesses.push(Row {
                own: None,
                count: sum.count,
                period: sum.period,
                share: sum.share(whole, self.weighting),
                share_error: share_error(sum, whole, self.weighting, report.sampling),
                squares: sum.squares,
                exact_ip: sum.exact,
                keys: Arc::clone(&keys),
                cells: cells.map(|(column, value)| words.cell(column, value)).collect(),
                served: Some(AccessReport {
                    latency: self.latencies(accesses.iter().copied()),
                    levels: BTreeMap::new(),
                }),
                facts: None,
            });
        }
        sort_rows(&mut report.accesses, &Sort::Share, self.weighting);
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
