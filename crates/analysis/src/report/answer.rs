//! Counted rows become a report.

mod accesses;
mod call_tree;
mod caveats;
mod event_report;
mod facts;
mod report_chains;
mod row_order;
mod row_words;
mod rows;
mod share;
mod sieved;

use crate::collect::counters::Counters;
use crate::collect::event::Event;
use crate::collect::inclusive::inclusive;
use crate::collect::late_names::with_late_names;
use crate::collect::room::{Room, is_not_kept};
use crate::collect::row_count::RowCount;
use crate::collect::row_counter::RowCounter;
use crate::collect::sampled::{KeyColumn, Rounding};
use crate::error::Error;
use crate::name::key_value::KeyValue;
use crate::name::lookup::Lookup;
use crate::query::Query;
use crate::query::chain_view::{ChainView, TreeQuery};
use crate::query::key::Key;
use crate::query::nearest::nearest;
use crate::report::{Losses, Machine, NotKept, Question, RecorderLedger, Report};
use crate::share_interval::ratio;
use accesses::EventAccesses;
use call_tree::{TreeShares, call_tree};
pub(crate) use facts::facts;
use perfdata::stream::{EventDescription, StreamDecoder};
use report_chains::FrameWords;
use row_words::Words;
use rows::EventRows;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

#[derive(Debug)]
pub(crate) struct StreamAccount<'d> {
    pub(crate) decoder: &'d StreamDecoder,
    pub(crate) has_ended: bool,
    pub(crate) losses: Losses,
    /// What is wrong with the intervals that the kernel counted, and with
    /// counts in samples of groups.
    pub(crate) left_out: Vec<String>,
}

pub(crate) fn report(
    query: &Query,
    counters: Counters,
    account: StreamAccount<'_>,
    lookup: &mut Lookup,
) -> Result<Report, Error> {
    let StreamAccount { decoder, has_ended, losses, left_out } = account;
    let Counters { events, rows, sieve, .. } = counters;
    let RowCounter { columns, round, tally, accesses, room, mut chance, .. } = rows;
    let mut rows = with_late_names(tally.into_rows(), &columns, lookup, &mut chance)?;
    let (mut own, mut columns) = (None, columns);
    if query.chains == ChainView::Inclusive {
        let by_routine = inclusive(&rows, lookup, &mut chance)?;
        (rows, own) = (by_routine.rows, Some(by_routine.own));
        columns = vec![KeyColumn { key: Key::Routine, register: None }];
    }
    if let Some(wanted) = &query.event
        && !events.iter().any(|event| event.selected)
    {
        let have = events.iter().map(|event| event.name.clone()).collect();
        return Err(Error::Event { wanted: wanted.to_string(), have });
    }
    if let Some(site) = query.registers.as_ref().and_then(|registers| registers.site.as_ref())
        && events.iter().all(|event| event.at_site == 0)
    {
        let compared = lookup.places.compared(site);
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
    let mut frames = FrameWords::default();
    for Request { leader, together } in requests(&events, decoder) {
        if has_ended {
            notes.extend(caveats::of_end(together.iter().map(|of| of.described)));
        }
        for of in &together {
            caveats::of_event(query, of.event, &mut notes);
            caveats::of_attr(of.event, &of.described.attr, &mut notes);
            caveats::of_accesses(query, of.event, &of.described.attr, &mut notes);
            caveats::of_promises(query, of, sieve.filter(of.index), &mut notes);
        }
        let mut report = event_report::without_rows(&together, &sieve, query, arch);
        report.not_kept = not_kept(&room, leader, &columns, rows.of(leader));
        if let Some(not_kept) = &report.not_kept {
            notes.push(not_kept.told(&report.name));
        }
        let counts = rows.of(leader).map(|(_, count)| count);
        let accesses = accesses
            .as_ref()
            .map(|kinds| EventAccesses::of(counts.clone(), kinds, report.weighting));
        let mut words = Words::new(lookup);
        let whole = event_report::sum(&together);
        let own = own.as_ref().and_then(|own| own.get(&leader));
        let shown = EventRows { columns: &columns, accesses: accesses.as_ref(), whole, arch, own };
        shown.fill(&mut report, rows.of(leader), query, &mut words);
        if let Some(accesses) = &accesses {
            accesses.describe(counts, &mut report, &mut words);
        }
        if let ChainView::Tree(TreeQuery { order, least_millionths }) = query.chains {
            let least = ratio(u64::from(least_millionths), 1_000_000);
            let shares = TreeShares { whole, weighting: report.weighting, least };
            let path = |value| frames.path(value, lookup);
            report.tree = Some(call_tree(order, rows.of(leader), shares, path));
        }
        reports.push(report);
    }
    let chains = frames.finish(&mut reports, lookup);
    // Events of one request share their caveats, and at times their name.
    let mut said = BTreeSet::new();
    notes.retain(|note| said.insert(note.clone()));
    notes.extend(lookup.places.symbolizer.notes().iter().map(ToString::to_string));
    Ok(Report {
        hardmeter_report: Report::VERSION,
        machine: machine(decoder),
        query: question(query, round),
        events: reports,
        chains,
        losses,
        notes,
    })
}

#[derive(Clone, Copy, Debug)]
struct DescribedEvent<'e> {
    index: usize,
    event: &'e Event,
    described: &'e EventDescription,
}

impl DescribedEvent<'_> {
    /// The last one that its notes have.
    fn ledger(&self) -> Option<RecorderLedger> {
        self.described.notes.iter().rev().find_map(|text| RecorderLedger::parse(text))
    }
}

/// The indices that rows are counted under, one an event of the report, in
/// its order.
pub(crate) fn leaders(events: &[Event], decoder: &StreamDecoder) -> Vec<usize> {
    requests(events, decoder).into_iter().map(|request| request.leader).collect()
}

#[derive(Debug)]
struct Request<'e> {
    /// The index that its rows are counted under.
    leader: usize,
    together: Vec<DescribedEvent<'e>>,
}

/// Events by request; those only of which there is something to say.
fn requests<'e>(events: &'e [Event], decoder: &'e StreamDecoder) -> Vec<Request<'e>> {
    let mut requests: Vec<Request<'e>> = Vec::new();
    // By leader, as there may be thousands.
    let mut places: FxHashMap<usize, usize> = FxHashMap::default();
    for (index, (event, described)) in events.iter().zip(decoder.events()).enumerate() {
        let of = DescribedEvent { index, event, described };
        let place = *places.entry(event.leader).or_insert(requests.len());
        match requests.get_mut(place) {
            Some(request) => request.together.push(of),
            None => requests.push(Request { leader: event.leader, together: vec![of] }),
        }
    }
    requests.retain(|request| {
        let is_shown = |of: &DescribedEvent<'_>| {
            of.event.selected && !(of.event.is_dummy && of.event.samples == 0)
        };
        request.together.iter().any(is_shown)
    });
    requests
}

fn not_kept<'r>(
    room: &Room,
    leader: usize,
    columns: &[KeyColumn],
    mut rows: impl Iterator<Item = (&'r [KeyValue], &'r RowCount)>,
) -> Option<NotKept> {
    let mut lacking = room.lacking(leader)?;
    let all = rows.find(|(values, _)| is_not_kept(values)).map(|(_, count)| count.sum);
    let all = all.unwrap_or_default();
    // Rows of lines were many rows each, and each of those may lack as much.
    let is_line = |column: &KeyColumn| column.key.is_of_lines();
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
        by: query.row_keys().iter().map(Key::to_string).collect(),
        view: query.chains.word(),
        sort: query.sort.to_string(),
        filters: query.filters.iter().map(ToString::to_string).collect(),
        callers: query.frames.callers.as_ref().map(ToString::to_string),
        callees: query.frames.callees.as_ref().map(ToString::to_string),
        outside: query.frames.outside.iter().map(ToString::to_string).collect(),
        class: query.class.map(|class| class.to_string()),
        top: query.top,
        site: site.map(ToString::to_string),
        cache_line: round.line,
        page_size: round.page,
        mem: query.accesses,
    }
}
