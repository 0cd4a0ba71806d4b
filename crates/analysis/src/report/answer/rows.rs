//! Rows of one event: cut to the top ones, put in words, sorted.

use super::accesses::EventAccesses;
use super::facts::facts;
use super::row_order::sort_rows;
use super::row_words::{Words, missing};
use super::share::share_error;
use crate::collect::inclusive::OwnSums;
use crate::collect::row_count::RowCount;
use crate::collect::sampled::KeyColumn;
use crate::collect::sum::Sum;
use crate::name::key_value::{KeyValue, Missing};
use crate::name::lookup::Lookup;
use crate::name::place_names::PlaceKind;
use crate::query::Query;
use crate::query::chain_view::ChainView;
use crate::query::key::Key;
use crate::query::sort::Sort;
use crate::report::{EventReport, OwnCount, Row};
use perfdata::Arch;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct EventRows<'r> {
    pub(super) columns: &'r [KeyColumn],
    pub(super) accesses: Option<&'r EventAccesses<'r>>,
    /// All its counted samples.
    pub(super) whole: Sum,
    pub(super) arch: Arch,
    /// Of inclusive rows, by routine: the samples taken in itself.
    pub(super) own: Option<&'r OwnSums>,
}

impl EventRows<'_> {
    pub(super) fn fill<'r>(
        &self,
        report: &mut EventReport,
        rows: impl Iterator<Item = (&'r [KeyValue], &'r RowCount)>,
        query: &Query,
        words: &mut Words<'_>,
    ) {
        let EventRows { columns, accesses, whole, arch, own } = *self;
        if columns.is_empty() {
            return;
        }
        let mut rows: Vec<(&[KeyValue], &RowCount)> = rows.collect();
        report.rows_total = rows.len();
        let totals = &mut report.totals;
        totals.unresolved_data = unresolved(PlaceKind::Data, columns, &rows, words.lookup);
        totals.unresolved = unresolved(PlaceKind::Code, columns, &rows, words.lookup);
        totals.unresolved_lines = without(Key::Srcline, columns, &rows, words.lookup);
        totals.unresolved_routine_lines = without(Key::RoutineLine, columns, &rows, words.lookup);
        totals.unresolved_operands = without(Key::Operands, columns, &rows, words.lookup);
        totals.unresolved_objects = without(Key::Object, columns, &rows, words.lookup);
        if matches!(query.chains, ChainView::Tree(_)) {
            return;
        }
        let (weighting, sampling) = (report.weighting, report.sampling);
        let own_count = |own: &OwnSums, values: &[KeyValue]| {
            let sum = values.first().and_then(|value| own.get(value)).copied().unwrap_or_default();
            let share = sum.share(whole, weighting);
            OwnCount { count: sum.count, period: sum.period, share }
        };
        let rank = |(_, count): &(&[KeyValue], &RowCount)| match &query.sort {
            Sort::Count => Some(count.sum.count),
            Sort::Share => Some(count.sum.weight(weighting)),
            Sort::Cycles => accesses.map(|accesses| accesses.cycles(count)),
            // As their bits numbers ascend that are not negative.
            Sort::Latency => accesses.map(|_| EventAccesses::mean(count).to_bits()),
            Sort::Address | Sort::Name | Sort::Key(_) => None,
        };
        keep_candidates(query.top, rank, &mut rows);
        let keys: Arc<[Key]> = columns.iter().map(|column| column.key.clone()).collect();
        let row = |(values, count): (&[KeyValue], &RowCount)| Row {
            count: count.sum.count,
            period: count.sum.period,
            share: count.sum.share(whole, weighting),
            share_error: share_error(count.sum, whole, weighting, sampling),
            squares: count.sum.squares,
            exact_ip: count.sum.exact,
            own: own.map(|own| own_count(own, values)),
            keys: Arc::clone(&keys),
            cells: columns.iter().zip(values).map(|(key, value)| words.cell(key, *value)).collect(),
            served: accesses.map(|accesses| accesses.row(count, words)),
            facts: count.site().map(|site| facts(site, arch)),
        };
        report.rows = rows.into_iter().map(row).collect();
        sort_rows(&mut report.rows, &query.sort, weighting);
        report.rows.truncate(query.top.unwrap_or(usize::MAX));
    }
}

/// Drops rows that cannot be among the top ones, before any of them gets
/// names: a table by address has as many rows as there are addresses.
fn keep_candidates<R>(top: Option<usize>, rank: impl Fn(&R) -> Option<u64>, rows: &mut Vec<R>) {
    let Some(top) = top else { return };
    if top == 0 {
        rows.clear();
    }
    if top >= rows.len() || rows.first().is_none_or(|row| rank(row).is_none()) {
        return;
    }
    let (_, least, _) =
        rows.select_nth_unstable_by_key(top - 1, |row| std::cmp::Reverse(rank(row)));
    let least = rank(least);
    // Those of equal rank stay: ties are broken by name.
    rows.retain(|row| rank(row) >= least);
}

/// Samples without the name of a routine, or of a variable, by reason.
fn unresolved(
    of: PlaceKind,
    columns: &[KeyColumn],
    rows: &[(&[KeyValue], &RowCount)],
    lookup: &mut Lookup,
) -> BTreeMap<String, u64> {
    let mut reasons: FxHashMap<Missing, u64> = FxHashMap::default();
    let by = |key: Key| columns.iter().position(|column| column.key == key);
    let (name, place) = match of {
        PlaceKind::Code => (Key::Routine, Key::Site),
        PlaceKind::Data => (Key::Variable, Key::Data),
    };
    let named = [Key::Inlined, Key::RoutineLine, Key::Operands];
    let named = named.into_iter().find_map(by).filter(|_| of == PlaceKind::Code);
    let Some(column) = by(name).or(named).or_else(|| by(place.clone())) else {
        return BTreeMap::new();
    };
    let is_place = columns[column].key == place;
    for (values, count) in rows {
        let name = match (values[column].as_place(), of) {
            (Ok(place), PlaceKind::Code) if is_place => lookup.places.routine(place),
            (Ok(place), PlaceKind::Data) if is_place => lookup.places.variable(place),
            _ => values[column],
        };
        if let Err(lack) = name.value() {
            let samples = reasons.entry(lack).or_default();
            *samples = samples.saturating_add(count.sum.count);
        }
    }
    by_reason(reasons, lookup)
}

/// Samples without a source line, or another key of a row, by reason.
fn without(
    key: Key,
    columns: &[KeyColumn],
    rows: &[(&[KeyValue], &RowCount)],
    lookup: &Lookup,
) -> BTreeMap<String, u64> {
    let mut reasons: FxHashMap<Missing, u64> = FxHashMap::default();
    // Their rows are of a routine then; those without one are told of as such.
    let is_of_build = matches!(key, Key::RoutineLine | Key::Operands);
    if let Some(column) = columns.iter().position(|column| column.key == key) {
        for (values, count) in rows {
            let lack = match is_of_build {
                true => {
                    lookup.lines.build_keys.why_routine_alone(values[column]).map(Missing::Name)
                }
                false => values[column].value().err(),
            };
            if let Some(lack) = lack {
                let samples = reasons.entry(lack).or_default();
                *samples = samples.saturating_add(count.sum.count);
            }
        }
    }
    by_reason(reasons, lookup)
}

fn by_reason(reasons: FxHashMap<Missing, u64>, lookup: &Lookup) -> BTreeMap<String, u64> {
    let mut unresolved = BTreeMap::new();
    for (lack, count) in reasons {
        let samples = unresolved.entry(missing(lack, lookup, "").to_string()).or_default();
        *samples = u64::saturating_add(*samples, count);
    }
    unresolved
}
