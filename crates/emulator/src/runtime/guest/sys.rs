//! From addresses to types, and the entries of the image.

mod kernel;

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::slice;
use core::sync::atomic::{AtomicU64, Ordering};

use self::kernel::Linux;
use super::branches;
use super::header::Header;
use super::ring::{PAGE, Ring};
use super::thread::{EMPTY, LISTED, STRIDES, Thread, ThreadContext};
use super::{
    RuntimeAction, heap, record as writer, region, slow_path, time_slice, turn as stretches,
};
use crate::block::{AccessKind, AccessSite, MODELLED, SIZE};
use crate::model::{Core, LINE, SingleCoreUncore, Uncore};

/// What the threads of a space share, for the one that holds the lock or is
/// alone.
struct SpaceUncore<'a> {
    header: &'a Header,
    common: &'a mut [u64],
    several: bool,
    index: u64,
}

impl Uncore for SpaceUncore<'_> {
    #[inline(always)]
    fn common(&mut self) -> &mut [u64] {
        self.common
    }

    #[inline(always)]
    fn has_other_cores(&self) -> bool {
        self.several
    }

    fn own_bit(&self) -> u64 {
        1 << (self.index & 63)
    }

    fn number(&self) -> u64 {
        self.index
    }

    fn unlisted(&self) -> u64 {
        self.header.unlisted.load(Ordering::Relaxed)
    }

    fn each(&mut self, mask: u64, mut visit: impl FnMut(&mut Core<'_>) -> bool) {
        let highest = self.header.highest.load(Ordering::Relaxed);
        let words = usize::try_from(highest.div_ceil(64)).unwrap_or(0);
        for (first, begun) in (0..).step_by(64).zip(self.header.begun.iter().take(words)) {
            let mut left = mask & begun.load(Ordering::Relaxed);
            while left != 0 {
                let index = first + u64::from(left.trailing_zeros());
                left &= left - 1;
                let entry = usize::try_from(index).ok().and_then(|at| self.header.threads.get(at));
                let block = entry.map_or(0, |entry| entry.load(Ordering::Relaxed));
                if block != 0 && index != self.index {
                    // SAFETY: a thread's block, which stays mapped as long as its
                    // entry is there; its owner waits for the lock.
                    let mut other = unsafe { context(block as *mut u8, self.header) };
                    if !visit(&mut other.core()) {
                        return;
                    }
                }
            }
        }
    }
}

/// A thread's own memory.
///
/// # Safety
/// `block` is a thread's block with the model's words behind it, and nobody
/// else has it as this.
#[inline(always)]
unsafe fn context<'a>(block: *mut u8, header: &'a Header) -> ThreadContext<'a> {
    // SAFETY: the caller's promise.
    let thread = unsafe { &mut *block.cast::<Thread>() };
    let length = usize::try_from(header.shape.private_words).unwrap_or(0);
    // SAFETY: the words lie behind the block.
    let words = unsafe { block.add(SIZE) }.cast::<u64>();
    // SAFETY: as many as the shape says.
    let words = unsafe { slice::from_raw_parts_mut(words, length) };
    ThreadContext { thread, words, header }
}

/// The head of a block's space.
///
/// # Safety
/// `block` is a thread's block.
#[inline(always)]
unsafe fn header<'a>(block: *mut u8) -> (&'a Header, *mut u64) {
    // SAFETY: the caller's promise; no reference is made.
    let space = unsafe { (*block.cast::<Thread>()).space } as *mut Header;
    // SAFETY: it lives as long as the thread.
    let header = unsafe { &*space };
    // SAFETY: the words that threads share lie behind it.
    let common = unsafe { space.add(1) }.cast();
    (header, common)
}

/// Goes on with what SITE says.
///
/// # Safety
/// As for [`access`].
#[inline(never)]
unsafe fn proceed(block: *mut u8) -> RuntimeAction {
    // SAFETY: the caller's promise.
    let (header, common) = unsafe { header(block) };
    // SAFETY: no reference is made.
    let index = unsafe { (*block.cast::<Thread>()).runtime.index };
    let several = header.several.load(Ordering::Relaxed) != 0;
    if several {
        lock(&header.lock, index + 1);
    }
    // SAFETY: the lock keeps others away.
    let common = unsafe { words_in_common(header, common) };
    // SAFETY: the lock keeps others away.
    let mut context = unsafe { context(block, header) };
    // SAFETY: SITE is that of the stub that came here.
    let site = unsafe { &*(context.thread.site as *const AccessSite) };
    let mut uncore = SpaceUncore { header, common, several, index };
    if several && context.thread.runtime.listed != LISTED {
        header.begin(index);
        if context.thread.runtime.listed != EMPTY {
            context.core().list(&mut uncore);
            header.unlisted.fetch_and(!uncore.own_bit(), Ordering::Relaxed);
        }
        context.thread.runtime.listed = LISTED;
    }
    let next = slow_path::access(&mut context, &mut uncore, site);
    if several {
        header.lock.store(0, Ordering::Release);
    }
    next
}

/// The words behind the head of a space.
///
/// # Safety
/// They are there, and nobody else works on them.
#[inline(always)]
unsafe fn words_in_common<'a>(header: &Header, common: *mut u64) -> &'a mut [u64] {
    let length = usize::try_from(header.shape.common_words).unwrap_or(0);
    // SAFETY: as many as the shape says.
    unsafe { slice::from_raw_parts_mut(common, length) }
}

#[cold]
fn lock(lock: &AtomicU64, own: u64) {
    while lock.compare_exchange_weak(0, own, Ordering::Acquire, Ordering::Relaxed).is_err() {
        core::hint::spin_loop();
    }
}

/// Looks up the access that SITE tells, whose address is ADDRESS, if that is
/// of the commonest kind: 1; else 0, and [`access`] is to do it.
///
/// DF may be set: nothing here may copy memory by string instructions.
///
/// # Safety
/// As for [`access`].
pub unsafe extern "C" fn quick(block: *mut u8, address: u64) -> u64 {
    // SAFETY: the caller's promise.
    let (header, _) = unsafe { header(block) };
    let several = header.several.load(Ordering::Relaxed) != 0;
    let kind = match (header.shape.dtlb.exists(), header.shape.quick, several) {
        (false, 8, false) => quick_of::<8, false>,
        (false, 12, false) => quick_of::<12, false>,
        (true, 8, false) => quick_of::<8, true>,
        (true, 12, false) => quick_of::<12, true>,
        (false, 8, true) => quick_among::<8, false>,
        (false, 12, true) => quick_among::<12, false>,
        (true, 8, true) => quick_among::<8, true>,
        (true, 12, true) => quick_among::<12, true>,
        _ => return 0,
    };
    // SAFETY: the caller's promise, and the thread is alone where that is asked for.
    unsafe { kind(block, address) }
}

/// [`quick`] for one kind of it, of a thread that is not alone.
///
/// # Safety
/// As for [`access`].
#[inline(never)]
unsafe extern "C" fn quick_among<const WAYS: usize, const TLB: bool>(
    block: *mut u8,
    address: u64,
) -> u64 {
    // SAFETY: the caller's promise.
    let (header, common) = unsafe { header(block) };
    // SAFETY: the caller's promise.
    let mut context = unsafe { context(block, header) };
    if context.thread.runtime.listed != LISTED {
        return 0;
    }
    // SAFETY: SITE is that of the stub that came here.
    let site = unsafe { &*(context.thread.site as *const AccessSite) };
    fetch_ahead(context.thread, site, address);
    let index = context.thread.runtime.index;
    lock(&header.lock, index + 1);
    // SAFETY: the lock keeps others away.
    let common = unsafe { words_in_common(header, common) };
    bring(context.core().ahead::<WAYS>(common, address & !(LINE - 1)));
    let mut uncore = SpaceUncore { header, common, several: true, index };
    let done = slow_path::quick::<WAYS, TLB>(&mut context, &mut uncore, site, address);
    header.lock.store(0, Ordering::Release);
    u64::from(done)
}

/// [`quick`] for one kind of it.
///
/// # Safety
/// As for [`access`], and the thread is alone.
#[inline(never)]
unsafe extern "C" fn quick_of<const WAYS: usize, const TLB: bool>(
    block: *mut u8,
    address: u64,
) -> u64 {
    // SAFETY: the caller's promise.
    let (header, common) = unsafe { header(block) };
    // SAFETY: the thread is alone.
    let common = unsafe { words_in_common(header, common) };
    // SAFETY: the thread is alone.
    let mut context = unsafe { context(block, header) };
    // SAFETY: SITE is that of the stub that came here.
    let site = unsafe { &*(context.thread.site as *const AccessSite) };
    fetch_ahead(context.thread, site, address);
    u64::from(slow_path::quick::<WAYS, TLB>(
        &mut context,
        &mut SingleCoreUncore(common),
        site,
        address,
    ))
}

/// Brings what the instruction will want soon into the host's caches, which
/// its own prefetchers do not where strides are large. Never faults.
#[inline(always)]
fn fetch_ahead(thread: &mut Thread, site: &AccessSite, address: u64) {
    let place = usize::try_from(site.ip).unwrap_or(0) % STRIDES;
    if let Some(ahead) = thread.strides.get_mut(place).and_then(|stride| stride.ahead(address)) {
        hint(ahead as *const i8);
    }
}

/// Brings words of ours into the host's caches, all at once.
#[inline(always)]
fn bring<const WORDS: usize>(words: [Option<&u64>; WORDS]) {
    for word in words.into_iter().flatten() {
        hint(core::ptr::from_ref(word).cast());
    }
}

#[inline(always)]
fn hint(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint; nothing is accessed.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
}

/// The slow path of the access that SITE and ADDRESS tell: looks it up in
/// the model, fills the tables. Returns a [`RuntimeAction`].
///
/// # Safety
/// `block` is a thread's block made by `RuntimeSetup`, with the model's words of the
/// thread behind it, its site and space are mapped, and its thread is here.
pub unsafe extern "C" fn access(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    let (header, common) = unsafe { header(block) };
    // SAFETY: no reference is made.
    let site = unsafe { (*block.cast::<Thread>()).site };
    // SAFETY: no reference is made.
    let address = unsafe { (*block.cast::<Thread>()).address };
    // SAFETY: SITE is that of the stub that came here.
    let site = unsafe { &*(site as *const AccessSite) };
    if site.kind == AccessKind::Call as u8 || site.kind == AccessKind::Pause as u8 {
        // SAFETY: the caller's promise.
        let thread = unsafe { context(block, header) }.thread;
        if site.kind == AccessKind::Call as u8 {
            time_slice::before_call(thread, header, &Linux);
        } else {
            time_slice::pause(thread, header, &Linux);
        }
        return RuntimeAction::Resume as u64;
    }
    if region::is_mark(site) {
        return RuntimeAction::Record as u64;
    }
    if heap::is_call(site) {
        // SAFETY: the caller's promise.
        unsafe { context(block, header) }.thread.heap.arrive();
        return RuntimeAction::Record as u64;
    }
    // SAFETY: no reference is made.
    if unsafe { (*block.cast::<Thread>()).runtime.pending.due } != 0 {
        // `quick` has looked it up.
        return RuntimeAction::Record as u64;
    }
    let several = header.several.load(Ordering::Relaxed) != 0;
    if several || !slow_path::is_plain(header, site, address) {
        // SAFETY: the caller's promise.
        return unsafe { proceed(block) as u64 };
    }
    // SAFETY: the thread is alone.
    let common = unsafe { words_in_common(header, common) };
    // SAFETY: the thread is alone.
    let mut context = unsafe { context(block, header) };
    slow_path::alone(&mut context, common, site) as u64
}

/// Writes the record that `access` found due, or the mark of a region, and goes
/// on with what is left of the instruction. Returns a [`RuntimeAction`], never [`RuntimeAction::Record`].
///
/// # Safety
/// As for [`access`], and all registers are in REGISTERS.
pub unsafe extern "C" fn record(block: *mut u8) -> u64 {
    loop {
        // SAFETY: the caller's promise.
        let (header, _) = unsafe { header(block) };
        // SAFETY: the caller's promise; the references end with this turn.
        let mut context = unsafe { context(block, header) };
        let ThreadContext { thread, header, .. } = &mut context;
        // SAFETY: SITE is that of the stub that came here.
        let site = unsafe { &*(thread.site as *const AccessSite) };
        let length = usize::try_from(header.ring_bytes).unwrap_or(0) + PAGE;
        // SAFETY: the ring is mapped there as long as the space is.
        let words = unsafe { slice::from_raw_parts(header.ring as *const _, length / 8) };
        let Some(ring) = Ring::new(words) else { return RuntimeAction::Resume as u64 };
        if region::is_mark(site) {
            return region::mark(thread, header, site, &ring, &Linux) as u64;
        }
        if heap::is_call(site) {
            heap::settle(&mut context, site, &ring, &Linux);
        }
        let ThreadContext { thread, header, .. } = context;
        let next = writer::record(thread, header, site, &ring, &Linux);
        if next != RuntimeAction::Resume || thread.runtime.progress == 0 {
            return next as u64;
        }
        // SAFETY: the caller's promise.
        if unsafe { access(block) } == RuntimeAction::Resume as u64 {
            return RuntimeAction::Resume as u64;
        }
    }
}

/// Finds in the full table where BRANCH leads in the thread's HALF and puts it
/// into that half's table of branches; 0: it is not known.
///
/// # Safety
/// As for [`access`], SITE aside.
pub unsafe extern "C" fn lookup(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    let (header, _) = unsafe { header(block) };
    // SAFETY: the caller's promise.
    let thread = unsafe { context(block, header) }.thread;
    let target = thread.branch;
    let name = branches::name(thread.variant, target);
    let entry = name.and_then(|name| branches::find(&header.branches, name));
    let Some(entry) = entry else { return 0 };
    let at = usize::from(u16::try_from(target & 0xffff).unwrap_or(0));
    let modelled = thread.variant == MODELLED;
    let table = if modelled { &mut thread.branches } else { &mut thread.bare_branches };
    if let Some(place) = table.get_mut(at) {
        *place = entry;
    }
    entry
}

/// BURST fell below 0 at the head of the block at BRANCH, which has TURN
/// instructions: goes on to the next stretch, and finds the block there as
/// [`lookup`] does.
///
/// # Safety
/// As for [`lookup`].
pub unsafe extern "C" fn turn(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    let (header, _) = unsafe { header(block) };
    // SAFETY: the caller's promise; the reference ends with the call.
    stretches::turn(unsafe { context(block, header) }.thread, header, &Linux);
    // SAFETY: the caller's promise.
    unsafe { lookup(block) }
}

#[cfg(test)]
mod tests;
