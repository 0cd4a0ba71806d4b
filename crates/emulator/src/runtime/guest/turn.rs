//! From one stretch to the next, in the target.

use super::burst_phase::{GAP, NEVER, ON, WARM};
use super::header::Header;
use super::kernel::Kernel;
use super::thread::Thread;
use super::time_slice;
use crate::block::{BARE, MODELLED};

/// A stretch is over before the block of TURN instructions that is next: what
/// it did not use goes to the one after it.
/// With turns, it waits for the thread's own first.
pub(super) fn turn(thread: &mut Thread, header: &Header, kernel: &impl Kernel) {
    let bursts = &header.bursts;
    let needed = thread.turn;
    let mut burst = thread.burst.wrapping_add(needed);
    count_run(thread, burst);
    let Some(most) = time_slice::run(thread, header, kernel, needed) else {
        thread.burst = burst;
        thread.runtime.burst_phase.given = burst;
        return;
    };
    loop {
        if thread.runtime.burst_phase.left == 0 {
            let before = thread.runtime.burst_phase.state;
            if before == ON {
                thread.runtime.burst_phase.bursts += 1;
                for (countdown, counters) in thread.each_event(header) {
                    counters.bursts.end(counters.period.passed(*countdown));
                }
            }
            thread.runtime.burst_phase.turn(bursts);
            enter(thread, header, before);
        }
        burst = burst.wrapping_add(thread.runtime.burst_phase.part(most));
        if burst >= needed {
            break;
        }
    }
    thread.burst = burst;
    thread.runtime.burst_phase.given = burst;
    thread.variant = if thread.runtime.burst_phase.state == GAP { BARE } else { MODELLED };
}

/// Counts what ran since BURST was given, of which `burst` is left.
fn count_run(thread: &mut Thread, burst: u64) {
    let burst_phase = &mut thread.runtime.burst_phase;
    let ran = burst_phase.given.wrapping_sub(burst);
    let state = usize::try_from(burst_phase.state).unwrap_or(0);
    if let Some(sum) = burst_phase.ran.get_mut(state) {
        *sum = sum.wrapping_add(ran);
    }
    thread.runtime.time_slice.add_run(ran, thread.runtime.missed);
    // As long as accesses that hit; nobody sees what it misses.
    if burst_phase.state == GAP {
        thread.runtime.waited = thread.runtime.waited.wrapping_add(ran);
        thread.runtime.missed = thread.runtime.missed.wrapping_add(1);
    }
}

/// Countdowns stand still while the caches are warmed up.
fn enter(thread: &mut Thread, header: &Header, before: u64) {
    let now = thread.runtime.burst_phase.state;
    for (countdown, counters) in thread.each_event(header) {
        if before != now && now == WARM {
            counters.countdown = *countdown;
            *countdown = NEVER;
        }
        if before != now && before == WARM {
            *countdown = counters.countdown;
        }
        if now == ON {
            counters.bursts.before = counters.period.passed(*countdown);
        }
    }
}
