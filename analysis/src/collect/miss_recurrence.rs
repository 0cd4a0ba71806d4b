//! What was sampled while a unit missed: how many lines there are, and whose.
//! Of samples of some misses nothing is known of the gaps between two of a line,
//! but all lines of a gap are among these.

use crate::causes::cache_shape::MissedLevel;
use crate::causes::footprint::Footprint;
use crate::causes::verdict::LEAST_SAMPLES;
use crate::collect::miss_streams::{MissStream, MissUnit, StreamedMiss};
use record::{Pid, Tid, Time};
use rustc_hash::FxHashMap;

/// Units whose own time is looked at; for the others it is that of all.
const MOST_LOOKED_AT: usize = 256;

/// What was sampled, of any unit, between the first and the last sample of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SpanCounts {
    /// At most so many lines, at 95 %; None: any number.
    pub(crate) at_most: Option<f64>,
    /// Samples of the unit whose line came from another core that had modified
    /// it.
    pub(crate) transfers: u64,
    /// Others on lines that several threads missed and one wrote.
    pub(crate) contested: u64,
}

/// Who was sampled on a line.
#[derive(Clone, Copy, Debug)]
struct LineUsers {
    first: Tid,
    are_several: bool,
    wrote: bool,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    from: Time,
    to: Time,
}

impl SpanCounts {
    /// Of each unit, by the streams of an event.
    pub(crate) fn of_units(
        streams: &[MissStream],
        units: &[MissUnit],
        level: MissedLevel,
    ) -> Vec<SpanCounts> {
        let all = || streams.iter().flat_map(|stream| &stream.misses);
        let mut spans: Vec<Option<Span>> = vec![None; units.len()];
        for miss in all() {
            let span =
                spans[miss.unit as usize].get_or_insert(Span { from: miss.time, to: miss.time });
            *span = Span { from: span.from.min(miss.time), to: span.to.max(miss.time) };
        }
        let whole = at_most(all());
        let looked_at = looked_at(units);
        let of = |(number, span): (usize, &Option<Span>)| {
            let span = span.filter(|_| looked_at.contains(&number));
            let at_most = span.map_or(whole, |span| {
                at_most(streams.iter().flat_map(|stream| stream.within(span)))
            });
            SpanCounts { at_most, ..SpanCounts::default() }
        };
        let mut counts: Vec<SpanCounts> = spans.iter().enumerate().map(of).collect();
        if level.is_of_one_core() && streams.len() > 1 {
            let users = users(streams);
            for miss in all() {
                let users = users.get(&(miss.pid, miss.line));
                let is_contested = users.is_some_and(|it| it.are_several && it.wrote);
                let of = &mut counts[miss.unit as usize];
                of.transfers += u64::from(miss.is_transfer);
                of.contested += u64::from(is_contested && !miss.is_transfer);
            }
        }
        counts
    }
}

impl MissStream {
    /// Those of a time, in which they are in order.
    fn within(&self, span: Span) -> &[StreamedMiss] {
        let from = self.misses.partition_point(|miss| miss.time < span.from);
        let to = self.misses.partition_point(|miss| miss.time <= span.to);
        self.misses.get(from..to).unwrap_or_default()
    }
}

/// Those with most samples.
fn looked_at(units: &[MissUnit]) -> Vec<usize> {
    let enough = |number: &usize| units[*number].count.sum.count >= LEAST_SAMPLES;
    let mut all: Vec<usize> = (0..units.len()).filter(enough).collect();
    all.sort_by_key(|number| std::cmp::Reverse(units[*number].count.sum.count));
    all.truncate(MOST_LOOKED_AT);
    all
}

fn at_most<'m>(misses: impl Iterator<Item = &'m StreamedMiss>) -> Option<f64> {
    let mut lines = Footprint::default();
    misses.for_each(|miss| lines.add(miss.line));
    lines.at_most()
}

fn users(streams: &[MissStream]) -> FxHashMap<(Pid, u64), LineUsers> {
    let mut all: FxHashMap<(Pid, u64), LineUsers> = FxHashMap::default();
    for stream in streams {
        for miss in &stream.misses {
            let none = LineUsers { first: stream.tid, are_several: false, wrote: false };
            let users = all.entry((miss.pid, miss.line)).or_insert(none);
            users.are_several |= users.first != stream.tid;
            users.wrote |= miss.writes;
        }
    }
    all
}
