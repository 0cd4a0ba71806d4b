//! Lines on their way from core to core.

mod game;

use crate::error::LatencyError;
use crate::figure::LatencyFigure;
use crate::meter::{DisturbedRuns, MeasuringEffort};
use game::play;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// From one CPU to another and back, halved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairFigure {
    /// Who is timed.
    pub from: u32,
    /// The other one.
    pub to: u32,
    /// One way: a compare-and-swap that finds the line with the other one.
    pub way: LatencyFigure,
}

/// Each CPU with each other one, as far as they were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CoreStudy {
    pub cpus: Vec<u32>,
    /// Pairs, each once.
    pub pairs: Vec<PairFigure>,
}

/// CPUs at most, unless they are named: 120 pairs take some seconds.
const MOST: usize = 16;

/// So many of the CPUs, far apart, as neighbours are of one kind.
#[must_use]
pub fn chosen(cpus: &[u32]) -> Vec<u32> {
    if cpus.len() <= MOST {
        return cpus.to_vec();
    }
    (0..MOST).filter_map(|place| cpus.get(place * cpus.len() / MOST).copied()).collect()
}

pub(crate) fn study(
    effort: MeasuringEffort,
    cpus: &[u32],
    stop: &AtomicBool,
    disturbed: &mut DisturbedRuns,
) -> Result<CoreStudy, LatencyError> {
    let mut pairs = Vec::new();
    for (place, &from) in cpus.iter().enumerate() {
        for &to in cpus.iter().skip(place + 1) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let way = play(effort, game::Players { from, to }, stop, disturbed)?;
            if way.runs > 0 {
                pairs.push(PairFigure { from, to, way });
            }
        }
    }
    Ok(CoreStudy { cpus: cpus.to_vec(), pairs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cpus_are_chosen_of_many() {
        let all: Vec<u32> = (0..256).collect();
        let some = chosen(&all);
        assert_eq!((some.len(), some[0], some[15]), (16, 0, 240));
        assert_eq!(chosen(&[1, 5]), [1, 5]);
    }
}
