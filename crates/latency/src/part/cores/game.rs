//! Two threads that play one line to each other.

use crate::affinity::stay_on;
use crate::error::LatencyError;
use crate::figure::LatencyFigure;
use crate::meter::{DisturbedRuns, MeasuringEffort, Meter};
use rustix::thread::gettid;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// The CPUs of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Players {
    pub(super) from: u32,
    pub(super) to: u32,
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

/// One way of the ball: a round is two.
pub(super) fn play(
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

/// The other one, until it is over.
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

/// Turns the ball, if it is with us.
fn swap(court: &Court, is_ours: bool) -> bool {
    let turn =
        court.ball.0.compare_exchange(is_ours, !is_ours, Ordering::Relaxed, Ordering::Relaxed);
    turn.is_ok()
}
