//! Reports of both sides become one.

use super::counts::{FALSE_RATE, LEVEL, RowOfSides, RunsOfSides};
use super::exposure::{Exposures, plain};
use super::key_names::{SameObject, only_other};
use super::moves::join_moved;
use super::run_counts::{RowSum, RunCounts};
use super::statistics::discovery_rates;
use super::statistics::dispersion::PearsonSum;
use super::{
    DiffError, DiffEvent, DiffPer, DiffReport, DiffRow, DiffRun, DiffRunFacts, DiffSides,
    DiffVerdict,
};
use crate::collect::event::request;
use crate::query::glob::Glob;
use crate::query::key::Key;
use crate::report::EventReport;
use std::collections::{BTreeMap, BTreeSet};

/// How two sides are compared.
#[derive(Clone, Debug, Default)]
pub struct DiffQuery {
    /// Keys of the rows of all reports.
    pub keys: Vec<Key>,
    /// What counts are divided by; None: what all recordings tell.
    pub per: Option<DiffPer>,
    /// Where nothing was asked for and no recording tells instructions.
    pub usual_per: Option<DiffPer>,
    /// Only events whose names fit are shown; what counts are divided by may be another.
    pub event: Option<Glob>,
    /// Objects that are called otherwise in B.
    pub same: Vec<SameObject>,
}

impl DiffReport {
    /// Compares two sides; of each event all rows.
    ///
    /// # Errors
    /// No event that both sides have; no unit that all recordings tell.
    pub fn of(sides: DiffSides<'_>, query: &DiffQuery) -> Result<DiffReport, DiffError> {
        let DiffSides { a, b } = sides;
        let exposures = Exposures::new(a, b, query.per.as_ref(), query.usual_per.as_ref())?;
        let names = common_events(a, b, query.event.as_ref())?;
        let facts = |runs: &[DiffRun], exposures: &[f64]| {
            let pairs = runs.iter().zip(exposures);
            let of = |(run, exposure): (&DiffRun, &f64)| DiffRunFacts {
                name: run.name.clone(),
                exposure: *exposure,
            };
            pairs.map(of).collect()
        };
        let mut notes = Vec::new();
        let mut events = Vec::new();
        for name in &names {
            let of_bursts = exposures.unit.is_of_bursts();
            let of = |runs: &[DiffRun], exposures: &[f64]| -> Vec<RunCounts> {
                let counts = |(run, exposure): (&DiffRun, &f64)| match event_of(run, name) {
                    Some(event) => RunCounts::new(&run.report, event, *exposure, of_bursts),
                    None => RunCounts { exposure: *exposure, ..RunCounts::default() },
                };
                runs.iter().zip(exposures).map(counts).collect()
            };
            let (mut of_a, of_b) = (of(a, &exposures.a), of(b, &exposures.b));
            rename(&mut of_a, &of_b, query, &mut notes);
            for (runs, counts) in [(a, &of_a), (b, &of_b)] {
                for (run, counts) in runs.iter().zip(counts) {
                    if counts.lost > 0.0 {
                        let lost = 100.0 * counts.lost;
                        notes.push(format!(
                            "{} lost {lost:.1} % of its records of {name}: what is left stands for \
                             all, as if any were as likely to be lost",
                            run.name
                        ));
                    }
                }
            }
            let all = a.iter().chain(b).filter_map(|run| Some((run, event_of(run, name)?)));
            all.for_each(|(run, event)| of_routines_alone(&run.name, event, name, &mut notes));
            let runs = RunsOfSides { a: &of_a, b: &of_b };
            events.push(compared(name, runs, &query.keys));
        }
        Ok(DiffReport {
            hardmeter_diff: DiffReport::VERSION,
            by: query.keys.iter().map(Key::to_string).collect(),
            per: exposures.unit,
            per_because: exposures.because,
            a: facts(a, &exposures.a),
            b: facts(b, &exposures.b),
            level: LEVEL,
            false_discovery_rate: FALSE_RATE,
            repeated: a.len() + b.len() > 2,
            notes,
            events,
            limits: Vec::new(),
        })
    }
}

fn event_of<'r>(run: &'r DiffRun, name: &str) -> Option<&'r EventReport> {
    run.report.events.iter().find(|event| plain(request(&event.name)) == name)
}

/// Samples whose line or instruction is not known, and which are in rows of their routine.
fn of_routines_alone(run: &str, event: &EventReport, name: &str, notes: &mut Vec<String>) {
    let totals = &event.totals;
    for (what, by_reason) in [
        ("line in its routine", &totals.unresolved_routine_lines),
        ("instruction", &totals.unresolved_operands),
    ] {
        let samples = by_reason.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        if let Some((most, _)) = by_reason.iter().max_by_key(|(_, samples)| **samples) {
            notes.push(format!(
                "{run}: {samples} of {} samples of {name} are in rows of a routine alone, as no {what} is known \
                 (most: {most})",
                totals.counted
            ));
        }
    }
}

/// Names of the events that both sides have, in A's order.
fn common_events(
    a: &[DiffRun],
    b: &[DiffRun],
    wanted: Option<&Glob>,
) -> Result<Vec<String>, DiffError> {
    let names = |runs: &[DiffRun]| {
        let mut names: Vec<String> = Vec::new();
        for event in runs.iter().flat_map(|run| &run.report.events) {
            let name = plain(request(&event.name)).to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let (of_a, of_b) = (names(a), names(b));
    let both: Vec<String> = of_a
        .iter()
        .filter(|name| of_b.contains(name) && wanted.is_none_or(|it| it.matches(name)))
        .cloned()
        .collect();
    if both.is_empty() {
        return Err(DiffError::Events { a: of_a, b: of_b });
    }
    Ok(both)
}

/// Objects of A get the names that B has for them.
fn rename(a: &mut [RunCounts], b: &[RunCounts], query: &DiffQuery, notes: &mut Vec<String>) {
    let Some(column) = query.keys.iter().position(|key| *key == Key::Object) else { return };
    let objects = |runs: &[RunCounts]| -> BTreeSet<String> {
        let rows = runs.iter().flat_map(|run| run.rows.keys());
        rows.filter_map(|keys| keys.get(column).cloned()).collect()
    };
    let mut same = query.same.clone();
    if same.is_empty()
        && let Some(other) = only_other(&objects(a), &objects(b))
    {
        let note = format!(
            "{} of A and {} of B are taken for one program: they are the only ones that the other side \
             has not (--same OLD=NEW says otherwise)",
            other.a, other.b
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
        same.push(other);
    }
    for run in a {
        let mut rows: BTreeMap<Vec<String>, RowSum> = BTreeMap::new();
        for (mut keys, sum) in std::mem::take(&mut run.rows) {
            let renamed = keys.get(column).and_then(|it| same.iter().find(|same| same.a == *it));
            if let (Some(renamed), Some(key)) = (renamed, keys.get_mut(column)) {
                key.clone_from(&renamed.b);
            }
            rows.entry(keys).or_default().join(sum);
        }
        run.rows = rows;
    }
}

fn compared(name: &str, runs: RunsOfSides<'_>, keys: &[Key]) -> DiffEvent {
    let none = |runs: &[RunCounts]| vec![RowSum::default(); runs.len()];
    let empty = RowOfSides { a: none(runs.a), b: none(runs.b), ..RowOfSides::default() };
    let mut by_keys: BTreeMap<&[String], RowOfSides> = BTreeMap::new();
    let mut total = empty.clone();
    for is_a in [true, false] {
        let of_side = if is_a { runs.a } else { runs.b };
        for (index, run) in of_side.iter().enumerate() {
            let side = |row: &mut RowOfSides, sum: RowSum| {
                let sums = if is_a { &mut row.a } else { &mut row.b };
                sums.get_mut(index).into_iter().for_each(|own| own.join(sum));
            };
            side(&mut total, run.all);
            for (keys, sum) in &run.rows {
                let fresh = || RowOfSides { keys: keys.clone(), ..empty.clone() };
                side(by_keys.entry(keys).or_insert_with(fresh), *sum);
            }
        }
    }
    let mut rows: Vec<RowOfSides> = by_keys.into_values().collect();
    join_moved(keys, &mut rows);
    let mut all = PearsonSum::default();
    rows.iter().for_each(|row| all.join(row.pearson(runs)));
    let mut rows: Vec<DiffRow> = rows.iter().map(|row| row.compared(runs, all)).collect();
    let tested = rows.iter().filter(|row| row.p.is_some()).count();
    let judge = if runs.are_repeated() { judge_repeated } else { judge_unrepeated };
    judge(&mut rows);
    let is_told = |row: &DiffRow| row.q.is_some_and(|q| q <= FALSE_RATE);
    let differs = |row: &DiffRow| is_told(row) || row.verdict == DiffVerdict::Unrepeated;
    let change = |row: &DiffRow| (row.b.rate - row.a.rate).abs();
    rows.sort_by(|one, other| {
        let by_told = differs(other).cmp(&differs(one));
        let by_change = change(other).total_cmp(&change(one));
        by_told.then(by_change).then_with(|| one.keys.cmp(&other.keys))
    });
    let counted = total.counted(runs);
    let is_counted = counted.is_some();
    let mut total = [counted.unwrap_or_else(|| total.compared(runs, PearsonSum::default()))];
    judge(&mut total);
    let [total] = total;
    DiffEvent {
        name: name.to_owned(),
        total,
        counted: is_counted,
        dispersion: all.dispersion().map(|dispersion| dispersion.factor),
        tested,
        told_apart: rows.iter().filter(|row| is_told(row)).count(),
        rows_total: rows.len(),
        rows,
    }
}

/// Of one run each: what runs of one program vary by is in neither, so nothing is told
/// apart, however far apart samples are. Those within sampling error stay what they are.
fn judge_unrepeated(rows: &mut [DiffRow]) {
    for row in rows {
        let differs = row.p.take().is_some_and(|p| p < FALSE_RATE);
        row.verdict = match row.verdict {
            _ if row.was.is_some() => DiffVerdict::Moved,
            DiffVerdict::Same if differs => DiffVerdict::Unrepeated,
            other => other,
        };
    }
}

/// Which rows are told apart, of all that were tested together.
fn judge_repeated(rows: &mut [DiffRow]) {
    let tested: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let mut rates = discovery_rates(&tested).into_iter();
    for row in rows {
        row.q = row.p.and_then(|_| rates.next());
        let is_told = row.q.is_some_and(|q| q <= FALSE_RATE);
        row.verdict = match (is_told, row.a.events > 0.0, row.b.events > 0.0) {
            _ if row.was.is_some() => DiffVerdict::Moved,
            (true, true, false) => DiffVerdict::Gone,
            (true, false, true) => DiffVerdict::New,
            (true, ..) if row.b.rate > row.a.rate => DiffVerdict::Up,
            (true, ..) => DiffVerdict::Down,
            (false, ..) => row.verdict,
        };
    }
}
