//! Counted rows become a report.

mod accesses;
mod caveats;
mod facts;
mod merged;
mod rows;
mod share;
mod sieved;

use crate::collect::access::{AccessAnswers, AccessCount};
use crate::collect::event::Event;
use crate::collect::room::{Room, is_not_kept};
use crate::collect::sampled::{KeyColumn, Rounding};
use crate::collect::tally::{Rows, Sum};
use crate::error::Error;
use crate::name::atom::Atom;
use crate::name::lookup::Lookup;
use crate::query::Query;
use crate::query::key::Key;
use crate::query::nearest::nearest;
use crate::report::{Losses, Machine, NotKept, Question, Report};
use crate::sieve::Sieve;
use accesses::EventAccesses;
use facts::ByRow;
pub(crate) use facts::facts;
use merged::Merged;
use record::aggregate::Site;
use record::stream::{EventDescription, StreamDecoder};
use rows::Words;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Everything that was counted.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) events: Vec<Event>,
    pub(crate) columns: Vec<KeyColumn>,
    pub(crate) round: Rounding,
    pub(crate) rows: Rows,
    pub(crate) accesses: Option<(Rows<AccessCount>, Vec<AccessAnswers>)>,
    pub(crate) sieve: Sieve,
    pub(crate) facts: Rows<Option<Box<Site>>>,
    /// What is wrong with the intervals that the kernel counted, and with
    /// counts in samples of groups.
    pub(crate) left_out: Vec<String>,
    pub(crate) room: Room,
}

pub(crate) fn report(
    query: &Query,
    counted: Counted,
    (lookup, losses): (&mut Lookup, Losses),
    (decoder, has_ended): (&StreamDecoder, bool),
) -> Result<Report, Error> {
    let Counted { events, columns, round, rows, accesses, sieve, facts, left_out, room } = counted;
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
        let counted = events.iter().map(|event| event.sum.count).fold(0, u64::saturating_add);
        return Err(Error::Site { wanted, counted, near });
    }
    let mut notes = caveats::of_stream(query, &losses, decoder);
    notes.extend(caveats::of_site(query, lookup));
    notes.extend(left_out);
    let arch = decoder.features().machine();
    let mut reports = Vec::new();
    for (leader, together) in requests(&events, decoder) {
        if has_ended {
            notes.extend(caveats::of_end(together.iter().map(|of| of.described)));
        }
        for of in &together {
            caveats::of_event(query, of.event, &mut notes);
            caveats::of_attr(of.event, &of.described.attr, &mut notes);
            caveats::of_accesses(query, of.event, &of.described.attr, &mut notes);
            caveats::of_promises(
                query,
                (of.event, of.described),
                sieve.filter(of.index),
                &mut notes,
            );
        }
        let merged = Merged::of(&together, &sieve, arch);
        let facts = ByRow::of(facts.of(leader), arch);
        let served = accesses
            .as_ref()
            .map(|(rows, kinds)| EventAccesses::of(rows.of(leader), (kinds, merged.weighting)));
        let mut words = Words::new(lookup);
        let counted = rows.of(leader).map(|(atoms, sum)| (atoms, *sum));
        let counted = (columns.as_slice(), counted);
        let table = rows::table(query, counted, (&merged, served.as_ref(), &facts), &mut words);
        let mut report = merged.report(query, table);
        report.not_kept = not_kept(&room, leader, &columns, rows.of(leader));
        if let Some(not_kept) = &report.not_kept {
            notes.push(not_kept.told(&report.name));
        }
        if let Some(served) = &served {
            served.describe(&mut report, &mut words);
        }
        reports.push(report);
    }
    // Events of one request share their caveats, and at times their name.
    let mut said = BTreeSet::new();
    notes.retain(|note| said.insert(note.clone()));
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

/// An event and what the stream says of it.
#[derive(Clone, Copy, Debug)]
struct DescribedEvent<'e> {
    index: usize,
    event: &'e Event,
    described: &'e EventDescription,
}

/// The indices that rows are counted under, one an event of the report, in
/// its order.
pub(crate) fn leaders(events: &[Event], decoder: &StreamDecoder) -> Vec<usize> {
    requests(events, decoder).into_iter().map(|(leader, _)| leader).collect()
}

/// Events by the request that they were opened for, each with the index that
/// its rows are counted under; those only of which there is something to say.
fn requests<'e>(
    events: &'e [Event],
    decoder: &'e StreamDecoder,
) -> Vec<(usize, Vec<DescribedEvent<'e>>)> {
    let mut requests: Vec<(usize, Vec<DescribedEvent<'e>>)> = Vec::new();
    // By leader, as there may be thousands.
    let mut places: FxHashMap<usize, usize> = FxHashMap::default();
    for (index, (event, described)) in events.iter().zip(decoder.events()).enumerate() {
        let of = DescribedEvent { index, event, described };
        let place = *places.entry(event.leader).or_insert(requests.len());
        match requests.get_mut(place) {
            Some((_, together)) => together.push(of),
            None => requests.push((event.leader, vec![of])),
        }
    }
    requests.retain(|(_, together)| {
        let is_shown = |of: &DescribedEvent<'_>| {
            of.event.selected && !(of.event.is_dummy && of.event.samples == 0)
        };
        together.iter().any(is_shown)
    });
    requests
}

/// What there was no room for among the rows of an event.
fn not_kept<'r>(
    room: &Room,
    leader: usize,
    columns: &[KeyColumn],
    mut rows: impl Iterator<Item = (&'r [Atom], &'r Sum)>,
) -> Option<NotKept> {
    let mut lacking = room.lacking(leader)?;
    let all = rows.find(|(atoms, _)| is_not_kept(atoms)).map(|(_, sum)| *sum);
    let all = all.unwrap_or_default();
    // Rows of lines were many rows each, and each of those may lack as much.
    let is_line = |column: &KeyColumn| matches!(column.key, Key::Srcline | Key::Inlined);
    if columns.iter().any(is_line) {
        lacking = all;
    }
    Some(NotKept {
        most_rows: room.most(),
        samples: all.count,
        period: all.period,
        lacking: lacking.count.min(all.count),
        lacking_period: lacking.period.min(all.period),
    })
}

fn machine(decoder: &StreamDecoder) -> Machine {
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
        class: query.class.map(|class| class.to_string()),
        top: query.top,
        site: site.map(ToString::to_string),
        cache_line: round.line,
        page_size: round.page,
        mem: query.accesses,
    }
}
