//! Rows of one event: cut to the top ones, put in words, sorted.

mod order;

use super::accesses::EventAccesses;
use super::facts::ByRow;
use super::merged::Merged;
use super::share::{share, share_error};
use crate::collect::sampled::KeyColumn;
use crate::collect::tally::Sum;
use crate::name::atom::{Atom, Lack};
use crate::name::lookup::{Lookup, PlaceKind};
use crate::query::key::Key;
use crate::query::sort::Sort;
use crate::query::{Query, Weighting};
use crate::report::{Cell, MissingValue, Row, SiteCell};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use symbolizer::Place;

/// Rows in words.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) rows_total: usize,
    pub(super) rows: Vec<Row>,
    pub(super) unresolved: BTreeMap<String, u64>,
    pub(super) unresolved_data: BTreeMap<String, u64>,
    pub(super) unresolved_lines: BTreeMap<String, u64>,
    pub(super) unresolved_objects: BTreeMap<String, u64>,
}

/// Rows and the keys of their atoms.
type Counted<'r, I> = (&'r [KeyColumn], I);

pub(super) fn table<'r, I>(
    query: &Query,
    (columns, rows): Counted<'r, I>,
    (event, served, facts): (&Merged, Option<&EventAccesses<'_>>, &ByRow<'_>),
    words: &mut Words<'_>,
) -> Table
where
    I: Iterator<Item = (&'r [Atom], Sum)>,
{
    let mut rows: Vec<(&[Atom], Sum)> = rows.collect();
    let rows_total = rows.len();
    let unresolved_data = unresolved(PlaceKind::Data, columns, &rows, words.lookup);
    let unresolved = unresolved(PlaceKind::Code, columns, &rows, words.lookup);
    let unresolved_lines = without(Key::Srcline, columns, &rows, words.lookup);
    let unresolved_objects = without(Key::Object, columns, &rows, words.lookup);
    let rank = |(atoms, sum): &(&[Atom], Sum)| match (&query.sort, event.weighting) {
        (Sort::Count, _) | (Sort::Share, Weighting::Count) => Some(sum.count),
        (Sort::Share, Weighting::Period) => Some(sum.period),
        (Sort::Cycles, _) => served.map(|served| served.cycles(atoms)),
        // As their bits numbers ascend that are not negative.
        (Sort::Latency, _) => served.map(|served| served.mean(atoms).to_bits()),
        (Sort::Address | Sort::Name | Sort::Key(_), _) => None,
    };
    keep_candidates(query.top, rank, &mut rows);
    let keys: Arc<[Key]> = columns.iter().map(|column| column.key.clone()).collect();
    let mut rows: Vec<Row> = rows
        .into_iter()
        .map(|(atoms, sum)| Row {
            count: sum.count,
            period: sum.period,
            share: share(sum, event.sum, event.weighting),
            share_error: share_error(sum, event.sum, event.weighting, event.sampling),
            exact_ip: sum.exact,
            keys: Arc::clone(&keys),
            cells: columns.iter().zip(atoms).map(|(key, atom)| words.cell(key, *atom)).collect(),
            served: served.map(|served| served.row(atoms, words)),
            facts: facts.row(atoms),
        })
        .collect();
    order::sort(&mut rows, &query.sort, event.weighting);
    rows.truncate(query.top.unwrap_or(usize::MAX));
    Table { rows_total, rows, unresolved, unresolved_data, unresolved_lines, unresolved_objects }
}

/// Sorts rows by what shares are of.
pub(super) fn sort(rows: &mut [Row], weighting: Weighting) {
    order::sort(rows, &Sort::Share, weighting);
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
    rows: &[(&[Atom], Sum)],
    lookup: &mut Lookup,
) -> BTreeMap<String, u64> {
    let mut reasons: FxHashMap<Lack, u64> = FxHashMap::default();
    let by = |key: Key| columns.iter().position(|column| column.key == key);
    let (name, place) = match of {
        PlaceKind::Code => (Key::Routine, Key::Site),
        PlaceKind::Data => (Key::Variable, Key::Data),
    };
    let chain = by(Key::Inlined).filter(|_| of == PlaceKind::Code);
    let Some(column) = by(name).or(chain).or_else(|| by(place.clone())) else {
        return BTreeMap::new();
    };
    let is_place = columns[column].key == place;
    for (atoms, sum) in rows {
        let name = match (atoms[column].as_place(), of) {
            (Ok(place), PlaceKind::Code) if is_place => lookup.routine(place),
            (Ok(place), PlaceKind::Data) if is_place => lookup.variable(place),
            _ => atoms[column],
        };
        if let Err(lack) = name.value() {
            let samples = reasons.entry(lack).or_default();
            *samples = samples.saturating_add(sum.count);
        }
    }
    by_reason(reasons, lookup)
}

/// Samples without a source line, or another key of a row, by reason.
fn without(
    key: Key,
    columns: &[KeyColumn],
    rows: &[(&[Atom], Sum)],
    lookup: &Lookup,
) -> BTreeMap<String, u64> {
    let mut reasons: FxHashMap<Lack, u64> = FxHashMap::default();
    if let Some(column) = columns.iter().position(|column| column.key == key) {
        for (atoms, sum) in rows {
            if let Err(lack) = atoms[column].value() {
                let samples = reasons.entry(lack).or_default();
                *samples = samples.saturating_add(sum.count);
            }
        }
    }
    by_reason(reasons, lookup)
}

fn by_reason(reasons: FxHashMap<Lack, u64>, lookup: &Lookup) -> BTreeMap<String, u64> {
    let mut unresolved = BTreeMap::new();
    for (lack, count) in reasons {
        let samples = unresolved.entry(missing(lack, lookup, "").to_string()).or_default();
        *samples = u64::saturating_add(*samples, count);
    }
    unresolved
}

fn missing(lack: Lack, lookup: &Lookup, register: &str) -> MissingValue {
    match lack {
        Lack::Ip => MissingValue::Field("ip"),
        Lack::Tid => MissingValue::Field("tid"),
        Lack::Cpu => MissingValue::Field("cpu"),
        Lack::Addr => MissingValue::Field("addr"),
        Lack::Address => MissingValue::Address,
        Lack::Registers => MissingValue::Registers,
        Lack::Register => MissingValue::Register(Arc::from(register)),
        Lack::DataSrc => MissingValue::Field("data_src"),
        Lack::NotAvailable => MissingValue::NotAvailable,
        Lack::NotKept => MissingValue::NotKept,
        Lack::Before(why) => MissingValue::Before(why.text()),
        Lack::Name(reason) => MissingValue::Name(lookup.unresolved(reason)),
    }
}

/// Atoms to cells.
#[derive(Debug)]
pub(super) struct Words<'l> {
    lookup: &'l mut Lookup,
    sites: FxHashMap<(PlaceKind, Place), SiteCell>,
}

impl<'l> Words<'l> {
    pub(super) fn new(lookup: &'l mut Lookup) -> Words<'l> {
        Words { lookup, sites: FxHashMap::default() }
    }

    /// The words of a level, or that it is not available; None where there
    /// is no data source at all.
    pub(super) fn level(&self, atom: Atom) -> Option<String> {
        match atom.as_name() {
            Ok(name) => Some(self.lookup.name(name).to_string()),
            Err(Lack::DataSrc) => None,
            Err(lack) => Some(format!("[{}]", missing(lack, self.lookup, ""))),
        }
    }

    pub(super) fn cell(&mut self, column: &KeyColumn, atom: Atom) -> Cell {
        let cell = match &column.key {
            Key::Site => atom.as_place().map(|place| Cell::Site(self.site(PlaceKind::Code, place))),
            Key::Data => atom.as_place().map(|place| Cell::Data(self.site(PlaceKind::Data, place))),
            Key::Ip | Key::Addr | Key::Line | Key::Page | Key::AddrBefore | Key::Register(_) => {
                atom.value().map(Cell::Address)
            }
            Key::Pid | Key::Tid | Key::Cpu => atom.as_signed().map(Cell::Number),
            Key::Routine
            | Key::Inlined
            | Key::Srcline
            | Key::Object
            | Key::Variable
            | Key::Access(_) => atom.as_name().map(|name| Cell::Text(self.lookup.name(name))),
            Key::Comm => atom.as_comm().map(|comm| Cell::Text(self.lookup.comms.text(comm))),
        };
        cell.unwrap_or_else(|lack| {
            let register = match &column.key {
                Key::Register(name) => name,
                _ => "",
            };
            let missing = missing(lack, self.lookup, register);
            if matches!(column.key, Key::Site | Key::Data) {
                Cell::SiteMissing(missing)
            } else {
                Cell::Missing(missing)
            }
        })
    }

    fn site(&mut self, of: PlaceKind, place: Place) -> SiteCell {
        let Words { lookup, sites } = self;
        sites.entry((of, place)).or_insert_with(|| lookup.site_cell(of, place)).clone()
    }
}
