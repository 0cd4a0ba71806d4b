//! Lines on their way from core to core.

use crate::affinity::pin_to_cpu;
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
const MAX_CPUS: usize = 16;

/// So many of the CPUs, far apart, as neighbours are of one kind.
#[must_use]
pub fn spread_cpus(cpus: &[u32]) -> Vec<u32> {
    if cpus.len() <= MAX_CPUS {
        return cpus.to_vec();
    }
    (0..MAX_CPUS).filter_map(|place| cpus.get(place * cpus.len() / MAX_CPUS).copied()).collect()
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
            let way = measure_pair(effort, CpuPair { from, to }, stop, disturbed)?;
            if way.runs > 0 {
                pairs.push(PairFigure { from, to, way });
            }
        }
    }
    Ok(CoreStudy { cpus: cpus.to_vec(), pairs })
}

#[derive(Clone, Copy, Debug)]
struct CpuPair {
    from: u32,
    to: u32,
}

/// A line that nothing else is on, nor on the one that is fetched with it.
#[repr(align(128))]
#[derive(Default)]
struct CachePadded(AtomicBool);

/// What both see. `is_others_turn` is true while the other one has to play.
#[derive(Default)]
struct PingPong {
    is_others_turn: CachePadded,
    is_over: CachePadded,
}

fn measure_pair(
    effort: MeasuringEffort,
    cpus: CpuPair,
    stop: &AtomicBool,
    disturbed: &mut DisturbedRuns,
) -> Result<LatencyFigure, LatencyError> {
    let ping_pong = &PingPong::default();
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        let other = thread::Builder::new()
            .spawn_scoped(scope, move || pong(ping_pong, cpus.to, sender))
            .map_err(LatencyError::Thread)?;
        let first = thread::Builder::new().spawn_scoped(scope, move || {
            // The other one could not stay on its CPU, which it says itself.
            let Ok(thread) = receiver.recv() else { return Ok(None) };
            let served = pin_to_cpu(cpus.from).map(|()| {
                let mut meter =
                    Meter::new(effort, cpus.from, stop).with_partner_thread(cpus.to, thread);
                let figure = meter.figure(|ways| ping(ping_pong, ways.div_ceil(2)));
                Some((figure, meter.disturbed))
            });
            ping_pong.is_over.0.store(true, Ordering::Relaxed);
            served
        });
        let served = match first {
            Ok(first) => first.join(),
            Err(error) => {
                ping_pong.is_over.0.store(true, Ordering::Relaxed);
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

fn pong(ping_pong: &PingPong, cpu: u32, sender: Sender<u32>) -> Result<(), LatencyError> {
    pin_to_cpu(cpu)?;
    let thread = u32::try_from(gettid().as_raw_nonzero().get()).unwrap_or(0);
    // Who is told waits for it, and is there until this thread ends.
    let _gone = sender.send(thread);
    loop {
        let mut waited = 0_u32;
        while !swap(ping_pong, true) {
            waited += 1;
            // Seldom, so that it costs nothing between two swaps.
            if waited.is_multiple_of(64) && ping_pong.is_over.0.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
}

/// So many rounds; gives the ways. Both only ever swap, so that the line
/// comes to be written each time. Without a pause while waiting, which takes
/// longer than the way on some cores.
fn ping(ping_pong: &PingPong, rounds: u64) -> u64 {
    for _ in 0..rounds {
        while !swap(ping_pong, false) {}
    }
    // The last ball is not back yet: what is timed is what was played.
    2 * rounds
}

fn swap(ping_pong: &PingPong, is_ours: bool) -> bool {
    let turn = ping_pong.is_others_turn.0.compare_exchange(
        is_ours,
        !is_ours,
        Ordering::Relaxed,
        Ordering::Relaxed,
    );
    turn.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cpus_are_chosen_of_many() {
        let all: Vec<u32> = (0..256).collect();
        let some = spread_cpus(&all);
        assert_eq!((some.len(), some[0], some[15]), (16, 0, 240));
        assert_eq!(spread_cpus(&[1, 5]), [1, 5]);
    }
}
