//! Which levels a curve has: its change points. Pure.

mod plateaus;

use plateaus::{Plateau, plateaus};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// How much is visited: bytes, or pages.
    pub size: u64,
    /// What one visit takes, in any unit.
    pub latency: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FoundLevel {
    /// The largest measured size that is served by it.
    pub size: u64,
    /// The smallest measured size that is not: the level ends between them.
    /// None of the last level, of which no end was seen.
    pub ends_before: Option<u64>,
    /// The time, in the curve's unit: the upper quartile of its
    /// plateau, as the smaller sizes on it are partly in the level before.
    pub latency: f64,
}

impl FoundLevel {
    #[must_use]
    pub fn is_of(&self, size: u64) -> bool {
        self.size <= size && self.ends_before.is_none_or(|end| size < end)
    }
}

/// Two plateaus nearer than this are one level: of one level some sizes take
/// longer than others, by pages that fall onto the same sets.
const LEVEL_RATIO: f64 = 1.3;
/// A size is still of its level at so many times its time.
const SAME_LEVEL_RATIO: f64 = 1.12;

/// The levels of a curve, whose sizes ascend; none of an empty one. Sizes
/// between two levels, of which part is in either, are of neither.
#[must_use]
pub fn levels(curve: &[CurvePoint]) -> Vec<FoundLevel> {
    let latencies: Vec<f64> = curve.iter().map(|point| point.latency.max(1e-9).ln()).collect();
    let sizes: Vec<u64> = curve.iter().map(|point| point.size).collect();
    let mut found: Vec<Plateau> = Vec::new();
    let all = plateaus(&latencies);
    let count = all.len();
    for (place, plateau) in all.into_iter().enumerate() {
        let first = sizes.get(plateau.begin).copied().unwrap_or(0);
        let last = sizes.get(plateau.end.saturating_sub(1)).copied().unwrap_or(0);
        // What takes less than an octave is on its way from one level to the
        // next one. The ends are levels however short: nothing is beyond.
        let is_level = last >= first.saturating_mul(2) || place == 0 || place + 1 == count;
        match found.last_mut() {
            Some(before) if plateau.height - before.height < LEVEL_RATIO.ln() && is_level => {
                let lengths = (before.end - before.begin, plateau.end - plateau.begin);
                if lengths.1 > lengths.0 {
                    before.height = plateau.height;
                }
                before.end = plateau.end;
            }
            _ if is_level => found.push(plateau),
            _ => {}
        }
    }
    let mut levels = Vec::new();
    for (place, plateau) in found.iter().enumerate() {
        let is_within = |index: &usize| {
            latencies
                .get(*index)
                .is_some_and(|latency| *latency <= plateau.height + SAME_LEVEL_RATIO.ln())
        };
        let next = found.get(place + 1).map_or(sizes.len(), |next| next.begin);
        // The last one within, wherever the plateau was taken to end.
        let last = (plateau.begin..next).rev().find(is_within).unwrap_or(plateau.begin);
        let is_last = place + 1 == found.len();
        levels.push(FoundLevel {
            size: sizes.get(last).copied().unwrap_or(0),
            ends_before: if is_last { None } else { sizes.get(last + 1).copied() },
            latency: plateau.height.exp(),
        });
    }
    levels
}

#[cfg(test)]
mod tests;
