//! How many lines visits of objects touch, whatever the order of members.

use crate::layout::object_visits::{PHASES, PointMask, Visit};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartPoint {
    pub(crate) part: usize,
    /// Bytes from that one's start.
    pub(crate) within: u64,
    /// Bytes that are accessed, at least 1.
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartPlaces {
    /// By part: bytes from the structure's start.
    pub(crate) offsets: Vec<u64>,
    pub(crate) size: u64,
}

/// Parts that should not be in one line: one thread writes the first, another one
/// uses the second and not the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartConflict {
    pub(crate) written: usize,
    pub(crate) used: usize,
    /// Samples of the one that has fewer.
    pub(crate) samples: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct LineCosts {
    /// By bit of a visit's mask; None: in no part, as of padding.
    pub(crate) points: Vec<Option<PartPoint>>,
    pub(crate) visits: BTreeMap<Visit, u64>,
    pub(crate) conflicts: Vec<PartConflict>,
    /// The size that phases were recorded with.
    pub(crate) size: u64,
    /// Bytes of a line: a power of two, up to [`PHASES`].
    pub(crate) line: u64,
}

impl LineCosts {
    /// Lines that all visits touch, each in a visit once.
    pub(crate) fn lines(&self, places: &PartPlaces) -> f64 {
        self.visits
            .iter()
            .map(|(visit, count)| as_f64(*count) * self.of_visit(*visit, places))
            .sum()
    }

    /// Samples on parts that lie in a line with what another thread writes.
    pub(crate) fn in_conflict(&self, places: &PartPlaces) -> f64 {
        let phases = self.phases(None, places);
        let all = self.conflicts.iter().map(|conflict| {
            let meets = |phase: &&u64| {
                let of = |part: usize| self.lines_of_part(part, places, **phase);
                let (written, used) = (of(conflict.written), of(conflict.used));
                used.iter().any(|line| written.contains(line))
            };
            let met = phases.iter().filter(meets).count();
            as_f64(conflict.samples) * as_f64(met as u64) / as_f64(phases.len().max(1) as u64)
        });
        all.sum()
    }

    /// Lines of the points of a mask, from the line that a place begins in.
    pub(crate) fn touched(&self, mask: PointMask, places: &PartPlaces, start: u64) -> Vec<u64> {
        let mut lines = Vec::new();
        for (bit, point) in self.points.iter().enumerate() {
            if mask >> bit & 1 == 1
                && let Some(point) = point
            {
                self.add(*point, places, start, &mut lines);
            }
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    fn add(&self, point: PartPoint, places: &PartPlaces, start: u64, lines: &mut Vec<u64>) {
        let offset = places.offsets.get(point.part).copied().unwrap_or(0);
        let first = start.saturating_add(offset).saturating_add(point.within);
        let last = first.saturating_add(point.bytes - 1);
        // An access of more than two lines is none of one instruction.
        lines.extend([first / self.line, last / self.line]);
    }

    fn of_visit(&self, visit: Visit, places: &PartPlaces) -> f64 {
        let phases = self.phases(visit.phase, places);
        let lines: usize =
            phases.iter().map(|phase| self.touched(visit.points, places, *phase).len()).sum();
        as_f64(lines as u64) / as_f64(phases.len().max(1) as u64)
    }

    fn lines_of_part(&self, part: usize, places: &PartPlaces, start: u64) -> Vec<u64> {
        let mut lines = Vec::new();
        for point in self.points.iter().flatten().filter(|point| point.part == part) {
            self.add(*point, places, start, &mut lines);
        }
        lines
    }

    /// Where in a line objects may begin: as they were recorded, and all that an array
    /// of another size has.
    fn phases(&self, recorded: Option<u64>, places: &PartPlaces) -> Vec<u64> {
        match recorded {
            Some(phase) if places.size == self.size => vec![phase % self.line],
            _ => {
                let step = 1_u64 << places.size.trailing_zeros().min(self.line.trailing_zeros());
                let steps = usize::try_from(step).unwrap_or(usize::MAX);
                (0..self.line).step_by(steps).collect()
            }
        }
    }
}

const _: () = assert!(PHASES.is_power_of_two());

#[allow(clippy::cast_precision_loss, reason = "an estimate needs no more than 53 bits")]
pub(crate) fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_visit_and_by_where_objects_begin() {
        let point = |part| Some(PartPoint { part, within: 0, bytes: 8 });
        let visit = |points, phase| Visit { points, phase };
        let costs = LineCosts {
            points: vec![point(0), point(1)],
            visits: BTreeMap::from([(visit(3, Some(0)), 10), (visit(1, Some(0)), 5)]),
            conflicts: vec![PartConflict { written: 0, used: 1, samples: 7 }],
            size: 192,
            line: 64,
        };
        let far = PartPlaces { offsets: vec![0, 128], size: 192 };
        let near = PartPlaces { offsets: vec![0, 8], size: 192 };
        assert_eq!((costs.lines(&far), costs.lines(&near)), (25.0, 15.0));
        assert_eq!((costs.in_conflict(&far), costs.in_conflict(&near)), (0.0, 7.0));
        // Of 72 bytes, objects begin at each multiple of 8: of 8 in one the pair is
        // in two lines.
        let other = PartPlaces { size: 72, ..near };
        assert_eq!(costs.lines(&other), 10.0 * 9.0 / 8.0 + 5.0);
        assert_eq!(costs.touched(3, &far, 64), [1, 3]);
    }
}
