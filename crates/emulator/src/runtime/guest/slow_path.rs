//! One access that translated code could not answer by itself, or all those
//! of an instruction that makes many.

use super::count::{counted, next_periods, seen};
use super::header::Header;
use super::thread::{Local, Pending};
use super::walk::{Element, RCX, Walk};
use super::{NextMove, legs};
use crate::block::{AccessKind, AccessSite, COUNTED, LOCKED, READS};
use crate::model::{AccessOutcome, DataAccess, Events, LINE, LOADS, LineHolder, Outside, STORES};

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
    local: &mut Local<'_>,
    outside: &mut impl Outside,
    site: &AccessSite,
    address: u64,
) -> bool {
    let within = (address & (LINE - 1)) + u64::from(site.size) <= LINE;
    if site.kind > STORE || site.marks & COUNTED != 0 || !within {
        return false;
    }
    let write = site.kind == STORE;
    let stamp = local.thread.clock.wrapping_add(u64::from(site.offset));
    let read = !write || site.marks & READS != 0;
    let access = DataAccess { address, size: 1, read, write, ip: 0, stamp };
    let Some(outcome) = local.core().quick::<WAYS, TLB>(outside, access) else { return false };
    if outside.several() {
        after(local, outcome, address);
    }
    wait(local, outcome);
    let due = seen(local, outcome.events());
    if due == 0 {
        return true;
    }
    let element = Element { address, size: u64::from(site.size), write, number: 0 };
    ready(local, site, outcome, element, due);
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
pub(super) fn alone(local: &mut Local<'_>, common: &mut [u64], site: &AccessSite) -> NextMove {
    let element = single(local, site);
    let access = told(local, site, element);
    let outcome = local.core().alone(common, access);
    wait(local, outcome);
    decide(local, site, outcome, element, site.marks)
}

#[inline(always)]
fn single(local: &Local<'_>, site: &AccessSite) -> Element {
    let size = u64::from(site.size);
    Element { address: local.thread.address, size, write: site.kind == STORE, number: 0 }
}

#[inline(always)]
fn told(local: &Local<'_>, site: &AccessSite, element: Element) -> DataAccess {
    DataAccess {
        address: local.header.modelled(element.address),
        size: element.size,
        read: !element.write || site.marks & READS != 0,
        write: element.write,
        ip: site.ip,
        stamp: local.thread.clock.wrapping_add(u64::from(site.offset)),
    }
}

const NOTHING: Element = Element { address: 0, size: 0, write: false, number: 0 };

/// Looks up what the site says, up to the first event of which a record is
/// due; PROGRESS says where to go on after that.
#[inline(always)]
pub(super) fn access(
    local: &mut Local<'_>,
    outside: &mut impl Outside,
    site: &AccessSite,
) -> NextMove {
    match site.kind {
        LOAD | STORE => {
            let element = single(local, site);
            let outcome = look_up(local, outside, site, element);
            decide(local, site, outcome, element, site.marks)
        }
        FETCH => {
            let stamp = local.thread.clock.wrapping_add(u64::from(site.offset));
            let line = local.thread.address & !(LINE - 1);
            let outcome = local.core().fetch(outside, line, stamp);
            wait(local, outcome);
            NextMove::Resume
        }
        NONE => decide(local, site, AccessOutcome::default(), NOTHING, site.marks),
        _ => many(local, outside, site),
    }
}

/// The accesses of a part of a string instruction, or of a gather or masked
/// move.
#[inline(never)]
fn many(local: &mut Local<'_>, outside: &mut impl Outside, site: &AccessSite) -> NextMove {
    let mut walk = Walk::new(local, site);
    if walk.is_string() {
        return match site.marks & COUNTED {
            0 => part(local, outside, site, walk),
            _ => first(local, outside, site, walk),
        };
    }
    let mut untouched = local.thread.own.progress == 0;
    while let Some(element) = walk.next(local) {
        // Its class counts the instruction once.
        let counted = if untouched { site.marks } else { 0 };
        untouched = false;
        local.thread.clock += 2;
        let outcome = look_up(local, outside, site, element);
        local.thread.own.progress = walk.progress();
        let next = decide(local, site, outcome, element, counted);
        if next != NextMove::Resume {
            return next;
        }
    }
    local.thread.own.progress = 0;
    if !untouched {
        return NextMove::Resume;
    }
    // No element is meant. Counted all the same, once an instruction.
    let element = Element { address: local.thread.address, write: walk.writes(), ..NOTHING };
    decide(local, site, AccessOutcome::default(), element, site.marks)
}

/// What the second of two looks at an access sees as the first did.
const AGAIN: Events = Events(Events::SPLIT_LOAD.0 | Events::SPLIT_STORE.0 | Events::BLOCKED.0);

/// The first element of a string instruction that is counted, if it has one.
/// It is looked up once more when its turn comes, and misses nothing then.
fn first(
    local: &mut Local<'_>,
    outside: &mut impl Outside,
    site: &AccessSite,
    mut walk: Walk,
) -> NextMove {
    let address = local.thread.address;
    let (mut outcome, mut element) =
        (AccessOutcome::default(), Element { address, write: walk.writes(), ..NOTHING });
    if let Some(found) = walk.next(local) {
        element = found;
        local.thread.clock += 2;
        outcome = look_up(local, outside, site, element);
    }
    let due = seen(local, outcome.without(AGAIN).events()) | counted(local, site.marks);
    settle(local, site, outcome, element, due)
}

/// A part of a string instruction that no fault interrupts: what follows in
/// the pages of its first element, or that element alone when nothing shows
/// that these are within reach. Leaves in rcx how many elements that is, and
/// in REST how many follow.
fn part(
    local: &mut Local<'_>,
    outside: &mut impl Outside,
    site: &AccessSite,
    mut walk: Walk,
) -> NextMove {
    let count = walk.count();
    let mut unknown = false;
    if local.thread.own.progress == 0 {
        let begins = local.thread.rest == 0;
        let (elements, enters) = walk.in_pages(local);
        local.thread.rest = count.saturating_sub(elements);
        unknown = begins || enters;
    }
    walk.until(count.saturating_sub(local.thread.rest));
    while let Some(element) = walk.next(local) {
        local.thread.clock += 2;
        let outcome = look_up(local, outside, site, element);
        if unknown && element.number == 0 && outcome.is_new() {
            local.thread.rest = count.saturating_sub(1);
            walk.until(1);
        }
        local.thread.own.progress = walk.progress();
        let next = decide(local, site, outcome, element, 0);
        if next != NextMove::Resume {
            return next;
        }
    }
    local.thread.own.progress = 0;
    if let Some(rcx) = local.thread.registers.get_mut(RCX).filter(|_| count != 0) {
        *rcx = count.saturating_sub(local.thread.rest);
    }
    NextMove::Resume
}

#[inline(always)]
fn look_up(
    local: &mut Local<'_>,
    outside: &mut impl Outside,
    site: &AccessSite,
    element: Element,
) -> AccessOutcome {
    let access = told(local, site, element);
    let (first, last) = access.lines();
    local.thread.clock += last.wrapping_sub(first) / LINE;
    let outcome = local.core().access(outside, access);
    wait(local, outcome);
    after(local, outcome, first);
    outcome
}

/// A line that others write, too, is kept for a short while.
#[inline(always)]
fn after(local: &mut Local<'_>, outcome: AccessOutcome, address: u64) {
    let missed = outcome.events().meet(Events::L1_MISS);
    local.thread.own.missed = local.thread.own.missed.wrapping_add(u64::from(missed));
    if outcome.served() == LineHolder::Modified {
        legs::took(local.thread, local.header, address & !(LINE - 1));
    }
}

/// Lets modelled time pass.
#[inline(always)]
fn wait(local: &mut Local<'_>, outcome: AccessOutcome) {
    local.thread.own.waited += outcome.latency(&local.header.shape);
}

/// Counts what happened, with an instruction of the classes in `marks`, and
/// readies the records that are due.
#[inline(always)]
fn decide(
    local: &mut Local<'_>,
    site: &AccessSite,
    outcome: AccessOutcome,
    element: Element,
    marks: u32,
) -> NextMove {
    let mut due = seen(local, outcome.events());
    if marks & COUNTED != 0 {
        due |= counted(local, marks);
    }
    settle(local, site, outcome, element, due)
}

#[inline(always)]
fn settle(
    local: &mut Local<'_>,
    site: &AccessSite,
    outcome: AccessOutcome,
    element: Element,
    due: u64,
) -> NextMove {
    if due == 0 {
        return NextMove::Resume;
    }
    ready(local, site, outcome, element, due);
    NextMove::Record
}

#[cold]
#[inline(never)]
fn ready(
    local: &mut Local<'_>,
    site: &AccessSite,
    outcome: AccessOutcome,
    element: Element,
    due: u64,
) {
    next_periods(local, due);
    let Element { address, write, number: elements, .. } = element;
    let reads = !write || site.marks & READS != 0;
    let operation = if reads { LOADS } else { 0 } | if write { STORES } else { 0 };
    let (source, latency) = if site.kind == NONE {
        (0, 0)
    } else {
        let locked = site.marks & LOCKED != 0;
        (outcome.source(operation, locked), outcome.latency(&local.header.shape))
    };
    let causes = outcome.causes();
    local.thread.own.pending = Pending { due, address, source, latency, elements, causes };
}
