//! Counts for each event of its own, in the countdowns of a thread.

use super::thread::ThreadContext;
use crate::block::COUNTED_FROM;
use crate::model::Events;

/// Counts what happened at an access: a bit for each event, by its place, of
/// which a record is due.
#[inline(always)]
pub(super) fn count_events(context: &mut ThreadContext<'_>, happened: Events) -> u64 {
    if !happened.meet(Events(context.header.events)) {
        return 0;
    }
    let mut due = 0;
    let each = context.header.counted().iter().zip(&mut context.thread.countdowns);
    for ((&counts, countdown), bit) in each.zip(bits()) {
        if happened.meet(Events(counts)) {
            due |= take_one(countdown, bit);
        }
    }
    due
}

/// Counts an instruction of the classes that the marks of a site tell: the
/// first of them is counted, and due.
#[cold]
#[inline(never)]
pub(super) fn count_classes(context: &mut ThreadContext<'_>, marks: u32) -> u64 {
    let counting = u64::from(marks >> COUNTED_FROM);
    let mut due = counting & counting.wrapping_neg();
    let rest = counting ^ due;
    for (countdown, bit) in context.thread.countdowns.iter_mut().zip(bits()) {
        if rest & bit != 0 {
            due |= take_one(countdown, bit);
        }
    }
    due
}

/// Counts one event: its bit when its record is due.
#[inline(always)]
fn take_one(countdown: &mut u64, bit: u64) -> u64 {
    *countdown = countdown.wrapping_sub(1);
    if *countdown == 0 { bit } else { 0 }
}

/// Begins the next period of some events; the one that ended is in their books.
pub(super) fn next_periods(context: &mut ThreadContext<'_>, due: u64) {
    let thread = &mut *context.thread;
    let each =
        thread.countdowns.iter_mut().zip(&mut thread.runtime.counters).zip(&context.header.periods);
    for (((countdown, counters), rule), bit) in each.zip(bits()) {
        if due & bit != 0 {
            counters.ended = counters.period.turn(*rule);
            *countdown = counters.period.events;
        }
    }
}

#[inline(always)]
fn bits() -> impl Iterator<Item = u64> {
    (0..64).map(|place| 1 << place)
}
