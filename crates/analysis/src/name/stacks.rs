//! Whose stack an address lies in.

use super::thread_pointers::ThreadPointers;
use perfdata::{Arch, Pid, Tid};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use symbolizer::{Place, SampledAddress, Symbolizer};

/// Stacks that are remembered, of all processes.
const MOST_STACKS: usize = 1 << 16;
/// Bytes below the stack pointer that are in use (psABI x86-64, 3.2.2).
const RED_ZONE: u64 = 128;
/// Bits of addresses among which nothing is looked for where one is of no mapping.
const UNTOLD: u64 = (1 << 20) - 1;
/// From a stack pointer on frames are looked for so far, in bytes.
const MOST_STACK: u64 = 64 << 20;

/// Stacks by where samples have their stack pointers.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    pub(crate) is_wanted: bool,
    pub(crate) arch: Arch,
    /// By process and last address; the latest thread of each.
    known: FxHashMap<Pid, BTreeMap<u64, ThreadStack>>,
    /// What each thread's samples were last on.
    last: FxHashMap<Tid, ThreadStack>,
    kept: usize,
    pub(crate) pointers: ThreadPointers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadStack {
    pid: Pid,
    tid: Tid,
    first: u64,
    last: u64,
    /// The kernel made it for the program's first thread.
    is_main: bool,
}

/// A thread that is at an instruction, and where its stack is then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadPoint {
    pub(crate) at: SampledAddress,
    pub(crate) tid: Tid,
    pub(crate) place: Place,
    pub(crate) stack: u64,
    /// The register that may be a frame pointer.
    pub(crate) base: Option<u64>,
}

impl ThreadPoint {
    /// Whether an address can be in one of its frames, as far as is known.
    pub(crate) fn may_reach(&self, address: u64) -> bool {
        let first = self.stack.saturating_sub(RED_ZONE);
        (first..self.stack.saturating_add(MOST_STACK)).contains(&address)
    }
}

impl Stacks {
    /// The thread whose stack an address lies in, where that is certain. Not all memory that
    /// stack pointers are seen in is a stack: coroutines have theirs in the heap.
    pub(crate) fn owner(&self, pid: Pid, address: u64) -> Option<Tid> {
        let known = self.known.get(&pid)?;
        let (_, stack) = known.range(address..).next()?;
        if address < stack.first {
            return None;
        }
        // A thread's library puts what is at the thread pointer on top of its stack.
        let mut pointers = self.pointers.of_thread(pid, stack.tid);
        let is_below = |pointer: u64| address < pointer && pointer <= stack.last;
        (stack.is_main || pointers.any(is_below)).then_some(stack.tid)
    }

    pub(crate) fn learn(&mut self, of: &ThreadPoint, symbolizer: &mut Symbolizer) {
        let ThreadPoint { at: SampledAddress { mode, pid, time, .. }, tid, stack, .. } = *of;
        let holds = |it: &ThreadStack| it.pid == pid && (it.first..=it.last).contains(&stack);
        if self.last.get(&tid).is_some_and(holds) {
            return;
        }
        if self.kept.max(self.last.len()) >= MOST_STACKS {
            self.known.clear();
            self.last.clear();
            self.kept = 0;
        }
        let Some(extent) = symbolizer.data_extent(pid, stack, time) else {
            // Nearby neither: asking is not for each sample.
            let (first, last) = (stack & !UNTOLD, stack | UNTOLD);
            let none = ThreadStack { pid, tid, first, last, is_main: false };
            self.last.insert(tid, none);
            return;
        };
        let (first, last) = (*extent.start(), *extent.end());
        let object = symbolizer.data_place(mode, pid, last, time).object;
        let is_main = symbolizer.object_name(object) == "[stack]";
        let new = ThreadStack { pid, tid, first: first.saturating_sub(RED_ZONE), last, is_main };
        self.last.insert(tid, new);
        self.known.entry(pid).or_default().insert(new.last, new);
        self.kept += 1;
    }
}
