//! Lines on their way from core to core.

use crate::affinity::stay_on;
use crate::error::LatencyError;
use crate::figure::LatencyFigure;
use crate::meter::{DisturbedRuns, MeasuringEffort, Meter};
use rustix::thread::gettid;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// From one CPU to another and back, halved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairFigure {
    /// Who is timed.
    pub from: u32,
    pub to: u32,
    /// One way: a compare-and-swap that finds the line with the other one.
    pub way: LatencyFigure,
}

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
            let way = play(effort, Players { from, to }, stop, disturbed)?;
            if way.runs > 0 {
                pairs.push(PairFigure { from, to, way });
            }
        }
    }
    Ok(CoreStudy { cpus: cpus.to_vec(), pairs })
}

#[derive(Clone, Copy, Debug)]
struct Players {
    from: u32,
    to: u32,
}

/// A line that nothing else is on, nor on the one that is fetched with it.
#[repr(align(128))]
#[derive(Default)]
struct Alone(AtomicBool);

/// What both see. `ball` is true while the other one has to play.
#[derive(Default)]
struct Court {
    ball: Alone,
    is_over: Alone,
}

fn play(
    effort: MeasuringEffort,
    players: Players,
    stop: &AtomicBool,
    disturbed: &mut DisturbedRuns,
) -> Result<LatencyFigure, LatencyError> {
    let court = &Court::default();
    thread::scope(|scope| {
        let (tell, told) = channel();
        let other = thread::Builder::new()
            .spawn_scoped(scope, move || answer(court, players.to, tell))
            .map_err(LatencyError::Thread)?;
        let first = thread::Builder::new().spawn_scoped(scope, move || {
            // The other one could not stay on its CPU, which it says itself.
            let Ok(thread) = told.recv() else { return Ok(None) };
            let served = stay_on(players.from).map(|()| {
                let mut meter =
                    Meter::new(effort, players.from, stop).with_partner(players.to, thread);
                let figure = meter.figure(|ways| rounds(court, ways.div_ceil(2)));
                Some((figure, meter.disturbed))
            });
            court.is_over.0.store(true, Ordering::Relaxed);
            served
        });
        let served = match first {
            Ok(first) => first.join(),
            Err(error) => {
                court.is_over.0.store(true, Ordering::Relaxed);
                return Err(LatencyError::Thread(error));
            }
        };
        let answered = other.join();
        // A thread that panicked has said so itself.
        answered.unwrap_or(Ok(()))?;
        let (figure, runs) = served.unwrap_or(Ok(None))?.unwrap_or_default();
        disturbed.add(runs);
        Ok(figure)
    })
}

fn answer(court: &Court, cpu: u32, tell: Sender<u32>) -> Result<(), LatencyError> {
    stay_on(cpu)?;
    let thread = u32::try_from(gettid().as_raw_nonzero().get()).unwrap_or(0);
    // Who is told waits for it, and is there until this thread ends.
    let _gone = tell.send(thread);
    loop {
        let mut waited = 0_u32;
        while !swap(court, true) {
            waited += 1;
            // Seldom, so that it costs nothing between two swaps.
            if waited.is_multiple_of(64) && court.is_over.0.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
}

/// So many rounds; gives the ways. Both only ever swap, so that the line
/// comes to be written each time. Without a pause while waiting, which takes
/// longer than the way on some cores.
fn rounds(court: &Court, rounds: u64) -> u64 {
    for _ in 0..rounds {
        while !swap(court, false) {}
    }
    // The last ball is not back yet: what is timed is what was played.
    2 * rounds
}

fn swap(court: &Court, is_ours: bool) -> bool {
    let turn =
        court.ball.0.compare_exchange(is_ours, !is_ours, Ordering::Relaxed, Ordering::Relaxed);
    turn.is_ok()
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
