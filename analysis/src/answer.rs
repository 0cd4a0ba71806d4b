//! Counted rows become a report.

mod caveats;
mod rows;

use crate::error::Error;
use crate::event::Event;
use crate::key::Key;
use crate::lookup::Lookup;
use crate::nearest::nearest;
use crate::query::Query;
use crate::report::{EventReport, Ledger, Losses, Machine, Question, Report, Totals};
use crate::sampled::{Column, Rounding};
use crate::tally::Rows;
use record::stream::{Decoder, EventDescription, note};
use std::collections::BTreeMap;

/// Everything that was counted.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) events: Vec<Event>,
    pub(crate) columns: Vec<Column>,
    pub(crate) round: Rounding,
    pub(crate) rows: Rows,
}

pub(crate) fn report(
    query: &Query,
    counted: Counted,
    (mut lookup, losses): (Lookup, Losses),
    decoder: &Decoder,
) -> Result<Report, Error> {
    let Counted { events, columns, round, rows } = counted;
    if let Some(wanted) = &query.event
        && !events.iter().any(|event| event.selected)
    {
        let have = events.iter().map(|event| event.name.clone()).collect();
        return Err(Error::Event { wanted: wanted.to_string(), have });
    }
    if let Some(site) = query.registers.as_ref().and_then(|registers| registers.site.as_ref())
        && events.iter().all(|event| event.at_site == 0)
    {
        let compared = lookup.compared(site);
        let wanted = site.to_string();
        let near = nearest(&wanted, compared.iter().map(String::as_str));
        let near = near.into_iter().map(str::to_owned).collect();
        let counted = events.iter().map(|event| event.sum.count).sum();
        return Err(Error::Site { wanted, counted, near });
    }
    let mut notes = caveats::of_stream(query, &losses, decoder);
    notes.extend(caveats::of_site(query, &lookup));
    let mut reports = Vec::new();
    for (index, (event, described)) in events.into_iter().zip(decoder.events()).enumerate() {
        if !event.selected || (event.is_dummy && event.samples == 0) {
            continue;
        }
        notes.extend(caveats::of_end(described));
        caveats::of_event(query, &event, &mut notes);
        let table = rows::table(query, (&columns, rows.of(index)), &event, &mut lookup);
        reports.push(event_report(query, event, described, table));
    }
    notes.extend(lookup.symbolizer.notes().iter().map(ToString::to_string));
    Ok(Report {
        hardmeter_report: Report::VERSION,
        machine: machine(decoder),
        query: question(query, round),
        events: reports,
        losses,
        notes,
    })
}

fn event_report(
    query: &Query,
    event: Event,
    described: &EventDescription,
    table: rows::Table,
) -> EventReport {
    let top_values = query.registers.as_ref().map_or(0, |registers| registers.top_values);
    let totals = Totals {
        samples: event.samples,
        counted: event.sum.count,
        filtered: event.filtered,
        malformed: event.malformed,
        period: event.sum.period,
        exact_ip: event.sum.exact,
        at_site: query.registers.as_ref().map(|_| event.at_site),
        unresolved: table.unresolved,
    };
    let is_ledger = |text: &&String| note::value(text, "delivered").is_some();
    EventReport {
        name: event.name,
        sampling: event.sampling,
        unit: event.unit,
        weighting: event.weighting,
        promises: promises(&described.notes),
        ledger: described.notes.iter().rev().find(is_ledger).and_then(|text| Ledger::parse(text)),
        totals,
        rows_total: table.rows_total,
        rows: table.rows,
        registers: event.histogram.map_or_else(Vec::new, |all| all.finish(top_values)),
    }
}

/// All pairs of the notes that are no ledger.
fn promises(notes: &[String]) -> BTreeMap<String, String> {
    let promises = notes.iter().filter(|text| note::value(text, "delivered").is_none());
    let pairs = promises.flat_map(|text| note::pairs(text));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn machine(decoder: &Decoder) -> Machine {
    let features = decoder.features();
    let command = features.command_line.join(" ");
    Machine {
        hostname: features.hostname.clone(),
        os_release: features.os_release.clone(),
        arch: features.arch.clone(),
        command_line: (!command.is_empty()).then_some(command),
    }
}

fn question(query: &Query, round: Rounding) -> Question {
    let site = query.registers.as_ref().and_then(|registers| registers.site.as_ref());
    Question {
        by: query.keys.iter().map(Key::to_string).collect(),
        sort: query.sort.to_string(),
        filters: query.filters.iter().map(ToString::to_string).collect(),
        top: query.top,
        site: site.map(ToString::to_string),
        cache_line: round.line,
        page_size: round.page,
    }
}
