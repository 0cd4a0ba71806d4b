//! An aggregate in parts, and parts made whole again.

use super::part::{ROOM, size};
use super::{Aggregate, AggregatePart, Site};
use crate::Time;
use std::fmt;

/// Most sites of one aggregate that are read: a table of the kernel has a few
/// thousand for each CPU.
const SITES: usize = 1 << 20;

/// Bytes of a record before its causes and sites, at most.
const FRONT: usize = 128;

impl Aggregate {
    /// Bytes that its records take in a stream, at most.
    pub fn record_bytes(&self) -> usize {
        in_records(self.sites.iter().map(size).sum()) + self.cause_bytes()
    }

    /// Takes off an aggregate of the same interval whose records take `most`
    /// bytes of a stream at most, but has one site at least, where there is one;
    /// with all that was lost. What is left and what was taken add up.
    pub fn take_bytes(&mut self, most: usize) -> Aggregate {
        let room = most.saturating_sub(self.cause_bytes());
        let (mut taken, mut bytes) = (0, 0);
        for site in self.sites.iter().rev() {
            bytes += size(site);
            if taken > 0 && in_records(bytes) > room {
                break;
            }
            taken += 1;
        }
        let sites = self.sites.split_off(self.sites.len() - taken);
        Aggregate { from: self.from, to: self.to, sites, lost: std::mem::take(&mut self.lost) }
    }

    fn cause_bytes(&self) -> usize {
        self.lost.iter().map(|(name, _)| 16 + name.len().next_multiple_of(8)).sum()
    }

    /// This aggregate in parts that fit records of a stream, at least one.
    pub fn into_parts(self) -> impl Iterator<Item = AggregatePart> {
        let Aggregate { from, to, sites, mut lost } = self;
        let mut sites = sites.into_iter().peekable();
        let (mut number, mut is_done) = (0, false);
        std::iter::from_fn(move || {
            if is_done {
                return None;
            }
            let (mut own, mut room) = (Vec::new(), ROOM);
            while let Some(site) = sites.next_if(|site| room == ROOM || size(site) <= room) {
                room = room.saturating_sub(size(&site));
                own.push(site);
            }
            is_done = sites.peek().is_none();
            let lost = std::mem::take(&mut lost);
            let part = AggregatePart { from, to, number, is_last: is_done, lost, sites: own };
            number += 1;
            Some(part)
        })
    }
}

/// Bytes of records with so many bytes of sites, at most: of two parts that
/// follow each other, the second did not fit the first.
fn in_records(sites: usize) -> usize {
    sites + FRONT * (sites / ROOM * 2 + 1)
}

/// Makes aggregates of the parts of one event, which come in order. One that
/// misses a part is told and counts nothing: half an interval is a wrong
/// number.
#[derive(Debug, Default)]
pub struct AggregateAssembler {
    open: Option<Open>,
    /// Interval of the last one that was told to be torn.
    told: Option<(Time, Time)>,
}

#[derive(Debug)]
struct Open {
    next: u32,
    from: Time,
    to: Time,
    lost: Vec<(String, u64)>,
    sites: Vec<Site>,
}

/// What a part completes or breaks off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssembledAggregate {
    /// An aggregate that is not whole: it, or the one that this part broke
    /// off.
    pub torn: Option<IncompleteAggregate>,
    pub whole: Option<Aggregate>,
}

/// An aggregate whose parts are not all there. Displays as a sentence for
/// people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncompleteAggregate {
    /// Begin of its interval.
    pub from: Time,
    pub to: Time,
    /// The first part that is missing.
    pub part: u32,
    /// Whether it has more sites than are read.
    pub is_too_long: bool,
}

impl fmt::Display for IncompleteAggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Time| time.0 / 1_000_000_000;
        let millis = |time: Time| time.0 / 1_000_000 % 1000;
        let (from, to) = (self.from, self.to);
        write!(
            f,
            "what the kernel counted from {}.{:03} s to {}.{:03} s was left out: ",
            seconds(from),
            millis(from),
            seconds(to),
            millis(to)
        )?;
        match self.is_too_long {
            true => write!(f, "it has more than {SITES} sites"),
            false => write!(f, "part {} of it is missing", self.part),
        }
    }
}

impl AggregateAssembler {
    /// Takes in the next part that the stream has of the event.
    pub fn add(&mut self, part: AggregatePart) -> AssembledAggregate {
        let mut assembled = AssembledAggregate::default();
        let AggregatePart { from, to, number, is_last, lost, sites } = part;
        match &mut self.open {
            Some(open) if (open.from, open.to, open.next) == (from, to, number) => {
                open.next += 1;
                open.sites.extend(sites);
            }
            _ => {
                assembled.torn = self.finish();
                if number > 0 {
                    if self.told != Some((from, to)) {
                        let headless =
                            IncompleteAggregate { from, to, part: 0, is_too_long: false };
                        assembled.torn = assembled.torn.or(Some(headless));
                        self.told = Some((from, to));
                    }
                    return assembled;
                }
                self.open = Some(Open { next: 1, from, to, lost, sites });
            }
        }
        if self.open.as_ref().is_some_and(|open| open.sites.len() > SITES) {
            assembled.torn =
                self.finish().map(|torn| IncompleteAggregate { is_too_long: true, ..torn });
        } else if is_last {
            let whole = self.open.take();
            assembled.whole =
                whole.map(|Open { from, to, lost, sites, .. }| Aggregate { from, to, sites, lost });
        }
        assembled
    }

    /// The stream has ended, or this event has no more parts: what is not
    /// whole never will be.
    pub fn finish(&mut self) -> Option<IncompleteAggregate> {
        let torn = self.open.take().map(|open| open.torn())?;
        self.told = Some((torn.from, torn.to));
        Some(torn)
    }
}

impl Open {
    fn torn(&self) -> IncompleteAggregate {
        IncompleteAggregate { from: self.from, to: self.to, part: self.next, is_too_long: false }
    }
}
