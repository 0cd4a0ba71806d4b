//! Legs: what a thread runs from when it takes the baton until it passes it
//! on, counted in instructions.

use core::sync::atomic::Ordering::SeqCst;

use super::arrival::{came, settle, sink};
use super::baton::{Baton, ProgramFutex};
use super::call::KernelCall;
use super::header::Header;
use super::thread::Thread;

/// Instructions of a leg at most, half of it on average: long enough for the
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
/// Looks for the baton before a thread sleeps, while legs are short.
const LOOKS: u64 = 200;
/// When one that waits sees to it that who holds the baton is not kept in the
/// kernel: so many nanoseconds for each that waits.
const PATIENCE: u64 = 50_000_000;
/// How often in a row it has not run on, before it is taken for kept outside
/// of a call, too: a second and more, for which a busy machine may have no CPU
/// for it. Pages that another thread brings (userfaultfd) take that long.
const STILL: u64 = 20;

pub trait Kernel {
    /// Sleeps as long as the word's lower half is `expected`, until it is
    /// woken or so many nanoseconds are over.
    fn sleep(&self, word: &core::sync::atomic::AtomicU64, expected: u64, nanoseconds: u64);
    fn wake(&self, word: &core::sync::atomic::AtomicU64);
    /// Whether a file is ready for one of the events, or broken.
    fn is_ready(&self, file: u64, events: u64) -> bool;
    /// What differs if a thread has run on meanwhile.
    fn progress(&self, header: &Header, index: usize) -> u64;
    fn would_wait(&self, futex: ProgramFutex, value: u64) -> bool;
    /// How many wait at a futex of the program in the kernel; None: it does
    /// not tell.
    fn waiters(&self, futex: ProgramFutex) -> Option<u64>;
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Leg {
    /// Instructions left of it, since BURST was given some of them.
    pub left: u64,
    pub short: u64,
    /// Times in a row that looking for the baton was in vain.
    pub vain: u64,
    /// Which of the baton's turns it is; 0 before the first.
    pub turn: u64,
    /// Instructions in which nothing missed.
    pub idle: u64,
    /// The thread's misses then.
    pub missed: u64,
}

impl Leg {
    pub(super) fn book(&mut self, ran: u64, missed: u64) {
        self.left = self.left.saturating_sub(ran);
        self.idle = if self.missed == missed { self.idle.saturating_add(ran) } else { 0 };
        self.missed = missed;
    }
}

impl Header {
    #[inline(always)]
    pub fn baton(&self) -> Baton<'_> {
        Baton::new(&self.baton, self.highest.load(SeqCst))
    }
}

fn is_first(thread: &Thread) -> bool {
    thread.own.task >> 32 == thread.own.task & 0xffff_ffff
}

fn number(thread: &Thread) -> usize {
    usize::try_from(thread.own.index).unwrap_or(usize::MAX)
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
    let baton = header.baton();
    if !baton.is_on() {
        return Some(u64::MAX);
    }
    let index = number(thread);
    let seat = baton.seat(index);
    seat.calls(false);
    if baton.is_held(index) {
        seat.waits_at(0);
        let leg = thread.own.leg;
        // A new thread may have been given it before it came here.
        let begun = leg.turn == baton.holding().1;
        if begun && leg.left >= needed && leg.idle < IDLE && !baton.is_urgent() {
            return Some(leg.left.min(PART.max(needed)));
        }
        // Who comes next must not depend on how soon the woken come.
        settle(&baton, kernel, seat);
        if begun && baton.queue.next(index).is_some() {
            baton.queue.add(index);
            hand_over(&baton, kernel, index, seat.is_filtered());
        }
    } else {
        baton.queue.add(index);
        if seat.is_away() {
            baton.hurry(index);
        }
        came(&baton, kernel, seat);
    }
    if !baton.is_held(index) && !take(thread, header, kernel, index) {
        return None;
    }
    settle(&baton, kernel, seat);
    sink(&baton, kernel, seat);
    let left = baton.draw(LONG).max(needed);
    let leg = &mut thread.own.leg;
    *leg = Leg { left, short: 0, turn: baton.holding().1, idle: 0, ..*leg };
    Some(left.min(PART.max(needed)))
}

fn take(thread: &mut Thread, header: &Header, kernel: &impl Kernel, index: usize) -> bool {
    let baton = &header.baton();
    let seat = baton.seat(index);
    let leg = &mut thread.own.leg;
    let mut looks = if leg.short != 0 && leg.vain < 8 { LOOKS } else { 0 };
    let (mut seen, mut still, mut waited) = ((baton.holding(), 0), 0, false);
    loop {
        let Some(bell) = seat.bell() else { return true };
        let expected = bell.load(SeqCst);
        if baton.is_held(index) || baton.claim(index) {
            baton.queue.remove(index);
            if leg.short != 0 {
                leg.vain = if waited { leg.vain + 1 } else { 0 };
            }
            // Now and then it is worth a try.
            if leg.vain > 64 {
                leg.vain = 0;
            }
            return true;
        }
        if seat.is_called() {
            return false;
        }
        if looks > 0 || seat.is_filtered() {
            looks = looks.saturating_sub(1);
            core::hint::spin_loop();
            continue;
        }
        waited = true;
        seat.sleeps(true);
        if !baton.is_held(index) {
            kernel.sleep(bell, expected, PATIENCE.saturating_mul(baton.queue.count()));
        }
        seat.sleeps(false);
        let holding = baton.holding();
        let (Some(other), _) = holding else { continue };
        let now = (holding, kernel.progress(header, other));
        let calls = holding == seen.0 && baton.seat(other).is_calling();
        if baton.seat(other).is_without_room() {
            continue;
        }
        still = if now == seen { still + 1 } else { 0 };
        if other != index && bell.load(SeqCst) == expected && (calls || still >= STILL) {
            // It is kept, in a call or by a page that another is to bring:
            // perhaps by what others would do.
            hand_over(baton, kernel, other, false);
        }
        seen = now;
    }
}

fn hand_over(baton: &Baton<'_>, kernel: &impl Kernel, from: usize, filtered: bool) {
    let Some(next) = baton.pass(from) else { return };
    let seat = baton.seat(next);
    if seat.ring()
        && !filtered
        && let Some(bell) = seat.bell()
    {
        kernel.wake(bell);
    }
}

/// Lets the thread's leg end, or go on, after so many instructions at most.
fn cut(thread: &mut Thread, to: u64) {
    let excess = thread.burst.saturating_sub(to);
    let stretch = &mut thread.own.stretch;
    let ran = stretch.given.wrapping_sub(thread.burst);
    let leg = &mut thread.own.leg;
    leg.left = leg.left.min(ran.saturating_add(to));
    stretch.left = stretch.left.wrapping_add(excess);
    stretch.given = stretch.given.wrapping_sub(excess);
    thread.burst = thread.burst.wrapping_sub(excess);
}

/// The thread took a line that another had written: if both want it, it keeps
/// it for a short while.
#[inline(always)]
pub(super) fn took(thread: &mut Thread, header: &Header, line: u64) {
    let baton = header.baton();
    if baton.is_on() && baton.lines.moved(line) {
        thread.own.leg.short = 1;
        let most = baton.draw(SHORT);
        cut(thread, most);
    }
}

pub(super) fn pause(thread: &mut Thread, header: &Header, kernel: &impl Kernel) {
    let baton = header.baton();
    let index = number(thread);
    if !baton.is_on() || !baton.is_held(index) {
        return;
    }
    let seat = baton.seat(index);
    settle(&baton, kernel, seat);
    if baton.queue.next(index).is_some() {
        cut(thread, 0);
        baton.queue.add(index);
        hand_over(&baton, kernel, index, seat.is_filtered());
    }
}

/// The thread is about to make the system call that its registers say.
pub(super) fn before_call(thread: &mut Thread, header: &Header, kernel: &impl Kernel) {
    let baton = header.baton();
    if !baton.is_on() {
        return;
    }
    let index = number(thread);
    let seat = baton.seat(index);
    let left = thread.own.leg.left;
    cut(thread, 0);
    if !baton.is_held(index) {
        return;
    }
    // It runs on behind the call.
    thread.own.leg.left = left;
    let [rax, _, rdx, _, _, _, rsi, rdi, _, r9, ..] = thread.registers;
    let filtered = seat.is_filtered();
    let call = KernelCall::of(rax, [rdi, rsi, rdx, r9]);
    seat.calls(matches!(call, KernelCall::Other | KernelCall::Transfers { .. }));
    let waits = match call {
        KernelCall::Quick | KernelCall::Other => false,
        KernelCall::Waits | KernelCall::Yield => true,
        KernelCall::Transfers { file, events } => filtered || !kernel.is_ready(file, events),
        KernelCall::FutexWait { futex, value } => filtered || kernel.would_wait(futex, value),
        KernelCall::FutexWake { futex, most } => {
            if wakes(&baton, kernel, index, futex, most) {
                thread.own.leg.left = left.min(IDLE);
            }
            false
        }
        KernelCall::FutexMove { address } => {
            baton.lose(address);
            false
        }
        KernelCall::ClearAtExit { address } => {
            seat.clears(address);
            false
        }
        // The end of a process's first thread is told when all have ended;
        // that of others passes the baton on.
        KernelCall::Exit if !is_first(thread) => {
            settle(&baton, kernel, seat);
            false
        }
        KernelCall::Exit => true,
    };
    if !waits {
        return;
    }
    settle(&baton, kernel, seat);
    match call {
        KernelCall::Yield => baton.queue.add(index),
        KernelCall::FutexWait { futex, .. } => {
            seat.waits_at(futex.address);
            baton.sinking.goes(futex);
        }
        KernelCall::Exit => {}
        _ => seat.goes_away(),
    }
    seat.calls(false);
    hand_over(&baton, kernel, index, filtered);
}

/// A thread is about to wake others. False: nobody waits there.
fn wakes(
    baton: &Baton<'_>,
    kernel: &impl Kernel,
    index: usize,
    futex: ProgramFutex,
    most: u64,
) -> bool {
    if !baton.has_waiting(futex.address) {
        return false;
    }
    let seat = baton.seat(index);
    if !baton.woken.has_room() {
        settle(baton, kernel, seat);
    }
    let there = if seat.is_filtered() { None } else { kernel.waiters(futex) };
    baton.woken.wake(futex.address, most, there)
}
