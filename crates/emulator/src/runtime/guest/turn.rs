//! From one stretch to the next, in the target.

use super::book;
use super::header::Header;
use super::legs::{self, Kernel};
use super::stretch::{GAP, NEVER, ON, WARM};
use super::thread::Thread;
use crate::block::{BARE, MODELLED};

/// A stretch is over before the block of TURN instructions that is next: what
/// it did not use goes to the one after it.
/// With turns, it waits for the thread's own first.
pub(super) fn turn(thread: &mut Thread, header: &Header, kernel: &impl Kernel) {
    let bursts = &header.bursts;
    let needed = thread.turn;
    let mut burst = thread.burst.wrapping_add(needed);
    book(thread, burst);
    let Some(most) = legs::run(thread, header, kernel, needed) else {
        thread.burst = burst;
        thread.own.stretch.given = burst;
        return;
    };
    loop {
        if thread.own.stretch.left == 0 {
            let before = thread.own.stretch.state;
            if before == ON {
                thread.own.stretch.bursts += 1;
                for (countdown, book) in book::each(thread, header) {
                    book.bursts.end(book.period.passed(*countdown));
                }
            }
            thread.own.stretch.turn(bursts);
            enter(thread, header, before);
        }
        burst = burst.wrapping_add(thread.own.stretch.part(most));
        if burst >= needed {
            break;
        }
    }
    thread.burst = burst;
    thread.own.stretch.given = burst;
    thread.half = if thread.own.stretch.state == GAP { BARE } else { MODELLED };
}

/// Counts what ran since BURST was given, of which `burst` is left.
fn book(thread: &mut Thread, burst: u64) {
    let stretch = &mut thread.own.stretch;
    let ran = stretch.given.wrapping_sub(burst);
    let state = usize::try_from(stretch.state).unwrap_or(0);
    if let Some(sum) = stretch.ran.get_mut(state) {
        *sum = sum.wrapping_add(ran);
    }
    thread.own.leg.book(ran, thread.own.missed);
    // As long as accesses that hit; nobody sees what it misses.
    if stretch.state == GAP {
        thread.own.waited = thread.own.waited.wrapping_add(ran);
        thread.own.missed = thread.own.missed.wrapping_add(1);
    }
}

/// Countdowns stand still while the caches are warmed up.
fn enter(thread: &mut Thread, header: &Header, before: u64) {
    let now = thread.own.stretch.state;
    for (countdown, book) in book::each(thread, header) {
        if before != now && now == WARM {
            book.countdown = *countdown;
            *countdown = NEVER;
        }
        if before != now && before == WARM {
            *countdown = book.countdown;
        }
        if now == ON {
            book.bursts.before = book.period.passed(*countdown);
        }
    }
}
