//! One access that translated code could not answer by itself, or all those
//! of an instruction that makes many.

use super::count::{count_classes, count_events, next_periods};
use super::element_iter::{ElementAccess, ElementIter, RCX};
use super::header::Header;
use super::thread::{PendingRecords, ThreadContext};
use super::{RuntimeAction, time_slice};
use crate::block::{AccessKind, AccessSite, COUNTED, LOCKED, READS};
use crate::model::{AccessOutcome, DataAccess, Events, LINE, LOADS, LineSource, STORES, Uncore};

const LOAD: u8 = AccessKind::Load as u8;
const STORE: u8 = AccessKind::Store as u8;
const FETCH: u8 = AccessKind::Fetch as u8;
const NONE: u8 = AccessKind::None as u8;

/// One access, if it is of the commonest kind: false when not, and [`access`]
/// is to look it up. False too when a record comes of it, which is pending then.
///
/// The kind is for a `WAYS` and `TLB` as [`Core::quick`](crate::model::Core::quick)
/// has them.
#[inline(always)]
pub(super) fn quick<const WAYS: usize, const TLB: bool>(
    context: &mut ThreadContext<'_>,
    uncore: &mut impl Uncore,
    site: &AccessSite,
    address: u64,
) -> bool {
    let within = (address & (LINE - 1)) + u64::from(site.size) <= LINE;
    if site.kind > STORE || site.marks & COUNTED != 0 || !within {
        return false;
    }
    let write = site.kind == STORE;
    let stamp = context.thread.clock.wrapping_add(u64::from(site.offset));
    let read = !write || site.marks & READS != 0;
    let access = DataAccess { address, size: 1, read, write, ip: 0, stamp };
    let Some(outcome) = context.core().quick::<WAYS, TLB>(uncore, access) else { return false };
    if uncore.has_other_cores() {
        after(context, outcome, address);
    }
    wait(context, outcome);
    let due = count_events(context, outcome.events());
    if due == 0 {
        return true;
    }
    let element = ElementAccess { address, size: u64::from(site.size), write, number: 0 };
    ready(context, site, outcome, element, due);
    false
}

/// Whether a site is a load or store within a line and nothing rare is
/// modelled: what [`alone`] is for.
#[inline(always)]
pub(super) fn is_plain(header: &Header, site: &AccessSite, address: u64) -> bool {
    let within = (address & (LINE - 1)) + u64::from(site.size) <= LINE;
    site.kind <= STORE && within && header.shape.forward | header.shape.prefetch == 0
}

/// Such an access of a thread that is alone: the same as [`access`], with
/// less to carry.
#[inline(always)]
pub(super) fn alone(
    context: &mut ThreadContext<'_>,
    common: &mut [u64],
    site: &AccessSite,
) -> RuntimeAction {
    let element = single(context, site);
    let access = data_access(context, site, element);
    let outcome = context.core().alone(common, access);
    wait(context, outcome);
    decide(context, site, outcome, element, site.marks)
}

#[inline(always)]
fn single(context: &ThreadContext<'_>, site: &AccessSite) -> ElementAccess {
    let size = u64::from(site.size);
    ElementAccess { address: context.thread.address, size, write: site.kind == STORE, number: 0 }
}

#[inline(always)]
fn data_access(
    context: &ThreadContext<'_>,
    site: &AccessSite,
    element: ElementAccess,
) -> DataAccess {
    DataAccess {
        address: context.header.modelled(element.address),
        size: element.size,
        read: !element.write || site.marks & READS != 0,
        write: element.write,
        ip: site.ip,
        stamp: context.thread.clock.wrapping_add(u64::from(site.offset)),
    }
}

const NOTHING: ElementAccess = ElementAccess { address: 0, size: 0, write: false, number: 0 };

/// Looks up what the site says, up to the first event of which a record is
/// due; PROGRESS says where to go on after that.
#[inline(always)]
pub(super) fn access(
    context: &mut ThreadContext<'_>,
    uncore: &mut impl Uncore,
    site: &AccessSite,
) -> RuntimeAction {
    match site.kind {
        LOAD | STORE => {
            let element = single(context, site);
            let outcome = look_up(context, uncore, site, element);
            decide(context, site, outcome, element, site.marks)
        }
        FETCH => {
            let stamp = context.thread.clock.wrapping_add(u64::from(site.offset));
            let line = context.thread.address & !(LINE - 1);
            let outcome = context.core().fetch(uncore, line, stamp);
            wait(context, outcome);
            RuntimeAction::Resume
        }
        NONE => decide(context, site, AccessOutcome::default(), NOTHING, site.marks),
        _ => many(context, uncore, site),
    }
}

/// The accesses of a part of a string instruction, or of a gather or masked
/// move.
#[inline(never)]
fn many(
    context: &mut ThreadContext<'_>,
    uncore: &mut impl Uncore,
    site: &AccessSite,
) -> RuntimeAction {
    let mut elements = ElementIter::new(context, site);
    if elements.is_string() {
        return match site.marks & COUNTED {
            0 => part(context, uncore, site, elements),
            _ => first(context, uncore, site, elements),
        };
    }
    let mut untouched = context.thread.runtime.progress == 0;
    while let Some(element) = elements.next(context) {
        // Its class counts the instruction once.
        let counted = if untouched { site.marks } else { 0 };
        untouched = false;
        context.thread.clock += 2;
        let outcome = look_up(context, uncore, site, element);
        context.thread.runtime.progress = elements.progress();
        let next = decide(context, site, outcome, element, counted);
        if next != RuntimeAction::Resume {
            return next;
        }
    }
    context.thread.runtime.progress = 0;
    if !untouched {
        return RuntimeAction::Resume;
    }
    // No element is meant. Counted all the same, once an instruction.
    let element =
        ElementAccess { address: context.thread.address, write: elements.writes(), ..NOTHING };
    decide(context, site, AccessOutcome::default(), element, site.marks)
}

/// What the second of two looks at an access sees as the first did.
const AGAIN: Events = Events(Events::SPLIT_LOAD.0 | Events::SPLIT_STORE.0 | Events::BLOCKED.0);

/// The first element of a string instruction that is counted, if it has one.
/// It is looked up once more when its turn comes, and misses nothing then.
fn first(
    context: &mut ThreadContext<'_>,
    uncore: &mut impl Uncore,
    site: &AccessSite,
    mut elements: ElementIter,
) -> RuntimeAction {
    let address = context.thread.address;
    let (mut outcome, mut element) =
        (AccessOutcome::default(), ElementAccess { address, write: elements.writes(), ..NOTHING });
    if let Some(found) = elements.next(context) {
        element = found;
        context.thread.clock += 2;
        outcome = look_up(context, uncore, site, element);
    }
    let due =
        count_events(context, outcome.without(AGAIN).events()) | count_classes(context, site.marks);
    settle(context, site, outcome, element, due)
}

/// A part of a string instruction that no fault interrupts: what follows in
/// the pages of its first element, or that element alone when nothing shows
/// that these are within reach. Leaves in rcx how many elements that is, and
/// in REST how many follow.
fn part(
    context: &mut ThreadContext<'_>,
    uncore: &mut impl Uncore,
    site: &AccessSite,
    mut elements: ElementIter,
) -> RuntimeAction {
    let count = elements.count();
    let mut unknown = false;
    if context.thread.runtime.progress == 0 {
        let begins = context.thread.rest == 0;
        let (together, enters) = elements.in_pages(context);
        context.thread.rest = count.saturating_sub(together);
        unknown = begins || enters;
    }
    elements.until(count.saturating_sub(context.thread.rest));
    while let Some(element) = elements.next(context) {
        context.thread.clock += 2;
        let outcome = look_up(context, uncore, site, element);
        if unknown && element.number == 0 && outcome.is_new() {
            context.thread.rest = count.saturating_sub(1);
            elements.until(1);
        }
        context.thread.runtime.progress = elements.progress();
        let next = decide(context, site, outcome, element, 0);
        if next != RuntimeAction::Resume {
            return next;
        }
    }
    context.thread.runtime.progress = 0;
    if let Some(rcx) = context.thread.registers.get_mut(RCX).filter(|_| count != 0) {
        *rcx = count.saturating_sub(context.thread.rest);
    }
    RuntimeAction::Resume
}

#[inline(always)]
fn look_up(
    context: &mut ThreadContext<'_>,
    uncore: &mut impl Uncore,
    site: &AccessSite,
    element: ElementAccess,
) -> AccessOutcome {
    let access = data_access(context, site, element);
    let (first, last) = access.lines();
    context.thread.clock += last.wrapping_sub(first) / LINE;
    let outcome = context.core().access(uncore, access);
    wait(context, outcome);
    after(context, outcome, first);
    outcome
}

/// A line that others write, too, is kept for a short while.
#[inline(always)]
fn after(context: &mut ThreadContext<'_>, outcome: AccessOutcome, address: u64) {
    let missed = outcome.events().meet(Events::L1_MISS);
    context.thread.runtime.missed = context.thread.runtime.missed.wrapping_add(u64::from(missed));
    if outcome.served() == LineSource::Modified {
        time_slice::took_line(context.thread, context.header, address & !(LINE - 1));
    }
}

/// Lets modelled time pass.
#[inline(always)]
fn wait(context: &mut ThreadContext<'_>, outcome: AccessOutcome) {
    context.thread.runtime.waited += outcome.latency(&context.header.shape);
}

/// Counts what happened, with an instruction of the classes in `marks`, and
/// readies the records that are due.
#[inline(always)]
fn decide(
    context: &mut ThreadContext<'_>,
    site: &AccessSite,
    outcome: AccessOutcome,
    element: ElementAccess,
    marks: u32,
) -> RuntimeAction {
    let mut due = count_events(context, outcome.events());
    if marks & COUNTED != 0 {
        due |= count_classes(context, marks);
    }
    settle(context, site, outcome, element, due)
}

#[inline(always)]
fn settle(
    context: &mut ThreadContext<'_>,
    site: &AccessSite,
    outcome: AccessOutcome,
    element: ElementAccess,
    due: u64,
) -> RuntimeAction {
    if due == 0 {
        return RuntimeAction::Resume;
    }
    ready(context, site, outcome, element, due);
    RuntimeAction::Record
}

#[cold]
#[inline(never)]
fn ready(
    context: &mut ThreadContext<'_>,
    site: &AccessSite,
    outcome: AccessOutcome,
    element: ElementAccess,
    due: u64,
) {
    next_periods(context, due);
    let ElementAccess { address, write, number: elements, .. } = element;
    let reads = !write || site.marks & READS != 0;
    let operation = if reads { LOADS } else { 0 } | if write { STORES } else { 0 };
    let (source, latency) = if site.kind == NONE {
        (0, 0)
    } else {
        let locked = site.marks & LOCKED != 0;
        (outcome.source(operation, locked), outcome.latency(&context.header.shape))
    };
    let causes = outcome.causes();
    context.thread.runtime.pending =
        PendingRecords { due, address, source, latency, elements, causes };
}
