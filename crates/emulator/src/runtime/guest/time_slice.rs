//! Time slices: what a thread runs from when it takes the run token until it passes it
//! on, counted in instructions.

use core::sync::atomic::Ordering::SeqCst;

use super::arrival::{mark_back, wait_for_woken_threads, wait_until_asleep};
use super::header::Header;
use super::kernel::Kernel;
use super::run_token::{ProgramFutex, RunToken};
use super::syscall_kind::SyscallKind;
use super::thread::{Thread, TimeSlice};

/// Instructions of a time slice at most, half of it on average: long enough for the
/// host's caches to be worth what the next thread finds in them.
const LONG: u64 = 2_000_000;
/// The same of one that misses nothing, which may be waiting for another, and
/// of one that has woken another.
const IDLE: u64 = 100_000;
/// Instructions after which a thread looks whether one wants to run that
/// waited for the world outside.
const PART: u64 = 25_000;
/// The same when another wants the line that the thread has just taken: about
/// what a core does while a line is on its way.
const SHORT: u64 = 1_000;
/// Looks for the run token before a thread sleeps, while time slices are short.
const SPINS: u64 = 200;
/// When one that waits sees to it that who holds the run token is not kept in the
/// kernel: so many nanoseconds for each that waits.
const KEPT_IN_KERNEL_NS: u64 = 50_000_000;
/// How often in a row it has not run on, before it is taken for kept outside
/// of a call, too: a second and more, for which a busy machine may have no CPU
/// for it. Pages that another thread brings (userfaultfd) take that long.
const STILL: u64 = 20;

impl Header {
    #[inline(always)]
    pub fn run_token(&self) -> RunToken<'_> {
        RunToken::new(&self.run_token, self.highest.load(SeqCst))
    }
}

fn is_first(thread: &Thread) -> bool {
    thread.runtime.task >> 32 == thread.runtime.task & 0xffff_ffff
}

fn number(thread: &Thread) -> usize {
    usize::try_from(thread.runtime.index).unwrap_or(usize::MAX)
}

/// Waits for the thread's turn before the `needed` instructions that are next,
/// unless it has it: how many instructions it may run, no fewer than those.
/// None: it was called out of the runtime, and has not got it.
pub(super) fn run(
    thread: &mut Thread,
    header: &Header,
    kernel: &impl Kernel,
    needed: u64,
) -> Option<u64> {
    let run_token = header.run_token();
    if !run_token.is_on() {
        return Some(u64::MAX);
    }
    let index = number(thread);
    let wait_slot = run_token.wait_slot(index);
    wait_slot.calls(false);
    if run_token.is_held(index) {
        wait_slot.set_futex(0);
        let time_slice = thread.runtime.time_slice;
        // A new thread may have been given it before it came here.
        let begun = time_slice.turn == run_token.holding().1;
        if begun && time_slice.left >= needed && time_slice.idle < IDLE && !run_token.is_urgent() {
            return Some(time_slice.left.min(PART.max(needed)));
        }
        // Who comes next must not depend on how soon the woken come.
        wait_for_woken_threads(&run_token, kernel, wait_slot);
        if begun && run_token.queue.next(index).is_some() {
            run_token.queue.add(index);
            hand_over(&run_token, kernel, index, wait_slot.is_filtered());
        }
    } else {
        run_token.queue.add(index);
        if wait_slot.is_waiting_elsewhere() {
            run_token.mark_urgent(index);
        }
        mark_back(&run_token, kernel, wait_slot);
    }
    if !run_token.is_held(index) && !take(thread, header, kernel, index) {
        return None;
    }
    wait_for_woken_threads(&run_token, kernel, wait_slot);
    wait_until_asleep(&run_token, kernel, wait_slot);
    let left = run_token.draw(LONG).max(needed);
    let time_slice = &mut thread.runtime.time_slice;
    *time_slice = TimeSlice { left, short: 0, turn: run_token.holding().1, idle: 0, ..*time_slice };
    Some(left.min(PART.max(needed)))
}

fn take(thread: &mut Thread, header: &Header, kernel: &impl Kernel, index: usize) -> bool {
    let run_token = &header.run_token();
    let wait_slot = run_token.wait_slot(index);
    let time_slice = &mut thread.runtime.time_slice;
    let mut looks = if time_slice.short != 0 && time_slice.fruitless_runs < 8 { SPINS } else { 0 };
    let (mut seen, mut still, mut waited) = ((run_token.holding(), 0), 0, false);
    loop {
        let Some(wake_word) = wait_slot.wake_word() else { return true };
        let expected = wake_word.load(SeqCst);
        if run_token.is_held(index) || run_token.claim(index) {
            run_token.queue.remove(index);
            if time_slice.short != 0 {
                time_slice.fruitless_runs = if waited { time_slice.fruitless_runs + 1 } else { 0 };
            }
            // Now and then it is worth a try.
            if time_slice.fruitless_runs > 64 {
                time_slice.fruitless_runs = 0;
            }
            return true;
        }
        if wait_slot.take_interrupt() {
            return false;
        }
        if looks > 0 || wait_slot.is_filtered() {
            looks = looks.saturating_sub(1);
            core::hint::spin_loop();
            continue;
        }
        waited = true;
        wait_slot.set_asleep(true);
        if !run_token.is_held(index) {
            kernel.sleep(
                wake_word,
                expected,
                KEPT_IN_KERNEL_NS.saturating_mul(run_token.queue.count()),
            );
        }
        wait_slot.set_asleep(false);
        let holding = run_token.holding();
        let (Some(other), _) = holding else { continue };
        let now = (holding, kernel.progress(header, other));
        let calls = holding == seen.0 && run_token.wait_slot(other).is_calling();
        if run_token.wait_slot(other).is_without_room() {
            continue;
        }
        still = if now == seen { still + 1 } else { 0 };
        if other != index && wake_word.load(SeqCst) == expected && (calls || still >= STILL) {
            // It is kept, in a call or by a page that another is to bring:
            // perhaps by what others would do.
            hand_over(run_token, kernel, other, false);
        }
        seen = now;
    }
}

fn hand_over(run_token: &RunToken<'_>, kernel: &impl Kernel, from: usize, filtered: bool) {
    let Some(next) = run_token.pass(from) else { return };
    let wait_slot = run_token.wait_slot(next);
    if wait_slot.ring()
        && !filtered
        && let Some(wake_word) = wait_slot.wake_word()
    {
        kernel.wake(wake_word);
    }
}

/// Lets the thread's time slice end, or go on, after so many instructions at most.
fn cut(thread: &mut Thread, to: u64) {
    let excess = thread.burst.saturating_sub(to);
    let burst_phase = &mut thread.runtime.burst_phase;
    let ran = burst_phase.given.wrapping_sub(thread.burst);
    let time_slice = &mut thread.runtime.time_slice;
    time_slice.left = time_slice.left.min(ran.saturating_add(to));
    burst_phase.left = burst_phase.left.wrapping_add(excess);
    burst_phase.given = burst_phase.given.wrapping_sub(excess);
    thread.burst = thread.burst.wrapping_sub(excess);
}

/// The thread took a line that another had written: if both want it, it keeps
/// it for a short while.
#[inline(always)]
pub(super) fn took_line(thread: &mut Thread, header: &Header, line: u64) {
    let run_token = header.run_token();
    if run_token.is_on() && run_token.lines.moved(line) {
        thread.runtime.time_slice.short = 1;
        let most = run_token.draw(SHORT);
        cut(thread, most);
    }
}

pub(super) fn pause(thread: &mut Thread, header: &Header, kernel: &impl Kernel) {
    let run_token = header.run_token();
    let index = number(thread);
    if !run_token.is_on() || !run_token.is_held(index) {
        return;
    }
    let wait_slot = run_token.wait_slot(index);
    wait_for_woken_threads(&run_token, kernel, wait_slot);
    if run_token.queue.next(index).is_some() {
        cut(thread, 0);
        run_token.queue.add(index);
        hand_over(&run_token, kernel, index, wait_slot.is_filtered());
    }
}

/// The thread is about to make the system call that its registers say.
pub(super) fn before_call(thread: &mut Thread, header: &Header, kernel: &impl Kernel) {
    let run_token = header.run_token();
    if !run_token.is_on() {
        return;
    }
    let index = number(thread);
    let wait_slot = run_token.wait_slot(index);
    let left = thread.runtime.time_slice.left;
    cut(thread, 0);
    if !run_token.is_held(index) {
        return;
    }
    // It runs on behind the call.
    thread.runtime.time_slice.left = left;
    let [rax, _, rdx, _, _, _, rsi, rdi, _, r9, ..] = thread.registers;
    let filtered = wait_slot.is_filtered();
    let call = SyscallKind::of(rax, [rdi, rsi, rdx, r9]);
    wait_slot.calls(matches!(call, SyscallKind::Other | SyscallKind::Transfers { .. }));
    let waits = match call {
        SyscallKind::Quick | SyscallKind::Other => false,
        SyscallKind::Waits | SyscallKind::Yield => true,
        SyscallKind::Transfers { file, events } => filtered || !kernel.is_ready(file, events),
        SyscallKind::FutexWait { futex, value } => filtered || kernel.would_wait(futex, value),
        SyscallKind::FutexWake { futex, most } => {
            if wakes(&run_token, kernel, index, futex, most) {
                thread.runtime.time_slice.left = left.min(IDLE);
            }
            false
        }
        SyscallKind::FutexMove { address } => {
            run_token.forget_futex(address);
            false
        }
        SyscallKind::ClearAtExit { address } => {
            wait_slot.clears(address);
            false
        }
        // The end of a process's first thread is told when all have ended;
        // that of others passes the run token on.
        SyscallKind::Exit if !is_first(thread) => {
            wait_for_woken_threads(&run_token, kernel, wait_slot);
            false
        }
        SyscallKind::Exit => true,
    };
    if !waits {
        return;
    }
    wait_for_woken_threads(&run_token, kernel, wait_slot);
    match call {
        SyscallKind::Yield => run_token.queue.add(index),
        SyscallKind::FutexWait { futex, .. } => {
            wait_slot.set_futex(futex.address);
            run_token.pending_wait.begin_wait(futex);
        }
        SyscallKind::Exit => {}
        _ => wait_slot.begin_other_wait(),
    }
    wait_slot.calls(false);
    hand_over(&run_token, kernel, index, filtered);
}

/// A thread is about to wake others. False: nobody waits there.
fn wakes(
    run_token: &RunToken<'_>,
    kernel: &impl Kernel,
    index: usize,
    futex: ProgramFutex,
    most: u64,
) -> bool {
    if !run_token.has_waiting(futex.address) {
        return false;
    }
    let wait_slot = run_token.wait_slot(index);
    if !run_token.woken.has_room() {
        wait_for_woken_threads(run_token, kernel, wait_slot);
    }
    let there = if wait_slot.is_filtered() { None } else { kernel.waiters(futex) };
    run_token.woken.wake(futex.address, most, there)
}
