//! Rows of one event: cut to the top ones, put in words, sorted.

use super::accesses::EventAccesses;
use super::facts::facts;
use super::share::share_error;
use crate::collect::inclusive::OwnSums;
use crate::collect::row_count::{RowCount, Sum};
use crate::collect::sampled::KeyColumn;
use crate::name::atom::{Atom, Lack};
use crate::name::lookup::{Lookup, PlaceKind};
use crate::name::regions::RegionPath;
use crate::query::chain_view::ChainView;
use crate::query::key::Key;
use crate::query::sort::Sort;
use crate::query::{Query, Weighting};
use crate::report::{Cell, EventReport, Latencies, MissingValue, OwnCount, Row, SiteCell};
use perfdata::{Arch, MissClass};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use symbolizer::Place;

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
        rows: impl Iterator<Item = (&'r [Atom], &'r RowCount)>,
        query: &Query,
        words: &mut Words<'_>,
    ) {
        let EventRows { columns, accesses, whole, arch, own } = *self;
        if columns.is_empty() {
            return;
        }
        let mut rows: Vec<(&[Atom], &RowCount)> = rows.collect();
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
        let own_count = |own: &OwnSums, atoms: &[Atom]| {
            let sum = atoms.first().and_then(|atom| own.get(atom)).copied().unwrap_or_default();
            let share = sum.share(whole, weighting);
            OwnCount { count: sum.count, period: sum.period, share }
        };
        let rank = |(_, count): &(&[Atom], &RowCount)| match &query.sort {
            Sort::Count => Some(count.sum.count),
            Sort::Share => Some(count.sum.weight(weighting)),
            Sort::Cycles => accesses.map(|accesses| accesses.cycles(count)),
            // As their bits numbers ascend that are not negative.
            Sort::Latency => accesses.map(|_| EventAccesses::mean(count).to_bits()),
            Sort::Address | Sort::Name | Sort::Key(_) => None,
        };
        keep_candidates(query.top, rank, &mut rows);
        let keys: Arc<[Key]> = columns.iter().map(|column| column.key.clone()).collect();
        let row = |(atoms, count): (&[Atom], &RowCount)| Row {
            count: count.sum.count,
            period: count.sum.period,
            share: count.sum.share(whole, weighting),
            share_error: share_error(count.sum, whole, weighting, sampling),
            squares: count.sum.squares,
            exact_ip: count.sum.exact,
            own: own.map(|own| own_count(own, atoms)),
            keys: Arc::clone(&keys),
            cells: columns.iter().zip(atoms).map(|(key, atom)| words.cell(key, *atom)).collect(),
            served: accesses.map(|accesses| accesses.row(count, words)),
            facts: count.site().map(|site| facts(site, arch)),
        };
        report.rows = rows.into_iter().map(row).collect();
        sort_rows(&mut report.rows, &query.sort, weighting);
        report.rows.truncate(query.top.unwrap_or(usize::MAX));
    }
}

pub(super) fn sort(rows: &mut [Row], weighting: Weighting) {
    sort_rows(rows, &Sort::Share, weighting);
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
    rows: &[(&[Atom], &RowCount)],
    lookup: &mut Lookup,
) -> BTreeMap<String, u64> {
    let mut reasons: FxHashMap<Lack, u64> = FxHashMap::default();
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
    for (atoms, count) in rows {
        let name = match (atoms[column].as_place(), of) {
            (Ok(place), PlaceKind::Code) if is_place => lookup.routine(place),
            (Ok(place), PlaceKind::Data) if is_place => lookup.variable(place),
            _ => atoms[column],
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
    rows: &[(&[Atom], &RowCount)],
    lookup: &Lookup,
) -> BTreeMap<String, u64> {
    let mut reasons: FxHashMap<Lack, u64> = FxHashMap::default();
    // Their rows are of a routine then; those without one are told of as such.
    let is_of_build = matches!(key, Key::RoutineLine | Key::Operands);
    if let Some(column) = columns.iter().position(|column| column.key == key) {
        for (atoms, count) in rows {
            let lack = match is_of_build {
                true => lookup.why_routine_alone(atoms[column]).map(Lack::Name),
                false => atoms[column].value().err(),
            };
            if let Some(lack) = lack {
                let samples = reasons.entry(lack).or_default();
                *samples = samples.saturating_add(count.sum.count);
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
        Lack::Time => MissingValue::Field("time"),
        Lack::Addr => MissingValue::Field("addr"),
        Lack::Address => MissingValue::Address,
        Lack::Registers => MissingValue::Registers,
        Lack::Register => MissingValue::Register(Arc::from(register)),
        Lack::DataSrc => MissingValue::Field("data_src"),
        Lack::NotAvailable => MissingValue::NotAvailable,
        Lack::Region => MissingValue::Region,
        Lack::RegionNotKept => MissingValue::RegionNotKept,
        Lack::Class => MissingValue::Class,
        Lack::Heap => MissingValue::Heap,
        Lack::NoBlock => MissingValue::NoBlock,
        Lack::NoSampledBlock => MissingValue::NoSampledBlock,
        Lack::NotKept => MissingValue::NotKept,
        Lack::Before(why) => MissingValue::Before(why.text()),
        Lack::Name(reason) => MissingValue::Name(lookup.unresolved(reason)),
    }
}

fn class(number: u64) -> Cell {
    let class = u8::try_from(number).ok().and_then(MissClass::of_number);
    Cell::Text(Arc::from(class.map_or("", MissClass::word)))
}

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
            Key::Alloc => atom
                .as_place()
                .map(|place| Cell::Text(self.site(PlaceKind::Code, place).to_string().into())),
            Key::Data => atom.as_place().map(|place| Cell::Data(self.site(PlaceKind::Data, place))),
            Key::Ip | Key::Addr | Key::Line | Key::Page | Key::AddrBefore | Key::Register(_) => {
                atom.value().map(Cell::Address)
            }
            Key::Pid | Key::Tid | Key::Cpu => atom.as_signed().map(Cell::Number),
            Key::Time(_) => atom.value().map(Cell::Time),
            // Until all rows are known: FrameWords::finish().
            Key::Stack => {
                atom.value().map(|chain| Cell::Chain(usize::try_from(chain).unwrap_or(usize::MAX)))
            }
            Key::Routine
            | Key::Inlined
            | Key::Srcline
            | Key::RoutineLine
            | Key::Operands
            | Key::Caller
            | Key::Callee
            | Key::Object
            | Key::Variable
            | Key::AllocLine
            | Key::Block
            | Key::Holder
            | Key::Type
            | Key::Member
            | Key::Access(_) => atom.as_name().map(|name| Cell::Text(self.lookup.name(name))),
            Key::Region => {
                atom.as_name().map(|path| Cell::Text(self.lookup.regions.text(RegionPath(path))))
            }
            Key::Miss => atom.value().map(class),
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

/// Sorts; ties go by address, then by name, then by all cells.
fn sort_rows(rows: &mut [Row], by: &Sort, weighting: Weighting) {
    let weight = |row: &Row| match weighting {
        Weighting::Count => row.count,
        Weighting::Period => row.period,
    };
    rows.sort_unstable_by(|a, b| {
        let first = match by {
            Sort::Count => b.count.cmp(&a.count),
            Sort::Share => weight(b).cmp(&weight(a)),
            Sort::Cycles => by_latency(a, b, |latency| latency.share),
            Sort::Latency => by_latency(a, b, |latency| latency.mean),
            Sort::Address => Ordering::Equal,
            Sort::Name => some_first(name(a), name(b)),
            Sort::Key(key) => match a.keys.iter().position(|column| column == key) {
                // Missing values come last.
                Some(column) => a.cells[column].cmp(&b.cells[column]),
                None => Ordering::Equal,
            },
        };
        first
            .then_with(|| some_first(address(a), address(b)))
            .then_with(|| some_first(name(a), name(b)))
            .then_with(|| a.cells.cmp(&b.cells))
    });
}

/// Greatest first, rows without latencies last.
fn by_latency(a: &Row, b: &Row, of: fn(&Latencies) -> f64) -> Ordering {
    let value = |row: &Row| row.served.as_ref()?.latency.as_ref().map(of);
    // None of them is negative.
    value(b).unwrap_or(-1.0).total_cmp(&value(a).unwrap_or(-1.0))
}

fn address(row: &Row) -> Option<u64> {
    row.cells.iter().find_map(Cell::address)
}

fn name(row: &Row) -> Option<&str> {
    row.cells.iter().find_map(Cell::name)
}

/// Rows without the thing come last.
fn some_first<T: Ord>(a: Option<T>, b: Option<T>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}
