//! Threads that the kernel has not taken yet, or not given back, and are
//! waited for before the baton goes on.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::baton::{Baton, Seat};
use super::legs::Kernel;

/// Looks before the thread sleeps. A thread that was woken needs some
/// microseconds to come.
const LOOKS: u64 = 200;
/// How often it sleeps at most, for how many nanoseconds: on a busy machine a
/// thread comes late.
const NAPS: u64 = 1_000;
const NAP: u64 = 1_000_000;
/// The same for what nobody tells the end of, and takes a call's begin only.
const SHORT_NAPS: u64 = 50;
const SHORT_NAP: u64 = 20_000;

/// Waits for those that were woken to come back; the last of them rings.
#[inline(always)]
pub(super) fn settle(baton: &Baton<'_>, kernel: &impl Kernel, seat: Seat<'_>) {
    if baton.woken.are_awaited() {
        wait_for_woken(baton, kernel, seat);
        baton.woken.forget();
    }
}

#[cold]
fn wait_for_woken(baton: &Baton<'_>, kernel: &impl Kernel, seat: Seat<'_>) {
    let Some(bell) = seat.bell() else { return };
    let looks = if seat.is_filtered() { LOOKS * NAPS } else { LOOKS };
    for _ in 0..looks {
        if baton.woken.are_back() {
            return;
        }
        spin_loop();
    }
    for _ in 0..if seat.is_filtered() { 0 } else { NAPS } {
        let expected = bell.load(SeqCst);
        if baton.woken.are_back() || seat.is_to_come() {
            return;
        }
        seat.sleeps(true);
        kernel.sleep(bell, expected, NAP);
        seat.sleeps(false);
    }
}

/// A thread is back from where it waited. Who waits for that is told when all
/// are.
#[inline(always)]
pub(super) fn came(baton: &Baton<'_>, kernel: &impl Kernel, seat: Seat<'_>) {
    seat.waits_at(0);
    if baton.woken.are_awaited() && baton.woken.are_back() {
        let holder = baton.holding().0.map(|index| baton.seat(index));
        if let Some(holder) = holder
            && holder.ring()
            && !seat.is_filtered()
            && let Some(bell) = holder.bell()
        {
            kernel.wake(bell);
        }
    }
}

/// Waits until the kernel has the thread that passed the baton on and went to
/// wait at a futex.
#[inline(always)]
pub(super) fn sink(baton: &Baton<'_>, kernel: &impl Kernel, seat: Seat<'_>) {
    let Some(futex) = baton.sinking.take() else { return };
    if seat.is_filtered() {
        return;
    }
    let idle = AtomicU64::new(0);
    for naps in 0..NAPS {
        let there = kernel.waiters(futex);
        if there.is_none_or(|there| baton.sinking.is_down(futex, there)) || seat.is_to_come() {
            return;
        }
        kernel.sleep(&idle, 0, if naps < SHORT_NAPS { SHORT_NAP } else { NAP });
    }
}
