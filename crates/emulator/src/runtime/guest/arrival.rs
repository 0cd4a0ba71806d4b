//! Threads that the kernel has not taken yet, or not given back, and are
//! waited for before the run token goes on.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::kernel::Kernel;
use super::run_token::{RunToken, WaitSlot};

/// Looks before the thread sleeps. A thread that was woken needs some
/// microseconds to come.
const SPINS: u64 = 200;
/// How often it sleeps at most, for how many nanoseconds: on a busy machine a
/// thread comes late.
const NAPS: u64 = 1_000;
const NAP: u64 = 1_000_000;
/// The same for what nobody tells the end of, and takes a call's begin only.
const SHORT_NAPS: u64 = 50;
const SHORT_NAP: u64 = 20_000;

/// Waits for those that were woken to come back; the last of them rings.
#[inline(always)]
pub(super) fn wait_for_woken_threads(
    run_token: &RunToken<'_>,
    kernel: &impl Kernel,
    wait_slot: WaitSlot<'_>,
) {
    if run_token.woken.are_awaited() {
        wait_for_woken(run_token, kernel, wait_slot);
        run_token.woken.forget();
    }
}

#[cold]
fn wait_for_woken(run_token: &RunToken<'_>, kernel: &impl Kernel, wait_slot: WaitSlot<'_>) {
    let Some(wake_word) = wait_slot.wake_word() else { return };
    let looks = if wait_slot.is_filtered() { SPINS * NAPS } else { SPINS };
    for _ in 0..looks {
        if run_token.woken.are_back() {
            return;
        }
        spin_loop();
    }
    for _ in 0..if wait_slot.is_filtered() { 0 } else { NAPS } {
        let expected = wake_word.load(SeqCst);
        if run_token.woken.are_back() || wait_slot.is_interrupted() {
            return;
        }
        wait_slot.set_asleep(true);
        kernel.sleep(wake_word, expected, NAP);
        wait_slot.set_asleep(false);
    }
}

/// A thread is back from where it waited. Who waits for that is told when all
/// are.
#[inline(always)]
pub(super) fn mark_back(run_token: &RunToken<'_>, kernel: &impl Kernel, wait_slot: WaitSlot<'_>) {
    wait_slot.set_futex(0);
    if run_token.woken.are_awaited() && run_token.woken.are_back() {
        let holder = run_token.holding().0.map(|index| run_token.wait_slot(index));
        if let Some(holder) = holder
            && holder.ring()
            && !wait_slot.is_filtered()
            && let Some(wake_word) = holder.wake_word()
        {
            kernel.wake(wake_word);
        }
    }
}

/// Waits until the kernel has the thread that passed the run token on and went to
/// wait at a futex.
#[inline(always)]
pub(super) fn wait_until_asleep(
    run_token: &RunToken<'_>,
    kernel: &impl Kernel,
    wait_slot: WaitSlot<'_>,
) {
    let Some(futex) = run_token.pending_wait.take() else { return };
    if wait_slot.is_filtered() {
        return;
    }
    let idle = AtomicU64::new(0);
    for naps in 0..NAPS {
        let there = kernel.waiters(futex);
        if there.is_none_or(|there| run_token.pending_wait.is_asleep(futex, there))
            || wait_slot.is_interrupted()
        {
            return;
        }
        kernel.sleep(&idle, 0, if naps < SHORT_NAPS { SHORT_NAP } else { NAP });
    }
}
