//! Another order of a type's members, and what it would spare.

use crate::layout::line_costs::{LineCosts, PartConflict, PartPlaces, PartPoint, as_f64};
use crate::layout::member_order::{OrderedParts, PartOrder};
use crate::layout::movable_part::{MovablePart, NoOrder, parts};
use crate::layout::object_visits::{ObjectStart, ObjectVisits, PHASES};
use crate::layout::thread_set::ThreadSet;
use crate::layout::type_report::SampledType;
use serde::Serialize;
use std::collections::BTreeSet;
use types::{MemberId, TypeTable};

/// Objects of an array lie so many of their sizes apart at most, or they are not
/// taken for ones of one array.
const NEAR: u64 = 64;

/// Another order of the members of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct SuggestedOrder {
    /// First to last.
    pub members: Vec<OrderedMember>,
    /// Bytes of an object, as it is and so.
    pub size: [u64; 2],
    /// What an object is aligned to so, if that is more than now.
    pub align: Option<u64>,
    /// Visits of objects: accesses of a thread to several members, soon after each
    /// other.
    pub visits: u64,
    /// Lines that a visit touches on average.
    pub lines: [f64; 2],
    /// Distinct lines that the sampled accesses touch, by their data addresses; None:
    /// they have none.
    pub touched: Option<[u64; 2]>,
    /// Samples on members in a line with what another thread writes.
    pub shared: [f64; 2],
    /// Sampled misses on the type, and as many as would be left if each stands for a line
    /// of a visit; None: no event is about misses of lines.
    pub misses: Option<[f64; 2]>,
    /// The same as a change that `ebs causes --try` makes, without the object;
    /// None: it is in more pieces than that takes.
    pub change: Option<String>,
}

/// A member in another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OrderedMember {
    /// Which one.
    #[serde(skip)]
    pub member: MemberId,
    /// Bytes from the start of the object.
    pub offset: u64,
    /// The same as it is.
    pub was: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    From { start: u64, end: u64 },
    Filling(u64),
}

/// Pieces that a change of `ebs causes --try` takes.
const MOST_PIECES: usize = 16;

impl SampledType {
    /// An order of its members of which what was sampled touches fewer lines.
    ///
    /// # Errors
    /// There is none, and why.
    pub fn order(&self, line: u64) -> Result<SuggestedOrder, NoOrder> {
        let types = &self.program.types;
        let parts = parts(types, self.of)?;
        if !line.is_power_of_two() || line > PHASES {
            return Err(NoOrder::None);
        }
        let size = types.size_of(self.of).ok_or(NoOrder::Kind)?;
        let visits = &self.uses.visits;
        let uses = PartUses::new(self, &parts);
        let costs = LineCosts {
            points: visits.points.iter().map(|at| point(&parts, at.offset, at.bytes)).collect(),
            visits: visits.visits.iter().map(|(visit, count)| (*visit, *count)).collect(),
            conflicts: uses.conflicts(visits),
            size,
            line,
        };
        let align = aligned(types, self, &parts);
        let ordered = OrderedParts { parts: &parts, samples: &uses.samples, align, costs: &costs };
        let (now, better) = (ordered.as_it_is(), ordered.better()?);
        let all: u64 = costs.visits.values().sum();
        let of_visit = |order: &PartOrder| order.lines / as_f64(all.max(1));
        let misses = self.misses();
        let touched = |order: &PartOrder| touched(visits, &costs, &order.places);
        let is_aligned = better.places.offsets.iter().zip(&parts).any(|(offset, part)| {
            costs.conflicts.iter().any(|it| parts[it.written] == *part)
                && offset.is_multiple_of(line)
                && !part.start.is_multiple_of(line)
        });
        Ok(SuggestedOrder {
            members: members(types, &parts, &better),
            size: [size, better.places.size],
            align: (is_aligned && align < line).then_some(line),
            visits: all,
            lines: [of_visit(&now), of_visit(&better)],
            touched: (!visits.objects.is_empty()).then(|| [touched(&now), touched(&better)]),
            shared: [now.in_conflict, better.in_conflict],
            misses: (misses > 0).then(|| [as_f64(misses), ordered.expected(misses, &better)]),
            change: change(&parts, &better, size),
        })
    }
}

struct PartUses {
    samples: Vec<u64>,
    writers: Vec<ThreadSet>,
    users: Vec<ThreadSet>,
}

impl PartUses {
    fn new(of: &SampledType, parts: &[MovablePart]) -> PartUses {
        let none = || vec![ThreadSet::default(); parts.len()];
        let mut uses = PartUses { samples: vec![0; parts.len()], writers: none(), users: none() };
        for (at, place) in of.places() {
            let Some(point) = point(parts, at.offset, at.bytes) else { continue };
            let sums = place.by_event.values();
            uses.samples[point.part] += sums.map(|sum| sum.count).sum::<u64>();
            uses.writers[point.part].extend(place.writers.iter());
            uses.users[point.part].extend(place.writers.iter().chain(place.readers.iter()));
        }
        uses
    }

    /// What one thread writes, and another one has no use for that uses what is
    /// beside it; if there are objects that several threads use.
    fn conflicts(&self, visits: &ObjectVisits) -> Vec<PartConflict> {
        let mut conflicts = Vec::new();
        if !visits.objects.values().any(|object| object.is_shared) {
            return conflicts;
        }
        for written in 0..self.samples.len() {
            for used in 0..self.samples.len() {
                let (own, other) = (&self.users[written], &self.users[used]);
                let is_met = self.writers[written].len() > 0 && other.has_another_than(own);
                if written != used && is_met {
                    let samples = self.samples[written].min(self.samples[used]);
                    conflicts.push(PartConflict { written, used, samples });
                }
            }
        }
        conflicts
    }
}

fn point(parts: &[MovablePart], offset: u64, bytes: u64) -> Option<PartPoint> {
    let part = parts.partition_point(|part| part.start <= offset).checked_sub(1)?;
    let own = parts.get(part)?;
    let within = offset - own.start;
    let is_within = within < own.size || own.size == 0;
    is_within.then(|| PartPoint { part, within, bytes: bytes.max(1) })
}

fn aligned(types: &TypeTable, of: &SampledType, parts: &[MovablePart]) -> u64 {
    let of_parts = parts.iter().map(|part| part.align).max().unwrap_or(1);
    types.align_of(of.of).unwrap_or(1).max(of_parts)
}

fn members(types: &TypeTable, parts: &[MovablePart], order: &PartOrder) -> Vec<OrderedMember> {
    let mut all = Vec::new();
    for part in &order.order {
        let (own, offset) = (&parts[*part], order.places.offsets[*part]);
        for member in &own.members {
            let was = types.member(*member).offset().unwrap_or(own.start);
            let offset = offset.saturating_add(was.saturating_sub(own.start));
            all.push(OrderedMember { member: *member, offset, was });
        }
    }
    all
}

/// Distinct lines of all objects, where those of an array follow each other as
/// before.
fn touched(visits: &ObjectVisits, costs: &LineCosts, places: &PartPlaces) -> u64 {
    let mut starts: Vec<ObjectStart> = visits.objects.keys().copied().collect();
    starts.sort_unstable();
    let mut lines = BTreeSet::new();
    let mut array: Option<(ObjectStart, ObjectStart)> = None;
    for at in starts {
        let Some(object) = visits.objects.get(&at) else { continue };
        let follows = |(first, last): &(ObjectStart, ObjectStart)| {
            first.pid == at.pid
                && (at.address - first.address).is_multiple_of(costs.size.max(1))
                && at.address - last.address <= costs.size.saturating_mul(NEAR)
        };
        let first = array.filter(follows).map_or(at, |(first, _)| first);
        array = Some((first, at));
        let number = (at.address - first.address) / costs.size.max(1);
        let start = first.address.saturating_add(number.saturating_mul(places.size));
        let own = costs.touched(object.points, places, start);
        lines.extend(own.into_iter().map(|line| (at.pid, line)));
    }
    lines.len() as u64
}

/// As `ebs causes --try` takes it.
fn change(parts: &[MovablePart], order: &PartOrder, size: u64) -> Option<String> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut end = 0;
    for part in &order.order {
        let (own, offset) = (&parts[*part], order.places.offsets[*part]);
        if offset > end {
            pieces.push(Piece::Filling(offset - end));
        }
        let (start, past) = (own.start, own.start + own.size);
        match pieces.last_mut() {
            Some(Piece::From { end, .. }) if *end == start => *end = past,
            _ if own.size > 0 => pieces.push(Piece::From { start, end: past }),
            _ => return None,
        }
        end = offset.saturating_add(own.size);
    }
    if order.places.size > end {
        pieces.push(Piece::Filling(order.places.size - end));
    }
    let text: Vec<String> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::From { start, end } => format!("{start}..{end}"),
            Piece::Filling(bytes) => bytes.to_string(),
        })
        .collect();
    (pieces.len() <= MOST_PIECES).then(|| format!("order={size}:{}", text.join("/")))
}
